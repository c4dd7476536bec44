/* RECOLOR. */
#include "device/cuda/plugin/kernels/recolor.h"
#include "device/cuda/plugin/ops/ops.h"

static cornu_status enqueue_recolor(const gpu_op *r)
{
    const gpu_recolor s = gpu_recolor_of(r);
    recolor_params p = {.x = (const float *)r->in[0],
                        .drawn = (const float *)r->in[1],
                        .dy = s.back ? (const float *)r->in[2] : NULL,
                        .y = (float *)r->out[0],
                        .pixels = s.pixels,
                        .channels = s.channels,
                        .pixels_of_sample = s.pixels_of_sample,
                        .numbers = s.numbers,
                        .how = r->op->a.recolor};
    return cuda_launch(r->g, s.back ? CUDA_recolor_backward : CUDA_recolor_forward,
                       cuda_line(gpu_blocks(s.pixels, RECOLOR_THREADS, 4096), RECOLOR_THREADS), &p);
}

static const gpu_kernel recolor = {.name = "pixels", .enqueue = enqueue_recolor};
const gpu_kernel *const cuda_recolor_forward[] = {&recolor, NULL};
const gpu_kernel *const cuda_recolor_backward[] = {&recolor, NULL};
