/* Pooling. Two kernels for the backward pass of max pooling: windows that lie apart give their
   gradient away, others are gathered by the elements that they reach. */
#include "device/cuda/plugin/kernels/pool.h"
#include "device/cuda/plugin/ops/ops.h"

static pool_shape shape_of(const gpu_op *r, const shape *in, const shape *out)
{
    const window2d *w = &r->op->a.window;
    pool_shape s = {.batch = in->dim[0],
                    .in_h = (int32_t)in->dim[1],
                    .in_w = (int32_t)in->dim[2],
                    .out_h = (int32_t)out->dim[1],
                    .out_w = (int32_t)out->dim[2],
                    .packs = (int32_t)(in->dim[3] / cuda_pack(in->dim[3]))};
    for (int i = 0; i < 2; i++) {
        s.kernel[i] = (int32_t)w->kernel[i];
        s.stride[i] = (int32_t)w->stride[i];
        s.dilation[i] = (int32_t)w->dilation[i];
        s.before[i] = (int32_t)w->before[i];
    }
    return s;
}

/* Sides whose sums are 32-bit numbers in the kernels. */
static bool accepts(const gpu *g, const plan *p, const op *o, const char **why)
{
    (void)g;
    const window2d *w = &o->a.window;
    *why = "a side is longer than 2^28";
    for (int i = 0; i < 2; i++) {
        int64_t in = p->tensors[o->in[0]].shape.dim[1 + i];
        int64_t out = p->tensors[o->out[0]].shape.dim[1 + i];
        if (in > POOL_SIDE_MOST || out > POOL_SIDE_MOST || w->stride[i] > POOL_SIDE_MOST ||
            w->dilation[i] * w->kernel[i] > POOL_SIDE_MOST)
            return false;
    }
    return p->tensors[o->in[0]].shape.dim[3] <= POOL_SIDE_MOST;
}

static cuda_grid grid_of(int64_t packs)
{
    return (cuda_grid){.x = cuda_blocks(packs, POOL_THREADS, 0), .threads = POOL_THREADS};
}

static cornu_status enqueue_forward(const gpu_op *r, cuda_function function)
{
    const tensor *x = GPU_IN(r, 0), *y = GPU_OUT(r, 0);
    max_pool_forward_params p = {.s = shape_of(r, &x->shape, &y->shape),
                                 .x = (const float *)r->in[0],
                                 .y = (float *)r->out[0],
                                 .pack = cuda_pack(x->shape.dim[3])};
    return cuda_launch(r->g, function, grid_of(y->count / p.pack), &p);
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
static max_pool_backward_params max_backward_of(const gpu_op *r)
{
    const tensor *x = GPU_IN(r, 0);
    const op *slope = group_op(r->plan, r->group, ROLE_ACTIVATION);
    max_pool_backward_params p = {.s = shape_of(r, &x->shape, &GPU_IN(r, 1)->shape),
                                  .x = (const float *)r->in[0],
                                  .y = (const float *)r->in[1],
                                  .dy = (const float *)r->in[2],
                                  .dx = (float *)r->out[0],
                                  .pack = cuda_pack(x->shape.dim[3]),
                                  .activation = ACTIVATION_LINEAR};
    if (slope) {
        p.dx = (float *)r->tensors[slope->out[0]];
        p.activation = (int32_t)slope->a.act.kind;
        p.alpha = slope->a.act.alpha;
    }
    return p;
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

static cornu_status enqueue_max_backward_apart(const gpu_op *r)
{
    max_pool_backward_apart_params p = max_backward_of(r);
    const pool_shape *s = &p.s;
    int64_t high = (s->in_h + s->before[0] + s->stride[0] - 1) / s->stride[0];
    int64_t wide = (s->in_w + s->before[1] + s->stride[1] - 1) / s->stride[1];
    cuda_grid grid = grid_of(s->batch * high * wide * s->packs);
    return cuda_launch(r->g, CUDA_max_pool_backward_apart, grid, &p);
}

static cornu_status enqueue_max_backward(const gpu_op *r)
{
    max_pool_backward_params p = max_backward_of(r);
    return cuda_launch(r->g, CUDA_max_pool_backward, grid_of(GPU_OUT(r, 0)->count / p.pack), &p);
}

static cornu_status enqueue_average_backward(const gpu_op *r)
{
    const tensor *dx = GPU_OUT(r, 0);
    average_pool_backward_params p = {.s = shape_of(r, &dx->shape, &GPU_IN(r, 0)->shape),
                                      .dy = (const float *)r->in[0],
                                      .dx = (float *)r->out[0],
                                      .pack = cuda_pack(dx->shape.dim[3])};
    return cuda_launch(r->g, CUDA_average_pool_backward, grid_of(dx->count / p.pack), &p);
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
const gpu_kernel *const cuda_max_pool_forward[] = {&max_forward, NULL};
const gpu_kernel *const cuda_max_pool_backward[] = {&max_backward_apart_fused, &max_backward_apart,
                                                    &max_backward_fused, &max_backward, NULL};
const gpu_kernel *const cuda_average_pool_forward[] = {&average_forward, NULL};
const gpu_kernel *const cuda_average_pool_backward[] = {&average_backward, NULL};
