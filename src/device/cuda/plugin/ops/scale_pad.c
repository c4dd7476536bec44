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

static pad_params pad_of(const gpu_op *r, const shape *outer, const shape *inner)
{
    const int64_t *before = r->op->a.pad.before;
    int pack = cuda_pack(outer->dim[3]);
    return (pad_params){.from = (const float *)r->in[0],
                        .to = (float *)r->out[0],
                        .batch = outer->dim[0],
                        .outer_h = outer->dim[1],
                        .outer_w = outer->dim[2],
                        .inner_h = inner->dim[1],
                        .inner_w = inner->dim[2],
                        .packs = outer->dim[3] / pack,
                        .top = before[0],
                        .left = before[1],
                        .pack = pack};
}

static cuda_grid copy_grid(int64_t count, int pack)
{
    return (cuda_grid){.x = cuda_blocks(count / pack, ELEMENT_THREADS, 0),
                       .threads = ELEMENT_THREADS};
}

static cornu_status enqueue_pad(const gpu_op *r)
{
    const tensor *y = GPU_OUT(r, 0);
    pad_params p = pad_of(r, &y->shape, &GPU_IN(r, 0)->shape);
    return cuda_launch(r->g, CUDA_pad, copy_grid(y->count, p.pack), &p);
}

static cornu_status enqueue_crop(const gpu_op *r)
{
    const tensor *dx = GPU_OUT(r, 0);
    crop_params p = pad_of(r, &GPU_IN(r, 0)->shape, &dx->shape);
    return cuda_launch(r->g, CUDA_crop, copy_grid(dx->count, p.pack), &p);
}

static const gpu_kernel scale = {.name = "elementwise", .enqueue = enqueue_scale};
static const gpu_kernel pad = {.name = "copy", .enqueue = enqueue_pad};
static const gpu_kernel crop = {.name = "copy", .enqueue = enqueue_crop};
const gpu_kernel *const cuda_scale[] = {&scale, NULL};
const gpu_kernel *const cuda_pad[] = {&pad, NULL};
const gpu_kernel *const cuda_crop[] = {&crop, NULL};
