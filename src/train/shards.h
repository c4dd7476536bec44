/* Training steps whose batch is divided into shards. Each shard's gradients are computed by
   themselves, as if it were a batch of its own, and added in a fixed binary tree,

       ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)),

   each times its share of the batch's samples (where all have the same, their sum is, once); that
   is the gradient of the whole batch. The bits
   of a result depend on the number of shards, and not on who computes which of them. What the
   forward pass changes (batch normalization's moving statistics) starts from the same values for
   each shard, and is added likewise; so are the sums of losses and metrics. Shard i of S has the
   samples n i / S to n (i + 1) / S - 1 of a batch of n. */
#ifndef TRAIN_SHARDS_H
#define TRAIN_SHARDS_H

#include "parallel/agree.h"
#include "parallel/ranks.h"
#include "parallel/shard_layout.h"
#include "train/session.h"

typedef struct shards shards;

typedef struct shards_options {
    int64_t count;      /* of all ranks, of which each has as many neighbours */
    cornu_ranks *ranks; /* or NULL */
    int threads;        /* as cornu_fit_options has them */
    bool bf16; /* each sum of the tree is made of gradients rounded to bfloat16, and rounded itself,
                  whether its two numbers come from one rank or from two */
    bool divides; /* each rank updates a part of the weights alone (parallel/divided_updates.h) */
} shards_options;
/* *out is NULL for one shard of a single process, which needs none of this. The session outlives
   it. */
cornu_status shards_open(session *s, const shards_options *o, shards **out);
void shards_close(shards *h);
/* Plans and memory for batches of this size, of samples with weights or without, so that what does
   not fit is known before the first step. */
cornu_status shards_prepare(shards *h, int64_t batch, bool weighted);

/* ---- a training step, in this order ---- */

/* The gradients of all shards of samples[index[0..batch-1]], added: those of other ranks meanwhile,
   from the last layer to the first. */
cornu_status shards_begin(shards *h, const sample_block *samples, const int64_t *index,
                          int64_t batch);
/* Of a batch's samples those of this rank's shards: from *begin to *end - 1. */
void shards_own(const shards *h, int64_t batch, int64_t *begin, int64_t *end);
/* Without ranks *agreed is the vote. */
cornu_status shards_agree(shards *h, shards_vote vote, shards_vote *agreed);
/* Apply the sum. */
cornu_status shards_end(shards *h, int64_t batch);

/* All ranks, between two steps: what each has of the optimizer's state becomes everybody's. */
cornu_status shards_gather(shards *h);

/* Seconds of the last step. */
typedef struct shards_times {
    double made;    /* this rank's gradients */
    double shared;  /* by then what others need of its factors was made; 0: there are none */
    double waited;  /* behind that, for the others' */
    double applied; /* the sum, of which */
    double updated; /* this went to the optimizer, where the work is divided */
} shards_times;
shards_times shards_last_times(const shards *h);
/* What is added of a step, in the order in which it is made. */
const shard_layout *shards_layout(const shards *h);
const ranks_numbers *shards_numbers(const shards *h);
/* Of the kernels whose gradients are not added (parallel/shard_factors.h): their elements. */
int64_t shards_factored_elements(const shards *h);

/* As session_results. */
cornu_status shards_results(shards *h, step_results *out, bool reset);

#endif
