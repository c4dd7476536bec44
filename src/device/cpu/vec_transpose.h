/* Transposing squares of VEC_FLOATS vectors. */
#ifndef DEVICE_CPU_VEC_TRANSPOSE_H
#define DEVICE_CPU_VEC_TRANSPOSE_H

#include "device/cpu/vec.h"

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
