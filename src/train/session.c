#include "train/session.h"
#include "base/memory.h"
#include <stdlib.h>

struct session {
    cornu_model *model;
    device *device;
    device_id id;
    augmentation augment;
    standardization standardize;
    bool exact_convolution, recompute;
    cornu_draws draws; /* of predictions, by `seed` and `draw` */
    uint64_t seed;
    int64_t draw;
    session_plan **plans; /* each stays where it is: callers hold on to them */
    size_t plan_count, plan_capacity;
    int64_t pass;               /* < 0: the model's epoch */
    distribution *distribution; /* of training plans; NULL: none */
    called_metrics called;
    bool continues; /* the pass that metrics of the caller's own are over has begun */
    double values[MODEL_METRICS_MAX]; /* of these metrics, one after another */
    double given[MODEL_METRICS_MAX];  /* their sums in results of this pass that were reset */
    int64_t called_samples;           /* of this pass */
    float *outputs, *targets;         /* of a batch, for them */
    size_t outputs_capacity, targets_capacity;
    live_weights live;
};

static cornu_status check_variables(const cornu_model *model)
{
    if (model->layer_count < 2) /* the first is the InputLayer */
        return status_fail(CORNU_INVALID, "model: found no layers; expected at least one");
    return CORNU_OK;
}

cornu_status session_open(cornu_model *model, const session_options *options, session **out)
{
    *out = NULL;
    device_id id;
    device_options opened = {.threads = options->where.threads, .tuning = options->tuning};
    TRY(check_variables(model));
    TRY(device_precision_find(options->where.precision, &opened.precision));
    TRY(device_find(options->where.device, &id));
    if (model->live) /* within a callback of its training */
        TRY(model->live->pull(model->live->context, 0, model->weight_count));
    session *s;
    TRY(memory_new(1, sizeof *s, "session", &s));
    s->model = model;
    s->id = id;
    s->augment = options->augment;
    s->exact_convolution = options->where.exact_convolution;
    s->recompute = options->recompute;
    s->draws = options->draws;
    s->seed = options->seed;
    s->draw = options->draw;
    s->pass = -1;
    bool drawn = false;
    cornu_status status = data_standardization(model, &s->standardize);
    if (status == CORNU_OK)
        status = id.ops->open(id.number, &opened, &s->device);
    if (status == CORNU_OK && !model->initialized) {
        position kept = model->training.position; /* model_initialize keeps only the seed of it */
        status = model_initialize(model, kept.seed);
        model->training.position = kept;
        drawn = status == CORNU_OK;
    }
    if (status == CORNU_OK)
        status = s->device->ops->bind(s->device, model);
    if (status == CORNU_OK) {
        *out = s;
        return CORNU_OK;
    }
    if (drawn)
        model->initialized = false; /* as it was */
    session_close(s);
    return status;
}

void session_release_plans(session *s)
{
    for (size_t i = 0; i < s->plan_count; i++) {
        if (s->plans[i]->prepared)
            s->device->ops->release(s->device, s->plans[i]->prepared);
        plan_free(s->plans[i]->plan);
        free(s->plans[i]);
    }
    s->plan_count = 0;
}

void session_close(session *s)
{
    if (!s)
        return;
    if (s->model->live == &s->live)
        s->model->live = NULL;
    session_release_plans(s);
    free(s->plans);
    free(s->outputs);
    free(s->targets);
    if (s->device)
        s->device->ops->close(s->device);
    free(s);
}

static cornu_status pull(void *context, int begin, int end)
{
    return session_pull(context, begin, end);
}

static cornu_status push(void *context, int index)
{
    session *s = context;
    const variable *v = &s->model->variables[index];
    return s->device->ops->write_variable(s->device, index, v->value, v->count);
}

cornu_status session_check_free(const cornu_model *model)
{
    TRY(model_check_free(model));
    return training_state_check_slots(&model->training);
}

static cornu_status read_variable(void *context, int index, float *values, int64_t count)
{
    return session_read_variable(context, index, values, count);
}

void session_own_weights(session *s)
{
    s->live = (live_weights){.pull = pull, .push = push, .read = read_variable, .context = s};
    s->model->live = &s->live;
}

device *session_device(const session *s)
{
    return s->device;
}

device_id session_device_id(const session *s)
{
    return s->id;
}

cornu_status session_tuning(const session *s, device_tuning *out)
{
    *out = (device_tuning){.text = ""};
    return s->device->ops->tuning ? s->device->ops->tuning(s->device, out) : CORNU_OK;
}

cornu_model *session_model(const session *s)
{
    return s->model;
}

void session_set_pass(session *s, int64_t pass)
{
    s->pass = pass;
}

/* ---- plans ------------------------------------------------------------------------------ */

static session_plan *find_plan(const session *s, const plan_options *o)
{
    for (size_t i = 0; i < s->plan_count; i++) {
        const plan *p = s->plans[i]->plan;
        if (p->mode == o->mode && p->scope == o->scope && p->batch == o->batch &&
            p->weighted == o->weighted)
            return s->plans[i];
    }
    return NULL;
}

/* The plan for these options, which equal the session's except mode, part, batch and weights. */
static cornu_status plan_of(session *s, plan_options options, session_plan **out)
{
    *out = find_plan(s, &options);
    if (*out)
        return CORNU_OK;
    TRY(memory_grow(&s->plans, &s->plan_capacity, s->plan_count + 1, sizeof *s->plans));
    session_plan *made;
    TRY(memory_new(1, sizeof *made, "plan", &made));
    options.augment = s->augment;
    options.standardize = s->standardize;
    options.exact_convolution = s->exact_convolution;
    options.recompute = s->recompute;
    options.draws = s->draws;
    cornu_status status = plan_build(s->model, &options, &made->plan);
    if (status == CORNU_OK && s->distribution)
        status = distribute(s->distribution, made->plan);
    if (status == CORNU_OK)
        status = s->device->ops->prepare(s->device, made->plan, &made->prepared);
    if (status != CORNU_OK) {
        plan_free(made->plan);
        free(made);
        return status;
    }
    s->plans[s->plan_count++] = made;
    *out = made;
    return CORNU_OK;
}

cornu_status session_plan_for(session *s, plan_mode mode, int64_t batch, weighting weighted,
                              session_plan **out)
{
    return plan_of(s, (plan_options){.mode = mode, .batch = batch, .weighted = weighted}, out);
}

cornu_status session_plan_scope(session *s, plan_scope scope, int64_t batch, weighting weighted,
                                session_plan **out)
{
    return plan_of(
        s, (plan_options){.mode = PLAN_TRAIN, .scope = scope, .batch = batch, .weighted = weighted},
        out);
}

void session_distribute(session *s, distribution *d)
{
    s->distribution = d;
}

/* ---- steps ------------------------------------------------------------------------------ */

double learning_rate_at(const cornu_model *model, int64_t iteration)
{
    return schedule_at(&model->optimizer.learning_rate, iteration) *
           model->training.position.learning_rate_factor;
}

double session_learning_rate(const cornu_model *model)
{
    return learning_rate_at(model, model->training.position.iterations);
}

static step_input input_of(const session *s, const session_plan *ready, const sample_block *samples,
                           const int64_t *index, int64_t first)
{
    const position *p = &s->model->training.position;
    bool train = ready->plan->mode == PLAN_TRAIN;
    bool draws = !train && s->draws != CORNU_DRAW_NONE;
    return (step_input){.samples = samples,
                        .index = index,
                        .seed = draws ? s->seed : p->seed,
                        .iteration = draws ? s->draw : p->iterations,
                        .first = first,
                        .epoch = s->pass < 0 ? p->epoch : s->pass,
                        .learning_rate = train ? (float)session_learning_rate(s->model) : 0};
}

cornu_status session_run(session *s, session_plan *ready, const sample_block *samples,
                         const int64_t *index, int64_t first)
{
    const step_input input = input_of(s, ready, samples, index, first);
    return s->device->ops->run(s->device, ready->prepared, &input, 1);
}

void session_advance(session *s)
{
    s->model->training.position.iterations++;
    s->model->has_trained = true;
}

/* ---- metrics of the caller's own --------------------------------------------------------- */

called_metrics session_call_metrics(session *s, called_metrics by)
{
    const called_metrics before = s->called;
    s->called = by;
    return before;
}

static cornu_status read_rows(const session *s, const session_plan *ready, tensor_ref t,
                              float **values, size_t *capacity, int64_t *columns)
{
    const int64_t count = ready->plan->tensors[t].count;
    *columns = count / ready->plan->batch;
    TRY(memory_grow(values, capacity, (size_t)count, sizeof **values));
    return s->device->ops->read(s->device, ready->prepared, t, *values, count);
}

static cornu_status call_metrics(session *s, const session_plan *ready)
{
    const plan *p = ready->plan;
    cornu_batch_outputs batch = {.begins = !s->continues, .count = p->batch, .values = s->values};
    if (p->mode == PLAN_PREDICT || !model_calls_metrics(s->model))
        return CORNU_OK;
    for (int i = 0; i < s->model->metric_count; i++)
        if (s->model->metrics[i].called) {
            batch.value_count++;
            if (!s->called.on_outputs)
                return status_fail(
                    CORNU_UNSUPPORTED,
                    "metric %s: is one of the caller's own, as a function of Python's is; "
                    "expected its program, or a compile section without it",
                    metric_name(&s->model->metrics[i]));
        }
    TRY(read_rows(s, ready, p->output, &s->outputs, &s->outputs_capacity, &batch.output_size));
    TRY(read_rows(s, ready, p->target, &s->targets, &s->targets_capacity, &batch.target_size));
    batch.outputs = s->outputs;
    batch.targets = s->targets;
    if (batch.begins) {
        s->called_samples = 0;
        memset(s->given, 0, sizeof s->given);
    }
    s->continues = true;
    s->called_samples += batch.count;
    s->called.on_outputs(s->called.user, &batch);
    return CORNU_OK;
}

/* Their values stand where the device has sums of others, whose mean is over samples. */
static void fill_called(session *s, step_results *out, bool reset)
{
    int number = 0;
    for (int i = 0; i < s->model->metric_count; i++) {
        if (!s->model->metrics[i].called)
            continue;
        const double sum = s->values[number] * (double)s->called_samples;
        out->metrics[s->model->metrics[i].slot] = sum - s->given[number];
        if (reset)
            s->given[number] = sum;
        number++;
    }
}

void session_continue_metrics(session *s)
{
    s->continues = true;
}

/* ---- steps and their results ------------------------------------------------------------- */

static void end_step(session *s, const session_plan *ready)
{
    if (ready->plan->mode == PLAN_TRAIN)
        session_advance(s);
}

cornu_status session_step(session *s, session_plan *ready, const sample_block *samples,
                          const int64_t *index)
{
    TRY(session_run(s, ready, samples, index, 0));
    end_step(s, ready);
    return call_metrics(s, ready);
}

cornu_status session_time_step(session *s, session_plan *ready, const sample_block *samples,
                               const int64_t *index, double *seconds)
{
    const step_input input = input_of(s, ready, samples, index, 0);
    TRY(s->device->ops->time_operations(s->device, ready->prepared, &input, seconds));
    end_step(s, ready);
    return CORNU_OK;
}

cornu_status session_results(session *s, step_results *out, bool reset)
{
    TRY(s->device->ops->results(s->device, out, reset));
    fill_called(s, out, reset);
    if (reset)
        s->continues = false;
    return CORNU_OK;
}

cornu_status session_read_variable(session *s, int number, float *values, int64_t count)
{
    if (number >= s->model->weight_count)
        TRY(training_state_check_slots(&s->model->training));
    return s->device->ops->read_variable(s->device, number, values, count);
}

cornu_status session_pull(session *s, int begin, int end)
{
    const cornu_model *m = s->model;
    for (int i = begin; i < end; i++)
        TRY(session_read_variable(s, i, m->variables[i].value, m->variables[i].count));
    return CORNU_OK;
}

cornu_status session_memory(const cornu_model *model, const session_options *options,
                            plan_mode mode, int64_t batch, memory_need *need)
{
    const cornu_where where = options ? options->where : (cornu_where){.device = NULL};
    device_id id;
    device_options opened = {.threads = 1};
    device *d = NULL;
    plan *p = NULL;
    cornu_status status;
    plan_options planned = {.mode = mode,
                            .batch = batch,
                            .exact_convolution = where.exact_convolution,
                            .recompute = options && options->recompute};
    *need = (memory_need){0};
    TRY(check_variables(model));
    TRY(device_precision_find(where.precision, &opened.precision));
    TRY(device_find(where.device, &id));
    TRY(plan_build(model, &planned, &p));
    need->variables = (int64_t)p->variable_bytes;
    for (int i = 0; i < model->weight_count; i++)
        need->copy += model->variables[i].count * (int64_t)sizeof(float);
    TRY_GOTO(id.ops->open(id.number, &opened, &d));
    TRY_GOTO(d->ops->buffer_bytes(d, p, &need->buffers));
done:
    if (d)
        d->ops->close(d);
    plan_free(p);
    return status;
}
