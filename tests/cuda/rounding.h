/* What tensor cores make of 32-bit floats, and bfloat16 in memory. */
#ifndef ROUNDING_H
#define ROUNDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum precision { EXACT, TF32, BF16 } precision;

/* To the nearest number with `bits` fewer bits of fraction, ties to even. */
static inline float round_off(float x, unsigned bits)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if ((u & 0x7f800000u) == 0x7f800000u) /* infinite, NaN */
        return x;
    uint32_t half = (1u << (bits - 1)) - 1 + (u >> bits & 1u);
    u = (u + half) & ~((1u << bits) - 1);
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float round_to(float x, precision p)
{
    return p == EXACT ? x : round_off(x, p == TF32 ? 13 : 16);
}

/* Element `i` of floats or of bfloat16s. */
static inline float element(const void *values, bool is_bf16, int64_t i)
{
    if (!is_bf16)
        return ((const float *)values)[i];
    uint32_t u = (uint32_t)((const uint16_t *)values)[i] << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline void set_element(void *values, bool is_bf16, int64_t i, float x)
{
    if (!is_bf16) {
        ((float *)values)[i] = x;
        return;
    }
    uint32_t u;
    x = round_off(x, 16);
    memcpy(&u, &x, sizeof u);
    ((uint16_t *)values)[i] = (uint16_t)(u >> 16 | (x != x ? 0x40u : 0u)); /* NaN stays NaN */
}

#endif
