/* DRAW and RESAMPLE. */
#include "device/opencl/plugin/ops/ops.h"

static cornu_status enqueue_draw(const gpu_op *r)
{
    const tensor *y = GPU_OUT(r, 0);
    const drawing *d = &r->op->a.draw.how;
    if (d->kind == DRAW_NORMAL)
        return OPENCL_LAUNCH(r->g, OPENCL_draw_normals,
                             opencl_line(gpu_blocks(gpu_draw_blocks(y), WORK_ITEMS, 4096)),
                             A_ADDRESS(r->out[0]), A_LONG(y->shape.dim[0]),
                             A_LONG(y->count / y->shape.dim[0]), A_FLOAT(d->low[0]),
                             A_FLOAT(d->high[0]), A_INT(r->op->a.draw.stream), A_STEP(STEP_SEED),
                             A_STEP(STEP_ITERATION), A_STEP(STEP_FIRST));
    return OPENCL_LAUNCH(
        r->g, OPENCL_draw, opencl_line(gpu_blocks(y->shape.dim[0], WORK_ITEMS, 4096)),
        A_ADDRESS(r->out[0]), A_LONG(y->shape.dim[0]), A_LONG(y->shape.dim[1]), A_INT(d->kind),
        A_INT(d->one), A_FLOAT(d->low[0]), A_FLOAT(d->low[1]), A_FLOAT(d->high[0]),
        A_FLOAT(d->high[1]), A_FLOAT(d->size[0]), A_FLOAT(d->size[1]), A_INT(r->op->a.draw.stream),
        A_STEP(STEP_SEED), A_STEP(STEP_ITERATION), A_STEP(STEP_FIRST));
}

static cornu_status enqueue_resample(const gpu_op *r)
{
    const gpu_resample s = gpu_resample_of(r);
    const resampling *how = &r->op->a.resample;
    return OPENCL_LAUNCH(r->g, s.back ? OPENCL_resample_backward : OPENCL_resample_forward,
                         opencl_line(gpu_blocks(s.items, WORK_ITEMS, 4096)), A_ADDRESS(s.x),
                         A_ADDRESS(s.map), A_ADDRESS(r->out[0]), A_LONG(s.in->dim[0]),
                         A_LONG(s.in->dim[1]), A_LONG(s.in->dim[2]), A_LONG(s.out->dim[1]),
                         A_LONG(s.out->dim[2]), A_LONG(s.in->dim[3]), A_LONG(s.map_step),
                         A_INT(how->border), A_INT(how->nearest), A_FLOAT(how->value));
}

static const gpu_kernel draw = {.name = "philox", .enqueue = enqueue_draw};
static const gpu_kernel forward = {.name = "elements", .enqueue = enqueue_resample};
static const gpu_kernel backward = {.name = "rows", .enqueue = enqueue_resample};
const gpu_kernel *const opencl_draw[] = {&draw, NULL};
const gpu_kernel *const opencl_resample_forward[] = {&forward, NULL};
const gpu_kernel *const opencl_resample_backward[] = {&backward, NULL};
