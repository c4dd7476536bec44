/* A plan made ready: its kernels, its memory, its addresses. */
#include "base/log.h"
#include "device/accelerator/core.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- does it fit? ------------------------------------------------------------------------- */

/* Memory that a plan needs, by what it is for; each is shared with the plans before it. */
typedef struct need {
    double arena, scratch, queue;
} need;

/* What has to be allocated anew, since it is larger than what is there; *back: what that gives. */
static double to_allocate(const gpu_state *s, const need *n, double *back)
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

/* What buffers must fit into. */
typedef struct room {
    double scratch;        /* beside them */
    double bytes, largest; /* in all, and in one piece; 0: nobody knows, it must be tried */
} room;

/* Does the driver give so much? The numbers of samples are on the host, too. */
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

static bool has_room(gpu *g, const room *r, size_t arena, int64_t batch)
{
    double queue = (double)gpu_queue_bytes(batch);
    if (r->bytes == 0)
        return can_allocate(g, arena, (size_t)r->scratch, (size_t)queue);
    return (double)arena <= r->largest && (double)arena + r->scratch + queue <= r->bytes;
}

/* The largest batch below p's whose plan fits; 0 where even batch 1 does not. */
static int64_t largest_batch(gpu *g, const plan *p, const room *r)
{
    int64_t fits = 0, too_large = p->batch;
    while (p->model && too_large - fits > 1) {
        int64_t batch = fits + (too_large - fits) / 2;
        plan_options options = {.mode = p->mode, .batch = batch, .weighted = p->weighted};
        plan *smaller = NULL;
        size_t arena = 0;
        if (plan_build(p->model, &options, &smaller) != CORNU_OK)
            return 0;
        bool known = gpu_buffer_offsets(g, smaller, NULL, &arena) == CORNU_OK;
        plan_free(smaller);
        if (known && has_room(g, r, arena, batch))
            fits = batch;
        else
            too_large = batch;
    }
    return fits;
}

enum { ADVICE = 96 };
static const char *advice_for(gpu *g, const plan *p, const room *r, char advice[ADVICE])
{
    int64_t batch = largest_batch(g, p, r);
    if (batch > 0)
        snprintf(advice, ADVICE, "the largest batch that fits is %lld", (long long)batch);
    else
        snprintf(advice, ADVICE, "not even batch 1 fits");
    return advice;
}

static const char *const modes[] = {
    [PLAN_TRAIN] = "training", [PLAN_EVALUATE] = "evaluating", [PLAN_PREDICT] = "predicting"};

/* `left`: bytes that are free, with what the shared buffers have. */
static cornu_status fail_to_fit(gpu *g, const plan *p, const need *n, double left, double largest)
{
    char needed[32], have[32], advice[ADVICE];
    advice_for(g, p, &(room){n->scratch, fmax(left, 1), largest}, advice);
    if (n->arena > largest)
        return status_fail(
            CORNU_OUT_OF_MEMORY,
            "device %s: %s with batch %lld needs %s of memory in one piece; expected at most %s; "
            "%s",
            g->name, modes[p->mode], (long long)p->batch, memory_human(n->arena, needed),
            memory_human(largest, have), advice);
    return status_fail(
        CORNU_OUT_OF_MEMORY, "device %s: %s with batch %lld needs %s of memory; %s is free; %s",
        g->name, modes[p->mode], (long long)p->batch,
        memory_human(n->arena + n->scratch + n->queue, needed), memory_human(left, have), advice);
}

/* The driver has refused what should have fitted: others use the device, too, or it is not as large
   as it says. What plans share is given back for it, and made again where it is used. */
static cornu_status fail_refused(gpu *g, const plan *p, const need *n)
{
    gpu_state *s = g->state;
    char why[512], needed[32], advice[ADVICE];
    snprintf(why, sizeof why, "%s", cornu_last_error());
    gpu_memory_free(g, &s->arena);
    gpu_memory_free(g, &s->scratch);
    gpu_queue_give_back(g);
    s->moves++;
    advice_for(g, p, &(room){.scratch = n->scratch}, advice);
    return status_fail(CORNU_OUT_OF_MEMORY, "%s; %s with batch %lld needs %s of memory; %s", why,
                       modes[p->mode], (long long)p->batch,
                       memory_human(n->arena + n->scratch + n->queue, needed), advice);
}

static cornu_status check_plan_fits(gpu *g, const plan *p, const need *n)
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

/* ---- kernels ----------------------------------------------------------------------------- */

static void add_refusal(kernel_choice *c, const gpu_kernel *k, const char *why)
{
    size_t used = strlen(c->refused);
    snprintf(c->refused + used, sizeof c->refused - used, "%s%s: %s", used ? "; " : "", k->name,
             why);
}

/* Take kernel `k` for operation `i` if it will have it; a refusal is kept as text, unless the same
   kernel comes next for the operation alone. */
static cornu_status try_kernel(gpu *g, prepared *r, int i, const gpu_kernel *k,
                               const gpu_kernel *next)
{
    const plan *p = r->plan;
    const op *o = &p->ops[i];
    kernel_choice *c = &r->choices[i];
    const char *why = "does not take this operation";
    if (k->group && !plan_group(p, o, k->group))
        return CORNU_OK;
    if (k->accepts && !k->accepts(g, p, o, &why)) {
        if (!k->group || !next || strcmp(next->name, k->name) != 0)
            add_refusal(c, k, why);
        return CORNU_OK;
    }
    size_t scratch = 0;
    cornu_status status = k->prepare ? k->prepare(g, p, o, &r->states[i], &scratch) : CORNU_OK;
    if (status == CORNU_UNSUPPORTED) {
        add_refusal(c, k, cornu_last_error());
        return CORNU_OK;
    }
    if (status != CORNU_OK)
        return status_prefix(status, "%s of %s", op_infos[o->kind].name, o->name);
    r->kernels[i] = k;
    r->groups[i] = k->group ? plan_group(p, o, k->group) : NULL;
    c->group = k->group ? group_names[k->group] : NULL;
    c->scratch_bytes = scratch;
    if (scratch > r->scratch_bytes)
        r->scratch_bytes = scratch;
    return CORNU_OK;
}

static bool is_forced(const gpu *g, const gpu_kernel *k)
{
    return g->state->forced && strcmp(k->name, g->state->forced) == 0;
}

/* The kernel that the caller forced, then the list's order; behind `failed` (NULL: from the start),
   which was taken and does not work. */
static cornu_status choose(gpu *g, prepared *r, int i, const gpu_kernel *failed)
{
    const op *o = &r->plan->ops[i];
    gpu_kernel_list list = g->driver->kernels[o->kind];
    int first = 0;
    if (failed && !is_forced(g, failed))
        while (list[first++] != failed)
            continue;
    for (int pass = g->state->forced && !failed ? 0 : 1; pass < 2; pass++)
        for (int k = first; list && list[k] && !r->kernels[i]; k++)
            if (is_forced(g, list[k]) == (pass == 0))
                TRY(try_kernel(g, r, i, list[k], list[k + 1]));
    if (r->kernels[i])
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED, "device %s: %s of %s: %s", g->name,
                       op_infos[o->kind].name, o->name, r->choices[i].refused);
}

/* Operation `i` runs within the kernel of `first`. */
static cornu_status fuse(prepared *r, int first, int i)
{
    TRY(memory_format(&r->names[i], "with %d", first + 1));
    r->choices[i].kernel = r->names[i];
    return CORNU_OK;
}

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

/* What the updates' launches do: the first of them stands for all. */
static cornu_status prepare_update(const gpu *g, prepared *r, int i)
{
    const op *o = &r->plan->ops[i];
    kernel_choice *first = &r->choices[r->first_update];
    first->flops += o->flops;
    first->bytes += o->bytes - spared_bytes(g, r->plan, o);
    if (i != r->first_update)
        return fuse(r, r->first_update, i);
    TRY(memory_format(&r->names[i], "%s/update", g->driver->name));
    first->kernel = r->names[i];
    return CORNU_OK;
}

static cornu_status prepare_op(gpu *g, prepared *r, int i, const gpu_kernel *failed)
{
    kernel_choice *c = &r->choices[i];
    TRY(choose(g, r, i, failed));
    if (r->kernels[i]->with_updates) {
        r->kernels[i] = NULL;
        return prepare_update(g, r, i);
    }
    TRY(memory_format(&r->names[i], "%s/%s", g->driver->name, r->kernels[i]->name));
    c->kernel = r->names[i];
    plan_group_cost(r->plan, &r->plan->ops[i], r->groups[i], &c->flops, &c->bytes);
    for (int k = i + 1; k < gpu_behind(r, i); k++)
        TRY(fuse(r, i, k));
    return CORNU_OK;
}

/* Is `o` done with all updates of the plan? */
static bool is_together(const gpu *g, const op *o)
{
    return o->kind == OP_UPDATE && g->driver->updates_together;
}

static cornu_status prepare_ops(gpu *g, prepared *r)
{
    const plan *p = r->plan;
    for (int i = p->op_count - 1; i >= 0; i--)
        if (is_together(g, &p->ops[i]))
            r->first_update = i;
    for (int i = 0; i < p->op_count; i = gpu_behind(r, i))
        TRY(is_together(g, &p->ops[i]) ? prepare_update(g, r, i) : prepare_op(g, r, i, NULL));
    return CORNU_OK;
}

/* ---- kernels that are tried first ---------------------------------------------------------- */

/* Another kernel takes the place of operation `i`'s, which has failed with the present message. */
static cornu_status replace(gpu *g, prepared *r, int i)
{
    const gpu_kernel *failed = r->kernels[i];
    add_refusal(&r->choices[i], failed, cornu_last_error());
    log_line("device %s: another kernel takes the place of %s: %s", g->name, failed->name,
             cornu_last_error());
    if (failed->release)
        failed->release(g, r->states[i]);
    r->states[i] = NULL;
    r->kernels[i] = NULL;
    free(r->names[i]);
    r->names[i] = NULL;
    return prepare_op(g, r, i, failed);
}

/* What is not the kernel's own failure is returned: the device's, or want of memory. */
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
        if (!r->kernels[i] || !r->kernels[i]->try_first || r->tried[i])
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

/* Does `o` change samples, but for scaling them? */
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
    TRY(memory_new(count, sizeof *r->kernels, what, &r->kernels));
    TRY(memory_new(count, sizeof *r->states, what, &r->states));
    TRY(memory_new(count, sizeof *r->groups, what, &r->groups));
    TRY(memory_new(count, sizeof *r->choices, what, &r->choices));
    TRY(memory_new(count, sizeof *r->names, what, &r->names));
    TRY(memory_new(count, sizeof *r->tried, what, &r->tried));
    TRY(memory_new(tensors, sizeof *r->offsets, what, &r->offsets));
    TRY(memory_new(tensors, sizeof *r->tensors, what, &r->tensors));
    for (int i = 0; i < p->op_count; i++) {
        const op *o = &p->ops[i];
        r->gathers |= o->kind == OP_GATHER;
        if (g->driver->host_transforms && transforms(o))
            r->host_gather = o;
        if (o->kind == OP_UPDATE && !r->optimizer)
            r->optimizer = &o->a.update.optimizer;
    }
    for (int i = 0; i < p->tensor_count; i++)
        r->needs_model |= p->tensors[i].role == TENSOR_VARIABLE;
    return CORNU_OK;
}

const op *gpu_lacks(const gpu *g, const plan *p)
{
    for (int i = 0; i < p->op_count; i++)
        if (!is_together(g, &p->ops[i]) && !g->driver->kernels[p->ops[i].kind])
            return &p->ops[i];
    return NULL;
}

static cornu_status check_kernels(const gpu *g, const plan *p)
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
static cornu_status make_ready(gpu *g, prepared *r, need *n)
{
    n->scratch = (double)r->scratch_bytes;
    TRY(check_plan_fits(g, r->plan, n));
    cornu_status status = gpu_queue_reserve(g, r->plan->batch);
    if (status == CORNU_OK)
        status = ensure_memory(g, r);
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
    need n = {.queue = (double)gpu_queue_bytes(p->batch)};
    TRY_GOTO(new_prepared(g, p, &r));
    TRY_GOTO(gpu_buffer_offsets(g, p, r->offsets, &r->arena_bytes));
    n.arena = (double)r->arena_bytes;
    TRY_GOTO(check_plan_fits(g, p, &n));
    TRY_GOTO(prepare_ops(g, r));
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
    for (int i = 0; i < r->plan->op_count; i++) {
        if (r->states && r->states[i] && r->kernels[i] && r->kernels[i]->release)
            r->kernels[i]->release(g, r->states[i]);
        if (r->names)
            free(r->names[i]);
    }
    free(r->kernels);
    free(r->states);
    free(r->groups);
    free(r->choices);
    free(r->names);
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
        r->tensors[i] = t->role == TENSOR_VARIABLE ? s->variable_memory[t->variable].at
                                                   : s->arena.at + r->offsets[i];
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
