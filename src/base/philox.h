/* Counter-based random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as
   1, 2, 3", SC 2011). The same (key, counter) gives the same numbers on every device. */
#ifndef BASE_PHILOX_H
#define BASE_PHILOX_H

#include <stdint.h>

/* The plug-ins' kernels compile this source, too, and define their own qualifiers here. */
#ifndef PHILOX_INLINE
#define PHILOX_INLINE static inline
#endif

/* The use of a stream of random numbers; streams of different uses under one seed are
   independent. */
typedef enum random_purpose {
    RANDOM_INITIALIZE = 1,
    RANDOM_SHUFFLE = 2,
    RANDOM_DROPOUT = 3,
    RANDOM_AUGMENT = 4,
    RANDOM_GENERATE = 5,
    RANDOM_DRAW = 6,
    RANDOM_NOISE = 7
} random_purpose;

/* Four 32-bit numbers for counter (c0..c3) under a 64-bit key. */
PHILOX_INLINE void philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                          uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The key of one purpose and item (layer number, epoch, ...) under the user's seed. */
uint64_t random_key(uint64_t seed, random_purpose purpose, uint64_t item);

/* A sequential reader over one key, for the host. */
typedef struct random_stream {
    uint64_t key, position;
    uint32_t block[4];
} random_stream;
random_stream random_open(uint64_t seed, random_purpose purpose, uint64_t item);
uint32_t random_u32(random_stream *r);
/* Uniform in [0, 1): 24 bits. */
float random_uniform(random_stream *r);
/* Standard normal, Box-Muller. */
float random_normal(random_stream *r);
/* Uniform in 0..n-1 without bias; 1 <= n <= 2^32. */
uint32_t random_below(random_stream *r, uint32_t n);

/* Convert 32 random bits to a float in [0, 1). */
PHILOX_INLINE float random_to_float(uint32_t bits)
{
    return (float)(bits >> 8) * (1.0f / 16777216.0f);
}

#endif
