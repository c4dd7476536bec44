/* The bf16x3 split: a float as the sum of three terms of bfloat16, high, middle and low, as AMX
   multiplies them (dense_kernels_amx.c says which products are added). */
#ifndef DEVICE_CPU_BF16X3_H
#define DEVICE_CPU_BF16X3_H

#include "device/cpu/vec.h"

enum {
    TERMS = 3,
    AMX_SIDE = 16,            /* rows of an AMX tile */
    AMX_DEPTH = 2 * AMX_SIDE, /* depth of one multiplication of AMX tiles */
    AMX_TILE = 16 * AMX_SIDE, /* floats */
    AMX_ROW_BYTES = 64
};

/* Number of blocks of `size`; the last one may be smaller. */
static inline int64_t blocks(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

typedef uint32_t bits __attribute__((vector_size(VEC_BYTES)));

/* Split pairs (a, b) into terms that are `stride` floats apart: high and middle truncated or, with
   `round`, rounded; low is exact, and keeps any NaN. */
VEC_INLINE void split(vec a, vec b, float *to, int64_t stride, bool round)
{
    const bits half = (bits){0} + 0x8000u, high = (bits){0} + 0xffff0000u;
    UNROLL(3)
    for (int term = 0; term < TERMS; term++, to += stride) {
        bits left = (bits)a, right = (bits)b;
        if (round && term < TERMS - 1) {
            left += half;
            right += half;
        }
        vec_store(to, (vec)(left >> 16 | (right & high)));
        a -= (vec)(left & high);
        b -= (vec)(right & high);
    }
}

/* GCC 12's own intrinsics do not tell it that they read memory. AMX tiles are named by literals. */
#define AMX_LOAD(tile, from, bytes)                                                        \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"((int64_t)(bytes)) \
                     : "memory")
#define AMX_STORE(tile, to, bytes)                                                           \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"((int64_t)(bytes)) \
                     : "memory")

#endif
