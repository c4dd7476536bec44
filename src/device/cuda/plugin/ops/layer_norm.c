/* Layer normalisation: rows by themselves; gamma's and beta's gradients as sums over ranges of the
   rows. */
#include "device/cuda/plugin/kernels/layer_norm.h"
#include "device/cuda/plugin/ops/ops.h"

static cuda_grid rows_grid(int64_t rows, int lanes)
{
    return cuda_line(gpu_blocks(rows, NORM_THREADS / lanes, 0), NORM_THREADS);
}

static cornu_status enqueue_forward(const gpu_op *r)
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

static gpu_strips strips_of(const plan *p, const op *o)
{
    int64_t rows, n;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &n);
    return gpu_strips_of(rows, n, SUM_THREADS, GPU_SUM_BLOCKS);
}

static cornu_status prepare_backward(gpu *g, const plan *p, const op *o, void **state,
                                     size_t *scratch_bytes)
{
    (void)g, (void)state;
    const gpu_strips t = strips_of(p, o);
    if (gpu_norm_has_gradients(o))
        *scratch_bytes += (size_t)t.count * 2 * (size_t)t.columns * sizeof(sum2);
    return CORNU_OK;
}

static cornu_status enqueue_gradients(const gpu_op *r)
{
    gpu_strips t = strips_of(r->plan, r->op);
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

static cornu_status enqueue_backward(const gpu_op *r)
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

static const gpu_kernel forward = {.name = "rows", .enqueue = enqueue_forward};
static const gpu_kernel backward = {
    .name = "rows", .prepare = prepare_backward, .enqueue = enqueue_backward};
const gpu_kernel *const cuda_layer_norm_forward[] = {&forward, NULL};
const gpu_kernel *const cuda_layer_norm_backward[] = {&backward, NULL};
