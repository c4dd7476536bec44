/* Elementary functions on vectors. */
#ifndef DEVICE_CPU_VEC_MATH_H
#define DEVICE_CPU_VEC_MATH_H

#include "device/cpu/vec.h"

/* exp(x) for x <= 0 as *power (1 + series): x = n ln 2 + r with |r| <= ln 2 / 2, *power = 2^n, and
   the series is exp(r) - 1 to r^7 / 5040 (the next term is below 6e-9). NaN stays NaN. */
VEC_INLINE vec vec_exp_series(vec x, vec *power)
{
    typedef uint32_t bits __attribute__((vector_size(VEC_BYTES)));
    const float to_integer = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    x = vec_select(x < -87.0f, vec_all(-87.0f), x);
    vec shifted = x * 1.44269504f + to_integer, n = shifted - to_integer;
    vec r = x - n * 0.693359375f - n * -2.12194440e-4f;
    vec series = r * (1.0f / 5040) + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 0.5f;
    series = series * r * r + r;
    *power = (vec)(((bits)shifted + 127) << 23); /* 2^n: n is in shifted's lowest bits */
    return series;
}

/* exp(x) - 1 for x <= 0, to about 1 unit in the last place */
VEC_INLINE vec vec_expm1_negative(vec x)
{
    vec power, series = vec_exp_series(x, &power);
    return power * series + (power - 1.0f);
}

/* exp(x) for x <= 0, to about 1 unit in the last place; below -87, exp(-87) = 1.6e-38 */
VEC_INLINE vec vec_exp_negative(vec x)
{
    vec power, series = vec_exp_series(x, &power);
    return power * series + power;
}

VEC_INLINE vec vec_abs(vec x)
{
    return (vec)((vec_mask)x & INT32_MAX);
}

/* With e = exp(-2|x|) - 1: -e / (2 + e) with x's sign. */
VEC_INLINE vec vec_tanh(vec x)
{
    vec e = vec_expm1_negative(-2.0f * vec_abs(x)), y = -e / (2.0f + e);
    return (vec)((vec_mask)y | ((vec_mask)x & INT32_MIN));
}

#endif
