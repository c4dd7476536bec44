/* Recurrent layers, step by step: each sample by itself. */
#include "device/recurrent.h"
#include "base/memory.h"
#include "device/reference/reference.h"
#include <stdlib.h>
#include <string.h>

#define RULE static inline
typedef double rule_real;
#define rule_activate(kind, alpha, x) \
    activate_element((activation){(activation_kind)(kind), (float)(alpha)}, x)
#define rule_activate_back(kind, alpha, y, dy) \
    activate_element_back((activation){(activation_kind)(kind), (float)(alpha)}, y, dy)
#include "device/rules/recurrent.h"

/* One step of one sample. Rows of the operation's tensors; h_before, c_before: of the step before,
   or what the first begins with, NULL: 0. */
typedef struct cell_step {
    const recurrent_sizes *s;
    recurrent_functions a;
    const float *u, *bias;
    const float *z, *h_before, *c_before;
    float *kept, *h;
    const double *dh; /* backward, with what the step after adds: [units] */
    double *carry[2]; /* of the state, and of an LSTM's c, for the step before: [units] */
    float *dz, *dr, *before;
} cell_step;

static recurrent_functions functions_of(const op *o)
{
    const recurrence *r = &o->a.recurrent;
    return (recurrent_functions){.act = (int)r->act.kind,
                                 .gate = (int)r->gate.kind,
                                 .act_alpha = (double)r->act.alpha,
                                 .gate_alpha = (double)r->gate.alpha};
}

/* Column `column` of u, which has gates x units, times the numbers. */
static double product(const cell_step *c, const float *numbers, int64_t column)
{
    const int64_t columns = c->s->gates * c->s->units;
    double sum = 0;
    for (int64_t k = 0; numbers && k < c->s->units; k++)
        sum += (double)numbers[k] * (double)c->u[k * columns + column];
    return sum;
}

/* Row `k` of u times dr's columns begin..end-1. */
static double product_back(const cell_step *c, const float *dr, int64_t k, int64_t begin,
                           int64_t end)
{
    const int64_t columns = c->s->gates * c->s->units;
    double sum = 0;
    for (int64_t i = begin; i < end; i++)
        sum += (double)dr[i] * (double)c->u[k * columns + i];
    return sum;
}

static double gate_of(const cell_step *c, int gate, int64_t i)
{
    const int64_t column = gate * c->s->units + i;
    return (double)c->z[column] + product(c, c->h_before, column) + or_else(c->bias, column, 0);
}

static void simple_next(const cell_step *c)
{
    for (int64_t i = 0; i < c->s->units; i++)
        c->h[i] = (float)recurrent_act(c->a, gate_of(c, 0, i));
}

static void simple_back(const cell_step *c)
{
    const int64_t n = c->s->units;
    for (int64_t i = 0; i < n; i++)
        c->dz[i] = (float)recurrent_act_back(c->a, (double)c->h[i], c->dh[i]);
    for (int64_t k = 0; k < n; k++)
        c->carry[0][k] = product_back(c, c->dz, k, 0, n);
}

static lstm_cell lstm_of(const cell_step *c, int64_t i)
{
    const int64_t n = c->s->units;
    const float *k = c->kept + i;
    return (lstm_cell){(double)k[0], (double)k[n], (double)k[2 * n], (double)k[3 * n],
                       (double)k[4 * n]};
}

static void lstm_step(const cell_step *c)
{
    const int64_t n = c->s->units;
    for (int64_t i = 0; i < n; i++) {
        double h;
        lstm_cell s = {.i = gate_of(c, 0, i),
                       .f = gate_of(c, 1, i),
                       .g = gate_of(c, 2, i),
                       .o = gate_of(c, 3, i)};
        s = lstm_next(c->a, s, or_else(c->c_before, i, 0), &h);
        c->kept[i] = (float)s.i;
        c->kept[n + i] = (float)s.f;
        c->kept[2 * n + i] = (float)s.g;
        c->kept[3 * n + i] = (float)s.o;
        c->kept[4 * n + i] = (float)s.c;
        c->h[i] = (float)h;
    }
}

static void lstm_step_back(const cell_step *c)
{
    const int64_t n = c->s->units;
    for (int64_t i = 0; i < n; i++) {
        const lstm_cell d =
            lstm_back(c->a, lstm_of(c, i), or_else(c->c_before, i, 0), c->dh[i], &c->carry[1][i]);
        c->dz[i] = (float)d.i;
        c->dz[n + i] = (float)d.f;
        c->dz[2 * n + i] = (float)d.g;
        c->dz[3 * n + i] = (float)d.o;
    }
    for (int64_t k = 0; k < n; k++)
        c->carry[0][k] = product_back(c, c->dz, k, 0, 4 * n);
}

/* kept: z, r, the candidate y, and the product that r scales, or the state times r. */
static void gru_step(const cell_step *c)
{
    const int64_t n = c->s->units;
    const bool after = c->s->cell == CELL_GRU_AFTER;
    float *z = c->kept, *r = z + n, *y = r + n, *inner = y + n;
    for (int64_t i = 0; i < n; i++) {
        const double before = or_else(c->h_before, i, 0);
        z[i] = (float)recurrent_gate(c->a, gate_of(c, 0, i));
        r[i] = (float)recurrent_gate(c->a, gate_of(c, 1, i));
        inner[i] =
            (float)(after ? product(c, c->h_before, 2 * n + i) + or_else(c->bias, 2 * n + i, 0)
                          : (double)r[i] * before);
    }
    for (int64_t i = 0; i < n; i++) {
        const double more = after ? (double)r[i] * (double)inner[i] : product(c, inner, 2 * n + i);
        y[i] = (float)recurrent_act(c->a, (double)c->z[2 * n + i] + more);
        c->h[i] = (float)gru_next((double)z[i], (double)y[i], or_else(c->h_before, i, 0));
    }
}

static void gru_step_back(const cell_step *c)
{
    const int64_t n = c->s->units;
    const bool after = c->s->cell == CELL_GRU_AFTER;
    const float *z = c->kept, *r = z + n, *y = r + n, *inner = y + n;
    float *of_y = after ? c->dr + 2 * n : c->dr + 5 * n; /* what is multiplied for y */
    memset(c->dr, 0, (size_t)(c->s->products * 3 * n) * sizeof *c->dr);
    for (int64_t i = 0; i < n; i++) {
        const gru_gradient d =
            gru_back(c->a, (double)z[i], (double)y[i], or_else(c->h_before, i, 0), c->dh[i]);
        c->dz[i] = (float)d.z;
        c->dz[2 * n + i] = (float)d.y;
        of_y[i] = (float)(after ? d.y * (double)r[i] : d.y);
        c->carry[0][i] = d.before;
    }
    for (int64_t i = 0; i < n; i++) {
        const double before = or_else(c->h_before, i, 0);
        const double of_inner =
            after ? (double)c->dz[2 * n + i] : product_back(c, c->dr + 3 * n, i, 2 * n, 3 * n);
        const double dr = of_inner * (after ? (double)inner[i] : before);
        c->dz[n + i] = (float)recurrent_gate_back(c->a, (double)r[i], dr);
        if (!after)
            c->carry[0][i] += of_inner * (double)r[i];
    }
    memcpy(c->dr, c->dz, (size_t)(2 * n) * sizeof *c->dr);
    for (int64_t k = 0; k < n; k++)
        c->carry[0][k] += product_back(c, c->dr, k, 0, after ? 3 * n : 2 * n);
}

typedef void step_function(const cell_step *c);
static step_function *const forward[] = {[CELL_SIMPLE] = simple_next,
                                         [CELL_LSTM] = lstm_step,
                                         [CELL_GRU_AFTER] = gru_step,
                                         [CELL_GRU_BEFORE] = gru_step};
static step_function *const backward[] = {[CELL_SIMPLE] = simple_back,
                                          [CELL_LSTM] = lstm_step_back,
                                          [CELL_GRU_AFTER] = gru_step_back,
                                          [CELL_GRU_BEFORE] = gru_step_back};

/* The rows of `saved` and `h` at a step of a sample, and of the step before; first: h0 and c0. */
static void take_rows(cell_step *c, float *saved, float *h, const float *const first[2],
                      int64_t sample, int64_t step)
{
    const recurrent_sizes *s = c->s;
    const int64_t kept = s->kept * s->units;
    c->h = h + recurrent_h_row(s, sample, step) * s->units;
    c->kept = saved ? saved + recurrent_row(s, sample, step) * kept : NULL;
    c->h_before = first[0] ? first[0] + sample * s->units : NULL;
    c->c_before = first[1] ? first[1] + sample * s->units : NULL;
    if (step > 0)
        c->h_before = h + recurrent_h_row(s, sample, step - 1) * s->units;
    if (step > 0 && s->cell == CELL_LSTM)
        c->c_before = saved + recurrent_row(s, sample, step - 1) * kept + 4 * s->units;
}

cornu_status reference_recurrent_forward(const op_run *r)
{
    const recurrent_sizes s = recurrent_sizes_of(r->plan, r->op);
    cell_step c = {.s = &s, .a = functions_of(r->op), .u = r->in[1], .bias = r->in[2]};
    for (int64_t sample = 0; sample < s.batch; sample++) {
        for (int64_t step = 0; step < s.steps; step++) {
            c.z = r->in[0] + recurrent_row(&s, sample, step) * s.gates * s.units;
            take_rows(&c, r->out[1], r->out[0], &r->in[3], sample, step);
            forward[s.cell](&c);
        }
        if (r->out[2])
            memcpy(r->out[2] + sample * s.units, c.kept + 4 * s.units,
                   (size_t)s.units * sizeof *c.kept);
    }
    return CORNU_OK;
}

/* Write the factor of u: the state before and, before a GRU's reset, what the reset leaves of it.
 */
static void write_before(const cell_step *c, float *to)
{
    const size_t bytes = (size_t)c->s->units * sizeof *to;
    if (c->h_before)
        memcpy(to, c->h_before, bytes);
    else
        memset(to, 0, bytes);
    if (c->s->products == 2)
        memcpy(to + c->s->units, c->kept + 3 * c->s->units, bytes);
}

static void back_through(cell_step *c, const op_run *r, int64_t sample, double *dh)
{
    const recurrent_sizes *s = c->s;
    const int64_t n = s->units;
    for (int64_t i = 0; i < n; i++) {
        c->carry[0][i] = 0;
        c->carry[1][i] = or_else(r->in[6], sample * n + i, 0);
    }
    for (int64_t step = s->steps - 1; step >= 0; step--) {
        const int64_t row = recurrent_row(s, sample, step);
        take_rows(c, (float *)(uintptr_t)r->in[2], (float *)(uintptr_t)r->in[1], &r->in[4], sample,
                  step);
        c->dz = r->out[0] + row * s->gates * n;
        c->dr = r->out[1] ? r->out[1] + row * s->products * s->gates * n : NULL;
        for (int64_t i = 0; i < n; i++)
            dh[i] = or_else(r->in[3], recurrent_h_row(s, sample, step) * n + i, 0) + c->carry[0][i];
        backward[s->cell](c);
        if (r->out[2])
            write_before(c, r->out[2] + row * s->products * n);
    }
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; r->out[3 + k] && i < n; i++)
            r->out[3 + k][sample * n + i] = (float)c->carry[k][i];
}

cornu_status reference_recurrent_backward(const op_run *r)
{
    const recurrent_sizes s = recurrent_sizes_of(r->plan, r->op);
    double *numbers;
    TRY(memory_new((size_t)(3 * s.units), sizeof *numbers, "recurrent", &numbers));
    cell_step c = {.s = &s,
                   .a = functions_of(r->op),
                   .u = r->in[0],
                   .dh = numbers,
                   .carry = {numbers + s.units, numbers + 2 * s.units}};
    for (int64_t sample = 0; sample < s.batch; sample++)
        back_through(&c, r, sample, numbers);
    free(numbers);
    return CORNU_OK;
}
