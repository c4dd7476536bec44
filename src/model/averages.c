/* The moving averages of weights, which optimizers with use_ema keep: as weights, and as what takes
   their place. */
#include "base/memory.h"
#include "model/model.h"
#include <cornu/model.h>
#include <string.h>

static cornu_status check(const cornu_model *m, const char *caller)
{
    if (!m || !m->compiled || !m->optimizer.use_ema)
        return status_fail(CORNU_INVALID, "%s: found %s; expected one with use_ema", caller,
                           !m            ? "no model"
                           : m->compiled ? "an optimizer without averages of the weights"
                                         : "no optimizer");
    if (!m->initialized || m->training.position.iterations == 0)
        return status_fail(CORNU_INVALID,
                           "%s: found no step of training; expected averages of weights that were "
                           "trained",
                           caller);
    return CORNU_OK;
}

static cornu_status pull(const cornu_model *m, int index)
{
    return m->live ? m->live->pull(m->live->context, index, index + 1) : CORNU_OK;
}

static cornu_status push(const cornu_model *m, int index)
{
    return m->live ? m->live->push(m->live->context, index) : CORNU_OK;
}

static void exchange(float *a, float *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const float kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* The two variables of each weight that has an average. */
static cornu_status each(cornu_model *m,
                         cornu_status (*apply)(cornu_model *m, int weight, int average))
{
    for (int i = 0; i < m->weight_count; i++) {
        const int average = model_slot(m, i, OPTIMIZER_AVERAGE);
        if (average < 0)
            continue;
        TRY(pull(m, i));
        TRY(pull(m, average));
        TRY(apply(m, i, average));
    }
    return CORNU_OK;
}

static cornu_status swap(cornu_model *m, int weight, int average)
{
    exchange(m->variables[weight].value, m->variables[average].value, m->variables[weight].count);
    TRY(push(m, weight));
    return push(m, average);
}

static cornu_status copy(cornu_model *m, int to, int from)
{
    memcpy(m->variables[to].value, m->variables[from].value,
           (size_t)m->variables[to].count * sizeof(float));
    return push(m, to);
}

static cornu_status keep(cornu_model *m, int weight, int average)
{
    return copy(m, average, weight);
}

cornu_status cornu_model_swap_averages(cornu_model *model)
{
    TRY(check(model, "cornu_model_swap_averages"));
    return each(model, swap);
}

cornu_status cornu_model_take_averages(cornu_model *model)
{
    TRY(check(model, "cornu_model_take_averages"));
    return each(model, copy);
}

cornu_status model_keep_as_averages(cornu_model *m)
{
    return each(m, keep);
}
