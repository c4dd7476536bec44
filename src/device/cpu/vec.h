/* Vectors of floats for the files of this folder, which are compiled once per instruction set with
   CPU_ISA set to its name. GCC's vector extension: + - * / are elementwise; a * b + c becomes one
   fused multiply-add where the instruction set has one (-ffp-contract=fast).

   VEC_FLOATS  elements of a vector: 16, 8 or 4
   VEC_COUNT   vector registers: a register tile's accumulators and operands must fit into them */
#ifndef DEVICE_CPU_VEC_H
#define DEVICE_CPU_VEC_H

#include "device/cpu/isa.h"
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

#endif
