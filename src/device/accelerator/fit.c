/* The memory of a plan's buffers: where each is in the arena, and whether all fit into the device's
   memory; if not, the largest batch that does. */
#include "device/accelerator/core.h"
#include "device/largest_batch.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- places -------------------------------------------------------------------------------- */

static void mark(const plan *p, tensor_ref t, bool value, bool *marks)
{
    if (t != NO_TENSOR)
        marks[plan_root(p, t)] = value;
}

/* If all updates run together at the end of the step, the tensors that they read must not be
   overwritten earlier, as the plan would allow. Such tensors are placed after the plan's arena. */
static void mark_outliving(const gpu *g, const plan *p, bool *outlives)
{
    if (!gpu_updates_together(g))
        return;
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_UPDATE) {
            mark(p, p->ops[i].in[1], true, outlives);
            mark(p, p->ops[i].in[5], true, outlives);
        }
    for (int i = 0; i < p->op_count; i++)
        if (gpu_absorbs(g, p, &p->ops[i]))
            for (int k = 0; k < 2; k++) {
                mark(p, p->ops[i].out[k], false, outlives); /* never written */
                mark(p, p->ops[i].in[k], true, outlives);
            }
}

cornu_status gpu_buffer_offsets(const gpu *g, const plan *p, size_t *offsets, size_t *bytes)
{
    bool *outlives;
    size_t end = gpu_aligned(p->arena_bytes);
    TRY(memory_new((size_t)p->tensor_count, sizeof *outlives, "prepared plan", &outlives));
    mark_outliving(g, p, outlives);
    for (int i = 0; i < p->tensor_count; i++) {
        const tensor *t = &p->tensors[i];
        bool own = outlives[i] && t->role == TENSOR_BUFFER;
        if (offsets)
            offsets[i] = own ? end : t->offset;
        if (own)
            end += gpu_aligned((size_t)t->count * sizeof(float));
    }
    for (int i = 0; offsets && i < p->tensor_count; i++)
        offsets[i] = offsets[plan_root(p, i)];
    *bytes = end;
    free(outlives);
    return CORNU_OK;
}

/* ---- what fits ----------------------------------------------------------------------------- */

/* Bytes to allocate because the existing memory is too small; *back: the bytes that are freed
   for it. */
static double to_allocate(const gpu_state *s, const gpu_need *n, double *back)
{
    double sum = 0;
    const gpu_memory *have[] = {&s->arena, &s->scratch, &s->queue.numbers};
    const double wanted[] = {n->arena, n->scratch, n->queue};
    *back = 0;
    for (int i = 0; i < 3; i++) {
        if (wanted[i] <= (double)have[i]->bytes)
            continue;
        sum += wanted[i];
        *back += (double)have[i]->bytes;
    }
    return sum;
}

/* The memory that buffers must fit into. */
typedef struct room {
    gpu *g;
    double scratch; /* in addition to buffers */
    double bytes,
        largest; /* in total, and in one piece; 0: not known, an allocation must be tried */
} room;

/* Try to allocate this much. The indices of samples are also on the host. */
static bool can_allocate(gpu *g, size_t arena, size_t scratch, size_t queue)
{
    const size_t bytes[] = {arena, scratch, queue};
    gpu_memory m[3] = {{0}};
    void *pinned = NULL;
    bool given = gpu_pinned_new(g, queue, "buffers", &pinned) == CORNU_OK;
    for (int i = 0; i < 3 && given; i++)
        given = gpu_memory_new(g, bytes[i], "buffers", &m[i]) == CORNU_OK;
    for (int i = 0; i < 3; i++)
        gpu_memory_free(g, &m[i]);
    gpu_pinned_free(g, pinned);
    return given;
}

static bool has_room(const room *r, size_t arena, int64_t batch)
{
    double queue = (double)gpu_queue_bytes(batch);
    if (r->bytes == 0)
        return can_allocate(r->g, arena, (size_t)r->scratch, (size_t)queue);
    return (double)arena <= r->largest && (double)arena + r->scratch + queue <= r->bytes;
}

static bool fits(void *context, const plan *smaller)
{
    const room *r = context;
    size_t arena;
    return gpu_buffer_offsets(r->g, smaller, NULL, &arena) == CORNU_OK &&
           has_room(r, arena, smaller->batch);
}

/* `left`: bytes that are free, with what the shared buffers have. */
static cornu_status fail_to_fit(gpu *g, const plan *p, const gpu_need *n, double left,
                                double largest)
{
    char needed[32], have[32], advice[BATCH_ADVICE];
    batch_advice(p, fits, &(room){g, n->scratch, fmax(left, 1), largest}, advice);
    if (n->arena > largest)
        return status_fail(
            CORNU_OUT_OF_MEMORY,
            "device %s: %s with batch %lld needs %s of memory in one piece; expected at most %s; "
            "%s",
            g->name, batch_plan_does(p), (long long)p->batch, memory_human(n->arena, needed),
            memory_human(largest, have), advice);
    return status_fail(
        CORNU_OUT_OF_MEMORY, "device %s: %s with batch %lld needs %s of memory; %s is free; %s",
        g->name, batch_plan_does(p), (long long)p->batch,
        memory_human(n->arena + n->scratch + n->queue, needed), memory_human(left, have), advice);
}

cornu_status gpu_fail_refused(gpu *g, const plan *p, const gpu_need *n)
{
    gpu_state *s = g->state;
    char why[512], needed[32], advice[BATCH_ADVICE];
    snprintf(why, sizeof why, "%s", cornu_last_error());
    gpu_memory_free(g, &s->arena);
    gpu_memory_free(g, &s->scratch);
    gpu_queue_give_back(g);
    s->moves++;
    batch_advice(p, fits, &(room){.g = g, .scratch = n->scratch}, advice);
    return status_fail(CORNU_OUT_OF_MEMORY, "%s; %s with batch %lld needs %s of memory; %s", why,
                       batch_plan_does(p), (long long)p->batch,
                       memory_human(n->arena + n->scratch + n->queue, needed), advice);
}

cornu_status gpu_check_fits(gpu *g, const plan *p, const gpu_need *n)
{
    const gpu_state *s = g->state;
    double back, left, largest, wanted = to_allocate(s, n, &back);
    if (wanted == 0)
        return CORNU_OK;
    TRY(g->driver->memory_info(g, &left, &largest));
    TRY(gpu_memory_left(g, &left));
    if (wanted <= left + back && n->arena <= largest)
        return gpu_memory_make_room(g, wanted - back);
    left += (double)(s->arena.bytes + s->scratch.bytes + s->queue.numbers.bytes);
    return fail_to_fit(g, p, n, left, largest);
}
