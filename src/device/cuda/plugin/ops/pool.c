/* Pooling. Two kernels for the backward pass of max pooling: windows that do not overlap scatter
   their gradient; with overlapping windows each input element gathers from its windows. */
#include "device/cuda/plugin/kernels/pool.h"
#include "device/cuda/plugin/ops/ops.h"

static pool_shape shape_of(const gpu_pool *p)
{
    pool_shape s = {.batch = p->in->dim[0],
                    .in_h = (int32_t)p->in->dim[1],
                    .in_w = (int32_t)p->in->dim[2],
                    .out_h = (int32_t)p->out->dim[1],
                    .out_w = (int32_t)p->out->dim[2],
                    .packs = (int32_t)(p->in->dim[3] / p->pack)};
    for (int i = 0; i < 2; i++) {
        s.kernel[i] = (int32_t)p->w->kernel[i];
        s.stride[i] = (int32_t)p->w->stride[i];
        s.dilation[i] = (int32_t)p->w->dilation[i];
        s.before[i] = (int32_t)p->w->before[i];
    }
    return s;
}

static cuda_grid grid_of(int64_t packs)
{
    return cuda_line(gpu_blocks(packs, POOL_THREADS, 0), POOL_THREADS);
}

/* A pack of the result for each thread. */
static cuda_grid result_grid(const gpu_op *r, const gpu_pool *p)
{
    return grid_of(GPU_OUT(r, 0)->count / p->pack);
}

static cornu_status enqueue_forward(const gpu_op *r, cuda_function function)
{
    const gpu_pool s = gpu_pool_of(r);
    max_pool_forward_params p = {
        .s = shape_of(&s), .x = (const float *)r->in[0], .y = (float *)r->out[0], .pack = s.pack};
    return cuda_launch(r->g, function, result_grid(r, &s), &p);
}

static cornu_status enqueue_max_forward(const gpu_op *r)
{
    return enqueue_forward(r, CUDA_max_pool_forward);
}

static cornu_status enqueue_average_forward(const gpu_op *r)
{
    return enqueue_forward(r, CUDA_average_pool_forward);
}

/* ---- backward ------------------------------------------------------------------------------ */

/* The gradient of the activation whose output was pooled is fused. */
static max_pool_backward_params max_backward_of(const gpu_op *r, const gpu_pool *s)
{
    const gpu_slope slope = gpu_slope_of(r);
    return (max_pool_backward_params){.s = shape_of(s),
                                      .x = (const float *)r->in[0],
                                      .y = (const float *)r->in[1],
                                      .dy = (const float *)r->in[2],
                                      .dx = (float *)slope.out,
                                      .pack = s->pack,
                                      .activation = (int32_t)slope.act.kind,
                                      .alpha = slope.act.alpha};
}

static cornu_status enqueue_max_backward_apart(const gpu_op *r)
{
    const gpu_pool s = gpu_pool_of(r);
    max_pool_backward_apart_params p = max_backward_of(r, &s);
    return cuda_launch(r->g, CUDA_max_pool_backward_apart, grid_of(gpu_pool_tile_packs(&s)), &p);
}

static cornu_status enqueue_max_backward(const gpu_op *r)
{
    const gpu_pool s = gpu_pool_of(r);
    max_pool_backward_params p = max_backward_of(r, &s);
    return cuda_launch(r->g, CUDA_max_pool_backward, result_grid(r, &s), &p);
}

static cornu_status enqueue_average_backward(const gpu_op *r)
{
    const gpu_pool s = gpu_pool_of(r);
    average_pool_backward_params p = {
        .s = shape_of(&s), .dy = (const float *)r->in[0], .dx = (float *)r->out[0], .pack = s.pack};
    return cuda_launch(r->g, CUDA_average_pool_backward, result_grid(r, &s), &p);
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
const gpu_kernel *const cuda_max_pool_forward[] = {&max_forward, NULL};
const gpu_kernel *const cuda_max_pool_backward[] = {&max_backward_apart_fused, &max_backward_apart,
                                                    &max_backward_fused, &max_backward, NULL};
const gpu_kernel *const cuda_average_pool_forward[] = {&average_forward, NULL};
const gpu_kernel *const cuda_average_pool_backward[] = {&average_backward, NULL};
