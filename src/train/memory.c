/* The cost of a model: its summary with Keras's table and the cost of a training step; and
   checks that there is enough memory before anything is read or allocated. */
#include "base/memory.h"
#include "model/model.h"
#include "train/evaluate.h"
#include "train/fit_spec.h"
#include "train/session.h"
#include <cornu/tables.h>
#include <cornu/trainer.h>

static cornu_status step_numbers(const cornu_model *model, int64_t batch, text *t)
{
    plan *p;
    char moved[16];
    plan_options options = {.mode = PLAN_TRAIN, .batch = batch};
    TRY(model_recomputes(model, false, &options.recompute));
    TRY(plan_build(model, &options, &p));
    text_add(t, " A training step of %jd %s: %.4g GFLOP, %s read and written\n", (intmax_t)batch,
             PLURAL(batch, "sample", "samples"), p->flops * 1e-9, memory_human(p->bytes, moved));
    plan_free(p);
    return CORNU_OK;
}

/* At the end the model also gets the slots, but by then the buffers have been freed. */
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
    session_options options = {.recompute = false};
    TRY(model_recomputes(model, false, &options.recompute));
    TRY(session_memory(model, &options, PLAN_TRAIN, batch, &need));
    for (int i = 0; i < model->node_count; i++)
        if (!layer_is_input(model->nodes[i].layer->kind))
            activations += (double)shape_elements(&model->nodes[i].out) * sizeof(float);
    text_add(t, " Parameters: %s; activations: %s per sample\n",
             memory_human((double)need.copy, parameters), memory_human(activations, shown));
    TRY(step_numbers(model, batch, t));
    add_need(&need, t);
    return CORNU_OK;
}

/* The range of the first layer's inputs from uint8 pixels, as in data_samples_for. */
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
    return cornu_model_summary_as(model, NULL, out);
}

cornu_status cornu_model_summary_as(const cornu_model *model, const cornu_summary_options *options,
                                    char **out)
{
    text t = {0};
    cornu_summary_options own;
    if (!model || !out)
        return status_fail(
            CORNU_INVALID,
            "cornu_model_summary: found NULL; expected a model and a place for text");
    *out = NULL;
    TRY(STRUCT_READ("cornu_summary_options", options, &own));
    model_summary_table(model, own.expand_nested, &t);
    cornu_status status = pixel_range(model, &t);
    if (status == CORNU_OK && model->compiled)
        status = memory_numbers(model, model->batch ? model->batch : 32, &t);
    if (status == CORNU_OK)
        return text_take(&t, out);
    text_free(&t);
    return status;
}

/* ---- memory checks ---------------------------------------------------------------------- */

/* True if the device has its own memory; it then refuses by itself what does not fit. */
static cornu_status has_own_memory(const char *name, bool *own)
{
    device_id id;
    cornu_device_info info = {.size = sizeof info, .threads = 0};
    TRY(device_find(name, &id));
    id.ops->describe(id.number, &info);
    *own = *info.bus_id != 0;
    return CORNU_OK;
}

static cornu_status check_free(const char *what, double samples, const memory_need *need)
{
    char all[16], x[16], weights[16], buffers[16], left[16], own[64] = "";
    double needed = samples + (double)need->variables + (double)need->buffers;
    int64_t available = memory_available();
    if (available < 0 || needed <= (double)available)
        return CORNU_OK;
    if (samples > 0)
        snprintf(own, sizeof own, "inputs and outputs %s, ", memory_human(samples, x));
    return status_fail(
        CORNU_OUT_OF_MEMORY, "%s: needs %s of memory (%sweights %s, buffers %s); %s is free", what,
        memory_human(needed, all), own, memory_human((double)need->variables, weights),
        memory_human((double)need->buffers, buffers), memory_human((double)available, left));
}

/* `floats`: of the caller's inputs and outputs. */
static cornu_status check_run(const cornu_model *model, plan_mode mode, int64_t batch,
                              double floats, const cornu_where *where, const char *what)
{
    bool own;
    memory_need need = {0};
    const session_options options = {.where = *where};
    TRY(has_own_memory(where->device, &own));
    if (!own)
        TRY(session_memory(model, &options, mode, batch, &need));
    if (!model->initialized)
        need.variables *= 2; /* the model's, and the device's */
    return check_free(what, floats * sizeof(float), &need);
}

static int64_t batch_of(const cornu_model *model, int64_t asked)
{
    return asked > 0 ? asked : model->batch > 0 ? model->batch : 32;
}

cornu_status cornu_predict_check(const cornu_model *model, int64_t count,
                                 const cornu_run_options *options)
{
    char what[192], shown[128];
    cornu_run_options o;
    if (!model || count < 1)
        return status_fail(
            CORNU_INVALID,
            "cornu_predict_check: found %jd samples; expected a model and at least 1",
            (intmax_t)count);
    TRY(STRUCT_READ("cornu_run_options", options, &o));
    int64_t batch = batch_of(model, o.batch);
    batch = batch < count ? batch : count;
    double each = (double)shape_elements(&model->input) + (double)shape_elements(&model->output);
    int length =
        snprintf(what, sizeof what, "predicting %jd %s of %s", (intmax_t)count,
                 PLURAL(count, "sample", "samples"), shape_show(&model->input, false, shown));
    if (batch > 1)
        snprintf(what + length, sizeof what - (size_t)length, " with batch %jd", (intmax_t)batch);
    return check_run(model, PLAN_PREDICT, batch, (double)count * each, &o.where, what);
}

cornu_status cornu_evaluate_check(const cornu_model *model, const cornu_run_options *options)
{
    char what[192], shown[128];
    cornu_run_options o;
    if (!model)
        return status_fail(CORNU_INVALID, "cornu_evaluate_check: found NULL; expected a model");
    TRY(STRUCT_READ("cornu_run_options", options, &o));
    snprintf(what, sizeof what, "evaluating samples of %s one by one",
             shape_show(&model->input, false, shown));
    return check_run(model, PLAN_EVALUATE, 1, 0, &o.where, what);
}

cornu_status cornu_fit_memory(const cornu_model *model, const cornu_fit_options *options,
                              int64_t *bytes)
{
    cornu_fit_options o;
    bool own;
    memory_need need;
    if (!model || !bytes)
        return status_fail(CORNU_INVALID, "cornu_fit_memory: found no %s; expected one",
                           model ? "place for the number" : "model");
    TRY(STRUCT_READ("cornu_fit_options", options, &o));
    session_options of = {.where = o.where};
    TRY(model_recomputes(model, o.recompute, &of.recompute));
    TRY(has_own_memory(o.where.device, &own));
    TRY(session_memory(model, &of, PLAN_TRAIN, batch_of(model, o.batch), &need));
    *bytes = need.copy + (own ? 0 : need.variables + 2 * need.buffers);
    return CORNU_OK;
}

cornu_status cornu_memory_check(const char *what, int64_t bytes)
{
    char need[16], left[16];
    int64_t available = memory_available();
    if (!what || bytes < 0)
        return status_fail(CORNU_INVALID,
                           "cornu_memory_check: found %jd bytes; expected a name "
                           "and at least 0",
                           (intmax_t)bytes);
    if (available < 0 || bytes <= available)
        return CORNU_OK;
    return status_fail(CORNU_OUT_OF_MEMORY, "%s: needs %s of memory; %s is free", what,
                       memory_human((double)bytes, need), memory_human((double)available, left));
}
