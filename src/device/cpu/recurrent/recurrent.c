/* Recurrent layers: a task goes with a block of samples through all steps. Each step is a product
   of their states with the weights, packed in panels, and the cell on their rows. */
#include "base/memory.h"
#include "device/cpu/conv/indirect_kernels.h"
#include "device/cpu/cpu.h"
#include "device/cpu/recurrent/recurrent_kernels.h"
#include "device/cpu/recurrent/state_products_kernels.h"
#include <stdlib.h>
#include <string.h>

CPU_ISA_TABLE(indirect_kernels, cpu_indirect);
CPU_ISA_TABLE(state_products, cpu_state_products);
CPU_ISA_TABLE(recurrent_kernels, cpu_recurrent_kernels);

enum { ROWS_MOST = 16, ROWS_FEW = 8, BATCH_FEW = 64, FACTORS_MOST = 2 };

/* A product y = a b of a block's rows: b is columns of u, or rows of it, transposed. */
typedef struct factor {
    int64_t at;             /* column of u */
    int64_t depth, columns; /* of b */
    float *panels;
} factor;

typedef struct recurrent_state {
    const indirect_kernels *packs;
    const state_products *products;
    const recurrent_kernels *cells;
    recurrent_sizes s;
    factor factors[FACTORS_MOST];
    int factor_count;
    bool back;
    int64_t panels; /* of all factors */
    int64_t rows;   /* samples of a task */
} recurrent_state;

typedef struct recurrent_run {
    const op_run *r;
    const recurrent_state *s;
    factor factors[FACTORS_MOST];
    float *carries; /* backward: of each worker, [2][rows][units] */
} recurrent_run;

static int64_t panels_of(const factor *p)
{
    return cpu_divide_up(p->columns, STATE_PANEL);
}

static void add_factor(recurrent_state *s, int64_t at, int64_t count)
{
    s->factors[s->factor_count++] = (factor){
        .at = at, .depth = s->back ? count : s->s.units, .columns = s->back ? s->s.units : count};
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    recurrent_state *s = NULL;
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s, "recurrent", &s));
    s->packs = cpu_indirect[isa];
    s->products = cpu_state_products[isa];
    s->cells = cpu_recurrent_kernels[isa];
    s->s = recurrent_sizes_of(p, o);
    s->back = o->kind == OP_RECURRENT_BACKWARD;
    s->rows = s->s.batch < BATCH_FEW ? ROWS_FEW : ROWS_MOST;
    const int64_t n = s->s.units;
    if (s->s.cell == CELL_GRU_BEFORE || (s->s.cell == CELL_GRU_AFTER && !s->back)) {
        add_factor(s, 0, 2 * n);
        add_factor(s, 2 * n, n);
    } else {
        add_factor(s, 0, s->s.gates * n);
    }
    int64_t floats = s->back ? threads_count(pool) * cpu_scratch_floats(2 * s->rows * n) : 0;
    for (int i = 0; i < s->factor_count; i++) {
        s->panels += panels_of(&s->factors[i]);
        floats += cpu_scratch_floats(panels_of(&s->factors[i]) * s->factors[i].depth * STATE_PANEL);
    }
    cpu_need_scratch(scratch_bytes, floats);
    *state = s;
    return CORNU_OK;
}

/* ---- the weights ------------------------------------------------------------------------- */

static void pack_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const recurrent_run *run = context;
    const recurrent_state *s = run->s;
    const factor *p = run->factors;
    const int64_t row = s->s.gates * s->s.units; /* of u */
    for (; task >= panels_of(p); p++)
        task -= panels_of(p);
    const int64_t first = task * STATE_PANEL;
    const float *u = run->r->in[s->back ? 0 : 1] + p->at + (s->back ? first * row : first);
    s->packs->pack(u, row, s->back, p->depth, cpu_least(STATE_PANEL, p->columns - first),
                   STATE_PANEL, p->panels + first * p->depth);
}

static recurrent_run begin(const op_run *r)
{
    const recurrent_state *s = r->state;
    recurrent_run run = {.r = r, .s = s, .carries = r->scratch};
    float *at = run.carries;
    if (s->back)
        at += threads_count(r->pool) * cpu_scratch_floats(2 * s->rows * s->s.units);
    for (int i = 0; i < s->factor_count; i++) {
        run.factors[i] = s->factors[i];
        run.factors[i].panels = at;
        at += cpu_scratch_floats(panels_of(&s->factors[i]) * s->factors[i].depth * STATE_PANEL);
    }
    threads_run(r->pool, s->panels, pack_task, &run);
    return run;
}

/* y += a b; rows are a_row and y_row floats apart. */
static void multiply(const recurrent_run *run, const factor *p, const float *a, int64_t a_row,
                     float *y, int64_t y_row, int64_t rows)
{
    for (int64_t first = 0; first < p->columns; first += STATE_PANEL) {
        const state_block m = {.a = a,
                               .panel = p->panels + first * p->depth,
                               .y = y + first,
                               .a_row = a_row,
                               .y_row = y_row,
                               .rows = rows,
                               .depth = p->depth,
                               .columns = cpu_least(STATE_PANEL, p->columns - first)};
        run->s->products->multiply(&m);
    }
}

/* ---- forward ----------------------------------------------------------------------------- */

/* h0 (0) or c0 (1); NULL: zeros. */
static const float *first_state(const recurrent_run *run, int number)
{
    return run->r->in[(run->s->back ? 4 : 3) + number];
}

static const float *state_of(const float *states, const recurrent_sizes *s, int64_t sample)
{
    return states ? states + sample * s->units : NULL;
}

/* The rows of a sample at a step. */
static recurrent_unit_rows rows_of(const recurrent_run *run, int64_t sample, int64_t step)
{
    const op_run *r = run->r;
    const recurrent_sizes *s = &run->s->s;
    const bool back = run->s->back;
    const int64_t kept = s->kept * s->units;
    float *h = back ? (float *)(uintptr_t)r->in[1] : r->out[0];
    float *saved = back ? (float *)(uintptr_t)r->in[2] : r->out[1];
    recurrent_unit_rows c = {.r = &r->op->a.recurrent,
                             .units = s->units,
                             .h = h + recurrent_h_row(s, sample, step) * s->units,
                             .h_before = state_of(first_state(run, 0), s, sample),
                             .c_before = state_of(first_state(run, 1), s, sample)};
    if (step > 0)
        c.h_before = h + recurrent_h_row(s, sample, step - 1) * s->units;
    if (saved)
        c.kept = saved + recurrent_row(s, sample, step) * kept;
    if (step > 0 && s->cell == CELL_LSTM)
        c.c_before = saved + recurrent_row(s, sample, step - 1) * kept + 4 * s->units;
    return c;
}

static void copy(float *to, const float *from, const float *more, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = (from ? from[i] : 0) + (more ? more[i] : 0);
}

/* Write the sums to which the products with the state are added. */
static void begin_step(const recurrent_run *run, int64_t sample, int64_t step)
{
    const recurrent_sizes *s = &run->s->s;
    const recurrent_unit_rows c = rows_of(run, sample, step);
    const int64_t n = s->units, row = s->gates * n;
    const float *z = run->r->in[0] + recurrent_row(s, sample, step) * row, *bias = run->r->in[2];
    float *to = s->kept > 0 ? c.kept : c.h;
    if (s->cell != CELL_GRU_AFTER) {
        memcpy(to, z, (size_t)row * sizeof *to);
        return;
    }
    copy(to, z, bias, 2 * n);
    copy(to + 2 * n, z + 2 * n, NULL, n);
    copy(to + 3 * n, NULL, bias ? bias + 2 * n : NULL, n);
}

static void multiply_state(const recurrent_run *run, int64_t sample, int64_t step, int64_t rows)
{
    const recurrent_sizes *s = &run->s->s;
    const recurrent_unit_rows c = rows_of(run, sample, step);
    const int64_t h_row = s->steps * s->units, kept_row = s->kept * h_row;
    const int64_t before_row = step > 0 ? h_row : s->units;
    float *to = s->kept > 0 ? c.kept : c.h;
    if (!c.h_before)
        return;
    multiply(run, &run->factors[0], c.h_before, before_row, to, s->kept > 0 ? kept_row : h_row,
             rows);
    if (s->cell == CELL_GRU_AFTER)
        multiply(run, &run->factors[1], c.h_before, before_row, c.kept + 3 * s->units, kept_row,
                 rows);
}

static void finish_step(const recurrent_run *run, int64_t begin, int64_t end, int64_t step)
{
    const recurrent_sizes *s = &run->s->s;
    const recurrent_kernels *cells = run->s->cells;
    const int64_t n = s->units, kept_row = s->steps * s->kept * n;
    for (int64_t sample = begin; sample < end; sample++) {
        const recurrent_unit_rows c = rows_of(run, sample, step);
        cells->forward[s->cell](&c);
    }
    if (s->cell != CELL_GRU_BEFORE)
        return;
    const recurrent_unit_rows first = rows_of(run, begin, step);
    if (first.h_before)
        multiply(run, &run->factors[1], first.kept + 3 * n, kept_row, first.kept + 2 * n, kept_row,
                 end - begin);
    for (int64_t sample = begin; sample < end; sample++) {
        const recurrent_unit_rows c = rows_of(run, sample, step);
        cells->candidate(&c);
    }
}

/* The last step's c. */
static void write_last(const recurrent_run *run, int64_t begin, int64_t end)
{
    const recurrent_sizes *s = &run->s->s;
    float *c = run->r->out[2];
    for (int64_t sample = begin; c && sample < end; sample++)
        copy(c + sample * s->units, rows_of(run, sample, s->steps - 1).kept + 4 * s->units, NULL,
             s->units);
}

static void forward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const recurrent_run *run = context;
    int64_t begin, end;
    cpu_task_range(run->s->s.batch, run->s->rows, task, &begin, &end);
    for (int64_t step = 0; step < run->s->s.steps; step++) {
        for (int64_t sample = begin; sample < end; sample++)
            begin_step(run, sample, step);
        multiply_state(run, begin, step, end - begin);
        finish_step(run, begin, end, step);
    }
    write_last(run, begin, end);
}

static cornu_status run_forward(const op_run *r)
{
    recurrent_run run = begin(r);
    threads_run(r->pool, cpu_divide_up(run.s->s.batch, run.s->rows), forward_task, &run);
    return CORNU_OK;
}

/* ---- backward ---------------------------------------------------------------------------- */

/* rows_of, with the gradients; carry: [2][rows][units] of the block that begins with `first`. */
static recurrent_unit_rows gradient_rows(const recurrent_run *run, float *carry, int64_t first,
                                         int64_t sample, int64_t step)
{
    const op_run *r = run->r;
    const recurrent_sizes *s = &run->s->s;
    const int64_t n = s->units, row = recurrent_row(s, sample, step);
    recurrent_unit_rows c = rows_of(run, sample, step);
    if (r->in[3])
        c.dh = r->in[3] + recurrent_h_row(s, sample, step) * n;
    c.dz = r->out[0] + row * s->gates * n;
    if (r->out[1])
        c.dr = r->out[1] + row * s->products * s->gates * n;
    c.carry = carry + (sample - first) * n;
    c.carry_c = c.carry + run->s->rows * n;
    return c;
}

/* Write the factor of u. */
static void write_before(const recurrent_run *run, const recurrent_unit_rows *c, int64_t sample,
                         int64_t step)
{
    const recurrent_sizes *s = &run->s->s;
    const int64_t n = s->units;
    float *to = run->r->out[2];
    if (!to)
        return;
    to += recurrent_row(s, sample, step) * s->products * n;
    copy(to, c->h_before, NULL, n);
    if (s->products == 2)
        copy(to + n, c->kept + 3 * n, NULL, n);
}

static void back_step(const recurrent_run *run, float *carry, int64_t begin, int64_t end,
                      int64_t step)
{
    const recurrent_sizes *s = &run->s->s;
    const recurrent_kernels *cells = run->s->cells;
    const int64_t n = s->units;
    for (int64_t sample = begin; sample < end; sample++) {
        const recurrent_unit_rows c = gradient_rows(run, carry, begin, sample, step);
        cells->backward[s->cell](&c);
        write_before(run, &c, sample, step);
    }
    const recurrent_unit_rows first = gradient_rows(run, carry, begin, begin, step);
    const float *products = first.dr ? first.dr : first.dz;
    const int64_t row = s->steps * s->products * s->gates * n;
    if (s->cell == CELL_GRU_BEFORE) {
        multiply(run, &run->factors[1], products + 5 * n, row, first.carry_c, n, end - begin);
        for (int64_t sample = begin; sample < end; sample++) {
            const recurrent_unit_rows c = gradient_rows(run, carry, begin, sample, step);
            cells->reset(&c);
        }
    }
    if (step > 0 || run->r->out[3])
        multiply(run, &run->factors[0], products, row, first.carry, n, end - begin);
}

/* The gradient of the last step's c is where the carry of c begins. */
static void begin_carries(const recurrent_run *run, float *carry, int64_t begin, int64_t end)
{
    const int64_t n = run->s->s.units, rows = run->s->rows;
    const float *dc = run->r->in[6];
    memset(carry, 0, (size_t)(2 * rows * n) * sizeof *carry);
    if (dc)
        memcpy(carry + rows * n, dc + begin * n, (size_t)((end - begin) * n) * sizeof *carry);
}

/* After the first step the carries are the gradients of the first states. */
static void end_carries(const recurrent_run *run, const float *carry, int64_t begin, int64_t end)
{
    const int64_t n = run->s->s.units;
    for (int k = 0; k < 2; k++)
        if (run->r->out[3 + k])
            memcpy(run->r->out[3 + k] + begin * n, carry + k * run->s->rows * n,
                   (size_t)((end - begin) * n) * sizeof *carry);
}

static void backward_task(void *context, int64_t task, int worker)
{
    const recurrent_run *run = context;
    const int64_t floats = cpu_scratch_floats(2 * run->s->rows * run->s->s.units);
    float *carry = run->carries + worker * floats;
    int64_t begin, end;
    cpu_task_range(run->s->s.batch, run->s->rows, task, &begin, &end);
    begin_carries(run, carry, begin, end);
    for (int64_t step = run->s->s.steps - 1; step >= 0; step--)
        back_step(run, carry, begin, end, step);
    end_carries(run, carry, begin, end);
}

static cornu_status run_backward(const op_run *r)
{
    recurrent_run run = begin(r);
    threads_run(r->pool, cpu_divide_up(run.s->s.batch, run.s->rows), backward_task, &run);
    return CORNU_OK;
}

const kernel cpu_recurrent_forward = {
    .name = "panels", .prepare = prepare, .release = free, .run = run_forward};
const kernel cpu_recurrent_backward = {
    .name = "panels", .prepare = prepare, .release = free, .run = run_backward};
