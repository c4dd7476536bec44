/* The rules of device/rules on CUDA: what a number is there, for elements and for rows. */
#ifndef DEVICE_CUDA_RULES_CUH
#define DEVICE_CUDA_RULES_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/elementwise.h"

typedef float rule_real;
#define rule_all(a) ((float)(a))
#define rule_product(a, b) times(a, b)
#define rule_quotient(a, b) ((a) / (b))
#define rule_sqrt(a) sqrtf(a)
#define rule_pow(a, b) powf(a, b)
#define rule_select(mask, a, b) ((mask) ? (a) : (b))
#define rule_abs(a) fabsf(a)
#define rule_tanh(a) tanhf(a)
#define rule_erfc(a) erfcf(a)
#define rule_exp_fast(a) expf(a)
#define rule_log(a) logf(a)
#define rule_log1p_unit(a) log1pf(a)
#define rule_exp_negative(a) expf(a)
#define rule_exp_coarse(a) expf(a)
#define rule_expm1_negative(a) expm1f(a)

/* ---- activations ------------------------------------------------------------------------- */

/* Activations in 32-bit floats, by the rules of device/rules. Those that are operations of their
   own (ACTIVATION_ALONE, ELEMENT_FUNCTION) are left out: elementwise.cuh alone applies them. */
#include "device/rules/activations.h"

/* NaN for an activation over rows, which no kernel requests. */
static __device__ inline float activate(int kind, float alpha, float x)
{
    switch (kind) {
#define ACTIVATION(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                           \
        return activate_##rule(x, alpha);
#define ELEMENT_FUNCTION(...)
#include "model/activations.def"
    }
    return NAN;
}

/* dx, from the output, or from the input where the derivative needs that. */
static __device__ inline float activate_back(int kind, float alpha, float x_or_y, float dy)
{
    switch (kind) {
#define ACTIVATION(id, name, other_name, rule, ...) \
    case ACTIVATION_##id:                           \
        return activate_##rule##_back(x_or_y, dy, alpha);
#define ELEMENT_FUNCTION(...)
#include "model/activations.def"
    }
    return NAN;
}

/* ---- rules of rows ----------------------------------------------------------------------- */

/* Primitives for the row rules of device/rules on CUDA: `lanes` consecutive threads process a
   row, in floats as Keras does on a GPU; metrics and sums over rows have more digits (rows.cuh). */

/* One row for one thread of its group. Groups without a row have n = 0. */
typedef struct row_view {
    const float *output, *target;
    float *gradient;  /* NULL: not wanted */
    float *activated; /* the activation of the logits `output`; NULL: not wanted */
    int activation;
    int64_t n;
    int lane, lanes;
    float rows;             /* gradients are divided by it: the loss is the mean */
    float weight;           /* and times this: the sample's */
    float reals[ROW_REALS]; /* of the options */
} row_view;

typedef float row_number;
typedef double row_metric;
typedef int64_t row_index;

static __device__ inline void put_gradient(const row_view *r, int64_t i, row_number value)
{
    r->gradient[i] = value * r->weight / r->rows;
}

/* The loss already has the value of a softmax. */
static __device__ inline void put_activated(const row_view *r, int64_t i, row_number probability)
{
    r->activated[i] = r->activation == ACTIVATION_SOFTMAX
                          ? probability
                          : activate(r->activation, 0, r->output[i]);
}

/* The first of the largest, for all threads of the group. A NaN at the start stays the largest, as
   nothing compares greater; elsewhere it never is. */
static __device__ int64_t first_largest(const float *x, const row_view *r)
{
    int64_t best = 0;
    float most = r->n > 0 ? x[0] : 0;
    for (int64_t i = r->lane; i < r->n; i += r->lanes)
        if (x[i] > most) {
            most = x[i];
            best = i;
        }
    for (int offset = r->lanes / 2; offset > 0; offset /= 2) {
        float other = __shfl_xor_sync(ALL_LANES, most, offset);
        int64_t index = __shfl_xor_sync(ALL_LANES, best, offset);
        if (other > most || (other == most && index < best)) {
            most = other;
            best = index;
        }
    }
    return best;
}

#define ROW_EACH(i, r)     \
    int64_t i = (r)->lane; \
    i < (r)->n;            \
    i += (r)->lanes
#define row_count(r) ((r)->n)
#define row_lane(r) ((r)->lane)
#define row_output(r, i) ((r)->output[i])
#define row_target(r, i) ((r)->target[i])
#define row_sum(r, a) lanes_sum(a, (r)->lanes)
#define row_largest(r, a) lanes_largest(a, (r)->lanes)
#define row_put_gradient(r, i, g) ((r)->gradient ? put_gradient(r, i, g) : (void)0)
#define row_put_activated(r, i, p) ((r)->activated ? put_activated(r, i, p) : (void)0)
#define row_real(r, i) ((r)->reals[i])
#define row_abs(a) fabsf(a)
#define row_sqrt(a) sqrtf(a)
#define row_power(a, b) powf(a, b)
#define row_exp(a) expf(a)
#define row_exp_negative(a) expf(a) /* exp(0) is exactly 1 */
#define row_log(a) logf(a)
#define row_log1p(a) log1pf(a)
#define row_first_output(r) first_largest((r)->output, r)
#define row_first_target(r) first_largest((r)->target, r)
#define row_is_finite(a) isfinite(a)
#define row_share(a, b) ((double)(a) / (double)(b))
#include "device/rules/row_activations.h"

#endif
