/* Functions of vectors, from additions and multiplications alone. */
#ifndef DEVICE_CPU_KERNELS_VEC_MATH_H
#define DEVICE_CPU_KERNELS_VEC_MATH_H

#include "device/cpu/kernels/vec.h"

/* exp(x) - 1 for x <= 0, to about 1 unit in the last place: x = n ln 2 + r with |r| <= ln 2 / 2, so
   that exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1); exp(r) - 1 by its series to r^7 / 5040 (the next
   term is below 6e-9). NaN stays NaN. */
VEC_INLINE vec vec_expm1_negative(vec x)
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
    vec power = (vec)(((bits)shifted + 127) << 23); /* 2^n: n is in shifted's lowest bits */
    return power * series + (power - 1.0f);
}

#endif
