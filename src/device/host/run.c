/* Steps of a prepared plan on the host. */
#include "base/clock.h"
#include "base/memory.h"
#include "device/gather_sample.h"
#include "device/host/prepared.h"
#include <math.h>
#include <string.h>

/* ---- running ----------------------------------------------------------------------------- */

static float *tensor_memory(const host_device *h, const prepared *p, tensor_ref ref)
{
    const tensor *t = &p->plan->tensors[ref];
    if (t->role == TENSOR_VARIABLE)
        return h->variables[t->variable];
    if (t->role == TENSOR_CONSTANT)
        return t->values;
    tensor_ref root = plan_root(p->plan, ref);
    if (p->bytes[root] == 0)
        return NULL;
    if (p->placed && p->placed[root])
        return p->placed[root];
    return (float *)(void *)(h->arena + p->offsets[ref]);
}

static cornu_status run_op(host_device *h, prepared *p, const step_input *input, int i)
{
    const op *o = &p->plan->ops[i];
    op_run r = {.op = o,
                .plan = p->plan,
                .state = p->chosen.states[i],
                .scratch = h->scratch,
                .tensors = p->tensors,
                .kernels = p->chosen.kernels,
                .group = p->chosen.groups[i],
                .pool = h->pool,
                .input = input,
                .deferred = i == p->deferred,
                .absorbed = h->pending && i == p->absorber ? p->chosen.states[p->deferred] : NULL,
                .results = &h->results};
    for (int k = 0; k < OP_INPUTS_MAX; k++)
        r.in[k] = o->in[k] == NO_TENSOR ? NULL : p->tensors[o->in[k]];
    for (int k = 0; k < OP_OUTPUTS_MAX; k++)
        r.out[k] = o->out[k] == NO_TENSOR ? NULL : p->tensors[o->out[k]];
    cornu_status status = prepared_kernel(p, i)->run(&r);
    if (status != CORNU_OK)
        return status_prefix(status, "device %s: %s of %s", h->device.ops->name,
                             op_infos[o->kind].name, o->name);
    if (r.deferred || r.absorbed)
        h->pending = r.deferred ? p : NULL;
    return CORNU_OK;
}

/* Find the addresses of the plan's tensors. They are valid until another plan needs a larger
   arena or variables are joined. */
static cornu_status find_tensors(host_device *h, prepared *r)
{
    const plan *p = r->plan;
    TRY(host_ensure_memory(h, r));
    if (r->arena != h->arena || !h->arena || r->moves != h->moves)
        for (int i = 0; i < p->tensor_count; i++)
            r->tensors[i] = tensor_memory(h, r, i);
    r->arena = h->arena;
    r->moves = h->moves;
    return CORNU_OK;
}

/* Everything that a step needs is there. */
static cornu_status begin_step(host_device *h, prepared *r, const step_input *input)
{
    const plan *p = r->plan;
    if (h->variable_count != p->model->variable_count)
        return status_fail(CORNU_INTERNAL, "device %s: no model is bound", h->device.ops->name);
    if (h->pending != r)
        host_flush(h);
    TRY(find_tensors(h, r));
    return p->input == NO_TENSOR ? CORNU_OK : gather_check(p, input);
}

static void end_step(host_device *h, const plan *p)
{
    h->results.samples += p->batch;
    if (p->target != NO_TENSOR && !isfinite(h->results.last_loss))
        h->results.not_finite = true;
}

cornu_status host_run(device *d, prepared *p, const step_input *inputs, int steps)
{
    host_device *h = host_of(d);
    for (int s = 0; s < steps; s++) {
        TRY(begin_step(h, p, &inputs[s]));
        double begin = clock_seconds();
        for (int i = 0; i < p->plan->op_count; i = selection_next(&p->chosen, i)) {
            TRY(run_op(h, p, &inputs[s], i));
            if (p->plan->ops[i].kind == OP_GATHER)
                h->results.gather_seconds += clock_seconds() - begin;
            if (p->done)
                p->done(p->watcher, selection_next(&p->chosen, i));
        }
        end_step(h, p->plan);
    }
    return CORNU_OK;
}

cornu_status host_time_operations(device *d, prepared *p, const step_input *input, double *seconds)
{
    host_device *h = host_of(d);
    TRY(begin_step(h, p, input));
    memset(seconds, 0, (size_t)p->plan->op_count * sizeof *seconds);
    double before = clock_seconds();
    for (int i = 0; i < p->plan->op_count; i = selection_next(&p->chosen, i)) {
        TRY(run_op(h, p, input, i));
        double now = clock_seconds();
        seconds[i == p->deferred ? p->absorber : i] += now - before;
        before = now;
    }
    end_step(h, p->plan);
    return CORNU_OK;
}

void host_watch(device *d, prepared *p, void (*done)(void *context, int ops), void *context)
{
    (void)d;
    p->done = done;
    p->watcher = context;
}

cornu_status host_results(device *d, step_results *out, bool reset)
{
    host_device *h = host_of(d);
    const size_t bytes = (size_t)h->results.table_count * sizeof *h->shown_tables;
    *out = h->results;
    out->tables = h->shown_tables;
    if (bytes > 0)
        memcpy(h->shown_tables, h->results.tables, bytes);
    if (!reset)
        return CORNU_OK;
    if (bytes > 0)
        memset(h->results.tables, 0, bytes);
    h->results = (step_results){.tables = h->results.tables, .table_count = h->results.table_count};
    return CORNU_OK;
}

cornu_status host_synchronize(device *d)
{
    host_flush(host_of(d));
    return CORNU_OK;
}

static cornu_status check_written(const prepared *p, tensor_ref t)
{
    if (t < 0 || t >= p->plan->tensor_count)
        return status_fail(CORNU_INTERNAL, "tensor: found number %d; expected 0 to %d", t,
                           p->plan->tensor_count - 1);
    const tensor *of = &p->plan->tensors[t];
    if (of->role == TENSOR_BUFFER &&
        p->bytes[plan_root(p->plan, t)] < (size_t)of->count * sizeof(float))
        return status_fail(CORNU_INVALID, "%s: no kernel writes it: its group runs as one",
                           of->name);
    return CORNU_OK;
}

/* Check that a tensor of a prepared plan may be read after its step. */
static cornu_status check_read(const prepared *p, tensor_ref t, int64_t count)
{
    TRY(check_written(p, t));
    const tensor *from = &p->plan->tensors[t];
    if (count != from->count)
        return status_fail(CORNU_INVALID, "%s: found room for %lld values; expected %lld",
                           from->name, (long long)count, (long long)from->count);
    if (from->role == TENSOR_BUFFER && from->last < p->plan->op_count - 1)
        return status_fail(CORNU_INVALID, "%s: its memory is used again before the step's end",
                           from->name);
    return CORNU_OK;
}

cornu_status host_read(device *d, prepared *p, tensor_ref t, float *values, int64_t count)
{
    host_device *h = host_of(d);
    TRY(check_read(p, t, count));
    const tensor *from = &p->plan->tensors[t];
    host_flush(h);
    host_give_values(tensor_memory(h, p, t), values, &from->shape, host_in_panels(h, from));
    return CORNU_OK;
}

cornu_status host_place(device *d, prepared *p, tensor_ref t, float *values)
{
    TRY(check_written(p, t));
    host_flush(host_of(d));
    if (!p->placed)
        TRY(memory_new((size_t)p->plan->tensor_count, sizeof *p->placed, "buffers", &p->placed));
    p->placed[plan_root(p->plan, t)] = values;
    p->arena = NULL; /* find the addresses again */
    return CORNU_OK;
}
