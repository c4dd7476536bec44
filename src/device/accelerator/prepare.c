/* A plan made ready: its kernels, its memory, its addresses. */
#include "base/log.h"
#include "device/accelerator/core.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory that plans share ----------------------------------------------------------------- */

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
static cornu_status make_ready(gpu *g, prepared *r, gpu_need *n)
{
    n->scratch = (double)r->scratch_bytes;
    TRY(gpu_check_fits(g, r->plan, n));
    cornu_status status = gpu_queue_reserve(g, r->plan->batch);
    if (status == CORNU_OK)
        status = ensure_memory(g, r);
    if (status == CORNU_OUT_OF_MEMORY)
        status = gpu_fail_refused(g, r->plan, n);
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
    gpu_need n = {.queue = (double)gpu_queue_bytes(p->batch)};
    TRY_GOTO(new_prepared(g, p, &r));
    TRY_GOTO(gpu_buffer_offsets(g, p, r->offsets, &r->arena_bytes));
    n.arena = (double)r->arena_bytes;
    TRY_GOTO(gpu_check_fits(g, p, &n));
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
