/* Pooling. Two kernels for the backward pass of max pooling: windows that lie apart give their
   gradient away, others are gathered by the elements that they reach. Each is there for one channel
   a work-item, and for four. */
#include "device/opencl/plugin/ops/ops.h"

enum { SIDE_MOST = 1 << 28 }; /* so that sums of a few of them are 32-bit numbers in the kernels */

typedef struct pool {
    const shape *in, *out;
    const window2d *w;
    int pack;
} pool;

static pool pool_of(const gpu_op *r, const tensor *in, const tensor *out)
{
    return (pool){.in = &in->shape,
                  .out = &out->shape,
                  .w = &r->op->a.window,
                  .pack = opencl_pack(in->shape.dim[3])};
}

/* What a kernel's SHAPE takes. */
#define A_POOL(p)                                                                                 \
    A_LONG((p).in->dim[0]), A_INT((p).in->dim[1]), A_INT((p).in->dim[2]), A_INT((p).out->dim[1]), \
        A_INT((p).out->dim[2]), A_INT((p).in->dim[3] / (p).pack), A_INT((p).w->kernel[0]),        \
        A_INT((p).w->kernel[1]), A_INT((p).w->stride[0]), A_INT((p).w->stride[1]),                \
        A_INT((p).w->dilation[0]), A_INT((p).w->dilation[1]), A_INT((p).w->before[0]),            \
        A_INT((p).w->before[1])
/* The kernel for its pack. */
#define FUNCTION(p, name) ((p).pack == 4 ? OPENCL_##name##_4 : OPENCL_##name)

static bool accepts(const gpu *g, const plan *p, const op *o, const char **why)
{
    (void)g;
    const window2d *w = &o->a.window;
    *why = "a side is longer than 2^28";
    for (int i = 0; i < 2; i++) {
        int64_t in = p->tensors[o->in[0]].shape.dim[1 + i];
        int64_t out = p->tensors[o->out[0]].shape.dim[1 + i];
        if (in > SIDE_MOST || out > SIDE_MOST || w->stride[i] > SIDE_MOST ||
            w->dilation[i] * w->kernel[i] > SIDE_MOST)
            return false;
    }
    return p->tensors[o->in[0]].shape.dim[3] <= SIDE_MOST;
}

static opencl_grid grid_of(int64_t packs)
{
    return opencl_line(opencl_groups(packs, WORK_ITEMS, 0));
}

/* ---- forward ------------------------------------------------------------------------------- */

static cornu_status enqueue_forward(const gpu_op *r, const pool *p, opencl_function function)
{
    return OPENCL_LAUNCH(r->g, function, grid_of(GPU_OUT(r, 0)->count / p->pack), A_POOL(*p),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->out[0]));
}

static cornu_status enqueue_max_forward(const gpu_op *r)
{
    pool p = pool_of(r, GPU_IN(r, 0), GPU_OUT(r, 0));
    return enqueue_forward(r, &p, FUNCTION(p, max_pool_forward));
}

static cornu_status enqueue_average_forward(const gpu_op *r)
{
    pool p = pool_of(r, GPU_IN(r, 0), GPU_OUT(r, 0));
    return enqueue_forward(r, &p, FUNCTION(p, average_pool_forward));
}

/* ---- backward ------------------------------------------------------------------------------ */

/* The gradient of the activation whose output was pooled is fused. */
static cornu_status launch_max_backward(const gpu_op *r, const pool *p, opencl_function function,
                                        int64_t packs)
{
    const op *slope = group_op(r->plan, r->group, ROLE_ACTIVATION);
    const activation act = slope ? slope->a.act : (activation){.kind = ACTIVATION_LINEAR};
    gpu_address dx = slope ? r->tensors[slope->out[0]] : r->out[0];
    return OPENCL_LAUNCH(r->g, function, grid_of(packs), A_POOL(*p), A_ADDRESS(r->in[0]),
                         A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]), A_ADDRESS(dx), A_INT(act.kind),
                         A_FLOAT(act.alpha));
}

static bool accepts_apart(const gpu *g, const plan *p, const op *o, const char **why)
{
    const window2d *w = &o->a.window;
    if (!accepts(g, p, o, why))
        return false;
    *why = "windows overlap";
    for (int i = 0; i < 2; i++)
        if (w->kernel[i] > w->stride[i] || (w->kernel[i] > 1 && w->dilation[i] > 1))
            return false;
    return true;
}

/* Tiles of stride x stride positions, from the first window's on. */
static int64_t tiles(const pool *p, int side)
{
    return (p->in->dim[1 + side] + p->w->before[side] + p->w->stride[side] - 1) /
           p->w->stride[side];
}

static cornu_status enqueue_max_backward_apart(const gpu_op *r)
{
    pool p = pool_of(r, GPU_IN(r, 0), GPU_IN(r, 1));
    int64_t packs = p.in->dim[0] * tiles(&p, 0) * tiles(&p, 1) * (p.in->dim[3] / p.pack);
    return launch_max_backward(r, &p, FUNCTION(p, max_pool_backward_apart), packs);
}

static cornu_status enqueue_max_backward(const gpu_op *r)
{
    pool p = pool_of(r, GPU_IN(r, 0), GPU_IN(r, 1));
    return launch_max_backward(r, &p, FUNCTION(p, max_pool_backward),
                               GPU_OUT(r, 0)->count / p.pack);
}

static cornu_status enqueue_average_backward(const gpu_op *r)
{
    pool p = pool_of(r, GPU_OUT(r, 0), GPU_IN(r, 0));
    return enqueue_forward(r, &p, FUNCTION(p, average_pool_backward));
}

static const gpu_kernel max_forward = {
    .name = "window", .accepts = accepts, .enqueue = enqueue_max_forward};
static const gpu_kernel max_backward_apart_fused = {.name = "apart",
                                                    .group = GROUP_ACTIVATION_BACKWARD,
                                                    .accepts = accepts_apart,
                                                    .enqueue = enqueue_max_backward_apart};
static const gpu_kernel max_backward_apart = {
    .name = "apart", .accepts = accepts_apart, .enqueue = enqueue_max_backward_apart};
static const gpu_kernel max_backward_fused = {.name = "gathered",
                                              .group = GROUP_ACTIVATION_BACKWARD,
                                              .accepts = accepts,
                                              .enqueue = enqueue_max_backward};
static const gpu_kernel max_backward = {
    .name = "gathered", .accepts = accepts, .enqueue = enqueue_max_backward};
static const gpu_kernel average_forward = {
    .name = "window", .accepts = accepts, .enqueue = enqueue_average_forward};
static const gpu_kernel average_backward = {
    .name = "gathered", .accepts = accepts, .enqueue = enqueue_average_backward};
const gpu_kernel *const opencl_max_pool_forward[] = {&max_forward, NULL};
const gpu_kernel *const opencl_max_pool_backward[] = {
    &max_backward_apart_fused, &max_backward_apart, &max_backward_fused, &max_backward, NULL};
const gpu_kernel *const opencl_average_pool_forward[] = {&average_forward, NULL};
const gpu_kernel *const opencl_average_pool_backward[] = {&average_backward, NULL};
