/* A plan made ready: its memory, if it fits, its kernels, its addresses. */
#include "base/env.h"
#include "device/accelerator/core.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Memory that a plan needs, by what it is for; each is shared with the plans before it. */
typedef struct plan_need {
    double arena, scratch, queue;
} plan_need;

/* Bytes to allocate because the existing memory is too small; *back: the bytes that are freed
   for it. */
static double to_allocate(const gpu_state *s, const plan_need *n, double *back)
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
static cornu_status fail_to_fit(gpu *g, const plan *p, const plan_need *n, double left,
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

/* The driver has refused what should have fitted: others use the device, too, or it is not as large
   as it says. What plans share is given back for it, and made again where it is used. */
static cornu_status fail_refused(gpu *g, const plan *p, const plan_need *n)
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

/* Room for what p needs beyond what is there already. CORNU_OUT_OF_MEMORY names what is free and
   the largest batch that fits. */
static cornu_status check_fits(gpu *g, const plan *p, const plan_need *n)
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

/* ---- memory that plans share ----------------------------------------------------------------- */

/* The device's tables move to `to`. */
static cornu_status move_tables(gpu *g, gpu_address to, size_t bytes, float *between)
{
    const gpu_state *s = g->state;
    const size_t before = (size_t)s->table_count * 2 * sizeof *between;
    TRY(g->driver->clear(g, to, bytes));
    if (before == 0)
        return CORNU_OK;
    TRY(gpu_download(g, between, s->tables.at, before));
    return gpu_upload(g, to, between, before);
}

/* Room for the plan's tables; those that are there keep their sums. */
static cornu_status ensure_tables(gpu *g, int count)
{
    gpu_state *s = g->state;
    const size_t bytes = (size_t)count * 2 * sizeof(float);
    gpu_memory larger = {0};
    double *shown;
    if (count <= s->table_count)
        return CORNU_OK;
    TRY(gpu_drain(g));
    TRY(memory_new(2 * (size_t)count, sizeof *shown, "tables of metrics", &shown));
    cornu_status status = gpu_memory_new(g, bytes, "tables of metrics", &larger);
    if (status == CORNU_OK)
        status = move_tables(g, larger.at, bytes, (float *)(void *)(shown + count));
    if (status != CORNU_OK) {
        gpu_memory_free(g, &larger);
        free(shown);
        return status;
    }
    gpu_memory_free(g, &s->tables);
    free(s->shown_tables);
    s->tables = larger;
    s->shown_tables = shown;
    s->table_count = count;
    s->moves++;
    return CORNU_OK;
}

/* Grow one of the device's shared buffers. The old one goes first: its content is of steps that are
   over, and both together might not fit. */
static cornu_status ensure(gpu *g, gpu_memory *m, size_t bytes, const char *what)
{
    if (bytes <= m->bytes)
        return CORNU_OK;
    TRY(gpu_drain(g));
    gpu_memory_free(g, m);
    g->state->moves++;
    return gpu_memory_new(g, bytes, what, m);
}

static cornu_status ensure_memory(gpu *g, const prepared *r)
{
    TRY(ensure(g, &g->state->arena, r->arena_bytes, "buffers"));
    return ensure(g, &g->state->scratch, r->scratch_bytes, "scratch memory of kernels");
}

static cornu_status upload_constants(gpu *g, prepared *r)
{
    const plan *p = r->plan;
    size_t end = 0;
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensors[i].role == TENSOR_CONSTANT) {
            r->offsets[i] = end;
            end += gpu_aligned((size_t)p->tensors[i].count * sizeof(float));
        }
    TRY(gpu_memory_new(g, end, "constants", &r->constants));
    for (int i = 0; i < p->tensor_count; i++) {
        const tensor *t = &p->tensors[i];
        if (t->role == TENSOR_CONSTANT)
            TRY(gpu_upload(g, r->constants.at + r->offsets[i], t->values,
                           (size_t)t->count * sizeof(float)));
    }
    return CORNU_OK;
}

/* ---- kernels ----------------------------------------------------------------------------- */

/* The GPU of a selection (device/select.h). */

static gpu *gpu_of(const selector *s)
{
    return (gpu *)(void *)s->device;
}

static const gpu_kernel *kernel_of(const kernel_info *k)
{
    return (const gpu_kernel *)(const void *)k;
}

static const kernel_info *candidate(const selector *s, op_kind kind, int i)
{
    gpu_kernel_list list = gpu_of(s)->driver->kernels[kind];
    return list && list[i] ? &list[i]->info : NULL;
}

static bool accepts(const selector *s, const kernel_info *k, const plan *p, const op *o,
                    const char **why)
{
    return !kernel_of(k)->accepts || kernel_of(k)->accepts(gpu_of(s), p, o, why);
}

static cornu_status prepare(const selector *s, const kernel_info *k, const plan *p, const op *o,
                            void **state, size_t *scratch_bytes)
{
    if (!kernel_of(k)->prepare)
        return CORNU_OK;
    cornu_status status = kernel_of(k)->prepare(gpu_of(s), p, o, state, scratch_bytes);
    if (status == CORNU_OK || status == CORNU_UNSUPPORTED)
        return status;
    return status_prefix(status, "%s of %s", op_infos[o->kind].name, o->name);
}

static void release(const selector *s, const kernel_info *k, void *state)
{
    if (kernel_of(k)->release)
        kernel_of(k)->release(gpu_of(s), state);
}

static selector selector_of(gpu *g)
{
    return (selector){.device = &g->device,
                      .name = g->name,
                      .prefix = g->driver->name,
                      .forced = g->state->forced,
                      .candidate = candidate,
                      .accepts = accepts,
                      .prepare = prepare,
                      .release = release};
}

static cornu_status prepare_ops(gpu *g, prepared *r, int first, int end)
{
    const selector s = selector_of(g);
    for (int i = first; i < end; i = selection_next(&r->chosen, i))
        TRY(select_prepare(&s, r->plan, &r->chosen, i));
    r->scratch_bytes = selection_scratch(&r->chosen);
    return CORNU_OK;
}

/* ---- updates ----------------------------------------------------------------------------- */

/* Bytes that do not move where the updates' launch makes a gradient itself: written by `o`, read by
   its update. */
static double spared_bytes(const gpu *g, const plan *p, const op *o)
{
    double bytes = 0;
    for (int k = 0; k < OP_OUTPUTS_MAX && gpu_absorbs(g, p, o); k++)
        if (o->out[k] != NO_TENSOR)
            bytes += 2.0 * sizeof(float) * (double)p->tensors[o->out[k]].count;
    return bytes;
}

/* Operation `i` is done by the updates' launches: the first of them stands for all. */
static cornu_status join_updates(gpu *g, prepared *r, int i)
{
    const selector s = selector_of(g);
    kernel_choice *first = &r->chosen.choices[r->first_update], *own = &r->chosen.choices[i];
    first->bytes -= spared_bytes(g, r->plan, &r->plan->ops[i]);
    if (i == r->first_update) {
        r->chosen.kernels[i] = NULL;
        return CORNU_OK;
    }
    first->flops += own->flops;
    first->bytes += own->bytes;
    return select_fuse(&s, &r->chosen, r->first_update, i);
}

static bool is_with_updates(const prepared *r, int i)
{
    return r->chosen.kernels[i] && gpu_kernel_at(r, i)->with_updates;
}

static cornu_status join_all_updates(gpu *g, prepared *r)
{
    const plan *p = r->plan;
    for (int i = p->op_count - 1; i >= 0; i--)
        if (p->ops[i].kind == OP_UPDATE && is_with_updates(r, i))
            r->first_update = i;
    for (int i = 0; i < p->op_count && r->first_update >= 0; i++)
        if (is_with_updates(r, i))
            TRY(join_updates(g, r, i));
    return CORNU_OK;
}

/* ---- the order in which operations are enqueued -------------------------------------------- */

/* The first of the operations at the plan's end that follow all updates. */
static int first_after_updates(const plan *p)
{
    int first = p->op_count;
    while (first > 0 && op_follows_updates(p->ops[first - 1].kind))
        first--;
    return first;
}

int gpu_next_op(const prepared *p, int i)
{
    const int end = first_after_updates(p->plan);
    if (i >= 0 && i == p->first_update)
        return end; /* the updates are last but for those, wherever the plan has them */
    int next = i < 0 ? 0 : selection_next(&p->chosen, i);
    while (next < end && !p->chosen.kernels[next])
        next++;
    return next == end && p->first_update >= 0 ? p->first_update : next;
}

cornu_status gpu_enqueue_op(gpu *g, const prepared *p, int i)
{
    const op *o = &p->plan->ops[i];
    gpu_op r = {.g = g,
                .plan = p->plan,
                .op = o,
                .group = p->chosen.groups[i],
                .tensors = p->tensors,
                .state = p->chosen.states[i],
                .scratch = g->state->scratch.at,
                .tables = g->state->tables.at};
    for (int k = 0; k < OP_INPUTS_MAX; k++)
        r.in[k] = o->in[k] == NO_TENSOR ? 0 : p->tensors[o->in[k]];
    for (int k = 0; k < OP_OUTPUTS_MAX; k++)
        r.out[k] = o->out[k] == NO_TENSOR ? 0 : p->tensors[o->out[k]];
    cornu_status status = gpu_kernel_at(p, i)->enqueue(&r);
    return status == CORNU_OK ? CORNU_OK
                              : status_prefix(status, "%s of %s", op_infos[o->kind].name, o->name);
}

/* ---- kernels that are tried first ---------------------------------------------------------- */

/* Replace the kernel of operation `i`, which has failed with the current message, by another. */
static cornu_status replace(gpu *g, prepared *r, int i)
{
    const selector s = selector_of(g);
    int end = selection_next(&r->chosen, i);
    log_line("device %s: another kernel takes the place of %s: %s", g->name,
             r->chosen.kernels[i]->name, cornu_last_error());
    TRY(select_replace(&s, r->plan, &r->chosen, i));
    return prepare_ops(g, r, i, end);
}

/* Returns failures that are not the kernel's: those of the device, or lack of memory. */
static cornu_status try_first(gpu *g, prepared *r, int i, bool *works)
{
    cornu_status status = gpu_enqueue_op(g, r, i);
    *works = status == CORNU_OK;
    TRY(g->driver->synchronize(g));
    return status == CORNU_OUT_OF_MEMORY || g->state->lost[0] ? status : CORNU_OK;
}

/* *again: other kernels are used than before, which may need more scratch memory. */
static cornu_status try_kernels(gpu *g, prepared *r, bool *again)
{
    *again = false;
    for (int i = 0; i < r->plan->op_count; i++) {
        bool works;
        if (!r->chosen.kernels[i] || !gpu_kernel_at(r, i)->try_first || r->tried[i])
            continue;
        TRY(try_first(g, r, i, &works));
        r->tried[i] = works;
        *again |= !works;
        if (!works)
            TRY(replace(g, r, i));
    }
    return CORNU_OK;
}

/* ---- the whole --------------------------------------------------------------------------- */

/* True if `o` changes samples other than by scaling. */
static bool transforms(const op *o)
{
    return o->kind == OP_GATHER && (augmentation_any(&o->a.gather.augment) ||
                                    standardization_any(&o->a.gather.standardize));
}

static cornu_status new_prepared(const gpu *g, const plan *p, prepared **out)
{
    size_t count = (size_t)p->op_count, tensors = (size_t)p->tensor_count;
    const char *what = "prepared plan";
    prepared *r;
    TRY(memory_new(1, sizeof *r, what, out));
    r = *out;
    r->plan = p;
    r->first_update = -1;
    r->moves = -1;
    TRY(selection_new(p, &r->chosen));
    TRY(memory_new(count, sizeof *r->tried, what, &r->tried));
    TRY(memory_new(tensors, sizeof *r->offsets, what, &r->offsets));
    TRY(memory_new(tensors, sizeof *r->tensors, what, &r->tensors));
    for (int i = 0; i < p->op_count; i++) {
        const op *o = &p->ops[i];
        r->gathers |= o->kind == OP_GATHER;
        if (g->driver->host_transforms && transforms(o))
            r->host_gather = o;
        if ((o->kind == OP_UPDATE || o->kind == OP_FACTORED_UPDATE || o->kind == OP_MATRIX_UPDATE ||
             o->kind == OP_LAYERWISE) &&
            !r->optimizer)
            r->optimizer = &o->a.update.optimizer;
    }
    for (int i = 0; i < p->tensor_count; i++)
        r->needs_model |= p->tensors[i].role == TENSOR_VARIABLE;
    return CORNU_OK;
}

const op *gpu_lacks(gpu *g, const plan *p)
{
    const selector s = selector_of(g);
    return select_lacks(&s, p);
}

static cornu_status check_kernels(gpu *g, const plan *p)
{
    const op *o = gpu_lacks(g, p);
    if (!o)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "device %s: %s: has no kernel for %s; expected operations that it has one "
                       "for (device cpu has one for each)",
                       g->name, o->name, op_infos[o->kind].name);
}

/* Memory and addresses for the kernels that have been chosen. */
static cornu_status make_ready(gpu *g, prepared *r, plan_need *n)
{
    n->scratch = (double)r->scratch_bytes;
    TRY(check_fits(g, r->plan, n));
    cornu_status status = gpu_queue_reserve(g, r->plan->batch);
    if (status == CORNU_OK)
        status = ensure_memory(g, r);
    if (status == CORNU_OK)
        status = ensure_tables(g, r->plan->table_count);
    if (status == CORNU_OUT_OF_MEMORY)
        status = fail_refused(g, r->plan, n);
    TRY(status);
    r->moves = -1;
    return gpu_resolve(g, r);
}

cornu_status gpu_prepare(gpu *g, const plan *p, prepared **out)
{
    *out = NULL;
    TRY(check_kernels(g, p));
    prepared *r = NULL;
    bool again;
    cornu_status status;
    plan_need n = {.queue = (double)gpu_queue_bytes(p->batch)};
    TRY_GOTO(new_prepared(g, p, &r));
    TRY_GOTO(gpu_buffer_offsets(g, p, r->offsets, &r->arena_bytes));
    n.arena = (double)r->arena_bytes;
    TRY_GOTO(check_fits(g, p, &n));
    TRY_GOTO(upload_constants(g, r));
    TRY_GOTO(prepare_ops(g, r, 0, p->op_count));
    TRY_GOTO(join_all_updates(g, r));
    do {
        TRY_GOTO(make_ready(g, r, &n));
        TRY_GOTO(try_kernels(g, r, &again));
    } while (again);
done:
    if (status != CORNU_OK)
        gpu_release(g, r);
    else
        *out = r;
    return status;
}

static void forget(gpu *g, prepared *r)
{
    if (r->resolved)
        g->driver->forget(g, r);
    r->resolved = NULL;
}

void gpu_release(gpu *g, prepared *r)
{
    if (!r)
        return;
    (void)gpu_drain(g); /* steps that wait still belong to the results */
    if (g->state->queue.plan == r)
        g->state->queue.plan = NULL;
    forget(g, r);
    gpu_memory_free(g, &r->constants);
    const selector s = selector_of(g);
    selection_free(&s, &r->chosen);
    free(r->tried);
    free(r->offsets);
    free(r->tensors);
    free(r);
}

cornu_status gpu_resolve(gpu *g, prepared *r)
{
    const gpu_state *s = g->state;
    const plan *p = r->plan;
    if (r->moves == s->moves)
        return CORNU_OK;
    if (r->needs_model && s->model != p->model)
        return status_fail(CORNU_INTERNAL, "device %s: the plan's model is not bound", g->name);
    TRY(gpu_drain(g));
    TRY(ensure_memory(g, r));
    forget(g, r);
    for (int i = 0; i < p->tensor_count; i++) {
        const tensor *t = &p->tensors[i];
        const gpu_address base = t->role == TENSOR_CONSTANT ? r->constants.at : s->arena.at;
        r->tensors[i] =
            t->role == TENSOR_VARIABLE ? s->variable_memory[t->variable].at : base + r->offsets[i];
    }
    TRY(g->driver->resolve(g, r));
    r->moves = s->moves;
    return CORNU_OK;
}

/* ---- reading and writing tensors ---------------------------------------------------------- */

static cornu_status check_tensor(const prepared *r, tensor_ref t, int64_t count)
{
    if (t < 0 || t >= r->plan->tensor_count)
        return status_fail(CORNU_INTERNAL, "tensor: found number %d; expected 0 to %d", t,
                           r->plan->tensor_count - 1);
    const tensor *found = &r->plan->tensors[t];
    if (count != found->count)
        return status_fail(CORNU_INVALID, "%s: found room for %lld values; expected %lld",
                           found->name, (long long)count, (long long)found->count);
    return CORNU_OK;
}

cornu_status gpu_read(gpu *g, prepared *r, tensor_ref t, float *values, int64_t count)
{
    TRY(check_tensor(r, t, count));
    const tensor *from = &r->plan->tensors[t];
    if (from->role == TENSOR_BUFFER && from->last < r->plan->op_count - 1)
        return status_fail(CORNU_INVALID, "%s: its memory is used again before the step's end",
                           from->name);
    TRY(gpu_drain(g));
    TRY(gpu_resolve(g, r));
    return gpu_read_values(g, r->tensors[t], &from->shape, r->plan->tensors[t].form, values, count);
}

cornu_status gpu_write(gpu *g, prepared *r, tensor_ref t, const float *values, int64_t count)
{
    TRY(check_tensor(r, t, count));
    TRY(gpu_drain(g));
    TRY(gpu_resolve(g, r));
    return gpu_write_values(g, r->tensors[t], &r->plan->tensors[t].shape, r->plan->tensors[t].form,
                            values, count);
}
