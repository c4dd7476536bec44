/* Samples on the device: complete blocks that stay there if they fit, else the rows of each
   batch, which the host gathers into pinned memory and copies concurrently with earlier steps. */
#include "base/env.h"
#include "device/accelerator/core.h"
#include "device/gather_sample.h"
#include <math.h>
#include <string.h>

/* A batch of this many bytes is gathered by several threads: below, waking them takes longer. */
enum { THREADS_FROM = 1 << 20, TASKS_PER_THREAD = 4 };

/* Bytes of one sample and of one target. */
static size_t x_bytes(const sample_block *s)
{
    size_t number = s->x_type == SAMPLE_U8 ? sizeof(uint8_t) : sizeof(float);
    return (size_t)shape_elements(&s->x_shape) * number;
}

static size_t y_bytes(const sample_block *s)
{
    return s->y ? (size_t)shape_elements(&s->y_shape) * sizeof(float) : 0;
}

static size_t weight_bytes(const sample_block *s)
{
    return s->weight ? sizeof(float) : 0;
}

/* ---- blocks that stay --------------------------------------------------------------------- */

static double resident_bytes(const gpu *g)
{
    double sum = 0;
    for (int i = 0; i < GPU_RESIDENT_MOST; i++)
        sum += (double)g->state->residents[i].memory.bytes;
    return sum;
}

static void forget(gpu *g, gpu_resident *r)
{
    gpu_memory_free(g, &r->memory);
    *r = (gpu_resident){0};
}

/* Give resident samples up until `bytes` more are free; waits for the steps that read them. */
static cornu_status evict(gpu *g, double bytes)
{
    TRY(gpu_drain(g));
    for (double given = 0; given < bytes;) {
        gpu_resident *largest = &g->state->residents[0];
        for (int i = 1; i < GPU_RESIDENT_MOST; i++)
            if (g->state->residents[i].memory.bytes > largest->memory.bytes)
                largest = &g->state->residents[i];
        if (largest->memory.bytes == 0)
            break;
        given += (double)largest->memory.bytes;
        log_line("device %s: %lld samples make room for buffers and are streamed from now on",
                 g->name, (long long)largest->count);
        forget(g, largest);
    }
    return CORNU_OK;
}

cornu_status gpu_memory_left(gpu *g, double *bytes)
{
    double left, largest;
    *bytes = 0;
    TRY(g->driver->memory_info(g, &left, &largest));
    *bytes = fmax(0, left + resident_bytes(g));
    return CORNU_OK;
}

cornu_status gpu_memory_make_room(gpu *g, double bytes)
{
    double left;
    TRY(gpu_memory_left(g, &left));
    left -= resident_bytes(g);
    return left >= bytes ? CORNU_OK : evict(g, bytes - left);
}

void gpu_samples_free(gpu *g)
{
    for (int i = 0; i < GPU_RESIDENT_MOST; i++)
        forget(g, &g->state->residents[i]);
    gpu_pinned_free(g, g->state->stages.pinned);
    gpu_memory_free(g, &g->state->stages.memory);
    g->state->stages = (gpu_stages){0};
    threads_close(g->state->pool);
    g->state->pool = NULL;
}

/* NULL: the plan's batches are streamed. */
static const gpu_resident *resident_of(const gpu *g, const prepared *p, const sample_block *s)
{
    if (p->host_gather)
        return NULL;
    for (int i = 0; i < GPU_RESIDENT_MOST; i++) {
        const gpu_resident *r = &g->state->residents[i];
        if (r->memory.bytes && r->x == s->x && r->y == s->y && r->weight == s->weight &&
            r->count >= s->count)
            return r;
    }
    return NULL;
}

/* The entry for a block: its own of before, a free one, the first. */
static gpu_resident *resident_for(gpu *g, const sample_block *samples)
{
    gpu_resident *all = g->state->residents, *resident = NULL;
    for (int i = 0; i < GPU_RESIDENT_MOST; i++)
        if (all[i].memory.bytes && all[i].x == samples->x)
            return &all[i];
    for (int i = 0; i < GPU_RESIDENT_MOST && !resident; i++)
        resident = all[i].memory.bytes ? NULL : &all[i];
    return resident ? resident : all;
}

cornu_status gpu_upload_samples(gpu *g, const sample_block *samples)
{
    double left, largest;
    size_t x = x_bytes(samples) * (size_t)samples->count;
    size_t y = y_bytes(samples) * (size_t)samples->count;
    size_t weight = weight_bytes(samples) * (size_t)samples->count;
    gpu_resident *resident = resident_for(g, samples);
    TRY(gpu_drain(g));
    forget(g, resident);
    TRY(g->driver->memory_info(g, &left, &largest));
    TRY(gpu_memory_left(g, &left));
    left -= resident_bytes(g);
    double needed = (double)gpu_aligned(x) + (double)gpu_aligned(y) + (double)weight;
    if (!samples->x || samples->count == 0)
        return CORNU_OK;
    if (needed > left / 2 || needed > largest) { /* the other half is for plans */
        log_line("device %s: %lld samples do not fit and are streamed", g->name,
                 (long long)samples->count);
        return CORNU_OK;
    }
    cornu_status status =
        gpu_memory_new(g, gpu_aligned(x) + gpu_aligned(y) + weight, "samples", &resident->memory);
    if (status == CORNU_OUT_OF_MEMORY) { /* others use the device, too */
        log_line("%s; they are streamed", cornu_last_error());
        return CORNU_OK;
    }
    TRY(status);
    resident->y_at = resident->memory.at + gpu_aligned(x);
    resident->weight_at = resident->y_at + gpu_aligned(y);
    status = gpu_upload(g, resident->memory.at, samples->x, x);
    if (status == CORNU_OK)
        status = gpu_upload(g, resident->y_at, samples->y, y);
    if (status == CORNU_OK)
        status = gpu_upload(g, resident->weight_at, samples->weight, weight);
    if (status != CORNU_OK) {
        forget(g, resident);
        return status;
    }
    resident->x = samples->x;
    resident->y = samples->y;
    resident->weight = samples->weight;
    resident->count = samples->count;
    return CORNU_OK;
}

/* ---- batches that are streamed ------------------------------------------------------------ */

static cornu_status new_stages(gpu *g, size_t bytes, int count)
{
    gpu_stages *s = &g->state->stages;
    size_t all = bytes * (size_t)count;
    TRY(gpu_memory_new(g, all, "samples on their way to the device", &s->memory));
    cornu_status status =
        gpu_pinned_new(g, all, "samples on their way to the device", (void *)&s->pinned);
    if (status != CORNU_OK) {
        gpu_memory_free(g, &s->memory);
        return status;
    }
    s->bytes = bytes;
    s->count = count;
    return CORNU_OK;
}

/* Allocate as many stages as fit into memory: one is sufficient, but then nothing overlaps. */
static cornu_status ensure_stages(gpu *g, size_t bytes)
{
    gpu_stages *s = &g->state->stages;
    if (s->bytes >= bytes)
        return CORNU_OK;
    TRY(gpu_drain(g));
    gpu_pinned_free(g, s->pinned);
    gpu_memory_free(g, &s->memory);
    *s = (gpu_stages){0};
    cornu_status status = CORNU_OUT_OF_MEMORY;
    for (int count = GPU_STAGES_MOST; count > 0 && status == CORNU_OUT_OF_MEMORY; count /= 2)
        status = new_stages(g, bytes, count);
    return status;
}

/* A sample as a staged batch holds it: its own numbers or, where the host makes them, those that
   the network sees. */
static size_t staged_x_bytes(const prepared *p, const sample_block *s)
{
    if (!p->host_gather)
        return x_bytes(s);
    return (size_t)(p->plan->tensors[p->plan->input].count / p->plan->batch) * sizeof(float);
}

/* Bytes of a staged batch up to its targets, up to its weights, and in all. */
typedef struct batch_bytes {
    size_t to_y, to_weight, all;
} batch_bytes;

static batch_bytes batch_bytes_of(const prepared *r, const sample_block *s)
{
    const plan *p = r->plan;
    const size_t batch = (size_t)p->batch;
    batch_bytes b = {.to_y = gpu_aligned(staged_x_bytes(r, s) * batch)};
    b.to_weight = b.to_y + gpu_aligned(p->target == NO_TENSOR ? 0 : y_bytes(s) * batch);
    b.all =
        b.to_weight + gpu_aligned(p->weighted == WEIGHTS_OF_SAMPLES ? weight_bytes(s) * batch : 0);
    return b;
}

cornu_status gpu_samples_depth(gpu *g, const prepared *p, const sample_block *samples, int *depth)
{
    *depth = GPU_QUEUE;
    if (resident_of(g, p, samples))
        return CORNU_OK;
    TRY(ensure_stages(g, batch_bytes_of(p, samples).all));
    *depth = g->state->stages.count;
    return CORNU_OK;
}

/* A batch on its way into pinned memory. */
typedef struct gathering {
    const prepared *p;
    const step_input *input;
    unsigned char *to;
    batch_bytes bytes;
    int64_t tasks;
} gathering;

static void copy_row(unsigned char *to, const void *from, size_t bytes, int64_t i, int64_t index)
{
    memcpy(to + (size_t)i * bytes, (const unsigned char *)from + (size_t)index * bytes, bytes);
}

static void gather_row(const gathering *w, int64_t i)
{
    const sample_block *s = w->input->samples;
    const batch_bytes *b = &w->bytes;
    int64_t index = w->input->index[i];
    unsigned char *x = w->to + (size_t)i * staged_x_bytes(w->p, s);
    if (w->p->host_gather)
        gather_sample(w->p->plan, w->p->host_gather, w->input, i, (float *)(void *)x, NULL);
    else
        copy_row(w->to, s->x, x_bytes(s), i, index);
    if (b->to_weight > b->to_y)
        copy_row(w->to + b->to_y, s->y, y_bytes(s), i, index);
    if (b->all > b->to_weight)
        copy_row(w->to + b->to_weight, s->weight, weight_bytes(s), i, index);
}

static void gather_rows(void *context, int64_t task, int worker)
{
    const gathering *w = context;
    int64_t begin, end;
    (void)worker;
    threads_range(w->p->plan->batch, w->tasks, task, 1, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        gather_row(w, i);
}

static cornu_status gather(gpu *g, gathering *w)
{
    gpu_state *s = g->state;
    w->tasks = 1;
    if (!w->p->host_gather && w->bytes.all < THREADS_FROM) {
        gather_rows(w, 0, 0);
        return CORNU_OK;
    }
    if (!s->pool)
        TRY(threads_open(s->threads, &s->pool));
    w->tasks = (int64_t)threads_count(s->pool) * TASKS_PER_THREAD;
    threads_run(s->pool, w->tasks, gather_rows, w);
    return CORNU_OK;
}

static cornu_status stage(gpu *g, const prepared *p, const step_input *input, int64_t step,
                          gpu_step *out)
{
    const gpu_stages *stages = &g->state->stages;
    size_t offset = (size_t)(step % stages->count) * stages->bytes;
    gathering w = {.p = p,
                   .input = input,
                   .to = stages->pinned + offset,
                   .bytes = batch_bytes_of(p, input->samples)};
    const batch_bytes *b = &w.bytes;
    TRY(gather(g, &w));
    gpu_address at = stages->memory.at + offset;
    TRY(g->driver->copy_in(g, at, w.to, b->all, true));
    out->x = at;
    out->y = b->to_weight > b->to_y ? at + b->to_y : 0;
    out->weight = b->all > b->to_weight ? at + b->to_weight : 0;
    return CORNU_OK;
}

cornu_status gpu_samples_fill(gpu *g, const prepared *p, const step_input *input, int64_t step,
                              gpu_step *out)
{
    const sample_block *s = input->samples;
    const gpu_resident *r = resident_of(g, p, s);
    const gpu_queue *q = &g->state->queue;
    out->x_scale = p->host_gather ? 1 : s->x_scale;
    out->x_bytes = s->x_type == SAMPLE_U8 && !p->host_gather;
    out->y_labels = s->y_type == SAMPLE_I32;
    if (s->x_shape.rank == 3) {
        out->height = s->x_shape.dim[0];
        out->width = s->x_shape.dim[1];
        out->channels = s->x_shape.dim[2];
    }
    if (!r) {
        size_t ring = (size_t)(q->depth * q->capacity) * sizeof(int64_t);
        out->index = q->numbers.at + ring; /* 0, 1, ... */
        return stage(g, p, input, step, out);
    }
    out->x = r->memory.at;
    out->y = s->y ? r->y_at : 0;
    out->weight = s->weight ? r->weight_at : 0;
    out->index = out->sample;
    return CORNU_OK;
}
