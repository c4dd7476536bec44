/* Operations that go element by element, VEC_FLOATS at once, each from one formula on vectors.
   Memory is the limit of all but the exponentials, which take, in cache on one thread of a Cascade
   Lake core at 2.4 GHz, 0.5 (elu) to 0.7 ns an element (tanh). */
#include "device/cpu/kernels/elements.h"
#include "device/cpu/kernels/vec_math.h"

typedef vec formula(vec x, vec alpha);
typedef vec slope(vec y, vec dy, vec alpha);

VEC_INLINE void map(formula *f, const float *x, float *y, int64_t count, float alpha_)
{
    vec alpha = vec_all(alpha_);
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        vec_store(y + i, f(vec_load(x + i), alpha));
    if (i < count)
        vec_store_part(y + i, f(vec_load_part(x + i, count - i), alpha), count - i);
}

VEC_INLINE void map_back(slope *f, const float *y, const float *dy, float *dx, int64_t count,
                         float alpha_)
{
    vec alpha = vec_all(alpha_);
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        vec_store(dx + i, f(vec_load(y + i), vec_load(dy + i), alpha));
    if (i < count) {
        vec part = f(vec_load_part(y + i, count - i), vec_load_part(dy + i, count - i), alpha);
        vec_store_part(dx + i, part, count - i);
    }
}

/* ---- activations ------------------------------------------------------------------------ */

/* Each as the reference has it for NaN. Functions of one formula: FORWARD(relu) defines
   relu_range() from relu_of(). */
#define FORWARD(name)                                                              \
    static void name##_range(const float *x, float *y, int64_t count, float alpha) \
    {                                                                              \
        map(name##_of, x, y, count, alpha);                                        \
    }
#define BACKWARD(name)                                                                  \
    static void name##_range(const float *y, const float *dy, float *dx, int64_t count, \
                             float alpha)                                               \
    {                                                                                   \
        map_back(name##_of, y, dy, dx, count, alpha);                                   \
    }

VEC_INLINE vec absolute(vec x)
{
    return (vec)((vec_mask)x & INT32_MAX);
}

VEC_INLINE vec relu_of(vec x, vec alpha)
{
    (void)alpha;
    return (vec)((vec_mask)x & ~(x < 0));
}

VEC_INLINE vec leaky_relu_of(vec x, vec alpha)
{
    return vec_select(x > 0, x, alpha * x);
}

VEC_INLINE vec elu_of(vec x, vec alpha)
{
    return vec_select(x > 0, x, alpha * vec_expm1_negative((vec)((vec_mask)x & ~(x > 0))));
}

/* With e = exp(-|x|): 1 / (1 + e), below 0 e / (1 + e). */
VEC_INLINE vec sigmoid_of(vec x, vec alpha)
{
    (void)alpha;
    vec e = vec_expm1_negative(-absolute(x)) + 1.0f, y = 1.0f / (1.0f + e);
    return vec_select(x < 0, e * y, y);
}

/* With e = exp(-2|x|) - 1: -e / (2 + e) with x's sign. */
VEC_INLINE vec tanh_of(vec x, vec alpha)
{
    (void)alpha;
    vec e = vec_expm1_negative(-2.0f * absolute(x)), y = -e / (2.0f + e);
    return (vec)((vec_mask)y | ((vec_mask)x & INT32_MIN));
}

VEC_INLINE vec relu_back_of(vec y, vec dy, vec alpha)
{
    (void)alpha;
    return (vec)((vec_mask)dy & (y > 0));
}

VEC_INLINE vec leaky_relu_back_of(vec y, vec dy, vec alpha)
{
    return vec_select(y > 0, dy, alpha * dy);
}

VEC_INLINE vec elu_back_of(vec y, vec dy, vec alpha)
{
    return vec_select(y > 0, dy, dy * (y + alpha));
}

VEC_INLINE vec sigmoid_back_of(vec y, vec dy, vec alpha)
{
    (void)alpha;
    return dy * y * (1.0f - y);
}

VEC_INLINE vec tanh_back_of(vec y, vec dy, vec alpha)
{
    (void)alpha;
    return dy * (1.0f - y * y);
}

FORWARD(relu)
FORWARD(leaky_relu)
FORWARD(elu)
FORWARD(sigmoid)
FORWARD(tanh)
BACKWARD(relu_back)
BACKWARD(leaky_relu_back)
BACKWARD(elu_back)
BACKWARD(sigmoid_back)
BACKWARD(tanh_back)

/* x Phi(x), Phi the normal distribution */
static void gelu_range(const float *x, float *y, int64_t count, float alpha)
{
    (void)alpha;
    for (int64_t i = 0; i < count; i++)
        y[i] = 0.5f * x[i] * erfcf(x[i] * -0.70710678f);
}

static void gelu_back_range(const float *x, const float *dy, float *dx, int64_t count, float alpha)
{
    (void)alpha;
    for (int64_t i = 0; i < count; i++)
        dx[i] = dy[i] * (0.5f * erfcf(x[i] * -0.70710678f) +
                         x[i] * 0.39894228f * expf(-0.5f * x[i] * x[i]));
}

/* ---- others ----------------------------------------------------------------------------- */

static void scale(const float *x, float *y, int64_t count, float factor, float offset)
{
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        vec_store(y + i, vec_load(x + i) * factor + offset);
    for (; i < count; i++)
        y[i] = x[i] * factor + offset;
}

static void add(const float *x, float *sum, int64_t count)
{
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        vec_store(sum + i, vec_load(sum + i) + vec_load(x + i));
    for (; i < count; i++)
        sum[i] += x[i];
}

/* In LANES running sums: the additions of one do not wait for those of another. */
static double square_sum(const float *x, int64_t count)
{
    enum { LANES = 2 * VEC_FLOATS };
    double lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += (double)x[i + l] * (double)x[i + l];
    for (; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

const element_kernels ISA(cpu_element_kernels) = {
    .relu = relu_range,
    .leaky_relu = leaky_relu_range,
    .elu = elu_range,
    .gelu = gelu_range,
    .sigmoid = sigmoid_range,
    .tanh = tanh_range,
    .relu_back = relu_back_range,
    .leaky_relu_back = leaky_relu_back_range,
    .elu_back = elu_back_range,
    .gelu_back = gelu_back_range,
    .sigmoid_back = sigmoid_back_range,
    .tanh_back = tanh_back_range,
    .scale = scale,
    .add = add,
    .square_sum = square_sum,
};
