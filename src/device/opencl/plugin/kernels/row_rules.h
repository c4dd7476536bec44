/* Primitives for the row rules of device/rules in OpenCL: `lanes` consecutive work-items (a
   power of two) process a row, and exchange values in local memory. All work-items of a group
   must make these calls whenever the lanes of one row do, as they contain barriers. */
#ifndef DEVICE_OPENCL_ROW_RULES_H
#define DEVICE_OPENCL_ROW_RULES_H

#include "device/opencl/plugin/kernels/activation.h"
#include "device/opencl/plugin/kernels/shared.h"

#if HAS_DOUBLE
typedef double row_number;
#else
typedef float row_number;
#endif
typedef sum2 row_metric;
typedef long row_index;

/* Local memory for the exchange between lanes: one entry per work-item. */
typedef struct row_exchange {
    local row_number *numbers;
    local int *columns;
} row_exchange;

/* One row for one of its lanes. Lanes without a row have n = 0. */
typedef struct row_view {
    global const float *output, *target;
    global float *gradient;  /* NULL: not wanted */
    global float *activated; /* the activation of the logits `output`; NULL: not wanted */
    int activation;
    long n;
    int lane, lanes;
    float share; /* gradients times this: the sample's weight / rows, as the loss is a mean */
    float reals[ROW_REALS]; /* of the options */
    row_exchange exchange;
} row_view;

static inline void put_gradient(const row_view *r, long i, row_number value)
{
    r->gradient[i] = (float)value * r->share;
}

/* A softmax, whose value the loss already has, or else a sigmoid: ops/loss.c accepts no other. */
static inline void put_activated(const row_view *r, long i, row_number probability)
{
    r->activated[i] = r->activation == ACTIVATION_SOFTMAX ? (float)probability
                                                          : activate_sigmoid(r->output[i], 0);
}

/* ---- lanes ---------------------------------------------------------------------------------- */

static inline row_number lanes_sum(const row_view *r, row_number value)
{
    local row_number *own = r->exchange.numbers + get_local_id(0);
    FENCE; /* they may still be read from the call before */
    *own = value;
    for (int half_ = r->lanes / 2; half_ > 0; half_ /= 2) {
        FENCE;
        if (r->lane < half_)
            *own += own[half_];
    }
    FENCE;
    return own[-r->lane];
}

static inline row_number lanes_largest(const row_view *r, row_number value)
{
    local row_number *own = r->exchange.numbers + get_local_id(0);
    FENCE;
    *own = value;
    for (int half_ = r->lanes / 2; half_ > 0; half_ /= 2) {
        FENCE;
        if (r->lane < half_)
            *own = own[half_] > *own ? own[half_] : *own;
    }
    FENCE;
    return own[-r->lane];
}

/* The first of the largest. A NaN at the start stays the largest, as nothing compares greater;
   elsewhere it never is. */
static inline long first_largest(const row_view *r, global const float *x)
{
    local row_number *own = r->exchange.numbers + get_local_id(0);
    local int *column = r->exchange.columns + get_local_id(0);
    int best = 0;
    float most = r->n > 0 ? x[0] : 0;
    for (long i = r->lane; i < r->n; i += r->lanes)
        if (x[i] > most) {
            most = x[i];
            best = (int)i;
        }
    FENCE;
    *own = most;
    *column = best;
    for (int half_ = r->lanes / 2; half_ > 0; half_ /= 2) {
        FENCE;
        if (r->lane < half_ &&
            (own[half_] > *own || (own[half_] == *own && column[half_] < *column))) {
            *own = own[half_];
            *column = column[half_];
        }
    }
    FENCE;
    return column[-r->lane];
}

static inline sum2 sum2_of_number(row_number a)
{
    float high = (float)a;
    return (sum2)(high, (float)(a - (row_number)high));
}

/* hits / of: without doubles a quotient and that of what it leaves. */
static inline sum2 share_of(row_number hits, row_number of)
{
#if HAS_DOUBLE
    return sum2_of_number(hits / of);
#else
    sum2 back = sum2_product(hits / of, of);
    return sum2_settled(sum2_make(hits / of, ((hits - back.x) - back.y) / of));
#endif
}

/* ---- the rules' words ---------------------------------------------------------------------- */

#define ROW_EACH(i, r)  \
    long i = (r)->lane; \
    i < (r)->n;         \
    i += (r)->lanes
#define row_count(r) ((r)->n)
#define row_lane(r) ((r)->lane)
#define row_output(r, i) ((row_number)(r)->output[i])
#define row_target(r, i) ((row_number)(r)->target[i])
#define row_sum(r, a) lanes_sum(r, a)
#define row_largest(r, a) lanes_largest(r, a)
#define row_put_gradient(r, i, g) ((r)->gradient ? put_gradient(r, i, g) : (void)0)
#define row_put_activated(r, i, p) ((r)->activated ? put_activated(r, i, p) : (void)0)
#define row_real(r, i) ((row_number)(r)->reals[i])
#define row_abs(a) fabs(a)
#define row_sqrt(a) sqrt(a)
#define row_power(a, b) pow(a, b)
#define row_exp(a) exp(a)
#define row_exp_negative(a) ((row_number)exp((float)(a))) /* exp(0) is exactly 1 */
#define row_log(a) log(a)
#define row_log1p(a) log1p(a)
#define row_first_output(r) first_largest(r, (r)->output)
#define row_first_target(r) first_largest(r, (r)->target)
#define row_is_finite(a) isfinite(a)
#define row_share(a, b) share_of(a, b)
#include "device/rules/softmax.h"

/* ---- the rows of a work-group ---------------------------------------------------------------- */

/* A group's rows: first, first + 1, ..., of which this work-item is a lane of one. All work-items
   make the same number of rounds, as they wait for each other. */
#define ROUNDS(first, rows, lanes)                             \
    long first = (long)get_group_id(0) * (WORK_ITEMS / lanes); \
    first < rows;                                              \
    first += (long)get_num_groups(0) * (WORK_ITEMS / lanes)

/* A view of a row of a matrix with n columns; `row` may be past the last. */
static inline row_view view_of(row_exchange exchange, long row, long rows, long n, int lanes)
{
    row_view r;
    r.output = r.target = (global const float *)0;
    r.gradient = r.activated = (global float *)0;
    r.activation = ACTIVATION_LINEAR;
    r.n = row < rows ? n : 0;
    r.lane = get_local_id(0) & (lanes - 1);
    r.lanes = lanes;
    r.share = 1;
    r.exchange = exchange;
    return r;
}

#define EXCHANGE(name)                           \
    local row_number name##_numbers[WORK_ITEMS]; \
    local int name##_columns[WORK_ITEMS];        \
    row_exchange name = {name##_numbers, name##_columns}

#endif
