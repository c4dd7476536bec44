#include "device/opencl/plugin/ops/ops.h"

enum { SAMPLES_MOST = 65535 }; /* maximum of dimension 1; the kernel strides over the rest */

static cornu_status enqueue(const gpu_op *r)
{
    const gpu_gather_size s = gpu_gather_size_of(r);
    int64_t batch = r->plan->batch;
    opencl_grid grid = opencl_line(gpu_blocks(s.count, GATHER_PIECE, 0) + (r->out[1] ? 1 : 0));
    grid.groups[1] = (size_t)gpu_blocks(batch, 1, SAMPLES_MOST);
    return OPENCL_LAUNCH(r->g, OPENCL_gather, grid, A_ADDRESS(r->out[0]), A_ADDRESS(r->out[1]),
                         A_ADDRESS(r->out[2]), A_LONG(batch), A_LONG(s.count),
                         A_LONG(s.target_count), A_LONG(s.columns), A_STEP(STEP_X), A_STEP(STEP_Y),
                         A_STEP(STEP_WEIGHT), A_STEP(STEP_INDEX), A_STEP(STEP_X_SCALE),
                         A_STEP(STEP_X_BYTES), A_STEP(STEP_Y_LABELS));
}

static const gpu_kernel gather = {.name = "gather", .enqueue = enqueue};
const gpu_kernel *const opencl_gather_samples[] = {&gather, NULL};
