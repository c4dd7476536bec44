/* Launches: recorded once as kernels whose arguments are set, enqueued for every step. */
#include "device/opencl/plugin/core.h"
#include "device/opencl/plugin/kernels/shared.h"
#include "device/opencl/plugin/libraries.h"
#include <math.h>
#include <stdlib.h>

/* The address of the results of step `number`. */
static gpu_address result_at(const opencl *d, int64_t number)
{
    return d->core->results.at +
           (uint64_t)(number % OPENCL_RESULTS) * RESULT_FLOATS * sizeof(float);
}

/* ---- arguments --------------------------------------------------------------------------------
 */

typedef struct argument_setter {
    const opencl *d;
    cl_kernel kernel;
    cl_uint index; /* index of the next argument */
} argument_setter;

static cornu_status set(argument_setter *s, const void *value, size_t bytes)
{
    return CL(s->d, clSetKernelArg(s->kernel, s->index++, bytes, value));
}

static cornu_status set_address(argument_setter *s, gpu_address at)
{
    size_t offset;
    cl_mem buffer = opencl_buffer_of(s->d, at, &offset);
    cl_ulong bytes = offset;
    TRY(set(s, &buffer, sizeof buffer));
    return set(s, &bytes, sizeof bytes);
}

static cornu_status set_step(argument_setter *s, opencl_step_field field, int64_t number)
{
    const gpu_step *step = &s->d->g.state->queue.steps[number % GPU_QUEUE];
    cl_int x_bytes = step->x_bytes, y_labels = step->y_labels;
    switch (field) {
    case STEP_X:
        return set_address(s, step->x);
    case STEP_Y:
        return set_address(s, step->y);
    case STEP_WEIGHT:
        return set_address(s, step->weight);
    case STEP_INDEX:
        return set_address(s, step->index);
    case STEP_SAMPLE:
        return set_address(s, step->sample);
    case STEP_RESULTS:
        return set_address(s, result_at(s->d, number));
    case STEP_SEED:
        return set(s, &step->seed, sizeof step->seed);
    case STEP_ITERATION:
        return set(s, &step->iteration, sizeof step->iteration);
    case STEP_EPOCH:
        return set(s, &step->epoch, sizeof step->epoch);
    case STEP_FIRST:
        return set(s, &step->first, sizeof step->first);
    case STEP_LEARNING_RATE:
        return set(s, &step->learning_rate, sizeof step->learning_rate);
    case STEP_ALPHA:
        return set(s, &step->factors.alpha, sizeof step->factors.alpha);
    case STEP_GRADIENT_ALPHA:
        return set(s, &step->factors.gradient_alpha, sizeof step->factors.gradient_alpha);
    case STEP_EPSILON:
        return set(s, &step->factors.epsilon, sizeof step->factors.epsilon);
    case STEP_X_SCALE:
        return set(s, &step->x_scale, sizeof step->x_scale);
    case STEP_X_BYTES:
        return set(s, &x_bytes, sizeof x_bytes);
    case STEP_Y_LABELS:
        return set(s, &y_labels, sizeof y_labels);
    }
    return CORNU_OK;
}

/* All but OPENCL_STEP, which are noted in *c. */
static cornu_status set_arguments(argument_setter *s, opencl_command *c,
                                  const opencl_argument *arguments, int count)
{
    for (int i = 0; i < count; i++) {
        const opencl_argument *a = &arguments[i];
        switch (a->kind) {
        case OPENCL_ADDRESS:
            TRY(set_address(s, a->address));
            break;
        case OPENCL_INT:
            TRY(set(s, &a->i, sizeof a->i));
            break;
        case OPENCL_LONG:
            TRY(set(s, &a->l, sizeof a->l));
            break;
        case OPENCL_FLOAT:
            TRY(set(s, &a->f, sizeof a->f));
            break;
        case OPENCL_STEP:
            if (c->step_count == OPENCL_STEP_ARGUMENTS_MOST)
                return status_fail(CORNU_INTERNAL, "%s: found more than %d arguments of the step",
                                   opencl_function_name(c->function), OPENCL_STEP_ARGUMENTS_MOST);
            c->steps[c->step_count++] = (opencl_step_argument){s->index, a->field};
            s->index += a->field <= STEP_RESULTS ? 2 : 1;
            break;
        }
    }
    return CORNU_OK;
}

/* ---- one command ------------------------------------------------------------------------------
 */

cornu_status opencl_enqueue(opencl *d, cl_command_queue queue, const opencl_command *c,
                            int64_t step, cl_event *event)
{
    for (int i = 0; i < c->step_count; i++) {
        argument_setter s = {d, c->kernel, c->steps[i].index};
        TRY(set_step(&s, c->steps[i].field, step));
    }
    cl_int error = d->lib->clEnqueueNDRangeKernel(queue, c->kernel, c->dimensions, NULL, c->global,
                                                  c->local, 0, NULL, event);
    if (error == CL_SUCCESS)
        return CORNU_OK;
    cornu_status status = opencl_check_on(d, error, "clEnqueueNDRangeKernel");
    return status_prefix(status, "%s", opencl_function_name(c->function));
}

static void set_grid(opencl_command *c, const opencl_grid *grid)
{
    c->dimensions = 1;
    for (cl_uint i = 0; i < 3; i++) {
        size_t groups = grid->groups[i] ? grid->groups[i] : 1;
        c->local[i] = grid->items[i] ? grid->items[i] : 1;
        c->global[i] = groups * c->local[i];
        if (c->global[i] > 1)
            c->dimensions = i + 1;
    }
}

cornu_status opencl_launch(gpu *g, opencl_function function, opencl_grid grid,
                           const opencl_argument *arguments, int count)
{
    opencl *d = opencl_of(g);
    opencl_recording *r = d->core->recording;
    opencl_command c = {.function = function, .op = r ? r->op : 0};
    argument_setter s = {.d = d};
    set_grid(&c, &grid);
    TRY(opencl_kernel_new(d, function, &c.kernel));
    s.kernel = c.kernel;
    g->launches++;
    cornu_status status = set_arguments(&s, &c, arguments, count);
    if (status != CORNU_OK)
        status =
            status_prefix(status, "%s: argument %u", opencl_function_name(function), s.index - 1);
    if (status == CORNU_OK && r) {
        status = memory_grow(&r->commands, &r->capacity, r->count + 1, sizeof c);
        if (status == CORNU_OK) {
            r->commands[r->count++] = c;
            return CORNU_OK;
        }
    } else if (status == CORNU_OK) {
        status = opencl_enqueue(d, d->queue, &c, 0, NULL);
    }
    (void)d->lib->clReleaseKernel(c.kernel);
    return status;
}

/* ---- results ----------------------------------------------------------------------------------
 */

_Static_assert((int)RESULT_METRICS_MOST >= (int)MODEL_METRICS_MAX, "room for all metrics");

static double number_of(const float *results, int which)
{
    return (double)results[2 * which] + (double)results[2 * which + 1];
}

/* Step by step: as the host adds up what it reads after every step. */
static void add_step(step_results *sums, const float *results)
{
    sums->loss += number_of(results, RESULT_LOSS);
    sums->last_loss = number_of(results, RESULT_MEAN);
    sums->not_finite |= !isfinite(sums->last_loss);
    for (int i = 0; i < MODEL_METRICS_MAX; i++)
        sums->metrics[i] += number_of(results, RESULT_METRICS + i);
}

/* Steps [summed, to), which are finished, into the sums; their entries become 0 for the steps to
   come. They are read by `queue`. */
static cornu_status sum_results(opencl *d, cl_command_queue queue, int64_t to)
{
    opencl_core *c = d->core;
    while (c->summed < to) {
        float results[GPU_QUEUE][RESULT_FLOATS];
        size_t offset;
        int64_t at = c->summed % OPENCL_RESULTS, count = to - c->summed;
        count = count < GPU_QUEUE ? count : GPU_QUEUE;
        count = count < OPENCL_RESULTS - at ? count : OPENCL_RESULTS - at;
        size_t bytes = (size_t)count * sizeof *results;
        gpu_address from = result_at(d, c->summed);
        cl_mem buffer = opencl_buffer_of(d, from, &offset);
        TRY(CL(d,
               clEnqueueReadBuffer(queue, buffer, CL_TRUE, offset, bytes, results, 0, NULL, NULL)));
        TRY(opencl_clear(&d->g, from, bytes));
        for (int64_t i = 0; i < count; i++)
            add_step(&c->sums, results[i]);
        c->summed += count;
    }
    return CORNU_OK;
}

cornu_status opencl_results(gpu *g, step_results *out, bool reset)
{
    opencl *d = opencl_of(g);
    TRY(sum_results(d, d->queue, g->state->queue.launched));
    *out = d->core->sums;
    if (reset)
        d->core->sums = (step_results){0};
    return CORNU_OK;
}

/* ---- a plan's steps ---------------------------------------------------------------------------
 */

cornu_status opencl_resolve(gpu *g, prepared *p)
{
    opencl *d = opencl_of(g);
    opencl_recording *r = NULL;
    cornu_status status = CORNU_OK;
    TRY(memory_new(1, sizeof *r, "recorded step", &r));
    p->resolved = r;
    d->core->recording = r;
    for (r->op = gpu_next_op(p, -1); r->op < p->plan->op_count; r->op = gpu_next_op(p, r->op)) {
        status = gpu_enqueue_op(g, p, r->op);
        if (status != CORNU_OK)
            break;
    }
    d->core->recording = NULL;
    return status;
}

void opencl_recording_free(opencl *d, opencl_recording *r)
{
    for (size_t i = 0; i < r->count; i++)
        (void)d->lib->clReleaseKernel(r->commands[i].kernel);
    free(r->commands);
}

void opencl_forget(gpu *g, prepared *p)
{
    if (p->resolved)
        opencl_recording_free(opencl_of(g), p->resolved);
    free(p->resolved);
    p->resolved = NULL;
}

/* The location for the next kernel's event while the queue is watched; else *out is NULL. */
static cornu_status watch_next(opencl *d, cl_event **out)
{
    opencl_watch *w = &d->core->watch;
    *out = NULL;
    if (!w->before)
        return CORNU_OK;
    TRY(memory_grow(&w->events, &w->capacity, w->count + 1, sizeof *w->events));
    *out = &w->events[w->count++];
    **out = NULL;
    return CORNU_OK;
}

static cornu_status enqueue_commands(opencl *d, const opencl_recording *r, int64_t n)
{
    for (size_t i = 0; i < r->count; i++) {
        cl_event *event;
        TRY(watch_next(d, &event));
        TRY(opencl_enqueue(d, d->queue, &r->commands[i], n, event));
    }
    return CORNU_OK;
}

/* At the first step some drivers compile once more. */
static cornu_status enqueue_step(opencl *d, opencl_recording *r, int64_t n)
{
    opencl_signals signals;
    if (r->has_run)
        return enqueue_commands(d, r, n);
    opencl_signals_keep(&signals);
    cornu_status status = enqueue_commands(d, r, n);
    opencl_signals_restore(&signals);
    r->has_run = true;
    return status;
}

cornu_status opencl_launch_steps(gpu *g, prepared *p, int64_t first, int64_t count)
{
    opencl *d = opencl_of(g);
    opencl_recording *r = p->resolved;
    for (int64_t n = first; n < first + count; n++) {
        if (n - d->core->summed >= OPENCL_RESULTS)
            TRY(sum_results(d, d->copies, n - GPU_QUEUE));
        TRY(enqueue_step(d, r, n));
        d->core->sums.samples += p->plan->batch;
        TRY(CL(d, clFlush(d->queue)));
    }
    return CORNU_OK;
}

cornu_status opencl_count_launches(gpu *g, prepared *p, int i, int *launches)
{
    const opencl_recording *r = p->resolved;
    (void)g;
    *launches = 0;
    for (size_t k = 0; k < r->count; k++)
        *launches += r->commands[k].op == i;
    return CORNU_OK;
}
