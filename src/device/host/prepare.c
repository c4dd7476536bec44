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

/* Room for the plan's tables; those that are there keep their sums. */
static cornu_status ensure_tables(host_device *h, int count)
{
    double *tables, *shown = NULL;
    if (count <= h->results.table_count)
        return CORNU_OK;
    TRY(memory_new((size_t)count, sizeof *tables, "tables of metrics", &tables));
    cornu_status status = memory_new((size_t)count, sizeof *shown, "tables of metrics", &shown);
    if (status != CORNU_OK) {
        free(tables);
        return status;
    }
    if (h->results.tables)
        memcpy(tables, h->results.tables, (size_t)h->results.table_count * sizeof *tables);
    free(h->results.tables);
    free(h->shown_tables);
    h->results.tables = tables;
    h->shown_tables = shown;
    h->results.table_count = count;
    return CORNU_OK;
}

/* ---- kernels ----------------------------------------------------------------------------- */

static bool is_dense(op_kind kind)
{
    return kind == OP_DENSE_FORWARD || kind == OP_DENSE_BACKWARD_DATA ||
           kind == OP_DENSE_BACKWARD_WEIGHTS;
}

/* ---- as selection asks (device/select.h) -------------------------------------------------- */

static const kernel *kernel_of(const kernel_info *k)
{
    return (const kernel *)(const void *)k;
}

/* The device's list, and after it the reference. */
static const kernel_info *candidate(const selector *s, op_kind kind, int i)
{
    kernel_list list = host_of(s->device)->kernels[kind];
    int count = 0;
    while (list && list[count])
        count++;
    if (i < count)
        return &list[i]->info;
    return i == count ? &reference_kernels[kind].info : NULL;
}

static bool accepts(const selector *s, const kernel_info *info, const plan *p, const op *o,
                    const char **why)
{
    const host_device *h = host_of(s->device);
    const kernel *k = kernel_of(info);
    if ((is_dense(o->kind) || o->kind == OP_CONSTRAIN || op_copies_kernel(p, o)) &&
        k->panels != h->panels) {
        *why = h->panels ? "weights are kept in panels" : "weights are not kept in panels";
        return false;
    }
    return !k->accepts || k->accepts(p, o, why);
}

static cornu_status prepare(const selector *s, const kernel_info *info, const plan *p, const op *o,
                            void **state, size_t *scratch_bytes)
{
    const kernel *k = kernel_of(info);
    if (!k->prepare)
        return CORNU_OK;
    cornu_status status = k->prepare(p, o, host_of(s->device)->pool, state, scratch_bytes);
    if (status == CORNU_OK || status == CORNU_UNSUPPORTED)
        return status;
    return status_prefix(status, "device %s: %s of %s", s->name, op_infos[o->kind].name, o->name);
}

static void release(const selector *s, const kernel_info *info, void *state)
{
    (void)s;
    if (kernel_of(info)->release)
        kernel_of(info)->release(state);
}

static selector selector_of(host_device *h)
{
    return (selector){.device = &h->device,
                      .name = h->device.ops->name,
                      .prefix = h->device.ops->name,
                      .forced = h->forced,
                      .candidate = candidate,
                      .accepts = accepts,
                      .prepare = prepare,
                      .release = release};
}

/* Only dense products and elementwise operations accept panels. */
static cornu_status check_panels(const host_device *h, const plan *p, const op *o)
{
    bool sums = o->kind == OP_ADD && p->tensors[o->in[0]].form == p->tensors[o->in[1]].form;
    bool whole = op_is_of_step(o->kind) || o->kind == OP_PENALTY || sums;
    int expected = -1; /* the one input that is in panels */
    if (o->kind == OP_DENSE_FORWARD || o->kind == OP_DENSE_BACKWARD_DATA)
        expected = 1;
    if (op_copies_kernel(p, o))
        expected = o->kind == OP_SLICE ? 0 : 1;
    for (int k = 0; k < OP_INPUTS_MAX && h->panels && !whole; k++)
        if (o->in[k] != NO_TENSOR && host_in_panels(h, &p->tensors[o->in[k]]) != (k == expected))
            return status_fail(CORNU_INTERNAL, "device %s: %s of %s: found %s %s; expected %s",
                               h->device.ops->name, op_infos[o->kind].name, o->name,
                               p->tensors[o->in[k]].name, k == expected ? "in rows" : "in panels",
                               k == expected ? "panels" : "rows");
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
    const op_group **groups = r->chosen.groups;
    plan_buffer_bytes(p, r->bytes);
    for (int i = 0; i < p->op_count; i++)
        if (groups[i])
            leave_out(p, groups[i], r->bytes);
    for (int i = 0; i < p->op_count; i++)
        if (groups[i] && prepared_kernel(r, i)->needs)
            prepared_kernel(r, i)->needs(p, groups[i], r->chosen.kernels, r->bytes);
    return plan_place(p, r->bytes, r->offsets, &r->arena_bytes);
}

static void free_prepared(host_device *h, prepared *r)
{
    const selector s = selector_of(h);
    selection_free(&s, &r->chosen);
    free(r->bytes);
    free(r->offsets);
    free(r->tensors);
    free(r->placed);
    free(r);
}

/* The plan with its kernels and the places of its buffers; nothing of either is made yet. */
static cornu_status choose_all(host_device *h, const plan *p, prepared **out)
{
    static const char what[] = "prepared plan";
    const selector s = selector_of(h);
    const size_t tensors = (size_t)p->tensor_count;
    cornu_status status = CORNU_OK;
    prepared *r;
    *out = NULL;
    TRY(memory_new(1, sizeof *r, what, &r));
    r->plan = p;
    r->deferred = r->absorber = -1;
    TRY_GOTO(selection_new(p, &r->chosen));
    TRY_GOTO(memory_new(tensors, sizeof *r->bytes, what, &r->bytes));
    TRY_GOTO(memory_new(tensors, sizeof *r->offsets, what, &r->offsets));
    TRY_GOTO(memory_new(tensors, sizeof *r->tensors, what, &r->tensors));
    for (int i = 0; i < p->op_count; i = selection_next(&r->chosen, i)) {
        TRY_GOTO(check_panels(h, p, &p->ops[i]));
        TRY_GOTO(select_kernel(&s, p, &r->chosen, i));
    }
    TRY_GOTO(place_buffers(r));
done:
    if (status != CORNU_OK)
        free_prepared(h, r);
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
    free_prepared(host_of(d), r);
    return CORNU_OK;
}

/* ---- does it fit? ------------------------------------------------------------------------- */

typedef struct room {
    host_device *h;
    double bytes; /* bytes for buffers */
} room;

static bool fits(void *context, const plan *smaller)
{
    const room *r = context;
    int64_t needed;
    return host_buffer_bytes(&r->h->device, smaller, &needed) == CORNU_OK &&
           (double)needed <= r->bytes;
}

static cornu_status check_plan_fits(host_device *h, const prepared *r)
{
    const plan *p = r->plan;
    const size_t arena = r->arena_bytes, scratch = r->scratch_bytes;
    double available =
        (double)memory_available() + (double)h->arena_bytes + (double)h->scratch_bytes;
    double needed = (double)arena + (double)scratch;
    if ((arena <= h->arena_bytes && scratch <= h->scratch_bytes) || needed <= available)
        return CORNU_OK;
    char need[32], have[32], advice[BATCH_ADVICE];
    return status_fail(CORNU_OUT_OF_MEMORY,
                       "device %s: %s with batch %lld needs %s of memory; %s is free; %s",
                       h->device.ops->name, batch_plan_does(p), (long long)p->batch,
                       memory_human(needed, need), memory_human(available, have),
                       batch_advice(p, fits, &(room){h, available - (double)scratch}, advice));
}

/* ---- making it ready ---------------------------------------------------------------------- */

/* Correct the cost of operation `i` if its kernel knows it better than the plan. */
static void correct_cost(prepared *r, int i)
{
    const plan *p = r->plan;
    const kernel *k = prepared_kernel(r, i);
    kernel_choice *c = &r->chosen.choices[i];
    if (k->flops)
        c->flops = k->flops(p, &p->ops[i]);
    if (k->bytes)
        c->bytes = k->bytes(p, &p->ops[i], r->chosen.kernels);
}

static cornu_status prepare_kernels(host_device *h, prepared *r)
{
    const selector s = selector_of(h);
    const plan *p = r->plan;
    for (int i = 0; i < p->op_count; i = selection_next(&r->chosen, i))
        TRY(select_prepare(&s, p, &r->chosen, i));
    for (int i = 0; i < p->op_count; i = selection_next(&r->chosen, i))
        correct_cost(r, i);
    r->scratch_bytes = selection_scratch(&r->chosen);
    return r->chosen.replaced ? place_buffers(r) : CORNU_OK;
}

/* The kernel of `absorber` need not read again what group `g` computes in it. */
static void move_cost(prepared *r, const op_group *g, int absorber)
{
    const plan *p = r->plan;
    kernel_choice *from = &r->chosen.choices[g->first], *to = &r->chosen.choices[absorber];
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
    const op_group *g = r->chosen.groups[i];
    const kernel *k = prepared_kernel(r, i);
    if (!g || r->deferred >= 0 || g->absorber < 0 || !k->defers || !k->defers(r->plan, g) ||
        prepared_kernel(r, g->absorber)->absorbs != k)
        return CORNU_OK;
    move_cost(r, g, g->absorber);
    for (int n = 0; n < g->count; n++)
        TRY(selection_call_fused(&r->chosen, g->absorber, i + n));
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
    TRY_GOTO(prepare_kernels(h, r));
    for (int i = 0; i < p->op_count; i = selection_next(&r->chosen, i))
        TRY_GOTO(defer(r, i));
    TRY_GOTO(check_plan_fits(h, r));
    TRY_GOTO(host_ensure_memory(h, r));
    TRY_GOTO(ensure_tables(h, p->table_count));
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
    free_prepared(h, r);
}

cornu_status host_choices(device *d, const prepared *p, kernel_choice *out)
{
    (void)d;
    memcpy(out, p->chosen.choices, (size_t)p->plan->op_count * sizeof *out);
    return CORNU_OK;
}
