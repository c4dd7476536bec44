/* Training steps whose batch is divided into shards (micro-batches).

   Each shard's gradients are computed as if it were a batch, multiplied by its share of the batch's
   samples (if all shares are equal, the sum is multiplied once), and added in a fixed binary tree,
   ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)); the result is the gradient of the whole batch. Its
   bits depend on the number of shards, but not on which rank computes which shard. Variables that
   the forward pass changes (batch normalization's moving statistics) start from the same values for
   each shard, and are added in the same way; so are the sums of losses and metrics.

   Shard i of S has the samples n i / S to n (i + 1) / S - 1 of a batch of n. */
#ifndef TRAIN_SHARDS_H
#define TRAIN_SHARDS_H

#include "parallel/agree.h"
#include "parallel/distribution.h"
#include "parallel/ranks.h"
#include "train/session.h"

typedef struct shards shards;

typedef struct shards_options {
    int64_t count;      /* shards of all ranks; each rank has an equal number of consecutive ones */
    cornu_ranks *ranks; /* or NULL */
    int threads;        /* as in cornu_fit_options */
    bool bf16; /* each addition of the tree rounds its operands to bfloat16, and its result, whether
                  these come from one rank or from two */
    bool divides; /* each rank updates only its slice of the weights (parallel/divided_updates.h) */
} shards_options;
/* *out is NULL for one shard of a single process, which needs none of this. The session outlives
   it. */
cornu_status shards_open(session *s, const shards_options *o, shards **out);
void shards_close(shards *h);
/* Prepare plans and memory for batches of this size, with or without sample weights, so that a
   lack of memory is found before the first step. */
cornu_status shards_prepare(shards *h, int64_t batch, weighting weighted);

/* ---- a training step, in this order ---- */

/* Compute and add the gradients of all shards of samples[index[0..batch-1]]. The all-reduce runs
   meanwhile, from the last layer to the first. */
cornu_status shards_begin(shards *h, const sample_block *samples, const int64_t *index,
                          int64_t batch);
/* The range of a batch's samples in this rank's shards: from *begin to *end - 1. */
void shards_own(const shards *h, int64_t batch, int64_t *begin, int64_t *end);
/* Without ranks *agreed is the vote. */
cornu_status shards_agree(shards *h, shards_vote vote, shards_vote *agreed);
/* Apply the sum. */
cornu_status shards_end(shards *h, int64_t batch);

/* A collective call between two steps: all-gathers the optimizer's state. */
cornu_status shards_gather(shards *h);

/* Seconds of the last step. */
typedef struct shards_times {
    double made;    /* this rank's gradients */
    double waited;  /* waiting for the others' after that */
    double applied; /* the sum, of which */
    double updated; /* time in the optimizer, if its work is divided */
} shards_times;
shards_times shards_last_times(const shards *h);
/* The layout of the numbers that are added in a step, in the order in which they are computed. */
const shard_layout *shards_layout(const shards *h);
const ranks_numbers *shards_numbers(const shards *h);

/* As session_results. */
cornu_status shards_results(shards *h, step_results *out, bool reset);

#endif
