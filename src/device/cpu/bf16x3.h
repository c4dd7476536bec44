/* Floats cut into three parts of bfloat16, as AMX's tiles take them (dense_amx.c has the sums that
   their products make). */
#ifndef DEVICE_CPU_BF16X3_H
#define DEVICE_CPU_BF16X3_H

#include "device/cpu/vec.h"

enum {
    PARTS = 3,
    SIDE = 16,        /* rows of a tile */
    STEP = 2 * SIDE,  /* depth of one multiplication of tiles */
    TILE = 16 * SIDE, /* floats */
    ROW_BYTES = 64
};

/* Of `size`, the last one perhaps less. */
static inline int64_t blocks(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

typedef uint32_t bits __attribute__((vector_size(VEC_BYTES)));

/* Pairs (a, b), their parts `stride` floats apart, the first two cut off or, with `round`, rounded.
   The last part is exact, and keeps any NaN. */
VEC_INLINE void split(vec a, vec b, float *to, int64_t stride, bool round)
{
    const bits half = (bits){0} + 0x8000u, high = (bits){0} + 0xffff0000u;
#pragma GCC unroll 3
    for (int part = 0; part < PARTS; part++, to += stride) {
        bits left = (bits)a, right = (bits)b;
        if (round && part < PARTS - 1) {
            left += half;
            right += half;
        }
        vec_store(to, (vec)(left >> 16 | (right & high)));
        a -= (vec)(left & high);
        b -= (vec)(right & high);
    }
}

/* The compiler's own do not tell it that they read memory (GCC 12). Tiles are named by literals. */
#define TILE_LOAD(tile, from, bytes)                                                       \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"((int64_t)(bytes)) \
                     : "memory")
#define TILE_STORE(tile, to, bytes)                                                          \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"((int64_t)(bytes)) \
                     : "memory")

#endif
