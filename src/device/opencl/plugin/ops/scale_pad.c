/* SCALE, PAD and CROP. */
#include "device/opencl/plugin/ops/ops.h"

static cornu_status enqueue_scale(const gpu_op *r)
{
    int64_t count = GPU_OUT(r, 0)->count;
    return OPENCL_LAUNCH(r->g, OPENCL_scale, opencl_element_grid(count), A_ADDRESS(r->in[0]),
                         A_ADDRESS(r->out[0]), A_LONG(count), A_FLOAT(r->op->a.scale.scale),
                         A_FLOAT(r->op->a.scale.offset));
}

static cornu_status copy(const gpu_op *r, opencl_function function)
{
    const gpu_pad s = gpu_pad_of(r);
    const int64_t *outer = s.outer->dim, *inner = s.inner->dim;
    return OPENCL_LAUNCH(r->g, function, opencl_line(gpu_blocks(s.packs, WORK_ITEMS, 0)),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->out[0]), A_LONG(outer[0]),
                         A_LONG(outer[1]), A_LONG(outer[2]), A_LONG(inner[1]), A_LONG(inner[2]),
                         A_LONG(outer[3] / s.pack), A_LONG(s.before[0]), A_LONG(s.before[1]),
                         A_INT(s.pack));
}

static cornu_status enqueue_pad(const gpu_op *r)
{
    return copy(r, OPENCL_pad);
}

static cornu_status enqueue_crop(const gpu_op *r)
{
    return copy(r, OPENCL_crop);
}

static const gpu_kernel scale = {.name = "elementwise", .enqueue = enqueue_scale};
static const gpu_kernel pad = {.name = "copy", .enqueue = enqueue_pad};
static const gpu_kernel crop = {.name = "copy", .enqueue = enqueue_crop};
const gpu_kernel *const opencl_scale[] = {&scale, NULL};
const gpu_kernel *const opencl_pad[] = {&pad, NULL};
const gpu_kernel *const opencl_crop[] = {&crop, NULL};
