#include "model/state.h"
#include "base/memory.h"
#include "model/model.h"
#include <stdlib.h>
#include <string.h>

/* ---- variables -------------------------------------------------------------------------- */

cornu_status model_check_free(const cornu_model *m)
{
    if (!m->live)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "model: found it in training (by cornu_fit or an open trainer); "
                       "expected one that is not");
}

void model_truncate_variables(cornu_model *m, int count)
{
    for (int i = count; i < m->variable_count; i++) {
        free(m->variables[i].name);
        free(m->variables[i].part);
        memory_free_aligned(m->variables[i].value);
    }
    m->variable_count = count < m->variable_count ? count : m->variable_count;
}

cornu_status model_add_variable(cornu_model *m, char *name, const variable *like)
{
    size_t needed = (size_t)m->variable_count + 1;
    variable *grown = name ? realloc(m->variables, needed * sizeof *grown) : NULL;
    if (!grown) {
        free(name);
        free(like->part);
        return status_fail(CORNU_OUT_OF_MEMORY, "not enough memory for another variable");
    }
    m->variables = grown;
    m->variables[m->variable_count] = *like;
    m->variables[m->variable_count++].name = name;
    return CORNU_OK;
}

void model_drop_slots(cornu_model *m)
{
    model_truncate_variables(m, m->weight_count);
}

variable *model_variable(const cornu_model *m, const char *name)
{
    for (int i = 0; i < m->variable_count; i++)
        if (strcmp(m->variables[i].name, name) == 0)
            return &m->variables[i];
    return NULL;
}

cornu_status model_allocate(cornu_model *m)
{
    for (int i = 0; i < m->variable_count; i++) {
        variable *v = &m->variables[i];
        if (!v->value)
            TRY(memory_new_aligned((size_t)v->count * sizeof(float), v->name, &v->value));
    }
    return CORNU_OK;
}

cornu_status model_initialize(cornu_model *m, uint64_t seed)
{
    TRY(model_allocate(m));
    for (int i = 0; i < m->variable_count; i++) {
        variable *v = &m->variables[i];
        random_stream r = random_open(seed, RANDOM_INITIALIZE, (uint64_t)i);
        TRY(initializer_fill(&v->initializer, &v->shape, &r, v->value));
        for (int64_t k = v->ones_at; k < v->ones_at + v->ones; k++)
            v->value[k] = 1;
    }
    m->initialized = true;
    m->training.position = position_start(seed);
    training_state_clear_tables(&m->training);
    training_state_forget_callbacks(&m->training);
    return CORNU_OK;
}

cornu_status model_start_weights(cornu_model *m)
{
    uint64_t seed = m->training.position.seed;
    return m->initialized ? CORNU_OK : model_initialize(m, seed ? seed : 1);
}

/* A start value of 0 needs no write: the memory is zeroed, and no page is touched. */
cornu_status model_start_slots(cornu_model *m)
{
    TRY(model_allocate(m));
    for (int i = m->weight_count; i < m->variable_count; i++) {
        const variable *v = &m->variables[i];
        random_stream unused = {0};
        if (v->initializer.kind != INITIALIZER_ZEROS)
            TRY(initializer_fill(&v->initializer, &v->shape, &unused, v->value));
    }
    return CORNU_OK;
}

cornu_status model_start_best_weights(cornu_model *m)
{
    if (m->training.best_weights)
        return CORNU_OK;
    size_t count = (size_t)m->weight_count, pointers = count * sizeof(float *), floats = 0;
    for (size_t i = 0; i < count; i++)
        floats += (size_t)m->variables[i].count;
    float **best;
    TRY(memory_new(1, pointers + floats * sizeof(float), "best weights", &best));
    float *values = (float *)(void *)(best + count);
    for (size_t i = 0; i < count; i++) {
        best[i] = values;
        values += m->variables[i].count;
    }
    m->training.best_weights = best;
    return CORNU_OK;
}

/* ---- training --------------------------------------------------------------------------- */

position position_start(uint64_t seed)
{
    return (position){.seed = seed, .learning_rate_factor = 1};
}

void training_state_forget_callbacks(training_state *t)
{
    json_decref(t->callback_state);
    t->callback_state = NULL;
    free(t->best_weights);
    t->best_weights = NULL;
}

cornu_status training_state_start_tables(training_state *t, int count)
{
    double *tables = NULL;
    if (count > 0)
        TRY(memory_new((size_t)count, sizeof *tables, "tables of metrics", &tables));
    free(t->tables);
    t->tables = tables;
    t->table_count = count;
    return CORNU_OK;
}

void training_state_clear_tables(training_state *t)
{
    if (t->tables)
        memset(t->tables, 0, (size_t)t->table_count * sizeof *t->tables);
}

void training_state_free(training_state *t)
{
    training_state_forget_callbacks(t);
    free(t->tables);
    free(t->data_name);
    free(t->data_path);
    free(t->tuning);
    *t = (training_state){0};
}

cornu_status training_state_check_slots(const training_state *t)
{
    if (!t->position.slots_incomplete)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "optimizer: found its state divided among ranks (shard-optimizer); expected "
                       "the end of an epoch or, where a rank has failed, the file saved before");
}

cornu_status training_state_set_data(training_state *t, const char *name, const char *path)
{
    TRY(memory_replace_string(name, &t->data_name));
    return memory_replace_string(path, &t->data_path);
}
