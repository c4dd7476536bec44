/* Dense kernels for which ranks exchange, instead of gradients, the factors of these: each
   sample's x and dy, the sufficient factors of Xie, Kim, Zhou, Ho, Kumar, Yu, Xing ("Lighter-
   communication distributed machine learning via sufficient factor broadcasting", 2016). For a
   wide layer and a small batch they are far fewer numbers than W has. A rank multiplies them
   only for its slice of W, right before it updates the slice (DENSE_UPDATE), so that no rank has
   a complete gradient. The work and the bits are those of an all-reduce. */
#ifndef PARALLEL_SHARD_FACTORS_H
#define PARALLEL_SHARD_FACTORS_H

#include "device/device.h"

typedef struct shard_factors {
    plan_factors plan; /* count 0: no factors */
    dense_factors *list;
    int64_t rows;  /* maximum per shard */
    float *values; /* [shards][plan.floats] */
} shard_factors;

/* True if exchanging `floats` factors, of all shards, is cheaper than the gradient of a kernel
   with `elements`. */
static inline bool shard_factors_fewer(int64_t floats, int64_t elements)
{
    return 2 * floats <= elements;
}

/* Find the kernels for which factors are cheaper, for plan_options.factors of all plans of a
   step. For batches up to this size; later calls check it. */
cornu_status shard_factors_find(shard_factors *f, const cornu_model *m, int64_t batch,
                                int64_t shards);
void shard_factors_free(shard_factors *f);
/* Number of floats of all shards. */
int64_t shard_factors_floats(const shard_factors *f);
/* Let a plan of SCOPE_GRADIENTS write its factors to the memory of shard i. */
cornu_status shard_factors_place(const shard_factors *f, device *d, const plan *p, prepared *in,
                                 int64_t i);
/* Let a plan of SCOPE_UPDATES read the factors of all shards. */
cornu_status shard_factors_place_all(const shard_factors *f, device *d, const plan *p,
                                     prepared *in);
/* The number of a plan's first operations that compute all factors of a shard. */
int shard_factors_made(const shard_factors *f, const plan *gradients);

#endif
