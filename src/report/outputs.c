/* The meaning of a model's outputs: probabilities of classes, or other numbers. */
#include "device/rows.h"
#include "model/model.h"
#include <cornu/report.h>
#include <math.h>

/* ---- kinds ------------------------------------------------------------------------------ */

static bool is_probability(activation_kind kind)
{
    return kind == ACTIVATION_SOFTMAX || kind == ACTIVATION_SPARSEMAX || kind == ACTIVATION_SIGMOID;
}

static cornu_output_kind kind_of(const cornu_model *m)
{
    if (m->output_count > 1)
        return CORNU_OUTPUT_VALUE;
    if (is_probability(model_output_activation(m)) || (m->compiled && model_loss(m)->from_logits))
        return CORNU_OUTPUT_PROBABILITY;
    if (m->compiled && loss_kind_of(model_loss(m)->id)->targets == LOSS_TARGETS_VALUES)
        return CORNU_OUTPUT_VALUE;
    return CORNU_OUTPUT_LOGIT;
}

cornu_status cornu_model_output_info(const cornu_model *model, cornu_output_info *info)
{
    if (!model || !info)
        return status_fail(CORNU_INVALID, "cornu_model_output_info: found NULL; expected a model "
                                          "and a place for what its outputs are");
    int64_t outputs = shape_elements(&model->output);
    cornu_output_info own = {.size = sizeof own, .kind = kind_of(model), .classes = outputs};
    if (outputs == 1 && own.kind == CORNU_OUTPUT_PROBABILITY)
        own.classes = 2;
    return STRUCT_WRITE("cornu_output_info", info, &own);
}

/* ---- values ----------------------------------------------------------------------------- */

/* One sample's outputs as the loss reads them, a row of the last dimension after the other. */
static void from_logits(const cornu_model *m, const float *outputs, int64_t count, float *values)
{
    const activation sigmoid = {.kind = ACTIVATION_SIGMOID};
    const bool each = loss_kind_of(model_loss(m)->id)->of_logits == ACTIVATION_SIGMOID;
    int64_t n = m->output.dim[m->output.rank - 1];
    for (int64_t i = 0; i < count && each; i++)
        values[i] = (float)activate_element(sigmoid, (double)outputs[i]);
    for (int64_t i = 0; i < count && !each; i += n)
        activate_row(ACTIVATION_SOFTMAX, outputs + i, values + i, n);
}

cornu_status cornu_model_class_values(const cornu_model *model, const float *outputs, int64_t count,
                                      float *values)
{
    cornu_output_info info = {.size = sizeof info};
    if (!model || !outputs || !values || count < 0)
        return status_fail(CORNU_INVALID,
                           "cornu_model_class_values: found NULL or %jd samples; "
                           "expected a model, outputs and room for values",
                           (intmax_t)count);
    TRY(cornu_model_output_info(model, &info));
    int64_t n = shape_elements(&model->output);
    bool logits =
        info.kind == CORNU_OUTPUT_PROBABILITY && !is_probability(model_output_activation(model));
    for (int64_t i = 0; i < count; i++, outputs += n, values += info.classes) {
        float *to = values + (info.classes - n); /* one probability is that of class 1 */
        for (int64_t k = 0; k < n; k++)
            to[k] = outputs[k];
        if (logits)
            from_logits(model, outputs, n, to);
        if (info.classes > n)
            values[0] = 1 - values[1];
    }
    return CORNU_OK;
}

/* ---- classes ---------------------------------------------------------------------------- */

/* True if value i comes after value `before` (-1: the beginning) in the order of top_classes. */
static bool comes_after(const float *values, int64_t i, int64_t before)
{
    return before < 0 || values[i] < values[before] ||
           (!(values[i] > values[before]) && !isnan(values[i]) && i > before);
}

int64_t cornu_model_top_classes(const cornu_model *model, const float *values, int64_t most,
                                cornu_class_value *top)
{
    cornu_output_info info = {.size = sizeof info};
    int64_t before = -1, found = 0;
    if (!values || !top || cornu_model_output_info(model, &info) != CORNU_OK)
        return 0;
    for (; found < most && found < info.classes; found++) {
        int64_t best = -1;
        for (int64_t i = 0; i < info.classes; i++)
            if (!isnan(values[i]) && comes_after(values, i, before) &&
                (best < 0 || values[i] > values[best]))
                best = i;
        if (best < 0)
            break; /* only NaN is left */
        bool named = model->class_count == info.classes;
        top[found] =
            (cornu_class_value){.index = best,
                                .name = named ? cornu_model_class_name(model, (int)best) : NULL,
                                .value = values[best]};
        before = best;
    }
    return found;
}
