#include "device/cpu/pool/conv_pool.h"
#include "device/cpu/pool/pool_kernels.h"

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

bool conv_pool_accepts(const plan *p, const op *conv, const char **why)
{
    *why = "an activation other than relu before the pool";
    if (conv->a.conv.act.kind != ACTIVATION_LINEAR && conv->a.conv.act.kind != ACTIVATION_RELU)
        return false;
    return conv_pool_windows(p, conv + 1, why);
}

conv_backward conv_backward_of(const plan *p, const op *o)
{
    const op_group *g = plan_group(p, o, GROUP_CONV_BACKWARD);
    return (conv_backward){.pool = group_op(p, g, ROLE_POOL),
                           .act = group_op(p, g, ROLE_ACTIVATION),
                           .weights = group_op(p, g, ROLE_WGRAD),
                           .data = group_op(p, g, ROLE_DGRAD)};
}

bool conv_backward_accepts(const plan *p, const conv_backward *f, const char **why)
{
    *why = "an activation other than relu";
    if (f->act && f->act->a.act.kind != ACTIVATION_RELU)
        return false;
    *why = "the pool is of another tensor than the activation's";
    if (f->act && f->pool && f->act->in[0] != f->pool->in[0])
        return false;
    return !f->pool || conv_pool_windows(p, f->pool, why);
}

/* The first operation of the partner group, which shares the convolution's output with this group,
   if the pair's kernels take both. */
static const op *partner_of(const plan *p, const op_group *g, const conv_pool_pair *pair)
{
    const char *why;
    if (!g || g->partner < 0)
        return NULL;
    const op *own = &p->ops[g->first], *other = &p->ops[p->groups[g->partner].first];
    bool forward = g->kind == GROUP_CONV_POOL;
    return pair->forward->accepts(p, forward ? own : other, &why) &&
                   pair->backward->accepts(p, forward ? other : own, &why)
               ? other
               : NULL;
}

const op *conv_pool_reader(const plan *p, const op *conv, const conv_pool_pair *pair)
{
    return partner_of(p, plan_group(p, conv, GROUP_CONV_POOL), pair);
}

const op *conv_pool_writer(const plan *p, const op *pool, const conv_pool_pair *pair)
{
    return partner_of(p, plan_group(p, pool, GROUP_CONV_BACKWARD), pair);
}

/* Were these two chosen as a pair? If the device does not say, they were not. */
static bool codes_used(const plan *p, const kernel_info *const *kernels, const op *conv,
                       const op *pool, const conv_pool_pair *pair)
{
    return kernels && conv && pool && kernels[conv - p->ops] == &pair->forward->info &&
           kernels[pool - p->ops] == &pair->backward->info;
}

/* Bytes of codes: one per window. */
static size_t codes_bytes(const plan *p, tensor_ref pooled)
{
    return (size_t)p->tensors[pooled].count;
}

void conv_pool_forward_needs(const plan *p, const op_group *g, const kernel_info *const *kernels,
                             const conv_pool_pair *pair, size_t *bytes)
{
    const op *conv = group_op(p, g, ROLE_FPROP), *pool = group_op(p, g, ROLE_POOL);
    if (codes_used(p, kernels, conv, conv_pool_reader(p, conv, pair), pair))
        bytes[conv->out[0]] = codes_bytes(p, pool->out[0]);
}

void conv_pool_backward_needs(const plan *p, const op_group *g, const kernel_info *const *kernels,
                              const conv_pool_pair *pair, size_t *bytes)
{
    const op *pool = group_op(p, g, ROLE_POOL);
    if (!codes_used(p, kernels, conv_pool_writer(p, pool, pair), pool, pair))
        bytes[pool->out[0]] = codes_bytes(p, pool->in[1]);
}

double conv_pool_forward_bytes(const plan *p, const op *conv, const kernel_info *const *kernels,
                               const conv_pool_pair *pair)
{
    double flops, bytes;
    plan_group_cost(p, conv, plan_group(p, conv, GROUP_CONV_POOL), &flops, &bytes);
    if (!codes_used(p, kernels, conv, conv_pool_reader(p, conv, pair), pair))
        return bytes;
    const tensor *y = OP_OUT(p, conv, 0), *pooled = OP_OUT(p, conv + 1, 0);
    return bytes - (double)y->count * sizeof(float) + (double)pooled->count;
}

double conv_pool_backward_bytes(const plan *p, const op *pool, const kernel_info *const *kernels,
                                const conv_pool_pair *pair)
{
    double flops, bytes;
    plan_group_cost(p, pool, plan_group(p, pool, GROUP_CONV_BACKWARD), &flops, &bytes);
    if (!codes_used(p, kernels, conv_pool_writer(p, pool, pair), pool, pair))
        return bytes;
    const tensor *y = OP_IN(p, pool, 0), *pooled = OP_IN(p, pool, 1);
    return bytes - (double)(y->count + pooled->count) * sizeof(float) + (double)pooled->count;
}

conv_pool_output conv_pool_outputs(const op_run *r, const op *reader, const conv_pool_pair *pair)
{
    const op *pool = r->op + 1;
    /* y has no memory if nothing else reads it */
    conv_pool_output o = {.y = r->out[0], .pooled = r->tensors[pool->out[0]]};
    if (codes_used(r->plan, r->kernels, r->op, reader, pair))
        o.codes = (uint8_t *)(void *)o.y;
    if (o.codes)
        o.y = NULL;
    return o;
}

typedef struct codes_run {
    const pool_kernels *k;
    const float *y, *pooled;
    const shape *from, *to; /* shapes of y and of pooled */
    float slope;
    uint8_t *codes;
} codes_run;

/* A task is a row of windows. */
static void codes_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const codes_run *r = context;
    const int64_t *from = r->from->dim, *to = r->to->dim;
    int64_t width = from[2] * from[3], at = task * to[2] * to[3];
    const float *top = r->y + (task / to[1] * from[1] + task % to[1] * 2) * width;
    r->k->find_codes(&(pool_row){.top = top,
                                 .bottom = top + width,
                                 .y = r->pooled + at,
                                 .windows = to[2],
                                 .channels = to[3],
                                 .slope = r->slope},
                     r->codes + at);
}

const uint8_t *conv_pool_codes(const op_run *r, cpu_isa isa, const conv_backward *f,
                               const op *writer, const conv_pool_pair *pair)
{
    if (codes_used(r->plan, r->kernels, writer, f->pool, pair))
        return (const uint8_t *)(const void *)r->tensors[f->pool->in[0]];
    codes_run c = {.k = cpu_pool_kernels[isa],
                   .y = r->tensors[f->pool->in[0]],
                   .pooled = r->tensors[f->pool->in[1]],
                   .from = &OP_IN(r->plan, f->pool, 0)->shape,
                   .to = &OP_IN(r->plan, f->pool, 1)->shape,
                   .slope = f->act ? 0 : 1,
                   .codes = (uint8_t *)(void *)r->tensors[f->pool->out[0]]};
    threads_run(r->pool, c.to->dim[0] * c.to->dim[1], codes_task, &c);
    return c.codes;
}
