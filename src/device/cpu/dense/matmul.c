/* MATMUL: many products, often of small matrices. A task computes whole blocks of outputs, whose
   sums run over all of the depth in one order. */
#include "device/matmul.h"
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/dense/matmul_kernels.h"
#include <stdlib.h>

CPU_ISA_TABLE(matmul_kernels, cpu_matmul_kernels);
CPU_ISA_PREPARE(prepare_kernels, cpu_matmul_kernels)

enum {
    DEPTH = 256,   /* of a packed panel, which stays in L1 */
    ROWS = 128,    /* of a block: packing a panel costs as much as multiplying few rows */
    DOTS_MOST = 8, /* columns, before a panel is worth its packing */
    DOT = 4096     /* terms that one float sums */
};

typedef struct matmul_run {
    const matmul_kernels *kernels;
    matmul_shape s;
    const float *a, *b;
    float *y, *panels; /* panels: one for each worker */
    bool dots;         /* rows of a and columns of b are contiguous, and there are few columns */
    int64_t row_blocks, panel_count, blocks; /* of a product, of a row block, of all products */
    int64_t per_task;
} matmul_run;

/* One block of outputs, which ends with the matrix at the latest. */
static void run_block(const matmul_run *r, int64_t number, float *panel)
{
    const matmul_shape *s = &r->s;
    const int64_t product = number / (r->row_blocks * r->panel_count);
    const int64_t row = number / r->panel_count % r->row_blocks * ROWS;
    const int64_t column = number % r->panel_count * MATMUL_PANEL;
    const float *b = r->b + product * s->depth * s->columns + column * s->b_column;
    matmul_block m = {.a = r->a + product * s->rows * s->depth + row * s->a_row,
                      .panel = panel,
                      .y = r->y + (product * s->rows + row) * s->columns + column,
                      .a_row = s->a_row,
                      .a_depth = s->a_depth,
                      .y_row = s->columns,
                      .rows = cpu_least(ROWS, s->rows - row),
                      .columns = cpu_least(MATMUL_PANEL, s->columns - column)};
    for (int64_t k = 0; k < s->depth; k += DEPTH) {
        m.depth = cpu_least(DEPTH, s->depth - k);
        r->kernels->pack(b + k * s->b_depth, s->b_depth, s->b_column, m.depth, m.columns, panel);
        r->kernels->multiply(&m);
        m.a += m.depth * s->a_depth;
        m.add = true;
    }
}

static void run_dots(const matmul_run *r, int64_t number)
{
    const matmul_shape *s = &r->s;
    const int64_t product = number / r->row_blocks, first = number % r->row_blocks * ROWS;
    const float *a = r->a + product * s->rows * s->depth,
                *b = r->b + product * s->depth * s->columns;
    float *y = r->y + product * s->rows * s->columns;
    for (int64_t i = first; i < cpu_least(first + ROWS, s->rows); i++)
        for (int64_t k = 0; k < s->columns; k++) {
            double sum = 0;
            for (int64_t at = 0; at < s->depth; at += DOT)
                sum += (double)r->kernels->dot(a + i * s->depth + at, b + k * s->depth + at,
                                               cpu_least(DOT, s->depth - at));
            y[i * s->columns + k] = (float)sum;
        }
}

static void run_task(void *context, int64_t task, int worker)
{
    const matmul_run *r = context;
    int64_t begin, end;
    cpu_task_range(r->blocks, r->per_task, task, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        if (r->dots)
            run_dots(r, i);
        else
            run_block(r, i, r->panels + worker * DEPTH * MATMUL_PANEL);
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    cpu_need_scratch(scratch_bytes, (int64_t)threads_count(pool) * DEPTH * MATMUL_PANEL);
    return prepare_kernels(p, o, pool, state, scratch_bytes);
}

static cornu_status run(const op_run *r)
{
    matmul_run m = {.kernels = r->state,
                    .s = matmul_shape_of(r->plan, r->op),
                    .a = r->in[0],
                    .b = r->in[1],
                    .y = r->out[0],
                    .panels = r->scratch};
    const matmul_shape *s = &m.s;
    const bool a_runs = s->a_depth == 1 || s->rows == 1,
               b_runs = s->b_depth == 1 || s->columns == 1;
    m.dots = a_runs && b_runs && s->columns < DOTS_MOST;
    m.row_blocks = cpu_divide_up(s->rows, ROWS);
    m.panel_count = m.dots ? 1 : cpu_divide_up(s->columns, MATMUL_PANEL);
    m.blocks = s->count * m.row_blocks * m.panel_count;
    m.per_task = cpu_rows_per_task(cpu_least(ROWS, s->rows) * s->depth);
    threads_run(r->pool, cpu_divide_up(m.blocks, m.per_task), run_task, &m);
    return CORNU_OK;
}

const kernel cpu_matmul = {.name = "panels", .prepare = prepare, .run = run};
