/* DRAW and RESAMPLE. */
#include "device/cuda/plugin/kernels/resample.h"
#include "device/cuda/plugin/ops/ops.h"

static cornu_status enqueue_draw(const gpu_op *r)
{
    const tensor *y = GPU_OUT(r, 0);
    draw_params p = {.clock = cuda_clock_of(r),
                     .y = (float *)r->out[0],
                     .batch = y->shape.dim[0],
                     .numbers = y->count / y->shape.dim[0],
                     .how = r->op->a.draw.how,
                     .stream = r->op->a.draw.stream};
    const bool normal = p.how.kind == DRAW_NORMAL;
    const int64_t items = normal ? gpu_draw_blocks(y) : p.batch;
    return cuda_launch(r->g, normal ? CUDA_draw_normals : CUDA_draw,
                       cuda_line(gpu_blocks(items, RESAMPLE_THREADS, 4096), RESAMPLE_THREADS), &p);
}

static cornu_status enqueue_resample(const gpu_op *r)
{
    const gpu_resample s = gpu_resample_of(r);
    resample_params p = {.x = (const float *)s.x,
                         .map = (const float *)s.map,
                         .y = (float *)r->out[0],
                         .batch = s.in->dim[0],
                         .height = s.in->dim[1],
                         .width = s.in->dim[2],
                         .out_height = s.out->dim[1],
                         .out_width = s.out->dim[2],
                         .channels = s.in->dim[3],
                         .map_step = s.map_step,
                         .how = r->op->a.resample};
    return cuda_launch(r->g, s.back ? CUDA_resample_backward : CUDA_resample_forward,
                       cuda_line(gpu_blocks(s.items, RESAMPLE_THREADS, 4096), RESAMPLE_THREADS),
                       &p);
}

static const gpu_kernel draw = {.name = "philox", .enqueue = enqueue_draw};
static const gpu_kernel forward = {.name = "elements", .enqueue = enqueue_resample};
static const gpu_kernel backward = {.name = "rows", .enqueue = enqueue_resample};
const gpu_kernel *const cuda_draw[] = {&draw, NULL};
const gpu_kernel *const cuda_resample_forward[] = {&forward, NULL};
const gpu_kernel *const cuda_resample_backward[] = {&backward, NULL};
