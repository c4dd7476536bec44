/* SCALE, PAD and CROP. */
#include "device/cuda/plugin/ops/ops.h"

static cornu_status enqueue_scale(const gpu_op *r)
{
    scale_params p = {.x = (const float *)r->in[0],
                      .y = (float *)r->out[0],
                      .count = GPU_OUT(r, 0)->count,
                      .scale = r->op->a.scale.scale,
                      .offset = r->op->a.scale.offset};
    return cuda_launch(r->g, CUDA_scale, cuda_element_grid(p.count), &p);
}

static cornu_status copy(const gpu_op *r, cuda_function function)
{
    const gpu_pad s = gpu_pad_of(r);
    const pad_params p = {.from = (const float *)r->in[0],
                          .to = (float *)r->out[0],
                          .batch = s.outer->dim[0],
                          .outer_h = s.outer->dim[1],
                          .outer_w = s.outer->dim[2],
                          .inner_h = s.inner->dim[1],
                          .inner_w = s.inner->dim[2],
                          .packs = s.outer->dim[3] / s.pack,
                          .top = s.before[0],
                          .left = s.before[1],
                          .pack = s.pack};
    return cuda_launch(r->g, function,
                       cuda_line(gpu_blocks(s.packs, ELEMENT_THREADS, 0), ELEMENT_THREADS), &p);
}

static cornu_status enqueue_pad(const gpu_op *r)
{
    return copy(r, CUDA_pad);
}

static cornu_status enqueue_crop(const gpu_op *r)
{
    return copy(r, CUDA_crop);
}

static const gpu_kernel scale = {.name = "elementwise", .enqueue = enqueue_scale};
static const gpu_kernel pad = {.name = "copy", .enqueue = enqueue_pad};
static const gpu_kernel crop = {.name = "copy", .enqueue = enqueue_crop};
const gpu_kernel *const cuda_scale[] = {&scale, NULL};
const gpu_kernel *const cuda_pad[] = {&pad, NULL};
const gpu_kernel *const cuda_crop[] = {&crop, NULL};
