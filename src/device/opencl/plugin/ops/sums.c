/* Column sums, and SQUARE_SUM. */
#include "device/opencl/plugin/ops/ops.h"

typedef struct sum2 { /* as kernels/common.h has it */
    float high, low;
} sum2;

/* ---- columns -------------------------------------------------------------------------------- */

enum {
    WIDTH_MOST = 32, /* columns of a strip */
    ROWS_LEAST = 8   /* of a work-item, before rows are divided into more ranges */
};

opencl_strips opencl_strips_of(int64_t rows, int64_t columns, int64_t groups)
{
    opencl_strips t = {
        .rows = rows, .columns = columns, .width = opencl_lanes(columns, WIDTH_MOST)};
    int64_t strips = (columns + t.width - 1) / t.width, step = WORK_ITEMS / t.width;
    int64_t most = groups / strips, useful = rows / (ROWS_LEAST * step);
    int64_t count = most < useful ? most : useful;
    count = count < 1 ? 1 : count;
    t.block_rows = (rows + count - 1) / count;
    t.block_rows = (t.block_rows + step - 1) / step * step;
    t.count = (rows + t.block_rows - 1) / t.block_rows;
    return t;
}

opencl_strips opencl_strips_whole(int64_t rows, int64_t columns)
{
    return opencl_strips_of(rows, columns, 1);
}

opencl_grid opencl_strips_grid(const opencl_strips *t)
{
    opencl_grid grid = opencl_line(opencl_groups(t->columns, t->width, 0));
    grid.groups[1] = (size_t)t->count;
    return grid;
}

size_t opencl_partials_bytes(const opencl_strips *t)
{
    return (size_t)t->count * 2 * (size_t)t->columns * sizeof(sum2);
}

size_t opencl_column_sums_scratch(int64_t rows, int64_t columns)
{
    opencl_strips t = opencl_strips_of(rows, columns, OPENCL_SUM_GROUPS);
    return t.count > 1 ? (size_t)t.count * (size_t)columns * sizeof(sum2) : 0;
}

cornu_status opencl_column_sums(gpu *g, gpu_address x, int64_t rows, int64_t columns,
                                gpu_address scratch, gpu_address out)
{
    opencl_strips t = opencl_strips_of(rows, columns, OPENCL_SUM_GROUPS);
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

/* Elements of a group, and how many groups there are. */
static int64_t square_piece(int64_t count, int64_t *groups)
{
    int64_t piece = (count + OPENCL_SUM_GROUPS - 1) / OPENCL_SUM_GROUPS;
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
    TRY(OPENCL_LAUNCH(r->g, OPENCL_square_sum, opencl_line((size_t)groups), A_ADDRESS(r->in[0]),
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
