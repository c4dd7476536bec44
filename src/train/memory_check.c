/* What evaluating and predicting would take, asked before anything is read or allocated. */
#include "base/memory.h"
#include "train/running.h"

/* Has the device memory of its own? It refuses then by itself what does not fit there. */
static cornu_status has_own_memory(const char *name, bool *own)
{
    device_id id;
    cornu_device_info info = {.threads = 0};
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
                              double floats, const cornu_run_options *o, const char *what)
{
    bool own;
    memory_need need = {0};
    session_options options = {.device = o ? o->device : NULL,
                               .precision = o ? o->precision : NULL,
                               .exact_convolution = o && o->exact_convolution};
    if (o)
        TRY(CHECK_RESERVE("cornu_run_options", o));
    TRY(has_own_memory(options.device, &own));
    if (!own)
        TRY(session_memory(model, &options, mode, batch, &need));
    if (!model->initialized)
        need.variables *= 2; /* the model's, and the device's */
    return check_free(what, floats * sizeof(float), &need);
}

static int64_t batch_of(const cornu_model *model, const cornu_run_options *o)
{
    return o && o->batch > 0 ? o->batch : model->batch > 0 ? model->batch : 32;
}

cornu_status cornu_predict_check(const cornu_model *model, int64_t count,
                                 const cornu_run_options *options)
{
    char what[192], shown[128];
    if (!model || count < 1)
        return status_fail(
            CORNU_INVALID,
            "cornu_predict_check: found %jd samples; expected a model and at least 1",
            (intmax_t)count);
    int64_t batch = batch_of(model, options);
    batch = batch < count ? batch : count;
    double each = (double)shape_elements(&model->input) + (double)shape_elements(&model->output);
    int length =
        snprintf(what, sizeof what, "predicting %jd %s of %s", (intmax_t)count,
                 PLURAL(count, "sample", "samples"), shape_show(&model->input, false, shown));
    if (batch > 1)
        snprintf(what + length, sizeof what - (size_t)length, " with batch %jd", (intmax_t)batch);
    return check_run(model, PLAN_PREDICT, batch, (double)count * each, options, what);
}

cornu_status cornu_evaluate_check(const cornu_model *model, const cornu_run_options *options)
{
    char what[192], shown[128];
    if (!model)
        return status_fail(CORNU_INVALID, "cornu_evaluate_check: found NULL; expected a model");
    snprintf(what, sizeof what, "evaluating samples of %s one by one",
             shape_show(&model->input, false, shown));
    return check_run(model, PLAN_EVALUATE, 1, 0, options, what);
}

cornu_status cornu_fit_memory(const cornu_model *model, const cornu_fit_options *o, int64_t *bytes)
{
    bool own;
    memory_need need;
    if (!model || !bytes)
        return status_fail(CORNU_INVALID, "cornu_fit_memory: found no %s; expected one",
                           model ? "place for the number" : "model");
    if (o)
        TRY(CHECK_RESERVE("cornu_fit_options", o));
    session_options options = {.device = o ? o->device : NULL,
                               .precision = o ? o->precision : NULL,
                               .exact_convolution = o && o->exact_convolution};
    int64_t batch = o && o->batch > 0 ? o->batch : batch_of(model, NULL);
    TRY(has_own_memory(options.device, &own));
    TRY(session_memory(model, &options, PLAN_TRAIN, batch, &need));
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
