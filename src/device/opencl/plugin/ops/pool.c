/* Pooling. Two kernels for the backward pass of max pooling: windows that do not overlap scatter
   their gradient; with overlapping windows each input element gathers from its windows. Each
   kernel exists for one and for four channels per work-item. */
#include "device/opencl/plugin/ops/ops.h"

/* Arguments for a kernel's SHAPE. */
#define A_POOL(p)                                                                                 \
    A_LONG((p).in->dim[0]), A_INT((p).in->dim[1]), A_INT((p).in->dim[2]), A_INT((p).out->dim[1]), \
        A_INT((p).out->dim[2]), A_INT((p).in->dim[3] / (p).pack), A_INT((p).w->kernel[0]),        \
        A_INT((p).w->kernel[1]), A_INT((p).w->stride[0]), A_INT((p).w->stride[1]),                \
        A_INT((p).w->dilation[0]), A_INT((p).w->dilation[1]), A_INT((p).w->before[0]),            \
        A_INT((p).w->before[1])
/* The kernel for its pack. */
#define FUNCTION(p, name) ((p).pack == 4 ? OPENCL_##name##_4 : OPENCL_##name)

static opencl_grid grid_of(int64_t packs)
{
    return opencl_line(gpu_blocks(packs, WORK_ITEMS, 0));
}

/* ---- forward ------------------------------------------------------------------------------- */

static cornu_status enqueue_forward(const gpu_op *r, const gpu_pool *p, opencl_function function)
{
    return OPENCL_LAUNCH(r->g, function, grid_of(GPU_OUT(r, 0)->count / p->pack), A_POOL(*p),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->out[0]));
}

static cornu_status enqueue_max_forward(const gpu_op *r)
{
    const gpu_pool p = gpu_pool_of(r);
    return enqueue_forward(r, &p, FUNCTION(p, max_pool_forward));
}

static cornu_status enqueue_average_forward(const gpu_op *r)
{
    const gpu_pool p = gpu_pool_of(r);
    return enqueue_forward(r, &p, FUNCTION(p, average_pool_forward));
}

/* ---- backward ------------------------------------------------------------------------------ */

/* The gradient of the activation whose output was pooled is fused. */
static cornu_status launch_max_backward(const gpu_op *r, const gpu_pool *p,
                                        opencl_function function, int64_t packs)
{
    const gpu_slope slope = gpu_slope_of(r);
    return OPENCL_LAUNCH(r->g, function, grid_of(packs), A_POOL(*p), A_ADDRESS(r->in[0]),
                         A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]), A_ADDRESS(slope.out),
                         A_INT(slope.act.kind), A_FLOAT(slope.act.alpha));
}

static cornu_status enqueue_max_backward_apart(const gpu_op *r)
{
    const gpu_pool p = gpu_pool_of(r);
    return launch_max_backward(r, &p, FUNCTION(p, max_pool_backward_apart),
                               gpu_pool_tile_packs(&p));
}

static cornu_status enqueue_max_backward(const gpu_op *r)
{
    const gpu_pool p = gpu_pool_of(r);
    return launch_max_backward(r, &p, FUNCTION(p, max_pool_backward),
                               GPU_OUT(r, 0)->count / p.pack);
}

static cornu_status enqueue_average_backward(const gpu_op *r)
{
    const gpu_pool p = gpu_pool_of(r);
    return enqueue_forward(r, &p, FUNCTION(p, average_pool_backward));
}

static const gpu_kernel max_forward = {
    .name = "window", .accepts = gpu_accepts_pool, .enqueue = enqueue_max_forward};
static const gpu_kernel max_backward_apart_fused = {.name = "apart",
                                                    .group = GROUP_ACTIVATION_BACKWARD,
                                                    .accepts = gpu_accepts_pool_apart,
                                                    .enqueue = enqueue_max_backward_apart};
static const gpu_kernel max_backward_apart = {
    .name = "apart", .accepts = gpu_accepts_pool_apart, .enqueue = enqueue_max_backward_apart};
static const gpu_kernel max_backward_fused = {.name = "gathered",
                                              .group = GROUP_ACTIVATION_BACKWARD,
                                              .accepts = gpu_accepts_pool,
                                              .enqueue = enqueue_max_backward};
static const gpu_kernel max_backward = {
    .name = "gathered", .accepts = gpu_accepts_pool, .enqueue = enqueue_max_backward};
static const gpu_kernel average_forward = {
    .name = "window", .accepts = gpu_accepts_pool, .enqueue = enqueue_average_forward};
static const gpu_kernel average_backward = {
    .name = "gathered", .accepts = gpu_accepts_pool, .enqueue = enqueue_average_backward};
const gpu_kernel *const opencl_max_pool_forward[] = {&max_forward, NULL};
const gpu_kernel *const opencl_max_pool_backward[] = {
    &max_backward_apart_fused, &max_backward_apart, &max_backward_fused, &max_backward, NULL};
const gpu_kernel *const opencl_average_pool_forward[] = {&average_forward, NULL};
const gpu_kernel *const opencl_average_pool_backward[] = {&average_backward, NULL};
