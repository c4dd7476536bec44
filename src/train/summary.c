/* cornu_model_summary: Keras's table, then what a training step costs. */
#include "model/summary.h"
#include "train/session.h"

static cornu_status step_numbers(const cornu_model *model, int64_t batch, text *t)
{
    plan *p;
    char moved[16];
    plan_options options = {.mode = PLAN_TRAIN, .batch = batch};
    TRY(plan_build(model, &options, &p));
    text_add(t, " A training step of %jd %s: %.4g GFLOP, %s read and written\n", (intmax_t)batch,
             PLURAL(batch, "sample", "samples"), p->flops * 1e-9, memory_human(p->bytes, moved));
    plan_free(p);
    return CORNU_OK;
}

/* At the end the model takes the slots over, too, but the buffers are gone by then. */
static void add_need(const memory_need *need, text *t)
{
    int64_t slots = need->variables - need->copy;
    int64_t most = slots > need->buffers ? slots : need->buffers;
    char all[16], variables[16], shown[16];
    text_add(t, " Training needs %s: weights and optimizer slots %s, buffers %s,\n",
             memory_human((double)(need->variables + need->copy + most), all),
             memory_human((double)need->variables, variables),
             memory_human((double)need->buffers, shown));
    text_add(t, "   the weights' copy for files %s", memory_human((double)need->copy, shown));
    if (most > need->buffers)
        text_add(t, ",\n   at the end, in place of the buffers, the slots' %s",
                 memory_human((double)slots, shown));
    text_add(t, "\n");
}

static cornu_status memory_numbers(const cornu_model *model, int64_t batch, text *t)
{
    memory_need need;
    char parameters[16], shown[16];
    double activations = 0;
    TRY(session_memory(model, NULL, PLAN_TRAIN, batch, &need));
    for (int i = 1; i < model->layer_count; i++)
        activations += (double)shape_elements(&model->layers[i]->out) * sizeof(float);
    text_add(t, " Parameters: %s; activations: %s per sample\n",
             memory_human((double)need.copy, parameters), memory_human(activations, shown));
    TRY(step_numbers(model, batch, t));
    add_need(&need, t);
    return CORNU_OK;
}

/* What the first layer sees of uint8 pixels, as data_samples_for has it. */
static cornu_status pixel_range(const cornu_model *model, text *t)
{
    data_spec spec;
    const layer *by = model_rescaling(model);
    TRY(data_spec_read(model->data, &spec));
    double scale = spec.scale > 0 ? spec.scale : (double)model_pixel_scale(model);
    bool standardized = spec.standardize.samplewise_center || spec.standardize.featurewise_center;
    text_add(t, " Pixels (uint8) reach the first layer as 0 to %g%s", 255 * scale,
             standardized ? ", then standardized" : "");
    if (by)
        text_add(t, "; %s (%s) scales them", by->name, by->kind->name);
    text_add(t, "\n");
    return CORNU_OK;
}

cornu_status cornu_model_summary(const cornu_model *model, char **out)
{
    text t = {0};
    if (!model || !out)
        return status_fail(
            CORNU_INVALID,
            "cornu_model_summary: found NULL; expected a model and a place for text");
    *out = NULL;
    model_summary_table(model, &t);
    cornu_status status = pixel_range(model, &t);
    if (status == CORNU_OK && model->compiled)
        status = memory_numbers(model, model->batch ? model->batch : 32, &t);
    if (status == CORNU_OK)
        return text_take(&t, out);
    text_free(&t);
    return status;
}
