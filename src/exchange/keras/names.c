/* Keras's names for a model's variables in its files: see keras.h. */
#include "base/memory.h"
#include "exchange/keras/keras.h"
#include <stdlib.h>
#include <string.h>

bool keras_path_is(const char *path)
{
    return path_has_ending(path, ".keras") || path_has_ending(path, ".h5") ||
           path_has_ending(path, ".hdf5");
}

bool keras_path_holds_weights(const char *path)
{
    return path_has_ending(path, ".weights.h5");
}

/* True if the optimizer has its learning rate as a variable (not with a schedule). */
static bool keras_keeps_rate(const cornu_model *m)
{
    return m->optimizer.learning_rate.id == SCHEDULE_CONSTANT;
}

int keras_slot_order(const cornu_model *m, int *order)
{
    optimizer_slot slots[OPTIMIZER_SLOTS_MAX];
    int count = 0;
    if (!m->compiled || !model_slots_fit(m))
        return 0;
    optimizer_slots(&m->optimizer, slots);
    for (int turn = 0; turn < OPTIMIZER_SLOTS_MAX; turn++)
        for (int i = m->weight_count; i < m->variable_count; i++)
            if (slots[m->variables[i].slot].turn == turn &&
                m->variables[m->variables[i].of].trainable)
                order[count++] = i;
    return count;
}

cornu_status keras_group(const cornu_model *m, int index, char **out)
{
    const layer_kind *kind = m->layers[index]->kind;
    int before = 0;
    for (int i = 0; i < index; i++)
        before += m->layers[i]->kind == kind;
    return before ? memory_format(out, "layers/%s_%d", kind->base_name, before)
                  : memory_format(out, "layers/%s", kind->base_name);
}

/* ---- Keras 3 ---------------------------------------------------------------------------- */

static cornu_status name_native_weights(const cornu_model *m, keras_names *n)
{
    for (int i = 0; i < m->layer_count; i++) {
        const layer *l = m->layers[i];
        char *group;
        TRY(keras_group(m, i, &group));
        cornu_status status = CORNU_OK;
        for (int j = 0; status == CORNU_OK && j < l->weight_count; j++)
            status = memory_format(&n->variable[l->first_variable + j], "%s/vars/%d", group, j);
        free(group);
        TRY(status);
    }
    return CORNU_OK;
}

static cornu_status name_native_optimizer(const cornu_model *m, const int *order, int slots,
                                          keras_names *n)
{
    int next = 0;
    TRY(memory_format(&n->iteration, "optimizer/vars/%d", next++));
    if (keras_keeps_rate(m))
        TRY(memory_format(&n->rate, "optimizer/vars/%d", next++));
    for (int i = 0; i < slots; i++)
        TRY(memory_format(&n->variable[order[i]], "optimizer/vars/%d", next++));
    return CORNU_OK;
}

/* ---- the older files -------------------------------------------------------------------- */

static cornu_status name_legacy_weights(const cornu_model *m, keras_names *n)
{
    for (int i = 0; i < m->layer_count; i++) {
        const layer *l = m->layers[i];
        for (int j = l->first_variable; j < l->first_variable + l->weight_count; j++)
            TRY(memory_format(&n->variable[j], "model_weights/%s/%s", l->name,
                              m->variables[j].name));
    }
    return CORNU_OK;
}

static cornu_status name_legacy_optimizer(const cornu_model *m, const int *order, int slots,
                                          keras_names *n)
{
    TRY(memory_format(&n->iteration, "optimizer_weights/optimizer/iteration"));
    if (keras_keeps_rate(m))
        TRY(memory_format(&n->rate, "optimizer_weights/optimizer/learning_rate"));
    for (int i = 0; i < slots; i++) /* "optimizer/momentum/dense/kernel" */
        TRY(memory_format(&n->variable[order[i]], "optimizer_weights/%s",
                          m->variables[order[i]].name));
    return CORNU_OK;
}

/* ---- both ------------------------------------------------------------------------------- */

static cornu_status name_all(const cornu_model *m, const int *order, int slots, keras_names *n)
{
    bool native = n->layout == KERAS_NATIVE;
    TRY(native ? name_native_weights(m, n) : name_legacy_weights(m, n));
    if (!m->compiled)
        return CORNU_OK;
    return native ? name_native_optimizer(m, order, slots, n)
                  : name_legacy_optimizer(m, order, slots, n);
}

cornu_status keras_names_make(const cornu_model *m, keras_layout layout, keras_names *out)
{
    int *order = NULL;
    cornu_status status;
    *out = (keras_names){.layout = layout, .count = m->variable_count};
    TRY_GOTO(
        memory_new((size_t)m->variable_count + 1, sizeof *out->variable, "names", &out->variable));
    TRY_GOTO(memory_new((size_t)m->variable_count + 1, sizeof *order, "names", &order));
    TRY_GOTO(name_all(m, order, keras_slot_order(m, order), out));
done:
    free(order);
    if (status != CORNU_OK)
        keras_names_free(out);
    return status;
}

void keras_names_forget_optimizer(keras_names *n)
{
    free(n->iteration);
    free(n->rate);
    n->iteration = n->rate = NULL;
}

void keras_names_free(keras_names *n)
{
    for (int i = 0; n->variable && i < n->count; i++)
        free(n->variable[i]);
    free(n->variable);
    keras_names_forget_optimizer(n);
    *n = (keras_names){0};
}
