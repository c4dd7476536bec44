/* Rows of a table by their numbers. */
#include "device/embedding.h"
#include "device/opencl/plugin/ops/ops.h"

static cornu_status enqueue(const gpu_op *r)
{
    const embedding_sizes s = embedding_sizes_of(r->plan, r->op);
    const bool back = r->op->kind == OP_EMBEDDING_BACKWARD;
    const int64_t items = (back ? EMBEDDING_CLASSES : s.count) * s.columns;
    return OPENCL_LAUNCH(r->g, back ? OPENCL_embedding_backward : OPENCL_embedding_forward,
                         opencl_line(gpu_blocks(items, WORK_ITEMS, 4096)), A_ADDRESS(r->in[0]),
                         A_ADDRESS(r->in[1]), A_ADDRESS(r->out[0]), A_LONG(s.count), A_LONG(s.rows),
                         A_LONG(s.columns));
}

static const gpu_kernel rows = {.name = "rows", .enqueue = enqueue};
const gpu_kernel *const opencl_embedding_forward[] = {&rows, NULL};
const gpu_kernel *const opencl_embedding_backward[] = {&rows, NULL};
