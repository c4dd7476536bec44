/* Column sums, and SQUARE_SUM. */
#include "device/opencl/plugin/ops/ops.h"

typedef struct sum2 { /* as in kernels/common.h */
    float high, low;
} sum2;

/* ---- columns -------------------------------------------------------------------------------- */

gpu_strips opencl_strips_of(int64_t rows, int64_t columns, int64_t groups)
{
    return gpu_strips_of(rows, columns, WORK_ITEMS, groups);
}

gpu_strips opencl_strips_whole(int64_t rows, int64_t columns)
{
    return opencl_strips_of(rows, columns, 1);
}

opencl_grid opencl_strips_grid(const gpu_strips *t)
{
    opencl_grid grid = opencl_line(gpu_blocks(t->columns, t->width, 0));
    grid.groups[1] = (size_t)t->count;
    return grid;
}

size_t opencl_partials_bytes(const gpu_strips *t)
{
    return (size_t)t->count * 2 * (size_t)t->columns * sizeof(sum2);
}

size_t opencl_column_sums_scratch(int64_t rows, int64_t columns)
{
    gpu_strips t = opencl_strips_of(rows, columns, GPU_SUM_BLOCKS);
    return t.count > 1 ? (size_t)t.count * (size_t)columns * sizeof(sum2) : 0;
}

cornu_status opencl_column_sums(gpu *g, gpu_address x, int64_t rows, int64_t columns,
                                gpu_address scratch, gpu_address out)
{
    gpu_strips t = opencl_strips_of(rows, columns, GPU_SUM_BLOCKS);
    bool one = t.count == 1;
    TRY(OPENCL_LAUNCH(g, OPENCL_column_sums, opencl_strips_grid(&t), A_STRIPS(t), A_ADDRESS(x),
                      A_ADDRESS(one ? 0 : scratch), A_ADDRESS(one ? out : 0)));
    if (one)
        return CORNU_OK;
    t = opencl_strips_whole(t.count, columns);
    return OPENCL_LAUNCH(g, OPENCL_column_sums_reduce, opencl_strips_grid(&t), A_STRIPS(t),
                         A_ADDRESS(scratch), A_ADDRESS(out), A_ADDRESS(0));
}

/* ---- SQUARE_SUM ---------------------------------------------------------------------------- */

enum { PIECE_LEAST = 16 * WORK_ITEMS }; /* elements of a group: a multiple of 4 */

/* Elements per group, and the number of groups. */
static int64_t square_piece(int64_t count, int64_t *groups)
{
    int64_t piece = (count + GPU_SUM_BLOCKS - 1) / GPU_SUM_BLOCKS;
    piece = piece < PIECE_LEAST ? PIECE_LEAST : (piece + 3) / 4 * 4;
    *groups = (count + piece - 1) / piece;
    return piece;
}

static cornu_status prepare_squares(gpu *g, const plan *p, const op *o, void **state,
                                    size_t *scratch_bytes)
{
    (void)g, (void)state;
    int64_t groups;
    (void)square_piece(p->tensors[o->in[0]].count, &groups);
    *scratch_bytes += groups > 1 ? (size_t)groups * sizeof(sum2) : 0;
    return CORNU_OK;
}

static cornu_status enqueue_squares(const gpu_op *r)
{
    int64_t groups, count = GPU_IN(r, 0)->count, piece = square_piece(count, &groups);
    gpu_address sum = r->out[0] + (gpu_address)r->op->a.norm.slot * sizeof(float);
    bool one = groups == 1;
    TRY(OPENCL_LAUNCH(r->g, OPENCL_square_sum, opencl_line(groups), A_ADDRESS(r->in[0]),
                      A_LONG(count), A_LONG(piece), A_ADDRESS(one ? 0 : r->scratch),
                      A_ADDRESS(one ? sum : 0)));
    if (one)
        return CORNU_OK;
    return OPENCL_LAUNCH(r->g, OPENCL_square_sum_reduce, opencl_line(1), A_ADDRESS(r->scratch),
                         A_LONG(groups), A_ADDRESS(sum));
}

static const gpu_kernel squares = {
    .name = "pieces", .prepare = prepare_squares, .enqueue = enqueue_squares};
const gpu_kernel *const opencl_square_sum[] = {&squares, NULL};
