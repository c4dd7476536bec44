/* Rows of a table by their numbers. */
#include "device/cuda/plugin/kernels/embedding.h"
#include "device/cuda/plugin/ops/ops.h"
#include "device/embedding.h"

static cornu_status enqueue(const gpu_op *r)
{
    const embedding_sizes s = embedding_sizes_of(r->plan, r->op);
    const bool back = r->op->kind == OP_EMBEDDING_BACKWARD;
    const int64_t items = (back ? EMBEDDING_CLASSES : s.count) * s.columns;
    const embedding_forward_params p = {.x = (const float *)r->in[0],
                                        .from = (const float *)r->in[1],
                                        .to = (float *)r->out[0],
                                        .count = s.count,
                                        .rows = s.rows,
                                        .columns = s.columns};
    return cuda_launch(r->g, back ? CUDA_embedding_backward : CUDA_embedding_forward,
                       cuda_line(gpu_blocks(items, EMBEDDING_THREADS, 4096), EMBEDDING_THREADS),
                       &p);
}

static const gpu_kernel rows = {.name = "rows", .enqueue = enqueue};
const gpu_kernel *const cuda_embedding_forward[] = {&rows, NULL};
const gpu_kernel *const cuda_embedding_backward[] = {&rows, NULL};
