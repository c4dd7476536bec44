/* A plan made ready: its memory, and a kernel for each operation or group. */
#include "base/memory.h"
#include "device/host/prepared.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------------ */

static void free_memory(unsigned char **memory, size_t *bytes)
{
    memory_free_aligned(*memory);
    *memory = NULL;
    *bytes = 0;
}

static cornu_status ensure(unsigned char **memory, size_t *bytes, size_t needed, const char *what)
{
    if (needed <= *bytes)
        return CORNU_OK;
    free_memory(memory, bytes);
    TRY(memory_new_aligned(needed, what, memory));
    *bytes = needed;
    return CORNU_OK;
}

/* Arena and scratch serve all plans in turn. The old ones go first: their content is of a step that
   is over, and both together might not fit. */
cornu_status host_ensure_memory(host_device *h, const prepared *r)
{
    TRY(ensure(&h->arena, &h->arena_bytes, r->arena_bytes, "buffers"));
    return ensure(&h->scratch, &h->scratch_bytes, r->scratch_bytes, "scratch memory of kernels");
}

/* ---- kernels ----------------------------------------------------------------------------- */

static bool is_dense(op_kind kind)
{
    return kind == OP_DENSE_FORWARD || kind == OP_DENSE_BACKWARD_DATA ||
           kind == OP_DENSE_BACKWARD_WEIGHTS || kind == OP_DENSE_UPDATE;
}

/* May `k` run the operation? If not, *why says so. */
static bool takes(const host_device *h, const kernel *k, const plan *p, const op *o,
                  const char **why)
{
    *why = h->panels ? "weights are kept in panels" : "weights are not kept in panels";
    if (is_dense(o->kind) && k->panels != h->panels)
        return false;
    *why = "does not take this operation";
    return !k->accepts || k->accepts(p, o, why);
}

/* Panels go only where they are understood: through dense products, and through what takes one
   element after the other. */
static cornu_status check_panels(const host_device *h, const plan *p, const op *o)
{
    bool whole = op_updates(o) || o->kind == OP_SQUARE_SUM;
    int expected = -1; /* the one input that is in panels */
    if (o->kind == OP_DENSE_FORWARD || o->kind == OP_DENSE_BACKWARD_DATA)
        expected = 1;
    for (int k = 0; k < OP_INPUTS_MAX && h->panels && !whole; k++)
        if (o->in[k] != NO_TENSOR && host_in_panels(h, &p->tensors[o->in[k]]) != (k == expected))
            return status_fail(CORNU_INTERNAL, "device %s: %s of %s: found %s %s; expected %s",
                               h->device.ops->name, op_infos[o->kind].name, o->name,
                               p->tensors[o->in[k]].name, k == expected ? "in rows" : "in panels",
                               k == expected ? "panels" : "rows");
    return CORNU_OK;
}

static void add_refusal(kernel_choice *c, const kernel *k, const char *why)
{
    size_t used = strlen(c->refused);
    snprintf(c->refused + used, sizeof c->refused - used, "%s%s: %s", used ? "; " : "", k->name,
             why);
}

/* Of the device's list and the reference behind it, the first that takes the operation, or a group
   that begins with it; those of the name that the caller forced come before all others. A refusal
   is kept as text, unless the same kernel comes next for the operation alone. */
static const kernel *choose(const host_device *h, const plan *p, const op *o, kernel_choice *c)
{
    const kernel *reference = &reference_kernels[o->kind];
    kernel_list list = h->kernels[o->kind];
    int count = 0;
    while (list && list[count])
        count++;
    for (int pass = h->forced ? 0 : 1; pass < 2; pass++)
        for (int i = 0; i <= count; i++) {
            const kernel *k = i < count ? list[i] : reference;
            const char *why;
            if ((h->forced && strcmp(k->name, h->forced) == 0) != (pass == 0) ||
                (k->group && !plan_group(p, o, k->group)))
                continue;
            if (takes(h, k, p, o, &why))
                return k;
            bool alone_next = k->group && i + 1 < count && strcmp(list[i + 1]->name, k->name) == 0;
            if (!alone_next)
                add_refusal(c, k, why);
        }
    return NULL;
}

/* ---- choices ----------------------------------------------------------------------------- */

/* Operation `i` runs within the kernel of `first`. */
static cornu_status fuse_op(prepared *r, int first, int i)
{
    free(r->names[i]);
    r->names[i] = NULL;
    TRY(memory_format(&r->names[i], "with %d", first + 1));
    r->choices[i].kernel = r->names[i];
    return CORNU_OK;
}

static cornu_status choose_op(const host_device *h, prepared *r, int i)
{
    const op *o = &r->plan->ops[i];
    kernel_choice *c = &r->choices[i];
    TRY(check_panels(h, r->plan, o));
    const kernel *k = choose(h, r->plan, o, c);
    if (!k)
        return status_fail(CORNU_UNSUPPORTED, "device %s: %s of %s: %s", h->device.ops->name,
                           op_infos[o->kind].name, o->name, c->refused);
    bool reference = k == &reference_kernels[o->kind];
    TRY(memory_format(&r->names[i], "%s/%s", reference ? "reference" : h->device.ops->name,
                      k->name));
    c->kernel = r->names[i];
    r->kernels[i] = k;
    if (k->group) {
        r->groups[i] = plan_group(r->plan, o, k->group);
        c->group = group_names[k->group];
    }
    for (int n = i + 1; n < prepared_next(r, i); n++)
        TRY(fuse_op(r, i, n));
    return CORNU_OK;
}

/* The tensors that are internal to group `g` have no memory. */
static void leave_out(const plan *p, const op_group *g, size_t *bytes)
{
    for (int i = g->first; i < g->first + g->count; i++)
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            if (plan_group_internal(p, g, p->ops[i].out[k]))
                bytes[plan_root(p, p->ops[i].out[k])] = 0;
}

/* Places for the buffers that the chosen kernels touch. */
static cornu_status place_buffers(prepared *r)
{
    const plan *p = r->plan;
    plan_buffer_bytes(p, r->bytes);
    for (int i = 0; i < p->op_count; i++)
        if (r->groups[i])
            leave_out(p, r->groups[i], r->bytes);
    for (int i = 0; i < p->op_count; i++)
        if (r->groups[i] && r->kernels[i]->needs)
            r->kernels[i]->needs(p, r->groups[i], r->kernels, r->bytes);
    return plan_place(p, r->bytes, r->offsets, &r->arena_bytes);
}

static void free_prepared(prepared *r)
{
    for (int i = 0; i < r->op_count; i++) {
        if (r->states && r->states[i] && r->kernels[i]->release)
            r->kernels[i]->release(r->states[i]);
        if (r->names)
            free(r->names[i]);
    }
    free(r->kernels);
    free(r->states);
    free(r->groups);
    free(r->bytes);
    free(r->offsets);
    free(r->tensors);
    free(r->placed);
    free(r->choices);
    free(r->names);
    free(r);
}

/* The plan with its kernels and the places of its buffers; nothing of either is made yet. */
static cornu_status choose_all(const host_device *h, const plan *p, prepared **out)
{
    static const char what[] = "prepared plan";
    const size_t ops = (size_t)p->op_count, tensors = (size_t)p->tensor_count;
    cornu_status status = CORNU_OK;
    prepared *r;
    *out = NULL;
    TRY(memory_new(1, sizeof *r, what, &r));
    r->plan = p;
    r->deferred = r->absorber = -1;
    r->op_count = p->op_count;
    TRY_GOTO(memory_new(ops, sizeof *r->kernels, what, &r->kernels));
    TRY_GOTO(memory_new(ops, sizeof *r->states, what, &r->states));
    TRY_GOTO(memory_new(ops, sizeof *r->groups, what, &r->groups));
    TRY_GOTO(memory_new(ops, sizeof *r->choices, what, &r->choices));
    TRY_GOTO(memory_new(ops, sizeof *r->names, what, &r->names));
    TRY_GOTO(memory_new(tensors, sizeof *r->bytes, what, &r->bytes));
    TRY_GOTO(memory_new(tensors, sizeof *r->offsets, what, &r->offsets));
    TRY_GOTO(memory_new(tensors, sizeof *r->tensors, what, &r->tensors));
    for (int i = 0; i < p->op_count; i = prepared_next(r, i))
        TRY_GOTO(choose_op(h, r, i));
    TRY_GOTO(place_buffers(r));
done:
    if (status != CORNU_OK)
        free_prepared(r);
    else
        *out = r;
    return status;
}

cornu_status host_buffer_bytes(device *d, const plan *p, int64_t *bytes)
{
    prepared *r;
    *bytes = 0;
    TRY(choose_all(host_of(d), p, &r));
    *bytes = (int64_t)r->arena_bytes;
    free_prepared(r);
    return CORNU_OK;
}

/* ---- does it fit? ------------------------------------------------------------------------- */

/* The largest batch below p's whose buffers take at most `bytes`; 0 where even batch 1 does not. */
static int64_t largest_batch(host_device *h, const plan *p, double bytes)
{
    int64_t fits = 0, too_large = p->batch;
    while (too_large - fits > 1) {
        int64_t batch = fits + (too_large - fits) / 2, needed = 0;
        plan_options options = {.mode = p->mode,
                                .batch = batch,
                                .weighted = p->weighted,
                                .exact_convolution = p->exact_convolution};
        plan *smaller = NULL;
        if (plan_build(p->model, &options, &smaller) != CORNU_OK)
            return 0;
        bool known = host_buffer_bytes(&h->device, smaller, &needed) == CORNU_OK;
        plan_free(smaller);
        if (known && (double)needed <= bytes)
            fits = batch;
        else
            too_large = batch;
    }
    return fits;
}

static cornu_status check_plan_fits(host_device *h, const prepared *r)
{
    static const char *const modes[] = {
        [PLAN_TRAIN] = "training", [PLAN_EVALUATE] = "evaluating", [PLAN_PREDICT] = "predicting"};
    const plan *p = r->plan;
    const size_t arena = r->arena_bytes, scratch = r->scratch_bytes;
    double available =
        (double)memory_available() + (double)h->arena_bytes + (double)h->scratch_bytes;
    double needed = (double)arena + (double)scratch;
    if ((arena <= h->arena_bytes && scratch <= h->scratch_bytes) || needed <= available)
        return CORNU_OK;
    int64_t batch = largest_batch(h, p, available - (double)scratch);
    char need[32], have[32], advice[96] = "not even batch 1 fits";
    if (batch > 0)
        snprintf(advice, sizeof advice, "the largest batch that fits is %lld", (long long)batch);
    return status_fail(CORNU_OUT_OF_MEMORY,
                       "device %s: %s with batch %lld needs %s of memory; %s is free; %s",
                       h->device.ops->name, modes[p->mode], (long long)p->batch,
                       memory_human(needed, need), memory_human(available, have), advice);
}

/* ---- making it ready ---------------------------------------------------------------------- */

static cornu_status prepare_kernel(host_device *h, prepared *r, int i)
{
    const plan *p = r->plan;
    const op *o = &p->ops[i];
    const kernel *k = r->kernels[i];
    kernel_choice *c = &r->choices[i];
    plan_group_cost(p, o, r->groups[i], &c->flops, &c->bytes);
    if (k->flops)
        c->flops = k->flops(p, o);
    if (k->bytes)
        c->bytes = k->bytes(p, o, r->kernels);
    if (k->prepare) {
        cornu_status status = k->prepare(p, o, h->pool, &r->states[i], &c->scratch_bytes);
        if (status != CORNU_OK)
            return status_prefix(status, "device %s: %s of %s", h->device.ops->name,
                                 op_infos[o->kind].name, o->name);
    }
    if (c->scratch_bytes > r->scratch_bytes)
        r->scratch_bytes = c->scratch_bytes;
    return CORNU_OK;
}

/* What group `g` does in the kernel of `absorber` need not be read again by that. */
static void move_cost(prepared *r, const op_group *g, int absorber)
{
    const plan *p = r->plan;
    kernel_choice *from = &r->choices[g->first], *to = &r->choices[absorber];
    to->flops += from->flops;
    to->bytes += from->bytes;
    for (int m = 0; m < OP_INPUTS_MAX; m++)
        for (int n = 0; n < g->count; n++) {
            tensor_ref t = p->ops[absorber].in[m];
            if (t != NO_TENSOR && t == p->ops[g->first + n].out[0])
                to->bytes -= (double)p->tensors[t].count * sizeof(float);
        }
    from->flops = from->bytes = 0;
    from->group = NULL;
}

/* The group is deferred to the next step if its kernel and the absorber's agree on that. One of a
   plan at most: `prepared` has room for one. */
static cornu_status defer(prepared *r, int i)
{
    const op_group *g = r->groups[i];
    const kernel *k = r->kernels[i];
    if (!g || r->deferred >= 0 || g->absorber < 0 || !k->defers || !k->defers(r->plan, g) ||
        r->kernels[g->absorber]->absorbs != k)
        return CORNU_OK;
    move_cost(r, g, g->absorber);
    for (int n = 0; n < g->count; n++)
        TRY(fuse_op(r, g->absorber, i + n));
    r->deferred = i;
    r->absorber = g->absorber;
    return CORNU_OK;
}

cornu_status host_prepare(device *d, const plan *p, prepared **out)
{
    *out = NULL;
    host_device *h = host_of(d);
    prepared *r = NULL;
    cornu_status status = CORNU_OK;
    TRY(choose_all(h, p, &r));
    h->prepared_count++;
    TRY_GOTO(check_plan_fits(h, r)); /* before kernels allocate what they keep */
    for (int i = 0; i < p->op_count; i = prepared_next(r, i))
        TRY_GOTO(prepare_kernel(h, r, i));
    for (int i = 0; i < p->op_count; i = prepared_next(r, i))
        TRY_GOTO(defer(r, i));
    TRY_GOTO(check_plan_fits(h, r));
    TRY_GOTO(host_ensure_memory(h, r));
done:
    if (status != CORNU_OK)
        host_release(d, r);
    else
        *out = r;
    return status;
}

void host_release(device *d, prepared *r)
{
    host_device *h = host_of(d);
    if (!r)
        return;
    if (h->pending == r)
        host_flush(h);
    if (--h->prepared_count == 0) {
        free_memory(&h->arena, &h->arena_bytes);
        free_memory(&h->scratch, &h->scratch_bytes);
    }
    free_prepared(r);
}

cornu_status host_choices(device *d, const prepared *p, kernel_choice *out)
{
    (void)d;
    memcpy(out, p->choices, (size_t)p->plan->op_count * sizeof *out);
    return CORNU_OK;
}
