/* Keras's names for a model's variables in its files: see keras.h. */
#include "base/memory.h"
#include "exchange/keras/keras.h"
#include <stdio.h>
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

/* ---- Keras 3 ---------------------------------------------------------------------------- */

/* "dense", "functional" */
static const char *base_name(const cornu_model *m, const model_member *of)
{
    if (of->layer)
        return of->layer->kind->base_name;
    return m->submodels[of->submodel].functional ? "functional" : "sequential";
}

/* The number of members before this one that are of its class. */
static int count_before(const cornu_model *m, int owner, const model_member *of)
{
    int count = 0;
    const char *base = base_name(m, of);
    for (model_member at = {.end = 0}; model_next_member(m, owner, &at) && at.first < of->first;)
        count += strcmp(base_name(m, &at), base) == 0;
    return count;
}

static cornu_status name_group(const cornu_model *m, int owner, const model_member *of,
                               const keras_groups *g, char **out)
{
    const int before = count_before(m, owner, of);
    char number[16] = "";
    if (before > 0)
        snprintf(number, sizeof number, "_%d", before);
    return memory_format(out, "%s%slayers/%s%s", owner < 0 ? "" : g->submodel[owner],
                         owner < 0 ? "" : "/", base_name(m, of), number);
}

static cornu_status name_groups(const cornu_model *m, int owner, keras_groups *g)
{
    for (model_member at = {.end = 0}; model_next_member(m, owner, &at);) {
        TRY(name_group(m, owner, &at, g,
                       at.layer ? &g->layer[at.first] : &g->submodel[at.submodel]));
        if (!at.layer)
            TRY(name_groups(m, at.submodel, g));
    }
    return CORNU_OK;
}

cornu_status keras_groups_make(const cornu_model *m, keras_groups *out)
{
    cornu_status status;
    *out = (keras_groups){.layers = m->layer_count, .submodels = m->submodel_count};
    TRY_GOTO(memory_new((size_t)out->layers + 1, sizeof *out->layer, "names", &out->layer));
    TRY_GOTO(
        memory_new((size_t)out->submodels + 1, sizeof *out->submodel, "names", &out->submodel));
    TRY_GOTO(name_groups(m, -1, out));
    return CORNU_OK;
done:
    keras_groups_free(out);
    return status;
}

void keras_groups_free(keras_groups *g)
{
    for (int i = 0; g->layer && i < g->layers; i++)
        free(g->layer[i]);
    for (int i = 0; g->submodel && i < g->submodels; i++)
        free(g->submodel[i]);
    free(g->layer);
    free(g->submodel);
    *g = (keras_groups){0};
}

cornu_status keras_weight_name(const cornu_model *m, const layer *l, const char *group, int number,
                               char **out)
{
    const variable *of = &m->variables[l->first_variable];
    const int last = number < l->weight_count ? number : l->weight_count - 1;
    const char *part = last >= 0 ? of[last].part : NULL;
    int before = number - last; /* of the part; behind all weights are more */
    if (!part)
        return memory_format(out, "%s/vars/%d", group, number);
    for (int i = 0; i < last; i++)
        before += of[i].part && strcmp(of[i].part, part) == 0;
    return memory_format(out, "%s/%s/vars/%d", group, part, before);
}

static cornu_status name_layer_weights(const cornu_model *m, const layer *l, const char *group,
                                       keras_names *n)
{
    for (int j = 0; j < l->weight_count; j++)
        TRY(keras_weight_name(m, l, group, j, &n->variable[l->first_variable + j]));
    return CORNU_OK;
}

static cornu_status name_native_weights(const cornu_model *m, keras_names *n)
{
    keras_groups g;
    TRY(keras_groups_make(m, &g));
    cornu_status status = CORNU_OK;
    for (int i = 0; status == CORNU_OK && i < m->layer_count; i++)
        status = name_layer_weights(m, m->layers[i], g.layer[i], n);
    keras_groups_free(&g);
    return status;
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
    if (m->optimizer.id == OPTIMIZER_NADAM)
        TRY(memory_format(&n->momentum_product, "optimizer/vars/%d", next++));
    return CORNU_OK;
}

/* ---- the older files -------------------------------------------------------------------- */

/* Add the weights of these layers that are trained, or the others. In Keras no weight of a
   Functional counts as trained while the Functional's own flag is false, even if its layer was
   thawed; of a Sequential its files keep no flag. */
static int list_weights(const cornu_model *m, const model_member *of, bool trained, int *out)
{
    const submodel *s = of->layer ? NULL : &m->submodels[of->submodel];
    const bool trains = !s || s->trainable || !s->functional;
    int count = 0;
    for (int i = of->first; i < of->end; i++) {
        const layer *l = m->layers[i];
        for (int j = l->first_variable; j < l->first_variable + l->weight_count; j++)
            if ((trains && l->trainable && !m->variables[j].statistic) == trained)
                out[count++] = j;
    }
    return count;
}

int keras_legacy_weights(const cornu_model *m, const model_member *of, int *out)
{
    int count = list_weights(m, of, true, out);
    return count + list_weights(m, of, false, out + count);
}

static cornu_status name_legacy_weights(const cornu_model *m, keras_names *n)
{
    for (model_member at = {.end = 0}; model_next_member(m, -1, &at);)
        for (int i = at.first; i < at.end; i++)
            for (int k = 0; k < m->layers[i]->weight_count; k++) {
                const int j = m->layers[i]->first_variable + k;
                TRY(memory_format(&n->variable[j], "model_weights/%s/%s", model_member_name(m, &at),
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
    if (m->optimizer.id == OPTIMIZER_NADAM)
        TRY(memory_format(&n->momentum_product, "optimizer_weights/optimizer/u_product"));
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
    TRY_GOTO(name_all(m, order, model_slot_order(m, order), out));
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
    free(n->momentum_product);
    n->iteration = n->rate = n->momentum_product = NULL;
}

void keras_names_free(keras_names *n)
{
    for (int i = 0; n->variable && i < n->count; i++)
        free(n->variable[i]);
    free(n->variable);
    keras_names_forget_optimizer(n);
    *n = (keras_names){0};
}
