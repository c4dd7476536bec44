/* The queue of steps. run() puts a step's inputs into a ring and returns. Steps are launched at
   once if the device is idle, else in bursts: the host stays ahead and only waits for a full
   ring. The inputs of steps are copied concurrently with the device's other work. */
#include "device/accelerator/core.h"
#include "device/gather_sample.h"
#include "device/optimizer_step.h"
#include <stdio.h>
#include <string.h>

enum {
    NUMBERS_BYTES = 8 << 20, /* the ring of sample numbers is shortened to this */
    DEPTH_LEAST = 4
};

/* ---- memory ------------------------------------------------------------------------------ */

static int depth_for(int64_t batch)
{
    int64_t depth = NUMBERS_BYTES / ((int64_t)sizeof(int64_t) * batch);
    return depth < DEPTH_LEAST ? DEPTH_LEAST : depth > GPU_QUEUE ? GPU_QUEUE : (int)depth;
}

size_t gpu_queue_bytes(int64_t batch)
{
    batch = batch > 0 ? batch : 1;
    return (size_t)(depth_for(batch) + 1) * (size_t)batch * sizeof(int64_t);
}

void gpu_queue_give_back(gpu *g)
{
    gpu_queue *q = &g->state->queue;
    gpu_pinned_free(g, q->host_numbers);
    gpu_memory_free(g, &q->numbers);
    q->host_numbers = NULL;
    q->capacity = 0;
}

void gpu_queue_close(gpu *g)
{
    gpu_queue_give_back(g);
    g->state->queue = (gpu_queue){0};
}

/* The rows of a staged batch are its samples in order: 0, 1, ..., stored after the ring. */
static cornu_status write_rows(gpu *g)
{
    gpu_queue *q = &g->state->queue;
    for (int64_t i = 0; i < q->capacity; i++)
        q->host_numbers[i] = i;
    size_t bytes = (size_t)q->capacity * sizeof(int64_t);
    return gpu_upload(g, q->numbers.at + (size_t)q->depth * bytes, q->host_numbers, bytes);
}

cornu_status gpu_queue_reserve(gpu *g, int64_t batch)
{
    gpu_queue *q = &g->state->queue;
    batch = batch > 0
                ? batch
                : 1; /* a plan with only updates reads no samples, but waits in the same ring */
    if (batch <= q->capacity)
        return CORNU_OK;
    TRY(gpu_drain(g));
    gpu_queue_give_back(g);
    int depth = depth_for(batch);
    size_t ring = (size_t)depth * (size_t)batch * sizeof(int64_t);
    TRY(gpu_memory_new(g, gpu_queue_bytes(batch), "numbers of samples", &q->numbers));
    TRY(gpu_pinned_new(g, ring, "numbers of samples", (void *)&q->host_numbers));
    q->depth = depth;
    q->capacity = batch;
    return write_rows(g);
}

/* ---- waiting ----------------------------------------------------------------------------- */

/* Wait until steps before number `step` are finished; they have been launched. */
static cornu_status wait_for(gpu *g, int64_t step)
{
    gpu_queue *q = &g->state->queue;
    if (step <= q->finished)
        return CORNU_OK;
    int64_t end = q->end[(step - 1) % GPU_QUEUE];
    TRY(g->driver->wait(g, (int)((end - 1) % GPU_QUEUE)));
    q->finished = end;
    return CORNU_OK;
}

/* Test whether the device is idle. */
static cornu_status look_whether_idle(gpu *g, bool *idle)
{
    gpu_queue *q = &g->state->queue;
    *idle = true;
    if (q->finished == q->launched)
        return CORNU_OK;
    TRY(g->driver->reached(g, (int)((q->launched - 1) % GPU_QUEUE), idle));
    if (*idle)
        q->finished = q->launched;
    return CORNU_OK;
}

cornu_status gpu_drain(gpu *g)
{
    gpu_queue *q = &g->state->queue;
    if (g->state->lost[0])
        return status_fail(CORNU_DEVICE, "%s", g->state->lost);
    TRY(gpu_flush(g));
    TRY(g->driver->synchronize(g));
    q->finished = q->launched;
    return CORNU_OK;
}

/* ---- launching --------------------------------------------------------------------------- */

cornu_status gpu_copy_ring(gpu *g, gpu_address ring, const void *host, size_t bytes, int length,
                           int64_t from, int64_t to)
{
    while (from < to) {
        int64_t at = from % length;
        int64_t count = to - from < length - at ? to - from : length - at;
        size_t offset = (size_t)at * bytes;
        TRY(g->driver->copy_in(g, ring + offset, (const unsigned char *)host + offset,
                               (size_t)count * bytes, true));
        from += count;
    }
    return CORNU_OK;
}

static cornu_status copy_inputs(gpu *g)
{
    gpu_queue *q = &g->state->queue;
    size_t row = (size_t)q->capacity * sizeof(int64_t);
    if (!q->plan->gathers)
        return CORNU_OK;
    TRY(gpu_copy_ring(g, q->numbers.at, q->host_numbers, row, q->depth, q->launched, q->queued));
    return g->driver->join(g);
}

static cornu_status mark_launched(gpu *g)
{
    gpu_queue *q = &g->state->queue;
    TRY(g->driver->mark(g, (int)((q->queued - 1) % GPU_QUEUE)));
    for (int64_t i = q->launched; i < q->queued; i++)
        q->end[i % GPU_QUEUE] = q->queued;
    q->launched = q->queued;
    return CORNU_OK;
}

/* Only the driver knows the additional memory of a kernel. */
static cornu_status advise(const gpu *g, cornu_status status)
{
    if (status != CORNU_OUT_OF_MEMORY)
        return status;
    char why[512];
    snprintf(why, sizeof why, "%s", cornu_last_error());
    return status_fail(status, "%s; a smaller batch than %lld may fit", why,
                       (long long)g->state->queue.plan->plan->batch);
}

/* Host and device count steps alike; where one could not be launched they no longer do, and the
   device's use ends. */
cornu_status gpu_flush(gpu *g)
{
    gpu_queue *q = &g->state->queue;
    if (q->launched == q->queued)
        return CORNU_OK;
    cornu_status status = copy_inputs(g);
    if (status == CORNU_OK)
        status = g->driver->launch_steps(g, q->plan, q->launched, q->queued - q->launched);
    if (status == CORNU_OK)
        status = mark_launched(g);
    return status == CORNU_OK ? CORNU_OK : gpu_lose(g, advise(g, status));
}

/* ---- one step ---------------------------------------------------------------------------- */

static cornu_status check_step(gpu *g, prepared *p, const step_input *input)
{
    if (p->needs_model && g->state->model != p->plan->model)
        return status_fail(CORNU_INTERNAL, "device %s: the plan's model is not bound", g->name);
    return p->gathers ? gather_check(p->plan, input) : CORNU_OK;
}

/* Wait until fewer than `depth` steps are on their way. */
static cornu_status make_room(gpu *g, int depth)
{
    gpu_queue *q = &g->state->queue;
    if (q->queued - q->launched >= depth)
        TRY(gpu_flush(g));
    return wait_for(g, q->queued - depth + 1);
}

/* *depth: how many may be on their way. */
static cornu_status queue_step(gpu *g, prepared *p, const step_input *input, int *depth)
{
    gpu_queue *q = &g->state->queue;
    *depth = GPU_QUEUE;
    if (p->gathers) {
        TRY(gpu_samples_depth(g, p, input->samples, depth));
        *depth = *depth < q->depth ? *depth : q->depth;
    }
    TRY(make_room(g, *depth));
    int64_t n = q->queued, first = n % q->depth * q->capacity;
    gpu_step *step = &q->steps[n % GPU_QUEUE];
    *step = (gpu_step){.seed = input->seed,
                       .iteration = input->iteration,
                       .epoch = input->epoch,
                       .first = input->first,
                       .learning_rate = input->learning_rate};
    if (p->optimizer)
        step->adam_alpha = optimizer_alpha(p->optimizer, input->learning_rate, input->iteration);
    if (p->gathers) {
        step->sample = q->numbers.at + (size_t)first * sizeof(int64_t);
        memcpy(q->host_numbers + first, input->index, (size_t)p->plan->batch * sizeof(int64_t));
        TRY(gpu_samples_fill(g, p, input, n, step));
    }
    q->queued++;
    return CORNU_OK;
}

/* Only steps of one plan wait together. */
static cornu_status begin(gpu *g, prepared *p, const step_input *input, int *depth)
{
    gpu_queue *q = &g->state->queue;
    TRY(check_step(g, p, input));
    if (q->plan != p)
        TRY(gpu_flush(g));
    q->plan = p;
    TRY(gpu_queue_reserve(g, p->plan->batch)); /* also where a later plan did not fit */
    TRY(gpu_resolve(g, p));
    return queue_step(g, p, input, depth);
}

cornu_status gpu_run(gpu *g, prepared *p, const step_input *inputs, int steps)
{
    gpu_queue *q = &g->state->queue;
    for (int i = 0; i < steps; i++) {
        int depth, most;
        bool idle = false;
        TRY(begin(g, p, &inputs[i], &depth));
        most = depth / 2 < GPU_BURST ? depth / 2 : GPU_BURST;
        int64_t waiting = q->queued - q->launched;
        if (waiting < most && i + 1 == steps)
            TRY(look_whether_idle(g, &idle));
        if (waiting >= most || idle)
            TRY(gpu_flush(g));
    }
    return CORNU_OK;
}

/* ---- a step by itself --------------------------------------------------------------------- */

cornu_status gpu_time_operations(gpu *g, prepared *p, const step_input *input, double *seconds)
{
    gpu_queue *q = &g->state->queue;
    int depth;
    memset(seconds, 0, (size_t)p->plan->op_count * sizeof *seconds);
    TRY(gpu_drain(g));
    TRY(begin(g, p, input, &depth));
    cornu_status status = copy_inputs(g);
    if (status == CORNU_OK)
        status = g->driver->time_step(g, p, q->launched, seconds);
    if (status != CORNU_OK)
        return gpu_lose(g, status);
    q->finished = q->launched = q->queued;
    return CORNU_OK;
}

cornu_status gpu_launch_gaps(gpu *g, prepared *p, double *seconds)
{
    double first = 0, further = 0;
    TRY(gpu_drain(g));
    TRY(gpu_count_launches(g, p));
    if (g->driver->launch_gap)
        TRY(g->driver->launch_gap(g, &first, &further));
    for (int i = 0; i < p->plan->op_count; i++) {
        int launches = p->chosen.choices[i].launches;
        seconds[i] = launches > 0 ? first + (launches - 1) * further : 0;
    }
    return CORNU_OK;
}

/* ---- results ----------------------------------------------------------------------------- */

cornu_status gpu_get_results(gpu *g, step_results *out, bool reset)
{
    gpu_queue *q = &g->state->queue;
    TRY(gpu_flush(g));
    TRY(g->driver->results(g, out, reset));
    q->finished = q->launched;
    return CORNU_OK;
}
