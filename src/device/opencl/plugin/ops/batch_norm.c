/* Batch normalisation: sums over ranges of the rows, many such partial sums reduced, and the
   result. */
#include "device/opencl/plugin/ops/ops.h"

static gpu_strips strips_of(const plan *p, const op *o, int64_t groups)
{
    int64_t rows, columns;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &columns);
    return opencl_strips_of(rows, columns, groups);
}

/* Scratch memory: the partial sums, followed by their sums. */
static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    (void)g, (void)state;
    gpu_strips t = strips_of(p, o, GPU_SUM_BLOCKS);
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

static cornu_status enqueue_forward(const gpu_op *r)
{
    gpu_strips t = strips_of(r->plan, r->op, GPU_SUM_BLOCKS);
    gpu_address partials;
    int64_t count;
    TRY(OPENCL_LAUNCH(r->g, OPENCL_batch_norm_sums, opencl_strips_grid(&t), A_STRIPS(t),
                      A_ADDRESS(r->in[0]), A_ADDRESS(r->scratch)));
    TRY(reduce_partials(r, &t, &partials, &count));
    t = strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
    return OPENCL_LAUNCH(r->g, OPENCL_batch_norm_forward, opencl_strips_grid(&t), A_STRIPS(t),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]),
                         A_ADDRESS(r->out[0]), A_ADDRESS(partials), A_LONG(count),
                         A_ADDRESS(r->out[1]), A_ADDRESS(r->out[2]), A_ADDRESS(r->out[3]),
                         A_ADDRESS(r->out[4]), A_FLOAT(r->op->a.batch_norm.momentum),
                         A_FLOAT(r->op->a.batch_norm.epsilon), A_SUM2(1 / (double)t.rows));
}

static cornu_status enqueue_inference(const gpu_op *r)
{
    gpu_strips t = strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
    return OPENCL_LAUNCH(r->g, OPENCL_batch_norm_inference, opencl_strips_grid(&t), A_STRIPS(t),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]),
                         A_ADDRESS(r->in[3]), A_ADDRESS(r->in[4]), A_ADDRESS(r->out[0]),
                         A_FLOAT(r->op->a.batch_norm.epsilon));
}

static cornu_status enqueue_backward(const gpu_op *r)
{
    gpu_strips t = strips_of(r->plan, r->op, GPU_SUM_BLOCKS);
    gpu_address partials;
    int64_t count;
    TRY(OPENCL_LAUNCH(r->g, OPENCL_batch_norm_backward_sums, opencl_strips_grid(&t), A_STRIPS(t),
                      A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[3]),
                      A_ADDRESS(r->in[4]), A_ADDRESS(r->scratch)));
    TRY(reduce_partials(r, &t, &partials, &count));
    t = strips_of(r->plan, r->op, GPU_APPLY_BLOCKS);
    return OPENCL_LAUNCH(r->g, OPENCL_batch_norm_backward, opencl_strips_grid(&t), A_STRIPS(t),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]),
                         A_ADDRESS(r->in[3]), A_ADDRESS(r->in[4]), A_ADDRESS(r->out[0]),
                         A_ADDRESS(r->out[1]), A_ADDRESS(r->out[2]), A_ADDRESS(partials),
                         A_LONG(count), A_SUM2(1 / (double)t.rows));
}

static const gpu_kernel forward = {
    .name = "columns", .prepare = prepare, .enqueue = enqueue_forward};
static const gpu_kernel inference = {.name = "columns", .enqueue = enqueue_inference};
static const gpu_kernel backward = {
    .name = "columns", .prepare = prepare, .enqueue = enqueue_backward};
const gpu_kernel *const opencl_batch_norm_forward[] = {&forward, NULL};
const gpu_kernel *const opencl_batch_norm_inference[] = {&inference, NULL};
const gpu_kernel *const opencl_batch_norm_backward[] = {&backward, NULL};
