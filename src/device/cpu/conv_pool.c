#include "device/cpu/conv_pool.h"
#include "device/cpu/kernels/pool.h"

CPU_ISA_TABLE(pool_kernels, cpu_pool_kernels);

bool conv_pool_windows(const plan *p, const op *pool, const char **why)
{
    const window2d *w = &pool->a.window;
    bool forward = pool->kind == OP_MAX_POOL_FORWARD;
    const shape *x = &OP_IN(p, pool, 0)->shape;
    const shape *y = forward ? &OP_OUT(p, pool, 0)->shape : &OP_IN(p, pool, 1)->shape;
    for (int i = 0; i < 2; i++) {
        *why = "windows other than 2x2 with stride 2";
        if (w->kernel[i] != 2 || w->stride[i] != 2 || w->dilation[i] != 1)
            return false;
        *why = "windows reach beyond the image";
        if (w->before[i] != 0 || 2 * y->dim[1 + i] > x->dim[1 + i])
            return false;
    }
    return true;
}

/* Operation `o` if the plan has it, it is of this kind and reads `t` as its input number `input`.
 */
static const op *reading(const plan *p, const op *o, op_kind kind, int input, tensor_ref t)
{
    return o - p->ops < p->op_count && o->kind == kind && o->in[input] == t ? o : NULL;
}

bool conv_pool_ahead(const plan *p, const op *conv, const char **why)
{
    *why = "no max-pool behind it";
    if (!reading(p, conv + 1, OP_MAX_POOL_FORWARD, 0, conv->out[0]))
        return false;
    *why = "an activation other than relu before the pool";
    if (conv->a.conv.act.kind != ACTIVATION_LINEAR && conv->a.conv.act.kind != ACTIVATION_RELU)
        return false;
    return conv_pool_windows(p, conv + 1, why);
}

conv_pool_ops conv_pool_backward(const plan *p, const op *o)
{
    conv_pool_ops f = {0};
    if (o->kind == OP_MAX_POOL_BACKWARD) {
        f.pool = o;
        f.act = reading(p, o + 1, OP_ACTIVATION_BACKWARD, 1, o->out[0]);
        if (f.act && p->tensors[o->out[0]].last > f.act - p->ops)
            f.act = NULL;
    } else {
        f.act = o;
    }
    const op *before = f.act ? f.act : f.pool;
    tensor_ref dy = before->out[0];
    f.weights = reading(p, before + 1, OP_CONV2D_BACKWARD_WEIGHTS, 1, dy);
    if (f.weights)
        f.data = reading(p, f.weights + 1, OP_CONV2D_BACKWARD_DATA, 0, dy);
    const op *last = f.data ? f.data : f.weights;
    if (last && p->tensors[dy].last > last - p->ops)
        f.weights = f.data = NULL;
    return f;
}

bool conv_pool_takes(const plan *p, const conv_pool_ops *f, const char **why)
{
    *why = "no convolution's weights behind it alone";
    if (!f->weights)
        return false;
    *why = "an activation other than relu";
    if (f->act && f->act->a.act.kind != ACTIVATION_RELU)
        return false;
    *why = "the pool is of another tensor than the activation's";
    if (f->act && f->pool && f->act->in[0] != f->pool->in[0])
        return false;
    return !f->pool || conv_pool_windows(p, f->pool, why);
}

/* The first operation from `number` on that reads `t`, or NULL. */
static const op *next_reader(const plan *p, int64_t number, tensor_ref t)
{
    for (; number < p->op_count; number++)
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            if (p->ops[number].in[k] == t)
                return &p->ops[number];
    return NULL;
}

const op *conv_pool_reader(const plan *p, const op *conv, const conv_pool_pair *pair)
{
    const char *why;
    if (!pair->forward->accepts(p, conv, &why))
        return NULL;
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensors[i].alias == conv->out[0])
            return NULL;
    const op *pool = next_reader(p, conv + 2 - p->ops, conv->out[0]);
    if (!pool || pool->kind != OP_MAX_POOL_BACKWARD || !pair->backward->accepts(p, pool, &why))
        return NULL;
    bool last = OP_OUT(p, conv, 0)->last < pool - p->ops + pair->backward->span(p, pool);
    return last ? pool : NULL;
}

const op *conv_pool_writer(const plan *p, const op *pool, const conv_pool_pair *pair)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_CONV2D_FORWARD && p->ops[i].out[0] == pool->in[0])
            return conv_pool_reader(p, &p->ops[i], pair) == pool ? &p->ops[i] : NULL;
    return NULL;
}

/* Have these two been chosen as a pair? Where the device does not say, they have not. */
static bool codes_used(const op_run *r, const op *conv, const op *pool, const conv_pool_pair *pair)
{
    const op *ops = r->plan->ops;
    return r->kernels && conv && pool && r->kernels[conv - ops] == pair->forward &&
           r->kernels[pool - ops] == pair->backward;
}

int conv_pool_forward_span(const plan *p, const op *conv)
{
    (void)p, (void)conv;
    return 2;
}

double conv_pool_forward_bytes(const plan *p, const op *conv, const conv_pool_pair *pair)
{
    double flops, bytes;
    plan_range_cost(p, (int)(conv - p->ops), 2, &flops, &bytes);
    if (!conv_pool_reader(p, conv, pair))
        return bytes;
    const tensor *y = OP_OUT(p, conv, 0), *pooled = OP_OUT(p, conv + 1, 0);
    return bytes - (double)y->count * sizeof(float) + (double)pooled->count;
}

double conv_pool_backward_bytes(const plan *p, const op *pool, int span, const conv_pool_pair *pair)
{
    double flops, bytes;
    plan_range_cost(p, (int)(pool - p->ops), span, &flops, &bytes);
    if (!conv_pool_writer(p, pool, pair))
        return bytes;
    const tensor *y = OP_IN(p, pool, 0), *pooled = OP_IN(p, pool, 1);
    return bytes - (double)(y->count + pooled->count) * sizeof(float) + (double)pooled->count;
}

conv_pool_output conv_pool_outputs(const op_run *r, const op *reader, const conv_pool_pair *pair)
{
    const op *pool = r->op + 1;
    conv_pool_output o = {.y = r->out[0], .pooled = r->tensors[pool->out[0]]};
    if (codes_used(r, r->op, reader, pair))
        o.codes = (uint8_t *)(void *)o.y;
    if (o.codes || OP_OUT(r->plan, r->op, 0)->last <= pool - r->plan->ops)
        o.y = NULL;
    return o;
}

typedef struct codes_run {
    const pool_kernels *k;
    const float *y, *pooled;
    const shape *from, *to; /* of y, of pooled */
    float slope;
    uint8_t *codes;
} codes_run;

/* A chunk is a row of windows. */
static void codes_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const codes_run *r = context;
    const int64_t *from = r->from->dim, *to = r->to->dim;
    int64_t width = from[2] * from[3], at = chunk * to[2] * to[3];
    const float *top = r->y + (chunk / to[1] * from[1] + chunk % to[1] * 2) * width;
    r->k->find_codes(&(pool_row){.top = top,
                                 .bottom = top + width,
                                 .y = r->pooled + at,
                                 .windows = to[2],
                                 .channels = to[3],
                                 .slope = r->slope},
                     r->codes + at);
}

const uint8_t *conv_pool_codes(const op_run *r, const conv_pool_ops *f, const op *writer,
                               const conv_pool_pair *pair)
{
    if (codes_used(r, writer, f->pool, pair))
        return (const uint8_t *)(const void *)r->tensors[f->pool->in[0]];
    codes_run c = {.k = cpu_pool_kernels[cpu_isa_or_base()],
                   .y = r->tensors[f->pool->in[0]],
                   .pooled = r->tensors[f->pool->in[1]],
                   .from = &OP_IN(r->plan, f->pool, 0)->shape,
                   .to = &OP_IN(r->plan, f->pool, 1)->shape,
                   .slope = f->act ? 0 : 1,
                   .codes = (uint8_t *)(void *)r->tensors[f->pool->out[0]]};
    threads_run(r->pool, c.to->dim[0] * c.to->dim[1], codes_chunk, &c);
    return c.codes;
}
