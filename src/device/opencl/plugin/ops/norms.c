/* Normalization: of channels over a batch, and of each row. */
#include "device/opencl/plugin/ops/ops.h"

/* ---- batch norm -------------------------------------------------------------------------- */

/* Batch normalisation: sums over ranges of the rows, many such partial sums reduced, and the
   result. */

static gpu_strips batch_norm_strips_of(const plan *p, const op *o, int64_t groups)
{
    int64_t rows, columns;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &columns);
    return opencl_strips_of(rows, columns, groups);
}

/* Scratch memory: the partial sums, followed by their sums. */
static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    (void)g, (void)state;
    gpu_strips t = batch_norm_strips_of(p, o, GPU_SUM_BLOCKS);
    t.count++;
    *scratch_bytes += opencl_partials_bytes(&t);
    return CORNU_OK;
}

/* The second kernel's input: the partial sums, or the single one that they were reduced to. */
static cornu_status reduce_partials(const gpu_op *r, const gpu_strips *t, gpu_address *from,
                                    int64_t *count)
{
    *from = r->scratch;
    *count = t->count;
    if (t->count <= GPU_PARTIALS_MOST)
        return CORNU_OK;
    gpu_strips all = opencl_strips_whole(t->count, 2 * t->columns);
    *from = r->scratch + opencl_partials_bytes(t);
    *count = 1;
    return OPENCL_LAUNCH(r->g, OPENCL_column_sums_reduce, opencl_strips_grid(&all), A_STRIPS(all),
                         A_ADDRESS(r->scratch), A_ADDRESS(0), A_ADDRESS(*from));
}

static cornu_status batch_norm_enqueue_forward(const gpu_op *r)
{
    gpu_strips t = batch_norm_strips_of(r->plan, r->op, GPU_SUM_BLOCKS);
    gpu_address partials;
    int64_t count;
    TRY(OPENCL_LAUNCH(r->g, OPENCL_batch_norm_sums, opencl_strips_grid(&t), A_STRIPS(t),
                      A_ADDRESS(r->in[0]), A_ADDRESS(r->scratch)));
    TRY(reduce_partials(r, &t, &partials, &count));
    t = batch_norm_strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
    return OPENCL_LAUNCH(r->g, OPENCL_batch_norm_forward, opencl_strips_grid(&t), A_STRIPS(t),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]),
                         A_ADDRESS(r->out[0]), A_ADDRESS(partials), A_LONG(count),
                         A_ADDRESS(r->out[1]), A_ADDRESS(r->out[2]), A_ADDRESS(r->out[3]),
                         A_ADDRESS(r->out[4]), A_FLOAT(r->op->a.batch_norm.momentum),
                         A_FLOAT(r->op->a.batch_norm.epsilon), A_SUM2(1 / (double)t.rows));
}

static cornu_status enqueue_inference(const gpu_op *r)
{
    gpu_strips t = batch_norm_strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
    return OPENCL_LAUNCH(r->g, OPENCL_batch_norm_inference, opencl_strips_grid(&t), A_STRIPS(t),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]),
                         A_ADDRESS(r->in[3]), A_ADDRESS(r->in[4]), A_ADDRESS(r->out[0]),
                         A_FLOAT(r->op->a.batch_norm.epsilon));
}

static cornu_status batch_norm_enqueue_backward(const gpu_op *r)
{
    gpu_strips t = batch_norm_strips_of(r->plan, r->op, GPU_SUM_BLOCKS);
    gpu_address partials;
    int64_t count;
    TRY(OPENCL_LAUNCH(r->g, OPENCL_batch_norm_backward_sums, opencl_strips_grid(&t), A_STRIPS(t),
                      A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[3]),
                      A_ADDRESS(r->in[4]), A_ADDRESS(r->scratch)));
    TRY(reduce_partials(r, &t, &partials, &count));
    t = batch_norm_strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
    return OPENCL_LAUNCH(r->g, OPENCL_batch_norm_backward, opencl_strips_grid(&t), A_STRIPS(t),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]),
                         A_ADDRESS(r->in[3]), A_ADDRESS(r->in[4]), A_ADDRESS(r->out[0]),
                         A_ADDRESS(r->out[1]), A_ADDRESS(r->out[2]), A_ADDRESS(partials),
                         A_LONG(count), A_SUM2(1 / (double)t.rows));
}

static const gpu_kernel batch_norm_forward = {
    .name = "columns", .prepare = prepare, .enqueue = batch_norm_enqueue_forward};
static const gpu_kernel inference = {.name = "columns", .enqueue = enqueue_inference};
static const gpu_kernel batch_norm_backward = {
    .name = "columns", .prepare = prepare, .enqueue = batch_norm_enqueue_backward};
const gpu_kernel *const opencl_batch_norm_forward[] = {&batch_norm_forward, NULL};
const gpu_kernel *const opencl_batch_norm_inference[] = {&inference, NULL};
const gpu_kernel *const opencl_batch_norm_backward[] = {&batch_norm_backward, NULL};

/* ---- layer norm -------------------------------------------------------------------------- */

/* Layer normalisation: rows by themselves; gamma's and beta's gradients as sums over ranges of the
   rows. */

static opencl_grid rows_grid(int64_t rows, int lanes)
{
    return opencl_line(gpu_blocks(rows, WORK_ITEMS / lanes, 0));
}

static cornu_status layer_norm_enqueue_forward(const gpu_op *r)
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

static gpu_strips layer_norm_strips_of(const plan *p, const op *o)
{
    int64_t rows, n;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &n);
    return opencl_strips_of(rows, n, GPU_SUM_BLOCKS);
}

static cornu_status prepare_backward(gpu *g, const plan *p, const op *o, void **state,
                                     size_t *scratch_bytes)
{
    (void)g, (void)state;
    gpu_strips t = layer_norm_strips_of(p, o);
    if (gpu_norm_has_gradients(o))
        *scratch_bytes += opencl_partials_bytes(&t);
    return CORNU_OK;
}

static cornu_status enqueue_gradients(const gpu_op *r)
{
    gpu_strips t = layer_norm_strips_of(r->plan, r->op);
    TRY(OPENCL_LAUNCH(r->g, OPENCL_layer_norm_sums, opencl_strips_grid(&t), A_STRIPS(t),
                      A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[3]),
                      A_ADDRESS(r->in[4]), A_ADDRESS(r->scratch)));
    t = opencl_strips_whole(t.count, t.columns);
    return OPENCL_LAUNCH(r->g, OPENCL_layer_norm_gradients, opencl_strips_grid(&t), A_STRIPS(t),
                         A_ADDRESS(r->scratch), A_ADDRESS(r->out[1]), A_ADDRESS(r->out[2]));
}

static cornu_status layer_norm_enqueue_backward(const gpu_op *r)
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

static const gpu_kernel layer_norm_forward = {.name = "rows",
                                              .enqueue = layer_norm_enqueue_forward};
static const gpu_kernel layer_norm_backward = {
    .name = "rows", .prepare = prepare_backward, .enqueue = layer_norm_enqueue_backward};
const gpu_kernel *const opencl_layer_norm_forward[] = {&layer_norm_forward, NULL};
const gpu_kernel *const opencl_layer_norm_backward[] = {&layer_norm_backward, NULL};
