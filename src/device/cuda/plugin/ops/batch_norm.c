/* Batch normalisation: sums over ranges of the rows, many such partial sums reduced, and the
 * result.
 */
#include "device/cuda/plugin/kernels/batch_norm.h"
#include "device/cuda/plugin/ops/ops.h"

static gpu_strips strips_of(const plan *p, const op *o, int64_t blocks)
{
    int64_t rows, columns;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &columns);
    return gpu_strips_of(rows, columns, SUM_THREADS, blocks);
}

/* Scratch memory: the partial sums, followed by their sums. */
static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    (void)g, (void)state;
    const gpu_strips t = strips_of(p, o, GPU_SUM_BLOCKS);
    *scratch_bytes += (size_t)(t.count + 1) * 2 * (size_t)t.columns * sizeof(sum2);
    return CORNU_OK;
}

/* The second kernel's input: the partial sums, or the single one that they were reduced to. */
static cornu_status reduce_partials(const gpu_op *r, const gpu_strips *t, const sum2 **from,
                                    int64_t *count)
{
    sum2 *all = (sum2 *)r->scratch;
    *from = all;
    *count = t->count;
    if (t->count <= GPU_PARTIALS_MOST)
        return CORNU_OK;
    const gpu_strips whole = gpu_strips_of(t->count, 2 * t->columns, SUM_THREADS, 1);
    column_sums_reduce_params p = {.t = cuda_strips_params(&whole),
                                   .partials = all,
                                   .totals = all + t->count * 2 * t->columns};
    *from = p.totals;
    *count = 1;
    return cuda_launch(r->g, CUDA_column_sums_reduce, cuda_strips_grid(&whole), &p);
}

static cornu_status enqueue_forward(const gpu_op *r)
{
    gpu_strips t = strips_of(r->plan, r->op, GPU_SUM_BLOCKS);
    batch_norm_sums_params s = {
        .t = cuda_strips_params(&t), .x = (const float *)r->in[0], .partials = (sum2 *)r->scratch};
    TRY(cuda_launch(r->g, CUDA_batch_norm_sums, cuda_strips_grid(&t), &s));
    batch_norm_forward_params p = {.x = s.x,
                                   .gamma = (const float *)r->in[1],
                                   .beta = (const float *)r->in[2],
                                   .y = (float *)r->out[0],
                                   .mean = (float *)r->out[1],
                                   .inverse = (float *)r->out[2],
                                   .moving_mean = (float *)r->out[3],
                                   .moving_variance = (float *)r->out[4],
                                   .share = cuda_share(t.rows),
                                   .momentum = r->op->a.batch_norm.momentum,
                                   .epsilon = r->op->a.batch_norm.epsilon};
    TRY(reduce_partials(r, &t, &p.partials, &p.partial_count));
    t = strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
    p.t = cuda_strips_params(&t);
    return cuda_launch(r->g, CUDA_batch_norm_forward, cuda_strips_grid(&t), &p);
}

static cornu_status enqueue_inference(const gpu_op *r)
{
    const gpu_strips t = strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
    batch_norm_inference_params p = {.t = cuda_strips_params(&t),
                                     .x = (const float *)r->in[0],
                                     .gamma = (const float *)r->in[1],
                                     .beta = (const float *)r->in[2],
                                     .moving_mean = (const float *)r->in[3],
                                     .moving_variance = (const float *)r->in[4],
                                     .y = (float *)r->out[0],
                                     .epsilon = r->op->a.batch_norm.epsilon};
    return cuda_launch(r->g, CUDA_batch_norm_inference, cuda_strips_grid(&t), &p);
}

static cornu_status enqueue_backward(const gpu_op *r)
{
    gpu_strips t = strips_of(r->plan, r->op, GPU_SUM_BLOCKS);
    batch_norm_backward_sums_params s = {.t = cuda_strips_params(&t),
                                         .x = (const float *)r->in[0],
                                         .dy = (const float *)r->in[1],
                                         .mean = (const float *)r->in[3],
                                         .inverse = (const float *)r->in[4],
                                         .partials = (sum2 *)r->scratch};
    TRY(cuda_launch(r->g, CUDA_batch_norm_backward_sums, cuda_strips_grid(&t), &s));
    batch_norm_backward_params p = {.x = s.x,
                                    .dy = s.dy,
                                    .gamma = (const float *)r->in[2],
                                    .mean = s.mean,
                                    .inverse = s.inverse,
                                    .dx = (float *)r->out[0],
                                    .dgamma = (float *)r->out[1],
                                    .dbeta = (float *)r->out[2],
                                    .share = cuda_share(t.rows)};
    TRY(reduce_partials(r, &t, &p.partials, &p.partial_count));
    t = strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
    p.t = cuda_strips_params(&t);
    return cuda_launch(r->g, CUDA_batch_norm_backward, cuda_strips_grid(&t), &p);
}

static const gpu_kernel forward = {
    .name = "columns", .prepare = prepare, .enqueue = enqueue_forward};
static const gpu_kernel inference = {.name = "columns", .enqueue = enqueue_inference};
static const gpu_kernel backward = {
    .name = "columns", .prepare = prepare, .enqueue = enqueue_backward};
const gpu_kernel *const cuda_batch_norm_forward[] = {&forward, NULL};
const gpu_kernel *const cuda_batch_norm_inference[] = {&inference, NULL};
const gpu_kernel *const cuda_batch_norm_backward[] = {&backward, NULL};
