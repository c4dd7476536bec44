/* How a training step is divided: its batch into shards (micro-batches), and these among the ranks.
   `distribute` is the one pass that writes this into a plan, as collectives and, on request,
   updates of this rank's slices of the weights alone. Models, devices and all else of a plan know
   nothing of it. */
#ifndef PARALLEL_DISTRIBUTION_H
#define PARALLEL_DISTRIBUTION_H

#include "parallel/ranks.h"
#include "step/plan.h"
#include <cornu/options.h>

/* ---- users' options ---- */

/* CORNU_INVALID unless it is a power of two, 1 to CORNU_SHARDS_MAX. */
cornu_status shards_check_count(int64_t count);
/* CORNU_INVALID unless `count` is a power of two, 1 to CORNU_SHARDS_MAX, a multiple of the number
   of ranks (may be NULL), and at most the samples of a batch. */
cornu_status shards_check(int64_t count, int64_t batch, const cornu_ranks *ranks);
/* "fp32" (NULL too) or "bf16". */
cornu_status gradient_dtype_find(const char *name, bool *bf16);
const char *gradient_dtype_name(bool bf16);

/* ---- shards ---- */

/* Shard i of S has the samples n i / S to n (i + 1) / S - 1 of a batch of n: returns the first of
   them. */
static inline int64_t shard_begin(int64_t batch, int64_t shards, int64_t i)
{
    return batch * i / shards;
}

static inline int64_t shard_samples(int64_t batch, int64_t shards, int64_t i)
{
    return shard_begin(batch, shards, i + 1) - shard_begin(batch, shards, i);
}

/* The factor of a shard's gradient before the sum, and the factor of the sum. If all shards have
   equally many samples, only the sum is scaled, which saves a pass. */
static inline float shard_scale(int64_t batch, int64_t shards, int64_t i)
{
    double samples = (double)shard_samples(batch, shards, i);
    return batch % shards == 0 ? 1 : (float)(samples / (double)batch);
}

static inline float shard_sum_scale(int64_t batch, int64_t shards)
{
    return batch % shards == 0 ? 1 / (float)shards : 1;
}

/* ---- the block of numbers that are added over the shards ----

   In the order of a step: gradients, the first that is made being first, so that the others can be
   made while it is on its way to other ranks; then the variables that the forward pass changes.
   The weights lie in a block in the same order where each rank updates its slices. */

typedef struct shard_part {
    int variable;
    bool gradient;     /* the variable's gradient; else the variable itself */
    int64_t count, at; /* floats */
    double seconds;    /* time from the begin of the last step until this rank had it */
} shard_part;

typedef struct shard_layout {
    shard_part *parts;
    int count, gradients;    /* all parts; gradients, which come first */
    int64_t values;          /* floats of all parts */
    int64_t gradient_values; /* floats of the gradients */
} shard_layout;

/* ---- the pass ---- */

typedef struct distribution {
    int64_t shards; /* of all ranks together */
    int rank, ranks;
    bool bf16;           /* gradients are rounded where they are added */
    bool divides;        /* each rank updates only its slices of the weights */
    shard_layout layout; /* of all plans; found in the first one that makes gradients */
} distribution;

void distribution_free(distribution *d);
/* Rewrite a finished plan. In one that makes gradients, insert an ALL_REDUCE or REDUCE_SCATTER for
   each part of the block. With `divides`, replace the updates by those of this rank's slices, and
   insert an ALL_GATHER of the weights after those of a bucket. In a plan of the whole step move the
   updates to the end. Plans that do not train stay as they are. */
cornu_status distribute(distribution *d, plan *p);
/* The sums of a step, and the all-gather of the weights: the layout must be known. */
ranks_numbers distribution_sums(const distribution *d, const cornu_model *m);
ranks_numbers distribution_weights(const distribution *d);

#endif
