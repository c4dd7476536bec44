/* Column sums, and the separate square sum. */
#include "device/cuda/plugin/ops/ops.h"

sum_strips cuda_strips_params(const gpu_strips *t)
{
    return (sum_strips){
        .rows = t->rows, .columns = t->columns, .block_rows = t->block_rows, .width = t->width};
}

cuda_grid cuda_strips_grid(const gpu_strips *t)
{
    cuda_grid grid = cuda_line(gpu_blocks(t->columns, t->width, 0), SUM_THREADS);
    grid.y = (unsigned)t->count;
    return grid;
}

static gpu_strips strips_of(int64_t rows, int64_t columns)
{
    return gpu_strips_of(rows, columns, SUM_THREADS, GPU_SUM_BLOCKS);
}

size_t cuda_column_sums_scratch(int64_t rows, int64_t columns)
{
    const gpu_strips t = strips_of(rows, columns);
    return t.count > 1 ? (size_t)t.count * (size_t)columns * sizeof(sum2) : 0;
}

cornu_status cuda_column_sums(gpu *g, gpu_address x, int64_t rows, int64_t columns,
                              gpu_address scratch, gpu_address out)
{
    gpu_strips t = strips_of(rows, columns);
    column_sums_params p = {
        .t = cuda_strips_params(&t), .x = (const float *)x, .partials = (sum2 *)scratch};
    if (t.count == 1)
        p.sums = (float *)out;
    TRY(cuda_launch(g, CUDA_column_sums, cuda_strips_grid(&t), &p));
    if (t.count == 1)
        return CORNU_OK;
    column_sums_reduce_params f = {.t = p.t, .partials = p.partials, .sums = (float *)out};
    f.t.rows = f.t.block_rows = t.count;
    t.count = 1;
    return cuda_launch(g, CUDA_column_sums_reduce, cuda_strips_grid(&t), &f);
}

/* ---- SQUARE_SUM ---------------------------------------------------------------------------- */

static bool has_updates(const plan *p)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_UPDATE)
            return true;
    return false;
}

static bool accepts_with_updates(const gpu *g, const plan *p, const op *o, const char **why)
{
    (void)g, (void)o;
    *why = "nothing is updated";
    return has_updates(p);
}

static cornu_status enqueue_alone(const gpu_op *r)
{
    square_sum_params p = {.x = (const float *)r->in[0],
                           .count = GPU_IN(r, 0)->count,
                           .sum = (float *)r->out[0] + r->op->a.norm.slot};
    cuda_grid grid = {.x = 1, .threads = SQUARE_THREADS};
    return cuda_launch(r->g, CUDA_square_sum, grid, &p);
}

/* The updates' first launches sum the squares of all gradients at once. */
static const gpu_kernel with_updates = {
    .name = "updates", .accepts = accepts_with_updates, .with_updates = true};
static const gpu_kernel alone = {.name = "block", .enqueue = enqueue_alone};
const gpu_kernel *const cuda_square_sum[] = {&with_updates, &alone, NULL};
