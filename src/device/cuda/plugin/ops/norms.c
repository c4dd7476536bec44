/* Normalization: of channels over a batch, and of each row. */
#include "device/cuda/plugin/kernels/norms.h"
#include "device/cuda/plugin/ops/ops.h"

/* ---- batch norm -------------------------------------------------------------------------- */

/* Batch normalisation: sums over ranges of the rows, many such partial sums reduced, and the
   result. */

static gpu_strips batch_norm_strips_of(const plan *p, const op *o, int64_t blocks)
{
    int64_t rows, columns;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &columns);
    return gpu_strips_of(rows, columns, SUM_THREADS, blocks);
}

/* Scratch memory: the partial sums, followed by their sums. */
static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    (void)g, (void)state;
    const gpu_strips t = batch_norm_strips_of(p, o, GPU_SUM_BLOCKS);
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

static cornu_status batch_norm_enqueue_forward(const gpu_op *r)
{
    gpu_strips t = batch_norm_strips_of(r->plan, r->op, GPU_SUM_BLOCKS);
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
    t = batch_norm_strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
    p.t = cuda_strips_params(&t);
    return cuda_launch(r->g, CUDA_batch_norm_forward, cuda_strips_grid(&t), &p);
}

static cornu_status enqueue_inference(const gpu_op *r)
{
    const gpu_strips t = batch_norm_strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
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

static cornu_status batch_norm_enqueue_backward(const gpu_op *r)
{
    gpu_strips t = batch_norm_strips_of(r->plan, r->op, GPU_SUM_BLOCKS);
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
    t = batch_norm_strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
    p.t = cuda_strips_params(&t);
    return cuda_launch(r->g, CUDA_batch_norm_backward, cuda_strips_grid(&t), &p);
}

static const gpu_kernel batch_norm_forward = {
    .name = "columns", .prepare = prepare, .enqueue = batch_norm_enqueue_forward};
static const gpu_kernel inference = {.name = "columns", .enqueue = enqueue_inference};
static const gpu_kernel batch_norm_backward = {
    .name = "columns", .prepare = prepare, .enqueue = batch_norm_enqueue_backward};
const gpu_kernel *const cuda_batch_norm_forward[] = {&batch_norm_forward, NULL};
const gpu_kernel *const cuda_batch_norm_inference[] = {&inference, NULL};
const gpu_kernel *const cuda_batch_norm_backward[] = {&batch_norm_backward, NULL};

/* ---- layer norm -------------------------------------------------------------------------- */

/* Layer normalisation: rows by themselves; gamma's and beta's gradients as sums over ranges of the
   rows. */

static cuda_grid rows_grid(int64_t rows, int lanes)
{
    return cuda_line(gpu_blocks(rows, NORM_THREADS / lanes, 0), NORM_THREADS);
}

static cornu_status layer_norm_enqueue_forward(const gpu_op *r)
{
    layer_norm_forward_params p = {.x = (const float *)r->in[0],
                                   .gamma = (const float *)r->in[1],
                                   .beta = (const float *)r->in[2],
                                   .y = (float *)r->out[0],
                                   .mean = (float *)r->out[1],
                                   .inverse = (float *)r->out[2],
                                   .epsilon = r->op->a.reals[0]};
    tensor_matrix(GPU_IN(r, 0), &p.rows, &p.n);
    p.lanes = gpu_norm_lanes(p.n, NORM_THREADS);
    p.share = cuda_share(p.n);
    return cuda_launch(r->g, CUDA_layer_norm_forward, rows_grid(p.rows, p.lanes), &p);
}

/* ---- backward ------------------------------------------------------------------------------ */

static gpu_strips layer_norm_strips_of(const plan *p, const op *o)
{
    int64_t rows, n;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &n);
    return gpu_strips_of(rows, n, SUM_THREADS, GPU_SUM_BLOCKS);
}

static cornu_status prepare_backward(gpu *g, const plan *p, const op *o, void **state,
                                     size_t *scratch_bytes)
{
    (void)g, (void)state;
    const gpu_strips t = layer_norm_strips_of(p, o);
    if (gpu_norm_has_gradients(o))
        *scratch_bytes += (size_t)t.count * 2 * (size_t)t.columns * sizeof(sum2);
    return CORNU_OK;
}

static cornu_status enqueue_gradients(const gpu_op *r)
{
    gpu_strips t = layer_norm_strips_of(r->plan, r->op);
    const layer_norm_sums_params s = {.t = cuda_strips_params(&t),
                                      .x = (const float *)r->in[0],
                                      .dy = (const float *)r->in[1],
                                      .mean = (const float *)r->in[3],
                                      .inverse = (const float *)r->in[4],
                                      .partials = (sum2 *)r->scratch};
    TRY(cuda_launch(r->g, CUDA_layer_norm_sums, cuda_strips_grid(&t), &s));
    t = gpu_strips_of(t.count, t.columns, SUM_THREADS, 1);
    const layer_norm_gradients_params p = {.t = cuda_strips_params(&t),
                                           .partials = s.partials,
                                           .dgamma = (float *)r->out[1],
                                           .dbeta = (float *)r->out[2]};
    return cuda_launch(r->g, CUDA_layer_norm_gradients, cuda_strips_grid(&t), &p);
}

static cornu_status layer_norm_enqueue_backward(const gpu_op *r)
{
    layer_norm_backward_params p = {.x = (const float *)r->in[0],
                                    .dy = (const float *)r->in[1],
                                    .gamma = (const float *)r->in[2],
                                    .mean = (const float *)r->in[3],
                                    .inverse = (const float *)r->in[4],
                                    .dx = (float *)r->out[0]};
    tensor_matrix(GPU_IN(r, 0), &p.rows, &p.n);
    p.lanes = gpu_norm_lanes(p.n, NORM_THREADS);
    p.share = cuda_share(p.n);
    if (gpu_norm_has_gradients(r->op))
        TRY(enqueue_gradients(r));
    return cuda_launch(r->g, CUDA_layer_norm_backward, rows_grid(p.rows, p.lanes), &p);
}

static const gpu_kernel layer_norm_forward = {.name = "rows",
                                              .enqueue = layer_norm_enqueue_forward};
static const gpu_kernel layer_norm_backward = {
    .name = "rows", .prepare = prepare_backward, .enqueue = layer_norm_enqueue_backward};
const gpu_kernel *const cuda_layer_norm_forward[] = {&layer_norm_forward, NULL};
const gpu_kernel *const cuda_layer_norm_backward[] = {&layer_norm_backward, NULL};
