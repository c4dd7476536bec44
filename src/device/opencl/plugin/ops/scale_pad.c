/* SCALE, PAD and CROP. */
#include "device/opencl/plugin/ops/ops.h"

static cornu_status enqueue_scale(const gpu_op *r)
{
    int64_t count = GPU_OUT(r, 0)->count;
    return OPENCL_LAUNCH(r->g, OPENCL_scale, opencl_element_grid(count), A_ADDRESS(r->in[0]),
                         A_ADDRESS(r->out[0]), A_LONG(count), A_FLOAT(r->op->a.scale.scale),
                         A_FLOAT(r->op->a.scale.offset));
}

static cornu_status copy(const gpu_op *r, opencl_function function, const shape *outer,
                         const shape *inner)
{
    const int64_t *before = r->op->a.pad.before;
    int pack = opencl_pack(outer->dim[3]);
    opencl_grid grid = opencl_line(opencl_groups(GPU_OUT(r, 0)->count / pack, WORK_ITEMS, 0));
    return OPENCL_LAUNCH(r->g, function, grid, A_ADDRESS(r->in[0]), A_ADDRESS(r->out[0]),
                         A_LONG(outer->dim[0]), A_LONG(outer->dim[1]), A_LONG(outer->dim[2]),
                         A_LONG(inner->dim[1]), A_LONG(inner->dim[2]), A_LONG(outer->dim[3] / pack),
                         A_LONG(before[0]), A_LONG(before[1]), A_INT(pack));
}

static cornu_status enqueue_pad(const gpu_op *r)
{
    return copy(r, OPENCL_pad, &GPU_OUT(r, 0)->shape, &GPU_IN(r, 0)->shape);
}

static cornu_status enqueue_crop(const gpu_op *r)
{
    return copy(r, OPENCL_crop, &GPU_IN(r, 0)->shape, &GPU_OUT(r, 0)->shape);
}

static const gpu_kernel scale = {.name = "elementwise", .enqueue = enqueue_scale};
static const gpu_kernel pad = {.name = "copy", .enqueue = enqueue_pad};
static const gpu_kernel crop = {.name = "copy", .enqueue = enqueue_crop};
const gpu_kernel *const opencl_scale[] = {&scale, NULL};
const gpu_kernel *const opencl_pad[] = {&pad, NULL};
const gpu_kernel *const opencl_crop[] = {&crop, NULL};
