/* CONSTRAIN: norms over an axis of a weight, and the factors that follow from them. A task has
   STRIP norms side by side, and adds each in the order of the elements. */
#include "device/cpu/cpu.h"
#include "device/host/host.h"
#include <math.h>

#define RULE static inline
#include "device/rules/constraint.h"

enum { STRIP = 64 };
_Static_assert((int)STRIP >= (int)PANEL_COLUMNS, "a panel's columns are one strip");

typedef struct constrain_run {
    const op *op;
    float *w;
    int64_t outer, along, inner;
    int64_t strips; /* of one [along][inner] */
    int64_t units;  /* in panels: of [in][units]; 0: in rows */
} constrain_run;

static void add_squares(const float *w, int64_t rows, int64_t stride, int64_t width, double *sums)
{
    for (int64_t k = 0; k < rows; k++)
        for (int64_t i = 0; i < width; i++)
            sums[i] += (double)w[k * stride + i] * (double)w[k * stride + i];
}

/* The sums of squares become factors. */
static void find_factors(const constrain_run *c, int64_t width, const double *sums, float *factors)
{
    const op_attributes *a = &c->op->a;
    for (int64_t i = 0; i < width; i++)
        factors[i] = rule_constrained(sqrtf((float)sums[i]), a->constrain.least, a->constrain.most,
                                      a->constrain.rate);
}

static void constrain_strip(const constrain_run *c, float *w, int64_t rows, int64_t stride,
                            int64_t width)
{
    double sums[STRIP] = {0};
    float factors[STRIP];
    add_squares(w, rows, stride, width, sums);
    find_factors(c, width, sums, factors);
    for (int64_t k = 0; k < rows; k++)
        for (int64_t i = 0; i < width; i++)
            w[k * stride + i] *= factors[i];
}

static void rows_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const constrain_run *c = context;
    const int64_t at = task % c->strips * STRIP;
    float *w = c->w + task / c->strips * c->along * c->inner + at;
    constrain_strip(c, w, c->along, c->inner, cpu_least(STRIP, c->inner - at));
}

/* Panels: norms of the columns, which are all in one. */
static void columns_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const constrain_run *c = context;
    const int64_t column = task * PANEL_COLUMNS,
                  width = cpu_least(PANEL_COLUMNS, c->units - column);
    constrain_strip(c, c->w + column * c->along, c->along, width, width);
}

/* Panels: norms of STRIP rows, of which each panel has a piece. */
static void across_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const constrain_run *c = context;
    const int64_t first = task * STRIP, count = cpu_least(STRIP, c->outer - first);
    double sums[STRIP] = {0};
    float factors[STRIP];
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t column = 0; column < c->units; column += PANEL_COLUMNS) {
            const int64_t width = cpu_least(PANEL_COLUMNS, c->units - column);
            float *w = c->w + column * c->outer + first * width;
            for (int64_t i = 0; i < count * width; i++) {
                if (pass == 0)
                    sums[i / width] += (double)w[i] * (double)w[i];
                else
                    w[i] *= factors[i / width];
            }
        }
        find_factors(c, count, sums, factors);
    }
}

static void non_neg_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const constrain_run *c = context;
    int64_t begin, end;
    cpu_task_range(c->inner, CPU_TASK, task, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        c->w[i] = c->w[i] < 0 ? 0 : c->w[i];
}

static cornu_status run(const op_run *r)
{
    const tensor *w = OP_OUT(r->plan, r->op, 0);
    const int64_t *extents = r->op->a.constrain.extents;
    constrain_run c = {.op = r->op,
                       .w = r->out[0],
                       .outer = extents[0],
                       .along = extents[1],
                       .inner = extents[2],
                       .strips = cpu_divide_up(extents[2], STRIP),
                       .units = w->form == FORM_DENSE_KERNEL ? w->shape.dim[1] : 0};
    if (r->op->a.constrain.non_neg)
        threads_run(r->pool, cpu_divide_up(c.inner, CPU_TASK), non_neg_task, &c);
    else if (c.units > 0 && c.inner == c.units && c.along > 1)
        threads_run(r->pool, cpu_divide_up(c.units, PANEL_COLUMNS), columns_task, &c);
    else if (c.units > 0 && c.along == c.units)
        threads_run(r->pool, cpu_divide_up(c.outer, STRIP), across_task, &c);
    else /* over all elements, or over one each: any order is the same */
        threads_run(r->pool, c.outer * c.strips, rows_task, &c);
    return CORNU_OK;
}

const kernel cpu_constrain = {.name = "strips", .run = run, .panels = true};
