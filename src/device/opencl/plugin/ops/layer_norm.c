/* Layer normalisation: rows by themselves; gamma's and beta's gradients as sums over ranges of the
   rows. */
#include "device/opencl/plugin/ops/ops.h"

static opencl_grid rows_grid(int64_t rows, int lanes)
{
    return opencl_line(gpu_blocks(rows, WORK_ITEMS / lanes, 0));
}

static cornu_status enqueue_forward(const gpu_op *r)
{
    int64_t rows, n;
    tensor_matrix(GPU_IN(r, 0), &rows, &n);
    int lanes = gpu_norm_lanes(n, WORK_ITEMS);
    return OPENCL_LAUNCH(r->g, OPENCL_layer_norm_forward, rows_grid(rows, lanes),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]),
                         A_ADDRESS(r->out[0]), A_ADDRESS(r->out[1]), A_ADDRESS(r->out[2]),
                         A_LONG(rows), A_LONG(n), A_INT(lanes), A_FLOAT(r->op->a.reals[0]),
                         A_SUM2(1 / (double)n));
}

static gpu_strips strips_of(const plan *p, const op *o)
{
    int64_t rows, n;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &n);
    return opencl_strips_of(rows, n, GPU_SUM_BLOCKS);
}

static cornu_status prepare_backward(gpu *g, const plan *p, const op *o, void **state,
                                     size_t *scratch_bytes)
{
    (void)g, (void)state;
    gpu_strips t = strips_of(p, o);
    if (gpu_norm_has_gradients(o))
        *scratch_bytes += opencl_partials_bytes(&t);
    return CORNU_OK;
}

static cornu_status enqueue_gradients(const gpu_op *r)
{
    gpu_strips t = strips_of(r->plan, r->op);
    TRY(OPENCL_LAUNCH(r->g, OPENCL_layer_norm_sums, opencl_strips_grid(&t), A_STRIPS(t),
                      A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[3]),
                      A_ADDRESS(r->in[4]), A_ADDRESS(r->scratch)));
    t = opencl_strips_whole(t.count, t.columns);
    return OPENCL_LAUNCH(r->g, OPENCL_layer_norm_gradients, opencl_strips_grid(&t), A_STRIPS(t),
                         A_ADDRESS(r->scratch), A_ADDRESS(r->out[1]), A_ADDRESS(r->out[2]));
}

static cornu_status enqueue_backward(const gpu_op *r)
{
    int64_t rows, n;
    tensor_matrix(GPU_IN(r, 0), &rows, &n);
    int lanes = gpu_norm_lanes(n, WORK_ITEMS);
    if (gpu_norm_has_gradients(r->op))
        TRY(enqueue_gradients(r));
    return OPENCL_LAUNCH(r->g, OPENCL_layer_norm_backward, rows_grid(rows, lanes),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]),
                         A_ADDRESS(r->in[3]), A_ADDRESS(r->in[4]), A_ADDRESS(r->out[0]),
                         A_LONG(rows), A_LONG(n), A_INT(lanes), A_SUM2(1 / (double)n));
}

static const gpu_kernel forward = {.name = "rows", .enqueue = enqueue_forward};
static const gpu_kernel backward = {
    .name = "rows", .prepare = prepare_backward, .enqueue = enqueue_backward};
const gpu_kernel *const opencl_layer_norm_forward[] = {&forward, NULL};
const gpu_kernel *const opencl_layer_norm_backward[] = {&backward, NULL};
