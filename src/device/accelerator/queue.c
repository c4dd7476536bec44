/* The queue of steps: the rings in which they wait, their launch, and waiting for them. The inputs
   of steps are copied concurrently with the device's other work. */
#include "device/accelerator/core.h"
#include <stdio.h>

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
cornu_status gpu_queue_wait_for(gpu *g, int64_t step)
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
cornu_status gpu_queue_is_idle(gpu *g, bool *idle)
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

cornu_status gpu_queue_copy_inputs(gpu *g)
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
    cornu_status status = gpu_queue_copy_inputs(g);
    if (status == CORNU_OK)
        status = g->driver->launch_steps(g, q->plan, q->launched, q->queued - q->launched);
    if (status == CORNU_OK)
        status = mark_launched(g);
    return status == CORNU_OK ? CORNU_OK : gpu_lose(g, advise(g, status));
}

/* ---- results ----------------------------------------------------------------------------- */

static cornu_status get_tables(gpu *g, step_results *out, bool reset)
{
    const gpu_state *s = g->state;
    float *const floats = (float *)(void *)(s->shown_tables + s->table_count);
    const size_t bytes = (size_t)s->table_count * 2 * sizeof *floats;
    out->tables = s->shown_tables;
    out->table_count = s->table_count;
    if (s->table_count == 0)
        return CORNU_OK;
    TRY(gpu_download(g, floats, s->tables.at, bytes));
    for (int i = 0; i < s->table_count; i++)
        s->shown_tables[i] = (double)floats[2 * i] + (double)floats[2 * i + 1];
    return reset ? g->driver->clear(g, s->tables.at, bytes) : CORNU_OK;
}

cornu_status gpu_get_results(gpu *g, step_results *out, bool reset)
{
    gpu_queue *q = &g->state->queue;
    TRY(gpu_flush(g));
    TRY(g->driver->results(g, out, reset));
    TRY(get_tables(g, out, reset));
    q->finished = q->launched;
    return CORNU_OK;
}
