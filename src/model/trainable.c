/* Which weights are trained: the flags of layers, and the optimizer's slots that follow from them.
 */
#include "base/memory.h"
#include "model/config.h"
#include "model/submodels.h"
#include <cornu/model.h>
#include <stdlib.h>
#include <string.h>

/* ---- slots ------------------------------------------------------------------------------ */

/* The shape of a slot that lacks an axis; a vector's slot is a number. */
static shape shape_without(const shape *s, int axis)
{
    shape out = {0};
    for (int i = 0; i < s->rank && s->rank > 1; i++)
        if (i != s->rank - axis)
            out.dim[out.rank++] = s->dim[i];
    return out;
}

static cornu_status add_slot(cornu_model *m, int of, int number, const optimizer_slot *s)
{
    const variable *w = &m->variables[of];
    const shape means = shape_without(&w->shape, s->without);
    const variable slot = {
        .shape = s->without ? means : w->shape,
        .plan_shape = s->without ? means : w->plan_shape,
        .count = s->without ? shape_elements(&means) : w->count,
        .is_slot = true,
        .of = of,
        .slot = number,
        .initializer = {.kind = s->initial == 0 ? INITIALIZER_ZEROS : INITIALIZER_CONSTANT,
                        .value = s->initial},
    };
    char *name = NULL;
    TRY(memory_format(&name, "optimizer/%s/%s", s->name, w->name));
    return model_add_variable(m, name, &slot);
}

bool model_needs_slot(const cornu_model *m, int weight, const optimizer_slot *slot)
{
    return slot->needed && !(slot->of_vectors && model_has_matrix_step(m, weight));
}

static cornu_status add_slots(cornu_model *m)
{
    optimizer_slot slots[OPTIMIZER_SLOTS_ALL];
    optimizer_slots(&m->optimizer, slots);
    for (int i = 0; i < m->weight_count; i++)
        for (int j = 0; j < OPTIMIZER_SLOTS_ALL && m->variables[i].trained; j++)
            if (model_needs_slot(m, i, &slots[j]))
                TRY(add_slot(m, i, j, &slots[j]));
    return CORNU_OK;
}

/* Move the values of old slots to the new ones of the same variables. Both are in the order of the
   variables. */
static void keep_values(cornu_model *m, variable *old, int count)
{
    for (int i = m->weight_count, k = 0; i < m->variable_count; i++) {
        variable *v = &m->variables[i];
        while (k < count && (old[k].of < v->of || (old[k].of == v->of && old[k].slot < v->slot)))
            k++;
        if (k < count && strcmp(old[k].name, v->name) == 0) {
            v->value = old[k].value;
            old[k].value = NULL;
        }
    }
}

/* Averages of weights, which begin as the weights where training has begun without them. */
static bool begins_as_weight(const cornu_model *m, const variable *v)
{
    return m->training.position.iterations > 0 &&
           (v->slot == OPTIMIZER_AVERAGE ||
            (v->slot == 0 && m->optimizer.id == OPTIMIZER_SCHEDULE_FREE_ADAMW));
}

/* Give start values to the slots that have none. A start value of 0 needs no write. */
static cornu_status start_values(cornu_model *m)
{
    for (int i = m->weight_count; i < m->variable_count; i++) {
        variable *v = &m->variables[i];
        random_stream unused = {0};
        if (v->value)
            continue;
        TRY(memory_new_aligned((size_t)v->count * sizeof(float), v->name, &v->value));
        if (begins_as_weight(m, v))
            memcpy(v->value, m->variables[v->of].value, (size_t)v->count * sizeof(float));
        else if (v->initializer.kind != INITIALIZER_ZEROS)
            TRY(initializer_fill(&v->initializer, &v->shape, &unused, v->value));
    }
    return CORNU_OK;
}

static cornu_status renew_slots(cornu_model *m)
{
    const int count = m->variable_count - m->weight_count;
    variable *old = NULL;
    cornu_status status;
    TRY(memory_new((size_t)count, sizeof *old, "slots", &old));
    if (count > 0)
        memcpy(old, m->variables + m->weight_count, (size_t)count * sizeof *old);
    m->variable_count = m->weight_count;
    TRY_GOTO(add_slots(m));
    keep_values(m, old, count);
    if (m->initialized)
        TRY_GOTO(start_values(m));
done:
    if (status != CORNU_OK) {
        model_drop_slots(m);
        m->compiled = false;
    }
    for (int k = 0; k < count; k++) {
        free(old[k].name);
        memory_free_aligned(old[k].value);
    }
    free(old);
    return status;
}

int model_next_slot(const cornu_model *m, int before)
{
    optimizer_slot slots[OPTIMIZER_SLOTS_ALL];
    optimizer_slots(&m->optimizer, slots);
    int turn = before < 0 ? 0 : slots[m->variables[before].slot].turn;
    int i = before < 0 ? m->weight_count : before + 1;
    for (; m->compiled && model_slots_fit(m) && turn < OPTIMIZER_SLOTS_ALL; turn++) {
        for (; i < m->variable_count; i++)
            if (slots[m->variables[i].slot].turn == turn &&
                m->variables[m->variables[i].of].trainable)
                return i;
        i = m->weight_count;
    }
    return -1;
}

int model_slot(const cornu_model *m, int weight, int slot)
{
    for (int i = m->weight_count; i < m->variable_count; i++)
        if (m->variables[i].of == weight && m->variables[i].slot == slot)
            return i;
    return -1;
}

int model_slot_order(const cornu_model *m, int *order)
{
    int count = 0;
    for (int i = -1; (i = model_next_slot(m, i)) >= 0; count++)
        if (order)
            order[count] = i;
    return count;
}

/* ---- flags ------------------------------------------------------------------------------ */

static bool trains(const cornu_model *m, const layer *l)
{
    return m->trainable && l->trainable;
}

cornu_status model_take_trainable(cornu_model *m)
{
    for (int i = 0; i < m->layer_count; i++)
        m->layers[i]->frozen = !trains(m, m->layers[i]);
    for (int i = 0; i < m->weight_count; i++)
        m->variables[i].trained = m->variables[i].trainable;
    return renew_slots(m);
}

int model_trained_count(const cornu_model *m)
{
    int count = 0;
    for (int i = 0; i < m->weight_count; i++)
        count += m->variables[i].trained;
    return count;
}

bool model_trainable_waits(const cornu_model *m)
{
    for (int i = 0; i < m->layer_count; i++)
        if (m->layers[i]->frozen == trains(m, m->layers[i]))
            return true;
    return false;
}

bool model_slots_fit(const cornu_model *m)
{
    for (int i = 0; i < m->weight_count; i++)
        if (m->variables[i].trainable && !m->variables[i].trained)
            return false;
    return true;
}

static void spread(cornu_model *m)
{
    for (int i = 0; i < m->layer_count; i++) {
        const layer *l = m->layers[i];
        for (int k = l->first_variable; k < l->first_variable + l->weight_count; k++)
            m->variables[k].trainable = trains(m, l) && !m->variables[k].statistic;
    }
}

/* A model that is not in use yet follows its flags at once. */
static cornu_status apply(cornu_model *m)
{
    spread(m);
    return m->compiled && !m->has_trained && !m->live ? model_take_trainable(m) : CORNU_OK;
}

cornu_status model_copy_trainable(cornu_model *to, const cornu_model *from)
{
    to->trainable = from->trainable;
    for (int i = 0; i < to->layer_count && i < from->layer_count; i++)
        to->layers[i]->trainable = from->layers[i]->trainable;
    for (int i = 0; i < to->submodel_count && i < from->submodel_count; i++)
        to->submodels[i].trainable = from->submodels[i].trainable;
    return apply(to);
}

static cornu_status fail_name(const cornu_model *m, const char *name)
{
    const char *names[2 * MODEL_LAYERS_MAX];
    int count = 0;
    for (int i = 0; i < m->layer_count; i++)
        names[count++] = m->layers[i]->name;
    for (int i = 0; i < m->submodel_count; i++)
        names[count++] = m->submodels[i].name;
    text told = {0};
    name_tell_layer(&told, name, "", names, count);
    cornu_status status = status_fail(CORNU_NOT_FOUND, "%s: %s", m->name,
                                      told.failed ? "found no such layer" : told.data);
    text_free(&told);
    return status;
}

/* A layer, or a submodel (else -1), or neither where `name` is NULL: the whole model. */
static cornu_status find(const cornu_model *m, const char *name, layer **l, int *inner)
{
    *l = NULL;
    *inner = name ? submodel_find(m, name) : -1;
    for (int i = 0; name && i < m->layer_count; i++)
        if (strcmp(m->layers[i]->name, name) == 0)
            *l = m->layers[i];
    return !name || *l || *inner >= 0 ? CORNU_OK : fail_name(m, name);
}

cornu_status cornu_model_set_trainable(cornu_model *model, const char *layer_name, bool trainable)
{
    layer *l;
    int inner;
    if (!model)
        return status_fail(CORNU_INVALID,
                           "cornu_model_set_trainable: found no model; expected one");
    TRY(find(model, layer_name, &l, &inner));
    if (l) {
        l->trainable = trainable;
        return apply(model);
    }
    if (inner < 0)
        model->trainable = trainable;
    for (int i = 0; i < model->submodel_count; i++)
        if (submodel_is_in(model, i, inner))
            model->submodels[i].trainable = trainable;
    for (int i = 0; i < model->layer_count; i++)
        if (submodel_is_in(model, model->layers[i]->owner, inner))
            model->layers[i]->trainable = trainable;
    return apply(model);
}

cornu_status cornu_model_trainable(const cornu_model *model, const char *layer_name,
                                   bool *trainable)
{
    layer *l;
    int inner;
    if (!model || !trainable)
        return status_fail(CORNU_INVALID, "cornu_model_trainable: found no %s; expected one",
                           model ? "place for the answer" : "model");
    TRY(find(model, layer_name, &l, &inner));
    *trainable = l            ? l->trainable
                 : inner >= 0 ? model->submodels[inner].trainable
                              : model->trainable;
    return CORNU_OK;
}
