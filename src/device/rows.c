#include "device/rows.h"
#include <math.h>
#include <stddef.h>

typedef struct row_view {
    const float *output, *target;
    const float *reals; /* [ROW_REALS] of the options */
    float *gradient;    /* NULL: not needed */
    int64_t n;
} row_view;

/* The index of the first maximum. Works in blocks, most of which do not contain it. */
static int64_t first_largest(const float *x, int64_t n)
{
    enum { BLOCK = 8 };
    int64_t best = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t end = n - i < BLOCK ? n : i + BLOCK, larger = 0;
        for (int64_t k = i; k < end; k++)
            larger += x[k] > x[best];
        for (int64_t k = i; larger > 0 && k < end; k++)
            if (x[k] > x[best])
                best = k;
    }
    return best;
}

#define RULE static inline
typedef double rule_real;
#define rule_all(a) ((double)(a))
#define rule_select(mask, a, b) ((mask) ? (a) : (b))
#define rule_abs(a) fabs(a)
#define rule_sqrt(a) sqrt(a)
#define rule_tanh(a) tanh(a)
#define rule_erfc(a) erfc(a)
#define rule_exp_fast(a) exp(a)
#define rule_log(a) log(a)
#define rule_log1p_unit(a) log1p(a)
#define rule_exp_negative(a) exp(a)
#define rule_exp_coarse(a) exp(a)
#define rule_expm1_negative(a) expm1(a)
#include "device/rules/activations.h"
#include "device/rules/binary.h"

/* One lane has the whole row. */
typedef double row_number, row_metric;
typedef int64_t row_index;
#define ROW_EACH(i, r) \
    int64_t i = 0;     \
    i < (r)->n;        \
    i++
#define row_count(r) ((r)->n)
#define row_lane(r) 0
#define row_output(r, i) ((double)(r)->output[i])
#define row_target(r, i) ((double)(r)->target[i])
#define row_sum(r, a) (a)
#define row_largest(r, a) (a)
#define row_put_gradient(r, i, g) ((r)->gradient ? (void)((r)->gradient[i] = (float)(g)) : (void)0)
#define row_put_activated(r, i, p) ((void)0)
#define row_real(r, i) ((double)(r)->reals[i])
#define row_abs(a) fabs(a)
#define row_sqrt(a) sqrt(a)
#define row_power(a, b) pow(a, b)
#define row_exp(a) exp(a)
#define row_exp_negative(a) exp(a)
#define row_log(a) log(a)
#define row_log1p(a) log1p(a)
#define row_first_output(r) first_largest((r)->output, (r)->n)
#define row_first_target(r) first_largest((r)->target, (r)->n)
#define row_is_finite(a) isfinite(a)
#define row_share(a, b) ((double)(a) / (double)(b))
#include "device/rules/losses.h"
#include "device/rules/metrics.h"
#include "device/rules/row_activations.h"

typedef double loss_rule(const row_view *r);
typedef double metric_rule(const row_view *r, int64_t k);

/* A function on plain arrays for each rule. It takes a pointer to the rule: a call would serve in C
   as the declaration of a missing rule. */
#define LOSS_ROW(id, rule)                                                                 \
    static double id##_row(const float *output, const float *target, int64_t n,            \
                           const float *reals, float *grad)                                \
    {                                                                                      \
        loss_rule *const apply = rule;                                                     \
        const row_view r = {                                                               \
            .output = output, .target = target, .reals = reals, .gradient = grad, .n = n}; \
        return apply(&r);                                                                  \
    }
#define LOSS(id, name, class_name, other_name, targets, options, rule) LOSS_ROW(id, loss_##rule)
#define LOSS_WITH_LOGITS(id, name, class_name, other_name, targets, options, rule, ...) \
    LOSS_ROW(id, loss_##rule)                                                           \
    LOSS_ROW(id##_logits, loss_##rule##_logits)
#include "model/losses.def"

#define SUM(id, rule)                                                                    \
    static double id##_sum_row(const float *output, const float *target, int64_t n,      \
                               const float *reals, int64_t k)                            \
    {                                                                                    \
        metric_rule *const apply = metric_##rule;                                        \
        const row_view r = {.output = output, .target = target, .reals = reals, .n = n}; \
        return apply(&r, k);                                                             \
    }
#include "model/metrics.def"

loss_row *loss_row_of(loss_id id, bool logits)
{
    static loss_row *const rows[LOSS_COUNT][2] = {
#define LOSS(id, ...) [LOSS_##id] = {id##_row, NULL},
#define LOSS_WITH_LOGITS(id, ...) [LOSS_##id] = {id##_row, id##_logits_row},
#include "model/losses.def"
    };
    return rows[id][logits];
}

sum_row *sum_row_of(row_sum sum)
{
    static sum_row *const rows[SUM_COUNT] = {
#define SUM(id, rule) [SUM_##id] = id##_sum_row,
#include "model/metrics.def"
    };
    return rows[sum];
}

typedef void row_activation(const row_view *r);

void activate_row(activation_kind kind, const float *x, float *y, int64_t n)
{
    static row_activation *const rules[ACTIVATION_COUNT] = {
#define ACTIVATION(...)
#define ACTIVATION_OF_ROWS(id, name, other_name, rule, ...) [ACTIVATION_##id] = activate_row_##rule,
#include "model/activations.def"
    };
    rules[kind](&(row_view){.output = x, .gradient = y, .n = n});
}

void activate_row_back(activation_kind kind, const float *x_or_y, const float *dy, float *dx,
                       int64_t n)
{
    static row_activation *const rules[ACTIVATION_COUNT] = {
#define ACTIVATION(...)
#define ACTIVATION_OF_ROWS(id, name, other_name, rule, ...) \
    [ACTIVATION_##id] = activate_row_##rule##_back,
#include "model/activations.def"
    };
    rules[kind](&(row_view){.output = x_or_y, .target = dy, .gradient = dx, .n = n});
}

/* ---- activations -------------------------------------------------------------------------- */

typedef double activate_rule(double x, double alpha);
typedef double activate_back_rule(double x_or_y, double dy, double alpha);

double activate_element(activation act, double x)
{
    static activate_rule *const rules[ACTIVATION_COUNT] = {
#define ACTIVATION(id, name, other_name, rule, ...) [ACTIVATION_##id] = activate_##rule,
#include "model/activations.def"
    };
    return rules[act.kind](x, (double)act.alpha);
}

double activate_element_back(activation act, double x_or_y, double dy)
{
    static activate_back_rule *const rules[ACTIVATION_COUNT] = {
#define ACTIVATION(id, name, other_name, rule, ...) [ACTIVATION_##id] = activate_##rule##_back,
#include "model/activations.def"
    };
    return rules[act.kind](x_or_y, dy, (double)act.alpha);
}

/* ---- operations of two numbers ------------------------------------------------------------ */

typedef double binary_rule(double a, double b);
typedef double binary_back_rule(double a, double b, double dy);

double binary_element(binary_kind kind, double a, double b)
{
    static binary_rule *const rules[BINARY_COUNT] = {
#define BINARY(id, name, rule, ...) [BINARY_##id] = binary_##rule,
#include "model/binaries.def"
    };
    return rules[kind](a, b);
}

double binary_element_back(binary_kind kind, int of, double a, double b, double dy)
{
    static binary_back_rule *const rules[BINARY_COUNT][2] = {
#define BINARY(id, name, rule, ...) [BINARY_##id] = {binary_##rule##_da, binary_##rule##_db},
#include "model/binaries.def"
    };
    return rules[kind][of](a, b, dy);
}
