/* Dense kernels of which ranks exchange, in place of gradients, what these are the products of:
   each sample's x and dy, the sufficient factors of Xie, Kim, Zhou, Ho, Kumar, Yu, Xing ("Lighter-
   communication distributed machine learning via sufficient factor broadcasting", 2016). For a wide
   layer and a batch that is small beside it they are far fewer numbers than W has; a rank
   multiplies for its part of W alone, right before it updates that (DENSE_UPDATE), so that nobody
   has a whole gradient. The work is as much as without, and bits are the same. */
#ifndef PARALLEL_SHARD_FACTORS_H
#define PARALLEL_SHARD_FACTORS_H

#include "device/device.h"

typedef struct shard_factors {
    plan_factors plan; /* count 0: there are none */
    dense_factors *list;
    int64_t rows;  /* of a shard, at most */
    float *values; /* [shards][plan.floats] */
} shard_factors;

/* Are so many factors, of all shards, worth it for a kernel of so many elements? */
static inline bool shard_factors_fewer(int64_t floats, int64_t elements)
{
    return 2 * floats <= elements;
}

/* Those that are worth it, for plan_options.factors of all plans of a step's parts. For batches of
   up to so many samples: later calls check that. */
cornu_status shard_factors_find(shard_factors *f, const cornu_model *m, int64_t batch,
                                int64_t shards);
void shard_factors_free(shard_factors *f);
/* The number of floats of all shards. */
int64_t shard_factors_floats(const shard_factors *f);
/* A plan of SCOPE_GRADIENTS writes the factors that it keeps to the place of shard i. */
cornu_status shard_factors_place(const shard_factors *f, device *d, const plan *p, prepared *in,
                                 int64_t i);
/* A plan of SCOPE_UPDATES reads the factors of all shards. */
cornu_status shard_factors_place_all(const shard_factors *f, device *d, const plan *p,
                                     prepared *in);
/* How many of a plan's operations, from the first, make all of a shard's. */
int shard_factors_made(const shard_factors *f, const plan *gradients);

#endif
