/* Column sums, and the square sum that stands alone. */
#include "device/cuda/plugin/ops/ops.h"

sum_strips cuda_strips(int64_t rows, int64_t columns, int64_t blocks, unsigned *partials)
{
    sum_strips t = {.rows = rows, .columns = columns, .width = cuda_lanes(columns)};
    int64_t strips = (columns + t.width - 1) / t.width, step = SUM_THREADS / t.width;
    int64_t most = blocks / strips, useful = rows / (8 * step);
    int64_t count = most < useful ? most : useful;
    count = count < 1 ? 1 : count;
    t.block_rows = (rows + count - 1) / count;
    t.block_rows = (t.block_rows + step - 1) / step * step;
    *partials = (unsigned)((rows + t.block_rows - 1) / t.block_rows);
    return t;
}

cuda_grid cuda_strips_grid(const sum_strips *t, unsigned partials)
{
    return (cuda_grid){
        .x = cuda_blocks(t->columns, t->width, 0), .y = partials, .threads = SUM_THREADS};
}

size_t cuda_column_sums_scratch(int64_t rows, int64_t columns)
{
    unsigned partials;
    (void)cuda_strips(rows, columns, CUDA_SUM_BLOCKS, &partials);
    return partials > 1 ? partials * (size_t)columns * sizeof(sum2) : 0;
}

cornu_status cuda_column_sums(gpu *g, gpu_address x, int64_t rows, int64_t columns,
                              gpu_address scratch, gpu_address out)
{
    unsigned partials;
    column_sums_params p = {.t = cuda_strips(rows, columns, CUDA_SUM_BLOCKS, &partials),
                            .x = (const float *)x,
                            .partials = (sum2 *)scratch};
    if (partials == 1)
        p.sums = (float *)out;
    TRY(cuda_launch(g, CUDA_column_sums, cuda_strips_grid(&p.t, partials), &p));
    if (partials == 1)
        return CORNU_OK;
    column_sums_reduce_params f = {.partials = p.partials, .sums = (float *)out};
    f.t = p.t;
    f.t.rows = f.t.block_rows = partials;
    return cuda_launch(g, CUDA_column_sums_reduce, cuda_strips_grid(&f.t, 1), &f);
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
