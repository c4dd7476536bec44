/* SLICE, INSERT and TRANSPOSE: copies of runs of neighbours, or of every so many elements. */
#include "device/slices.h"
#include "device/broadcast.h"
#include "device/cpu/cpu.h"
#include <string.h>

typedef struct slice_run {
    slice_runs s;
    bool inserts; /* y is the whole; else x is */
    const float *x;
    float *y;
    int64_t per_task; /* runs, or outer indices of the whole */
    int64_t outers;
} slice_run;

/* Runs begin..end-1. */
static void copy_runs(const slice_run *r, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        const int64_t slice = i * r->s.floats, whole = slice_run_at(&r->s, i);
        memcpy(r->y + (r->inserts ? whole : slice), r->x + (r->inserts ? slice : whole),
               (size_t)r->s.floats * sizeof *r->y);
    }
}

static void copy_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const slice_run *r = context;
    int64_t begin, end;
    cpu_task_range(r->s.count, r->per_task, task, &begin, &end);
    copy_runs(r, begin, end);
}

/* Whole outer indices, with zeros between the runs. */
static void spread_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const slice_run *r = context;
    int64_t begin, end;
    cpu_task_range(r->outers, r->per_task, task, &begin, &end);
    memset(r->y + begin * r->s.outer, 0, (size_t)((end - begin) * r->s.outer) * sizeof *r->y);
    copy_runs(r, begin * r->s.runs, end * r->s.runs);
}

static cornu_status run_slices(const op_run *r)
{
    slice_run s = {.s = slice_runs_of(r->plan, r->op),
                   .inserts = r->op->kind == OP_INSERT,
                   .x = r->in[0],
                   .y = r->out[0]};
    if (insert_spreads(r->op)) {
        s.outers = s.s.count / s.s.runs;
        s.per_task = cpu_rows_per_task(s.s.outer);
        threads_run(r->pool, cpu_divide_up(s.outers, s.per_task), spread_task, &s);
    } else {
        s.per_task = cpu_rows_per_task(s.s.floats);
        threads_run(r->pool, cpu_divide_up(s.s.count, s.per_task), copy_task, &s);
    }
    return CORNU_OK;
}

const kernel cpu_slice = {.name = "copy", .run = run_slices};
const kernel cpu_insert = {.name = "copy", .run = run_slices};

/* ---- whole kernels of dense layers, which are in panels ---------------------------------- */

typedef struct panel_run {
    const float *x;
    float *y;
    int64_t in, units;
    bool packs; /* y is in panels; else x is */
} panel_run;

static void panel_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const panel_run *r = context;
    const int64_t begin = task * PANEL_COLUMNS, n = cpu_least(PANEL_COLUMNS, r->units - begin);
    for (int64_t k = 0; k < r->in; k++) {
        const int64_t row = k * r->units + begin, panel = begin * r->in + k * n;
        memcpy(r->y + (r->packs ? panel : row), r->x + (r->packs ? row : panel),
               (size_t)n * sizeof *r->y);
    }
}

static cornu_status run_panels(const op_run *r)
{
    const tensor *w = OP_OUT(r->plan, r->op, 0);
    panel_run p = {.x = r->in[0],
                   .y = r->out[0],
                   .in = w->shape.dim[0],
                   .units = w->shape.dim[1],
                   .packs = r->op->kind == OP_INSERT};
    threads_run(r->pool, cpu_divide_up(p.units, PANEL_COLUMNS), panel_task, &p);
    return CORNU_OK;
}

static bool is_of_kernel(const plan *p, const op *o, const char **why)
{
    *why = "the tensor is no kernel of a dense layer";
    return op_copies_kernel(p, o);
}

const kernel cpu_unpack = {
    .name = "unpack", .accepts = is_of_kernel, .run = run_panels, .panels = true};
const kernel cpu_pack = {
    .name = "pack", .accepts = is_of_kernel, .run = run_panels, .panels = true};

/* ---- TRANSPOSE --------------------------------------------------------------------------- */

enum {
    INNER = SHAPE_MAX - 1,
    OUTER = SHAPE_MAX - 2
}; /* the last dimension of y, and that before */

typedef struct transpose_run {
    broadcast s;
    const float *x;
    float *y;
    int64_t rows, rows_per_task;
} transpose_run;

/* `rows` rows of `n` elements, which in x are x_row floats apart. Runs of attention's heads are
   short: calls of memcpy would take longer than the copies. */
static void copy_rows(const float *x, int64_t x_row, float *y, int64_t rows, int64_t n)
{
    enum { LINE = 16 };
    const int64_t lines = n < 16 * LINE ? n / LINE * LINE : 0;
    for (int64_t i = 0; i < rows; i++, x += x_row, y += n) {
        for (int64_t k = 0; k < lines; k += LINE)
            memcpy(y + k, x + k, LINE * sizeof *x);
        if (lines < n)
            memcpy(y + lines, x + lines, (size_t)(n - lines) * sizeof *x);
    }
}

static void gather_rows(const float *x, int64_t x_row, int64_t x_step, float *y, int64_t rows,
                        int64_t n)
{
    for (int64_t i = 0; i < rows; i++, x += x_row, y += n)
        for (int64_t k = 0; k < n; k++)
            y[k] = x[k * x_step];
}

static void transpose_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const transpose_run *r = context;
    const int64_t n = r->s.size[INNER], step = r->s.step[BROADCAST_A][INNER];
    const int64_t most = r->s.size[OUTER], row_step = r->s.step[BROADCAST_A][OUTER];
    int64_t begin, end;
    cpu_task_range(r->rows, r->rows_per_task, task, &begin, &end);
    broadcast_walk w = broadcast_at(&r->s, OUTER, begin / most);
    for (int64_t first = begin % most; begin < end; first = 0) {
        const int64_t rows = cpu_least(most - first, end - begin);
        const float *x = r->x + w.at[BROADCAST_A] + first * row_step;
        float *y = r->y + begin * n;
        if (step != 1)
            gather_rows(x, row_step, step, y, rows, n);
        else
            copy_rows(x, row_step, y, rows, n);
        broadcast_next(&r->s, OUTER, &w);
        begin += rows;
    }
}

static cornu_status run_transpose(const op_run *r)
{
    const tensor *x = OP_IN(r->plan, r->op, 0), *y = OP_OUT(r->plan, r->op, 0);
    transpose_run t = {.s = broadcast_transposed(&x->shape, r->op->a.order, &y->shape),
                       .x = r->in[0],
                       .y = r->out[0]};
    const int64_t n = t.s.size[INNER];
    t.rows = y->count / n;
    t.rows_per_task = cpu_rows_per_task(n);
    threads_run(r->pool, cpu_divide_up(t.rows, t.rows_per_task), transpose_task, &t);
    return CORNU_OK;
}

const kernel cpu_transpose = {.name = "copy", .run = run_transpose};
