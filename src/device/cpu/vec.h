/* Vectors of floats for the files of this folder, which are compiled once per instruction set with
   CPU_ISA set to its name. GCC's vector extension: + - * / are elementwise; a * b + c becomes one
   fused multiply-add where the instruction set has one (-ffp-contract=fast).

   VEC_FLOATS  elements of a vector: 16, 8 or 4
   VEC_COUNT   vector registers: a register tile's accumulators and operands must fit into them */
#ifndef DEVICE_CPU_VEC_H
#define DEVICE_CPU_VEC_H

#include "device/cpu/isa.h"
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VEC_BYTES 64
#define VEC_COUNT 32
#elif defined(__AVX2__)
#define VEC_BYTES 32
#define VEC_COUNT 16
#elif defined(__aarch64__)
#define VEC_BYTES 16
#define VEC_COUNT 32
#else
#define VEC_BYTES 16
#define VEC_COUNT 16
#endif
#define VEC_FLOATS (VEC_BYTES / 4)

typedef float vec __attribute__((vector_size(VEC_BYTES)));
typedef float vec_anywhere __attribute__((vector_size(VEC_BYTES), aligned(4)));
/* The result of comparing two vec: -1 where true, else 0. */
typedef int32_t vec_mask __attribute__((vector_size(VEC_BYTES)));

#define VEC_INLINE static inline __attribute__((always_inline))

/* Put this before a loop of at most `count` iterations whose number is constant where the function
   is inlined: it is fully unrolled, so that an array of accumulators becomes registers. Clang is
   told "full": with a count it unrolls the function before it is inlined, for any number of
   iterations, and the accumulators stay in memory (steps take 2.5 times as long). */
#define UNROLL_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define UNROLL(count) UNROLL_PRAGMA(clang loop unroll(full))
#else
#define UNROLL(count) UNROLL_PRAGMA(GCC unroll count)
#endif

VEC_INLINE vec vec_load(const float *p)
{
    return *(const vec_anywhere *)(const void *)p;
}

VEC_INLINE void vec_store(float *p, vec v)
{
    *(vec_anywhere *)(void *)p = v;
}

VEC_INLINE vec vec_all(float x)
{
    return x - (vec){0};
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* -1 in the first `count` elements */
VEC_INLINE vec_mask vec_first(int64_t count)
{
    return (vec_mask)_mm256_cmpgt_epi32(_mm256_set1_epi32((int)count),
                                        _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

/* The first `count` elements, 0 to VEC_FLOATS; the others are 0, and their memory is not
   touched. */
VEC_INLINE vec vec_load_first(const float *p, int64_t count)
{
#if defined(__AVX512F__)
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p);
#elif defined(__AVX2__)
    return (vec)_mm256_maskload_ps(p, (__m256i)vec_first(count));
#else
    vec v = {0};
    for (int i = 0; i < VEC_FLOATS; i++)
        if (i < count)
            v[i] = p[i];
    return v;
#endif
}

VEC_INLINE void vec_store_first(float *p, vec v, int64_t count)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1), (__m512)v);
#elif defined(__AVX2__)
    _mm256_maskstore_ps(p, (__m256i)vec_first(count), (__m256)v);
#else
    for (int i = 0; i < VEC_FLOATS; i++)
        if (i < count)
            p[i] = v[i];
#endif
}

/* The first `count` elements; without a mask where count is the constant VEC_FLOATS. */
VEC_INLINE vec vec_load_count(const float *p, int64_t count)
{
    return count == VEC_FLOATS ? vec_load(p) : vec_load_first(p, count);
}

VEC_INLINE void vec_store_count(float *p, vec v, int64_t count)
{
    if (count == VEC_FLOATS)
        vec_store(p, v);
    else
        vec_store_first(p, v, count);
}

/* mask ? a : b, elementwise. No intrinsic: GCC then keeps a comparison's mask in a mask register,
   where AVX-512's blend would move it through a vector. */
VEC_INLINE vec vec_select(vec_mask mask, vec a, vec b)
{
    return (vec)((mask & (vec_mask)a) | (~mask & (vec_mask)b));
}

/* a > b ? a : b, elementwise: b where one of them is NaN */
VEC_INLINE vec vec_max(vec a, vec b)
{
#if defined(__AVX512F__)
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vec)_mm_max_ps((__m128)a, (__m128)b);
#else
    return vec_select(a > b, a, b);
#endif
}

VEC_INLINE vec vec_sqrt(vec v)
{
#if defined(__AVX512F__)
    return (vec)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
    return (vec)_mm256_sqrt_ps((__m256)v);
#elif defined(__SSE2__)
    return (vec)_mm_sqrt_ps((__m128)v);
#else
    for (int i = 0; i < VEC_FLOATS; i++)
        v[i] = sqrtf(v[i]);
    return v;
#endif
}

/* Prefetch into the second-level cache, for reading or for writing. */
#define VEC_PREFETCH(p) __builtin_prefetch((p), 0, 2)
#define VEC_PREFETCH_WRITE(p) __builtin_prefetch((p), 1, 2)

/* ---- elementary functions ---------------------------------------------------------------- */

/* exp(x) for x <= 0 as *power (1 + series): x = n ln 2 + r with |r| <= ln 2 / 2, *power = 2^n, and
   the series is exp(r) - 1 to r^7 / 5040 (the next term is below 6e-9). NaN stays NaN. */
VEC_INLINE vec vec_exp_series(vec x, vec *power)
{
    typedef uint32_t bits __attribute__((vector_size(VEC_BYTES)));
    const float to_integer = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    x = vec_max(vec_all(-87.0f), x);
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

/* exp(x) to 3 units in the last place, as the square of exp(x / 2), which every float whose
   exponential is finite has; 0 where the result is below the smallest normal number. */
VEC_INLINE vec vec_exp(vec x)
{
    vec power, half = vec_select(x > 174.0f, vec_all(87.0f), 0.5f * x);
    vec series = vec_exp_series(half, &power), root = power * series + power;
    return root * root;
}

/* log(x) to 2 units in the last place: x = 2^n m with sqrt(0.5) <= m < sqrt(2), and
   log(m) = 2 atanh(t) = 2 (t + t^3 / 3 + ...) with t = (m - 1) / (m + 1), to t^9 / 9 (the next term
   is below 8e-10). Denormal numbers count as 0. */
VEC_INLINE vec vec_log(vec x)
{
    typedef int32_t integers __attribute__((vector_size(VEC_BYTES)));
    const integers root_half = 0x3f3504f3 - (integers){0};
    const integers number = (integers)vec_select(x > 0.0f, x, vec_all(1)); /* no overflows below */
    integers exponent = (number - root_half) >> 23;
    vec m = (vec)(number - exponent * (1 << 23)), n = __builtin_convertvector(exponent, vec);
    vec t = (m - 1.0f) / (m + 1.0f), square = t * t;
    vec series = square * (2.0f / 9) + 2.0f / 7;
    series = series * square + 2.0f / 5;
    series = series * square + 2.0f / 3;
    series = series * square * t + n * -2.12194440e-4f;
    vec y = series + 2.0f * t + n * 0.693359375f;
    y = vec_select(x <= FLT_MAX, y, x); /* inf and NaN */
    return vec_select(x >= FLT_MIN, y, vec_select(x >= 0.0f, vec_all(-INFINITY), vec_all(NAN)));
}

/* log(1 + x) for 0 <= x <= 1, to 2 units in the last place: 2 atanh(t) with t = x / (2 + x), which
   is at most 1 / 3, to t^15 / 15 (the next term is below 2e-9 of the result) */
VEC_INLINE vec vec_log1p_unit(vec x)
{
    vec t = x / (2.0f + x), square = t * t;
    vec series = square * (2.0f / 15) + 2.0f / 13;
    series = series * square + 2.0f / 11;
    series = series * square + 2.0f / 9;
    series = series * square + 2.0f / 7;
    series = series * square + 2.0f / 5;
    series = series * square + 2.0f / 3;
    return series * square * t + 2.0f * t;
}

VEC_INLINE vec vec_abs(vec x)
{
    return (vec)((vec_mask)x & INT32_MAX);
}

/* 1 - erf(x) to 6 units in the last place: for a = |x|, exp(-a^2) t p(t) with t = 1 / (1 + 0.4 a),
   where t p(t) approximates exp(a^2) erfc(a) to 7e-9 (weighted least squares in Chebyshev
   polynomials). a^2 is h^2 + d, h having half of the bits, as the square of a float is rounded. */
VEC_INLINE vec vec_erfc(vec x)
{
    const vec a = vec_abs(x), t = 1.0f / (1.0f + 0.4f * a);
    const vec h = (vec)((vec_mask)a & ~0xfff), d = (a - h) * (a + h);
    vec p = t * -0.0308006605f + 0.20460009f;
    p = p * t - 0.51439448f;
    p = p * t + 0.568358671f;
    p = p * t - 0.301902893f;
    p = p * t + 0.281561068f;
    p = p * t + 0.126364948f;
    p = p * t + 0.215637274f;
    p = p * t + 0.224864516f;
    p = p * t + 0.225711473f;
    const vec rest = 1.0f - d * (1.0f - d * (0.5f - d * (1.0f / 6 - d * (1.0f / 24))));
    vec y = vec_exp_negative(-h * h) * rest * p * t;
    y = vec_select(a > 9.3f, (vec){0}, y); /* below the smallest normal number */
    return vec_select(x < 0, 2.0f - y, y);
}

/* With e = exp(-2|x|) - 1: -e / (2 + e) with x's sign. */
VEC_INLINE vec vec_tanh(vec x)
{
    vec e = vec_expm1_negative(-2.0f * vec_abs(x)), y = -e / (2.0f + e);
    return (vec)((vec_mask)y | ((vec_mask)x & INT32_MIN));
}

/* ---- transposing ------------------------------------------------------------------------- */

/* Swap, for all pairs of vectors that are `distance` apart, the lanes on the wrong side of each run
   of 2 * distance lanes. */
#define VEC_LOW(lane, distance) ((lane) & (distance) ? VEC_FLOATS + (lane) - (distance) : (lane))
#define VEC_HIGH(lane, distance) ((lane) & (distance) ? VEC_FLOATS + (lane) : (lane) + (distance))
#define VEC_LANES_4(side, from, d) \
    side(from, d), side(from + 1, d), side(from + 2, d), side(from + 3, d)
#if VEC_FLOATS == 16
#define VEC_LANES(side, d)                                                     \
    VEC_LANES_4(side, 0, d), VEC_LANES_4(side, 4, d), VEC_LANES_4(side, 8, d), \
        VEC_LANES_4(side, 12, d)
#elif VEC_FLOATS == 8
#define VEC_LANES(side, d) VEC_LANES_4(side, 0, d), VEC_LANES_4(side, 4, d)
#else
#define VEC_LANES(side, d) VEC_LANES_4(side, 0, d)
#endif
#if defined(__clang__)
#define VEC_SHUFFLE(a, b, lanes...) __builtin_shufflevector(a, b, lanes)
#else
#define VEC_SHUFFLE(a, b, lanes...) __builtin_shuffle(a, b, (vec_mask){lanes})
#endif
#define VEC_SWAP(v, distance)                                               \
    UNROLL(16) for (int i = 0; i < VEC_FLOATS; i++) if (!(i & distance))    \
    {                                                                       \
        vec a = v[i], b = v[i + distance];                                  \
        v[i] = VEC_SHUFFLE(a, b, VEC_LANES(VEC_LOW, distance));             \
        v[i + distance] = VEC_SHUFFLE(a, b, VEC_LANES(VEC_HIGH, distance)); \
    }

/* Swap v[i][k] with v[k][i]. */
VEC_INLINE void vec_transpose(vec v[VEC_FLOATS])
{
    VEC_SWAP(v, 1)
    VEC_SWAP(v, 2)
#if VEC_FLOATS > 4
    VEC_SWAP(v, 4)
#endif
#if VEC_FLOATS > 8
    VEC_SWAP(v, 8)
#endif
}

#endif
