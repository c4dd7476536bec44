/* MATMUL: many products, often of small matrices. A task computes whole blocks of outputs, whose
   sums run over all of the depth in one order. The microkernels are those of indirect.c, which take
   rows of `a` by address, as they are or transposed. */
#include "device/matmul.h"
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/matmul/matmul.h"
#include <stdlib.h>
#include <string.h>

CPU_ISA_TABLE(indirect_kernels, cpu_indirect);
const indirect_kernels *const *const cpu_product_kernels = cpu_indirect;
CPU_ISA_PREPARE(prepare_kernels, cpu_indirect)

enum {
    DEPTH = 192,      /* of a panel of b, which stays in L1 or L2 */
    PANEL_MOST = 64,  /* columns of a panel, on any instruction set */
    APART_MOST = 128, /* floats from one index of the sum to the next: those further apart fall into
                         too few sets of the first-level cache, and are copied */
    DOTS_MOST = 8,    /* columns, before a panel is worth its packing */
    DOT = 4096,       /* terms that one float sums */
    ADDRESS = sizeof(void *) / sizeof(float) /* floats of scratch */
};

/* ---- blocks of outputs ------------------------------------------------------------------- */

/* A worker's memory. */
typedef struct block_memory {
    const float **from; /* [ADDRESSES]: of rows, or of indices of the sum */
    float **to;         /* [PRODUCT_ROWS] */
    float *panel, *a;   /* [DEPTH][PANEL_MOST], [DEPTH][PRODUCT_ROWS] */
} block_memory;

enum { ADDRESSES = DEPTH }; /* PRODUCT_ROWS are fewer */

static block_memory divide(float *memory)
{
    block_memory m = {.from = (const float **)(void *)memory};
    m.to = (float **)(void *)(memory + ADDRESSES * ADDRESS);
    m.panel = memory + 2 * ADDRESSES * ADDRESS;
    m.a = m.panel + DEPTH * PANEL_MOST;
    return m;
}

int64_t product_floats(void)
{
    return cpu_scratch_floats(2 * ADDRESSES * ADDRESS + DEPTH * (PANEL_MOST + PRODUCT_ROWS));
}

/* Some columns of b, of some indices of the sum, by `width` floats an index. */
typedef struct panel {
    int64_t column, columns, width, k, depth;
    const float *at;
    int64_t stride;
} panel;

/* Read in place where whole vectors stand side by side, else packed. */
static void find_panel(const indirect_kernels *k, const product *p, bool any_stride, float *memory,
                       panel *n)
{
    const matmul_shape *s = p->s;
    const float *at = p->b + n->k * s->b_depth + n->column * s->b_column;
    n->at = at;
    n->stride = s->b_depth;
    if (s->b_column == 1 && n->columns == n->width && s->b_depth <= APART_MOST &&
        (any_stride || s->b_depth == n->width))
        return;
    n->at = memory;
    n->stride = n->width;
    if (s->b_column == 1)
        k->pack(at, s->b_depth, false, n->depth, n->columns, n->width, memory);
    else
        k->pack(at, s->b_column, true, n->depth, n->columns, n->width, memory);
}

/* Rows of `a`, each of whose elements stand side by side, by a panel. */
static void multiply_rows(const indirect_kernels *k, const panel *n, const block_memory *m,
                          int64_t rows)
{
    static const int32_t tap = 0;
    const indirect_product p = {.from = m->from,
                                .from_stride = rows,
                                .at = n->k,
                                .tap = &tap,
                                .taps = 1,
                                .depth = n->depth,
                                .rows = rows,
                                .panel = n->at,
                                .width = n->width,
                                .to = m->to,
                                .to_at = n->column,
                                .columns = n->columns,
                                .add = n->k > 0};
    k->product(&p);
}

/* The same where rows stand side by side: `a` has them from `row` on. */
static void multiply_columns(const indirect_kernels *k, const matmul_shape *s, const panel *n,
                             const block_memory *m, const float *a, int64_t rows)
{
    const bool copies = s->a_depth > APART_MOST;
    for (int64_t i = 0; i < n->depth; i++) {
        const float *from = a + (n->k + i) * s->a_depth;
        if (copies)
            memcpy(m->a + i * PRODUCT_ROWS, from, (size_t)rows * sizeof *from);
        m->from[i] = copies ? m->a + i * PRODUCT_ROWS : from;
    }
    const indirect_gradient gradient = {.from = m->from,
                                        .rows = n->depth,
                                        .depth = rows,
                                        .dy = n->at,
                                        .dy_stride = n->stride,
                                        .width = n->width,
                                        .dw = m->to[0] + n->column,
                                        .dw_stride = s->columns,
                                        .columns = n->columns,
                                        .add = n->k > 0};
    k->gradient(&gradient);
}

int64_t product_panel(const indirect_kernels *k, const matmul_shape *s)
{
    const int64_t panels = cpu_divide_up(s->columns, k->panel_most);
    return cpu_divide_up(cpu_divide_up(s->columns, panels), k->vector) * k->vector;
}

void product_block(const indirect_kernels *k, const product *p, int64_t row, int64_t rows,
                   int64_t column, float *memory)
{
    const matmul_shape *s = p->s;
    const block_memory m = divide(memory);
    const float *a = p->a + row * s->a_row;
    const bool along = s->a_depth == 1;
    panel n = {.column = column, .columns = cpu_least(product_panel(k, s), s->columns - column)};
    n.width = cpu_divide_up(n.columns, k->vector) * k->vector;
    for (int64_t i = 0; i < rows; i++) {
        m.from[i] = a + i * s->a_row;
        m.to[i] = p->y + (row + i) * s->columns;
    }
    for (n.k = 0; n.k < s->depth; n.k += DEPTH) {
        n.depth = cpu_least(DEPTH, s->depth - n.k);
        find_panel(k, p, !along, m.panel, &n);
        if (along)
            multiply_rows(k, &n, &m, rows);
        else
            multiply_columns(k, s, &n, &m, a, rows);
    }
}

/* ---- the kernel -------------------------------------------------------------------------- */

typedef struct matmul_run {
    const indirect_kernels *kernels;
    matmul_shape s;
    const float *a, *b;
    float *y, *memory; /* memory: [workers][product_floats()] */
    bool dots;         /* rows of a and columns of b are contiguous, and there are few columns */
    int64_t row_blocks, panels, blocks, per_task; /* of a product, of all, of a task */
} matmul_run;

static void run_dots(const matmul_run *r, const product *p, int64_t first, int64_t rows)
{
    const matmul_shape *s = p->s;
    for (int64_t i = first; i < first + rows; i++)
        for (int64_t k = 0; k < s->columns; k++) {
            double sum = 0;
            for (int64_t at = 0; at < s->depth; at += DOT)
                sum += (double)r->kernels->dot(p->a + i * s->depth + at, p->b + k * s->depth + at,
                                               cpu_least(DOT, s->depth - at));
            p->y[i * s->columns + k] = (float)sum;
        }
}

static void run_task(void *context, int64_t task, int worker)
{
    const matmul_run *r = context;
    const matmul_shape *s = &r->s;
    int64_t begin, end;
    cpu_task_range(r->blocks, r->per_task, task, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t number = i / (r->row_blocks * r->panels);
        const product p = {.s = s,
                           .a = r->a + number * s->rows * s->depth,
                           .b = r->b + number * s->depth * s->columns,
                           .y = r->y + number * s->rows * s->columns};
        int64_t row, end_row;
        threads_range(s->rows, r->row_blocks, i / r->panels % r->row_blocks, 1, &row, &end_row);
        if (r->dots)
            run_dots(r, &p, row, end_row - row);
        else
            product_block(r->kernels, &p, row, end_row - row,
                          i % r->panels * product_panel(r->kernels, s),
                          r->memory + worker * product_floats());
    }
}

int64_t cpu_matmul_floats(threads *pool)
{
    return threads_count(pool) * product_floats();
}

void cpu_multiply(const indirect_kernels *k, threads *pool, const matmul_shape *s, const float *a,
                  const float *b, float *y, float *memory)
{
    matmul_run m = {.kernels = k, .s = *s, .a = a, .b = b, .y = y, .memory = memory};
    const bool a_runs = s->a_depth == 1 || s->rows == 1,
               b_runs = s->b_depth == 1 || s->columns == 1;
    m.dots = a_runs && b_runs && s->columns < DOTS_MOST;
    m.row_blocks = cpu_divide_up(s->rows, PRODUCT_ROWS);
    m.panels = m.dots ? 1 : cpu_divide_up(s->columns, product_panel(k, s));
    m.blocks = s->count * m.row_blocks * m.panels;
    m.per_task = cpu_rows_per_task(cpu_least(PRODUCT_ROWS, s->rows) * s->depth);
    threads_run(pool, cpu_divide_up(m.blocks, m.per_task), run_task, &m);
}

cornu_status cpu_matmul_prepare(const plan *p, const op *o, threads *pool, void **state,
                                size_t *scratch_bytes)
{
    cpu_need_scratch(scratch_bytes, cpu_matmul_floats(pool));
    return prepare_kernels(p, o, pool, state, scratch_bytes);
}

static cornu_status run(const op_run *r)
{
    const matmul_shape s = matmul_shape_of(r->plan, r->op);
    cpu_multiply(r->state, r->pool, &s, r->in[0], r->in[1], r->out[0], r->scratch);
    return CORNU_OK;
}

const kernel cpu_matmul = {.name = "indirect", .prepare = cpu_matmul_prepare, .run = run};
