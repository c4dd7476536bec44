/* Batch normalisation: sums over parts of the rows, those of many parts added up, and the result.
 */
#include "device/cuda/plugin/kernels/batch_norm.h"
#include "device/cuda/plugin/ops/ops.h"

enum {
    APPLY_BLOCKS = 2048, /* of the kernels that write a result for every element */
    PARTS_MOST = 16      /* that each block of those adds up for itself */
};

static void matrix_of(const plan *p, const op *o, int64_t *rows, int64_t *columns)
{
    tensor_matrix(&p->tensors[o->in[0]], rows, columns);
}

/* The parts, and behind them their sums. */
static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    (void)g, (void)state;
    int64_t rows, columns;
    unsigned parts;
    matrix_of(p, o, &rows, &columns);
    (void)gpu_tiles(rows, columns, GPU_SUM_BLOCKS, &parts);
    *scratch_bytes += (parts + 1) * 2 * (size_t)columns * sizeof(double);
    return CORNU_OK;
}

/* What the second kernel reads: the parts themselves, or one that they were added up to. */
static cornu_status fold(const gpu_op *r, int64_t columns, unsigned parts, const double **from,
                         int64_t *count)
{
    double *all = (double *)r->scratch;
    *from = all;
    *count = parts;
    if (parts <= PARTS_MOST)
        return CORNU_OK;
    unsigned one;
    column_sums_finish_params p = {.t = gpu_tiles(parts, 2 * columns, 1, &one),
                                   .parts = all,
                                   .totals = all + (int64_t)parts * 2 * columns};
    *from = p.totals;
    *count = 1;
    return gpu_launch(r->g, GPU_column_sums_finish, gpu_tiles_grid(&p.t, one), &p);
}

static cornu_status enqueue_forward(const gpu_op *r)
{
    int64_t rows, columns;
    unsigned parts;
    matrix_of(r->plan, r->op, &rows, &columns);
    batch_norm_parts_params s = {.t = gpu_tiles(rows, columns, GPU_SUM_BLOCKS, &parts),
                                 .x = (const float *)r->in[0],
                                 .parts = (double *)r->scratch};
    TRY(gpu_launch(r->g, GPU_batch_norm_parts, gpu_tiles_grid(&s.t, parts), &s));
    batch_norm_forward_params p = {.x = s.x,
                                   .gamma = (const float *)r->in[1],
                                   .beta = (const float *)r->in[2],
                                   .y = (float *)r->out[0],
                                   .mean = (float *)r->out[1],
                                   .inverse = (float *)r->out[2],
                                   .moving_mean = (float *)r->out[3],
                                   .moving_variance = (float *)r->out[4],
                                   .momentum = r->op->a.batch_norm.momentum,
                                   .epsilon = r->op->a.batch_norm.epsilon};
    TRY(fold(r, columns, parts, &p.parts, &p.part_count));
    p.t = gpu_tiles(rows, columns, APPLY_BLOCKS, &parts);
    return gpu_launch(r->g, GPU_batch_norm_forward, gpu_tiles_grid(&p.t, parts), &p);
}

static cornu_status enqueue_inference(const gpu_op *r)
{
    int64_t rows, columns;
    unsigned parts;
    matrix_of(r->plan, r->op, &rows, &columns);
    batch_norm_inference_params p = {.t = gpu_tiles(rows, columns, APPLY_BLOCKS, &parts),
                                     .x = (const float *)r->in[0],
                                     .gamma = (const float *)r->in[1],
                                     .beta = (const float *)r->in[2],
                                     .moving_mean = (const float *)r->in[3],
                                     .moving_variance = (const float *)r->in[4],
                                     .y = (float *)r->out[0],
                                     .epsilon = r->op->a.batch_norm.epsilon};
    return gpu_launch(r->g, GPU_batch_norm_inference, gpu_tiles_grid(&p.t, parts), &p);
}

static cornu_status enqueue_backward(const gpu_op *r)
{
    int64_t rows, columns;
    unsigned parts;
    matrix_of(r->plan, r->op, &rows, &columns);
    batch_norm_backward_parts_params s = {.t = gpu_tiles(rows, columns, GPU_SUM_BLOCKS, &parts),
                                          .x = (const float *)r->in[0],
                                          .dy = (const float *)r->in[1],
                                          .mean = (const float *)r->in[3],
                                          .inverse = (const float *)r->in[4],
                                          .parts = (double *)r->scratch};
    TRY(gpu_launch(r->g, GPU_batch_norm_backward_parts, gpu_tiles_grid(&s.t, parts), &s));
    batch_norm_backward_params p = {.x = s.x,
                                    .dy = s.dy,
                                    .gamma = (const float *)r->in[2],
                                    .mean = s.mean,
                                    .inverse = s.inverse,
                                    .dx = (float *)r->out[0],
                                    .dgamma = (float *)r->out[1],
                                    .dbeta = (float *)r->out[2]};
    TRY(fold(r, columns, parts, &p.parts, &p.part_count));
    p.t = gpu_tiles(rows, columns, APPLY_BLOCKS, &parts);
    return gpu_launch(r->g, GPU_batch_norm_backward, gpu_tiles_grid(&p.t, parts), &p);
}

static const gpu_kernel forward = {
    .name = "columns", .prepare = prepare, .enqueue = enqueue_forward};
static const gpu_kernel inference = {.name = "columns", .enqueue = enqueue_inference};
static const gpu_kernel backward = {
    .name = "columns", .prepare = prepare, .enqueue = enqueue_backward};
const gpu_kernel *const gpu_batch_norm_forward[] = {&forward, NULL};
const gpu_kernel *const gpu_batch_norm_inference[] = {&inference, NULL};
const gpu_kernel *const gpu_batch_norm_backward[] = {&backward, NULL};
