/* RECOLOR. */
#include "device/opencl/plugin/ops/ops.h"

static cornu_status enqueue_forward(const gpu_op *r)
{
    const gpu_recolor s = gpu_recolor_of(r);
    const recoloring *how = &r->op->a.recolor;
    return OPENCL_LAUNCH(r->g, OPENCL_recolor_forward,
                         opencl_line(gpu_blocks(s.pixels, WORK_ITEMS, 4096)), A_ADDRESS(r->in[0]),
                         A_ADDRESS(r->in[1]), A_ADDRESS(r->out[0]), A_LONG(s.pixels),
                         A_LONG(s.channels), A_LONG(s.pixels_of_sample), A_LONG(s.numbers),
                         A_INT(how->kind), A_FLOAT(how->low), A_FLOAT(how->high));
}

static cornu_status enqueue_backward(const gpu_op *r)
{
    const gpu_recolor s = gpu_recolor_of(r);
    const recoloring *how = &r->op->a.recolor;
    return OPENCL_LAUNCH(
        r->g, OPENCL_recolor_backward, opencl_line(gpu_blocks(s.pixels, WORK_ITEMS, 4096)),
        A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]), A_ADDRESS(r->out[0]),
        A_LONG(s.pixels), A_LONG(s.channels), A_LONG(s.pixels_of_sample), A_LONG(s.numbers),
        A_INT(how->kind), A_FLOAT(how->low), A_FLOAT(how->high));
}

static const gpu_kernel forward = {.name = "pixels", .enqueue = enqueue_forward};
static const gpu_kernel backward = {.name = "pixels", .enqueue = enqueue_backward};
const gpu_kernel *const opencl_recolor_forward[] = {&forward, NULL};
const gpu_kernel *const opencl_recolor_backward[] = {&backward, NULL};
