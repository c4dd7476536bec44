#include "base/memory.h"
#include "train/running.h"
#include <math.h>
#include <stdlib.h>

/* A batch of inputs one after another: its own block, so that the index never changes. */
static cornu_status predict_batch(session *s, const float *inputs, int64_t batch,
                                  const int64_t *index, float *outputs, int64_t output_size)
{
    session_plan *ready;
    TRY(session_plan_for(s, PLAN_PREDICT, batch, false, &ready));
    const cornu_model *model = ready->plan->model;
    sample_block block = {
        .count = batch, .x_shape = model->input, .x_type = SAMPLE_F32, .x = inputs, .x_scale = 1};
    TRY(session_step(s, ready, &block, index));
    device *d = session_device(s);
    return d->ops->read(d, ready->prepared, ready->plan->output, outputs, batch * output_size);
}

static cornu_status predict_steps(session *s, const cornu_run_options *o, const float *inputs,
                                  int64_t count, int64_t batch, const int64_t *index,
                                  float *outputs)
{
    const cornu_model *model = session_model(s);
    int64_t input_size = shape_elements(&model->input),
            output_size = shape_elements(&model->output);
    int64_t steps = (count - 1) / batch + 1;
    double began = clock_seconds(), shown = began - 1;
    for (int64_t step = 0; step < steps; step++) {
        int64_t first = step * batch, left = count - first;
        TRY(predict_batch(s, inputs + first * input_size, left < batch ? left : batch, index,
                          outputs + first * output_size, output_size));
        double now = clock_seconds();
        if (o->on_step && (step + 1 == steps || now - shown >= PROGRESS_SECONDS)) {
            cornu_progress progress = {.epochs = 1,
                                       .step = step + 1,
                                       .steps = steps,
                                       .seconds = now - began,
                                       .step_loss = NAN};
            shown = now;
            o->on_step(o->user, &progress);
        }
        if (step + 1 < steps && o->should_stop && o->should_stop(o->user))
            return status_fail(CORNU_STOPPED, "predict: stopped after step %jd of %jd",
                               (intmax_t)(step + 1), (intmax_t)steps);
    }
    return CORNU_OK;
}

cornu_status session_predict(session *s, const cornu_run_options *o, const float *inputs,
                             int64_t count, int64_t batch, float *outputs)
{
    int64_t *index;
    if (batch > INT32_MAX)
        return status_fail(CORNU_INVALID, "batch: found %jd; expected 1 to %d", (intmax_t)batch,
                           INT32_MAX);
    TRY(memory_new((size_t)batch, sizeof *index, "order of the samples", &index));
    session_order(0, 0, false, batch, index);
    cornu_status status = predict_steps(s, o, inputs, count, batch, index, outputs);
    device *d = session_device(s);
    cornu_status done = d->ops->synchronize(d); /* it may still read the index */
    free(index);
    return status == CORNU_OK ? done : status;
}

cornu_status cornu_predict(cornu_model *model, const float *inputs, int64_t count,
                           const cornu_run_options *options, float *outputs)
{
    static const cornu_run_options defaults;
    const cornu_run_options *o = options ? options : &defaults;
    if (!model || !inputs || !outputs)
        return status_fail(CORNU_INVALID,
                           "cornu_predict: found NULL; expected model, inputs and outputs");
    if (count <= 0)
        return status_fail(CORNU_INVALID, "count: found %jd samples; expected at least one",
                           (intmax_t)count);
    TRY(CHECK_RESERVE("cornu_run_options", o));
    if (o->batch < 0 || o->batch > INT32_MAX)
        return status_fail(CORNU_INVALID, "batch: found %jd; expected at least 1",
                           (intmax_t)o->batch);
    if (!model->initialized && model->training.position.seed == 0)
        TRY(model_default_seed(model, &model->training.position.seed));
    int64_t batch = o->batch ? o->batch : model->batch ? model->batch : 32;
    batch = batch < count ? batch : count;
    session *s;
    TRY(session_open(model,
                     &(session_options){.device = o->device,
                                        .precision = o->precision,
                                        .exact_convolution = o->exact_convolution,
                                        .threads = o->threads},
                     &s));
    cornu_status status = session_predict(s, o, inputs, count, batch, outputs);
    session_close(s);
    return status;
}
