/* Codes of 2x2 max-pool windows (pool_kernels.h), a vector of channels at a time. */
#ifndef DEVICE_CPU_POOL_POOL_CODES_H
#define DEVICE_CPU_POOL_POOL_CODES_H

#include "device/cpu/pool/pool_kernels.h"
#include "device/cpu/vec.h"

/* Eight bits for each float of a vector. */
typedef uint8_t vec_codes __attribute__((vector_size(VEC_FLOATS)));

/* The maximum of a window, NaN if one element is NaN, and its code; `low`: pool_lowest. */
VEC_INLINE vec pool_largest(vec a, vec b, vec c, vec d, vec low, vec_mask *code)
{
#if defined(__AVX512F__)
    __mmask16 right = _mm512_cmp_ps_mask((__m512)b, (__m512)a, _CMP_GT_OQ);
    __mmask16 bottom_right = _mm512_cmp_ps_mask((__m512)d, (__m512)c, _CMP_GT_OQ);
    __m512 top = _mm512_max_ps((__m512)a, (__m512)b), bottom = _mm512_max_ps((__m512)c, (__m512)d);
    __mmask16 below = _mm512_cmp_ps_mask(bottom, top, _CMP_GT_OQ);
    __mmask16 nan = _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q) |
                    _mm512_cmp_ps_mask((__m512)c, (__m512)d, _CMP_UNORD_Q);
    __m512 most = _mm512_mask_mov_ps(_mm512_max_ps(top, bottom), nan, _mm512_set1_ps(NAN));
    __mmask16 none = _mm512_cmp_ps_mask(most, (__m512)low, _CMP_NGE_UQ);
    __m512i position = _mm512_maskz_set1_epi32(right, 1);
    position = _mm512_mask_mov_epi32(position, below, _mm512_set1_epi32(2));
    position = _mm512_mask_mov_epi32(position, below & bottom_right, _mm512_set1_epi32(3));
    *code = (vec_mask)_mm512_mask_mov_epi32(position, none, _mm512_set1_epi32(POOL_NOWHERE));
    return (vec)most;
#else
    vec_mask right = b > a, bottom_right = d > c;
    vec top = vec_select(right, b, a), bottom = vec_select(bottom_right, d, c);
    vec_mask below = bottom > top, nan = (a != a) | (b != b) | (c != c) | (d != d);
    vec most = vec_select(nan, vec_all(NAN), vec_select(below, bottom, top));
    vec_mask none = ~(most >= low), position = (below & (2 - bottom_right)) | (~below & -right);
    *code = (none & POOL_NOWHERE) | (~none & position);
    return most;
#endif
}

VEC_INLINE vec_mask pool_load_codes(const uint8_t *p)
{
#if defined(__AVX512F__)
    return (vec_mask)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
#elif defined(__AVX2__)
    return (vec_mask)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
#else
    vec_codes bytes;
    memcpy(&bytes, p, sizeof bytes);
    return __builtin_convertvector(bytes, vec_mask);
#endif
}

VEC_INLINE void pool_store_codes(uint8_t *p, vec_mask code)
{
    vec_codes bytes = __builtin_convertvector(code, vec_codes);
    memcpy(p, &bytes, sizeof bytes);
}

/* Load the first `count` codes; the memory of the others is not touched. */
VEC_INLINE vec_mask pool_load_first_codes(const uint8_t *p, int64_t count)
{
    uint8_t bytes[VEC_FLOATS] = {0};
    memcpy(bytes, p, (size_t)count);
    return pool_load_codes(bytes);
}

VEC_INLINE void pool_store_first_codes(uint8_t *p, vec_mask code, int64_t count)
{
#if defined(__AVX512F__)
    __mmask16 some = (__mmask16)((1u << count) - 1);
    _mm512_mask_cvtepi32_storeu_epi8(p, some, (__m512i)code);
#else
    for (int64_t i = 0; i < count; i++)
        p[i] = (uint8_t)code[i];
#endif
}

#endif
