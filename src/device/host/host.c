#include "device/host/host.h"
#include "base/clock.h"
#include "base/memory.h"
#include "device/gather_sample.h"
#include "device/host/panels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct prepared {
    const plan *plan;
    int op_count;
    const kernel **kernels; /* [op_count] */
    void **states;          /* [op_count] */
    int *spans;             /* [op_count]: operations it runs at once; 0: one before does */
    float **tensors;        /* [tensor_count]: where each lies while the arena stays where it is */
    const unsigned char *arena;
    size_t scratch_bytes;   /* the most that a kernel needs */
    int late, taker;        /* an operation whose work waits for `taker` of the next step; or -1 */
    kernel_choice *choices; /* [op_count] */
    char **names;           /* [op_count]: the choices' "DEVICE/KERNEL" */
};

static host_device *host_of(device *d)
{
    return (host_device *)(void *)d;
}

/* Before anybody reads or writes variables, and before another plan's step. */
static void catch_up(host_device *h)
{
    const prepared *p = h->waiting;
    h->waiting = NULL;
    if (p)
        p->kernels[p->late]->catch_up(p->states[p->late], h->pool);
}

cornu_status host_open(const device_ops *ops, const kernel_list *kernels,
                       const device_options *options, device **out)
{
    *out = NULL;
    if (options && options->precision != PRECISION_FP32)
        return status_fail(CORNU_UNSUPPORTED, "device %s: found precision %s; it computes in fp32",
                           ops->name, device_precision_name(options->precision));
    host_device *h = NULL;
    TRY(memory_new(1, sizeof *h, "device", &h));
    h->device.ops = ops;
    h->kernels = kernels;
    h->forced = options ? options->kernel : NULL;
    cornu_status status = threads_open(options ? options->threads : 0, &h->pool);
    if (status != CORNU_OK) {
        host_close(&h->device);
        return status;
    }
    *out = &h->device;
    return CORNU_OK;
}

static void free_variables(host_device *h)
{
    for (int i = 0; h->variables && i < h->variable_count; i++)
        memory_free_aligned(h->variables[i]);
    free(h->variables);
    h->variables = NULL;
    h->variable_count = 0;
}

void host_close(device *d)
{
    if (!d)
        return;
    host_device *h = host_of(d);
    free_variables(h);
    memory_free_aligned(h->arena);
    memory_free_aligned(h->scratch);
    threads_close(h->pool);
    free(h);
}

int64_t host_memory_free(const device *d)
{
    (void)d;
    return memory_available();
}

/* ---- variables --------------------------------------------------------------------------- */

static cornu_status check_variables_fit(const host_device *h, const cornu_model *model)
{
    double needed = 0;
    for (int i = 0; i < model->variable_count; i++)
        needed += (double)model->variables[i].count * sizeof(float);
    int64_t available = memory_available();
    char need[32], have[32];
    if (needed > (double)available)
        return status_fail(CORNU_OUT_OF_MEMORY,
                           "device %s: the model's weights and optimizer slots need %s of memory; "
                           "%s is free",
                           h->device.ops->name, memory_human(needed, need),
                           memory_human((double)available, have));
    return CORNU_OK;
}

/* Is this variable kept in panels: the kernel of a dense layer, or a slot of one? */
static bool variable_in_panels(const host_device *h, const cornu_model *model, int number)
{
    const layer_kind *dense = h->panels ? layer_kind_find("Dense") : NULL;
    const variable *v = &model->variables[number];
    int weight = v->is_slot ? v->of : number;
    for (int i = 0; dense && i < model->layer_count; i++)
        if (model->layers[i]->kind == dense && model->layers[i]->first_variable == weight)
            return v->shape.rank == 2;
    return false;
}

/* From the plain layout into the device's, and back. */
static void take_values(float *to, const float *from, const shape *s, bool panels)
{
    if (panels)
        panels_pack(from, s->dim[0], s->dim[1], to);
    else
        memcpy(to, from, (size_t)shape_elements(s) * sizeof *to);
}

static void give_values(const float *from, float *to, const shape *s, bool panels)
{
    if (panels)
        panels_unpack(from, s->dim[0], s->dim[1], to);
    else
        memcpy(to, from, (size_t)shape_elements(s) * sizeof *to);
}

cornu_status host_bind(device *d, const cornu_model *model)
{
    host_device *h = host_of(d);
    catch_up(h);
    free_variables(h);
    TRY(check_variables_fit(h, model));
    TRY(memory_new((size_t)model->variable_count, sizeof(float *), "variables", &h->variables));
    h->variable_count = model->variable_count;
    h->model = model;
    for (int i = 0; i < model->variable_count; i++) {
        const variable *v = &model->variables[i];
        size_t bytes = (size_t)v->count * sizeof(float);
        TRY(memory_new_aligned(bytes, v->name, &h->variables[i]));
        if (v->value)
            take_values(h->variables[i], v->value, &v->shape, variable_in_panels(h, model, i));
    }
    return CORNU_OK;
}

static cornu_status check_variable(const host_device *h, int number, int64_t count)
{
    if (number < 0 || number >= h->variable_count)
        return status_fail(CORNU_INTERNAL, "variable: found number %d; expected 0 to %d", number,
                           h->variable_count - 1);
    if (count != h->model->variables[number].count)
        return status_fail(CORNU_INVALID, "%s: found %lld values; expected %lld",
                           h->model->variables[number].name, (long long)count,
                           (long long)h->model->variables[number].count);
    return CORNU_OK;
}

cornu_status host_read_variable(device *d, int number, float *values, int64_t count)
{
    host_device *h = host_of(d);
    TRY(check_variable(h, number, count));
    catch_up(h);
    give_values(h->variables[number], values, &h->model->variables[number].shape,
                variable_in_panels(h, h->model, number));
    return CORNU_OK;
}

cornu_status host_write_variable(device *d, int number, const float *values, int64_t count)
{
    host_device *h = host_of(d);
    TRY(check_variable(h, number, count));
    catch_up(h);
    take_values(h->variables[number], values, &h->model->variables[number].shape,
                variable_in_panels(h, h->model, number));
    return CORNU_OK;
}

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
static cornu_status ensure_memory(host_device *h, const prepared *r)
{
    TRY(ensure(&h->arena, &h->arena_bytes, r->plan->arena_bytes, "buffers"));
    return ensure(&h->scratch, &h->scratch_bytes, r->scratch_bytes, "scratch memory of kernels");
}

/* The largest batch below p's whose plan takes at most `bytes`; 0 where even batch 1 does not. */
static int64_t largest_batch(const plan *p, double bytes)
{
    int64_t fits = 0, too_large = p->batch;
    while (too_large - fits > 1) {
        int64_t batch = fits + (too_large - fits) / 2;
        plan_options options = {.mode = p->mode, .batch = batch};
        plan *smaller = NULL;
        if (plan_build(p->model, &options, &smaller) != CORNU_OK)
            return 0;
        if ((double)smaller->arena_bytes <= bytes)
            fits = batch;
        else
            too_large = batch;
        plan_free(smaller);
    }
    return fits;
}

static cornu_status check_plan_fits(const host_device *h, const plan *p, size_t scratch)
{
    static const char *const modes[] = {
        [PLAN_TRAIN] = "training", [PLAN_EVALUATE] = "evaluating", [PLAN_PREDICT] = "predicting"};
    double available =
        (double)memory_available() + (double)h->arena_bytes + (double)h->scratch_bytes;
    double needed = (double)p->arena_bytes + (double)scratch;
    if ((p->arena_bytes <= h->arena_bytes && scratch <= h->scratch_bytes) || needed <= available)
        return CORNU_OK;
    int64_t batch = largest_batch(p, available - (double)scratch);
    char need[32], have[32], advice[96] = "not even batch 1 fits";
    if (batch > 0)
        snprintf(advice, sizeof advice, "the largest batch that fits is %lld", (long long)batch);
    return status_fail(CORNU_OUT_OF_MEMORY,
                       "device %s: %s with batch %lld needs %s of memory; %s is free; %s",
                       h->device.ops->name, modes[p->mode], (long long)p->batch,
                       memory_human(needed, need), memory_human(available, have), advice);
}

/* ---- kernels ----------------------------------------------------------------------------- */

static bool is_dense(op_kind kind)
{
    return kind == OP_DENSE_FORWARD || kind == OP_DENSE_BACKWARD_DATA ||
           kind == OP_DENSE_BACKWARD_WEIGHTS;
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

/* If not, its name and reason are added to `refused`. */
static bool accepted(const host_device *h, const kernel *k, const plan *p, const op *o,
                     char *refused, size_t size)
{
    const char *why;
    if (takes(h, k, p, o, &why))
        return true;
    size_t used = strlen(refused);
    snprintf(refused + used, size - used, "%s%s: %s", used ? "; " : "", k->name, why);
    return false;
}

/* Is this tensor kept in panels: a variable that is, or the gradient of one? */
static bool in_panels(const host_device *h, const plan *p, tensor_ref t)
{
    if (!h->panels || t == NO_TENSOR)
        return false;
    if (p->tensors[t].role == TENSOR_VARIABLE)
        return variable_in_panels(h, p->model, p->tensors[t].variable);
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_DENSE_BACKWARD_WEIGHTS && p->ops[i].out[0] == t)
            return true;
    return false;
}

/* Panels go only where they are understood: through dense products, and through what takes one
   element after the other. */
static cornu_status check_panels(const host_device *h, const plan *p, const op *o)
{
    bool whole = o->kind == OP_UPDATE || o->kind == OP_SQUARE_SUM;
    int expected = -1; /* the one input that is in panels */
    if (o->kind == OP_DENSE_FORWARD || o->kind == OP_DENSE_BACKWARD_DATA)
        expected = 1;
    for (int k = 0; k < OP_INPUTS_MAX && h->panels && !whole; k++)
        if (o->in[k] != NO_TENSOR && in_panels(h, p, o->in[k]) != (k == expected))
            return status_fail(CORNU_INTERNAL, "device %s: %s of %s: found %s %s; expected %s",
                               h->device.ops->name, op_infos[o->kind].name, o->name,
                               p->tensors[o->in[k]].name, k == expected ? "in rows" : "in panels",
                               k == expected ? "panels" : "rows");
    return CORNU_OK;
}

/* The first that accepts: of the kernels that the caller forced, of the device's list, the
 * reference. */
static const kernel *choose(const host_device *h, const plan *p, const op *o, char *refused,
                            size_t size)
{
    const kernel *reference = &reference_kernels[o->kind];
    kernel_list list = h->kernels[o->kind];
    const char *why;
    for (int i = 0; h->forced && list && list[i]; i++)
        if (strcmp(list[i]->name, h->forced) == 0 && takes(h, list[i], p, o, &why))
            return list[i];
    if (h->forced && strcmp(reference->name, h->forced) == 0 && takes(h, reference, p, o, &why))
        return reference;
    for (int i = 0; list && list[i]; i++)
        if (accepted(h, list[i], p, o, refused, size))
            return list[i];
    return accepted(h, reference, p, o, refused, size) ? reference : NULL;
}

static cornu_status prepare_op(host_device *h, prepared *r, int i)
{
    const plan *p = r->plan;
    const op *o = &p->ops[i];
    kernel_choice *c = &r->choices[i];
    TRY(check_panels(h, p, o));
    const kernel *k = choose(h, p, o, c->refused, sizeof c->refused);
    if (!k)
        return status_fail(CORNU_UNSUPPORTED, "device %s: %s of %s: %s", h->device.ops->name,
                           op_infos[o->kind].name, o->name, c->refused);
    bool reference = k == &reference_kernels[o->kind];
    TRY(memory_format(&r->names[i], "%s/%s", reference ? "reference" : h->device.ops->name,
                      k->name));
    c->kernel = r->names[i];
    r->kernels[i] = k;
    r->spans[i] = k->span ? k->span(p, o) : 1;
    plan_range_cost(p, i, r->spans[i], &c->flops, &c->bytes);
    if (k->flops)
        c->flops = k->flops(p, o);
    if (k->bytes)
        c->bytes = k->bytes(p, o);
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

/* Operation `i` runs within the kernel of `first`. */
static cornu_status cover_op(prepared *r, int first, int i)
{
    free(r->names[i]);
    r->names[i] = NULL;
    TRY(memory_format(&r->names[i], "with %d", first + 1));
    r->choices[i].kernel = r->names[i];
    return CORNU_OK;
}

/* If `i`'s work can be put off, it runs with the operation that takes it along, which need not read
   again what has just been written. */
static cornu_status put_off(prepared *r, int i)
{
    const plan *p = r->plan;
    const kernel *k = r->kernels[i];
    int taker = k->next ? k->next(p, &p->ops[i]) : -1;
    if (taker < 0 || r->late >= 0 || r->kernels[taker]->takes != k)
        return CORNU_OK;
    kernel_choice *from = &r->choices[i], *to = &r->choices[taker];
    to->flops += from->flops;
    to->bytes += from->bytes;
    for (int m = 0; m < OP_INPUTS_MAX; m++)
        for (int n = 0; n < r->spans[i]; n++)
            if (p->ops[taker].in[m] != NO_TENSOR && p->ops[taker].in[m] == p->ops[i + n].out[0])
                to->bytes -= (double)p->tensors[p->ops[taker].in[m]].count * sizeof(float);
    from->flops = from->bytes = 0;
    for (int n = 0; n < r->spans[i]; n++)
        TRY(cover_op(r, taker, i + n));
    r->late = i;
    r->taker = taker;
    return CORNU_OK;
}

cornu_status host_prepare(device *d, const plan *p, prepared **out)
{
    *out = NULL;
    host_device *h = host_of(d);
    prepared *r = NULL;
    cornu_status status = CORNU_OK;
    size_t count = (size_t)p->op_count;
    TRY(check_plan_fits(h, p, 0));
    TRY(memory_new(1, sizeof *r, "prepared plan", &r));
    h->prepared_count++;
    r->plan = p;
    r->late = r->taker = -1;
    r->op_count = p->op_count;
    TRY_GOTO(memory_new(count, sizeof *r->kernels, "prepared plan", &r->kernels));
    TRY_GOTO(memory_new(count, sizeof *r->states, "prepared plan", &r->states));
    TRY_GOTO(memory_new(count, sizeof *r->spans, "prepared plan", &r->spans));
    TRY_GOTO(memory_new((size_t)p->tensor_count, sizeof *r->tensors, "prepared plan", &r->tensors));
    TRY_GOTO(memory_new(count, sizeof *r->choices, "prepared plan", &r->choices));
    TRY_GOTO(memory_new(count, sizeof *r->names, "prepared plan", &r->names));
    for (int i = 0; i < p->op_count; i += r->spans[i]) {
        TRY_GOTO(prepare_op(h, r, i));
        for (int k = 1; k < r->spans[i]; k++)
            TRY_GOTO(cover_op(r, i, i + k));
    }
    for (int i = 0; i < p->op_count; i += r->spans[i])
        TRY_GOTO(put_off(r, i));
    TRY_GOTO(check_plan_fits(h, p, r->scratch_bytes));
    TRY_GOTO(ensure_memory(h, r));
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
    if (h->waiting == r)
        catch_up(h);
    if (--h->prepared_count == 0) {
        free_memory(&h->arena, &h->arena_bytes);
        free_memory(&h->scratch, &h->scratch_bytes);
    }
    for (int i = 0; i < r->op_count; i++) {
        if (r->states && r->states[i] && r->kernels[i]->release)
            r->kernels[i]->release(r->states[i]);
        if (r->names)
            free(r->names[i]);
    }
    free(r->kernels);
    free(r->states);
    free(r->spans);
    free(r->tensors);
    free(r->choices);
    free(r->names);
    free(r);
}

cornu_status host_choices(device *d, const prepared *p, kernel_choice *out)
{
    (void)d;
    memcpy(out, p->choices, (size_t)p->plan->op_count * sizeof *out);
    return CORNU_OK;
}

/* ---- running ----------------------------------------------------------------------------- */

static float *tensor_memory(const host_device *h, const plan *p, tensor_ref ref)
{
    const tensor *t = &p->tensors[ref];
    if (t->role == TENSOR_VARIABLE)
        return h->variables[t->variable];
    return (float *)(void *)(h->arena + t->offset);
}

static cornu_status run_op(host_device *h, prepared *p, const step_input *input, int i)
{
    const op *o = &p->plan->ops[i];
    op_run r = {.op = o,
                .plan = p->plan,
                .state = p->states[i],
                .scratch = h->scratch,
                .tensors = p->tensors,
                .kernels = p->kernels,
                .pool = h->pool,
                .input = input,
                .puts_off = i == p->late,
                .late = h->waiting && i == p->taker ? p->states[p->late] : NULL,
                .results = &h->results};
    for (int k = 0; k < OP_INPUTS_MAX; k++)
        r.in[k] = o->in[k] == NO_TENSOR ? NULL : p->tensors[o->in[k]];
    for (int k = 0; k < OP_OUTPUTS_MAX; k++)
        r.out[k] = o->out[k] == NO_TENSOR ? NULL : p->tensors[o->out[k]];
    cornu_status status = p->kernels[i]->run(&r);
    if (status != CORNU_OK)
        return status_prefix(status, "device %s: %s of %s", h->device.ops->name,
                             op_infos[o->kind].name, o->name);
    if (r.puts_off || r.late)
        h->waiting = r.puts_off ? p : NULL;
    return CORNU_OK;
}

/* Everything that a step needs is there. */
static cornu_status begin_step(host_device *h, prepared *r, const step_input *input)
{
    const plan *p = r->plan;
    if (h->variable_count != p->model->variable_count)
        return status_fail(CORNU_INTERNAL, "device %s: no model is bound", h->device.ops->name);
    if (h->waiting != r)
        catch_up(h);
    TRY(ensure_memory(h, r));
    if (r->arena != h->arena || !h->arena)
        for (int i = 0; i < p->tensor_count; i++)
            r->tensors[i] = tensor_memory(h, p, i);
    r->arena = h->arena;
    return gather_check(p, input);
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
        for (int i = 0; i < p->plan->op_count; i += p->spans[i]) {
            TRY(run_op(h, p, &inputs[s], i));
            if (p->plan->ops[i].kind == OP_GATHER)
                h->results.gather_seconds += clock_seconds() - begin;
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
    for (int i = 0; i < p->plan->op_count; i += p->spans[i]) {
        TRY(run_op(h, p, input, i));
        double now = clock_seconds();
        seconds[i == p->late ? p->taker : i] += now - before;
        before = now;
    }
    end_step(h, p->plan);
    return CORNU_OK;
}

cornu_status host_results(device *d, step_results *out, bool reset)
{
    host_device *h = host_of(d);
    *out = h->results;
    if (reset)
        memset(&h->results, 0, sizeof h->results);
    return CORNU_OK;
}

cornu_status host_synchronize(device *d)
{
    catch_up(host_of(d));
    return CORNU_OK;
}

cornu_status host_read(device *d, prepared *p, tensor_ref t, float *values, int64_t count)
{
    host_device *h = host_of(d);
    if (t < 0 || t >= p->plan->tensor_count)
        return status_fail(CORNU_INTERNAL, "tensor: found number %d; expected 0 to %d", t,
                           p->plan->tensor_count - 1);
    const tensor *from = &p->plan->tensors[t];
    if (count != from->count)
        return status_fail(CORNU_INVALID, "%s: found room for %lld values; expected %lld",
                           from->name, (long long)count, (long long)from->count);
    if (from->role == TENSOR_BUFFER && from->last < p->plan->op_count - 1)
        return status_fail(CORNU_INVALID, "%s: its memory is used again before the step's end",
                           from->name);
    catch_up(h);
    give_values(tensor_memory(h, p->plan, t), values, &from->shape, in_panels(h, p->plan, t));
    return CORNU_OK;
}
