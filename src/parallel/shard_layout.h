/* Shards of a batch: what users may ask for, and how the numbers lie that are added over them. */
#ifndef PARALLEL_SHARD_LAYOUT_H
#define PARALLEL_SHARD_LAYOUT_H

#include "parallel/ranks.h"
#include "step/plan.h"

/* ---- what users ask for ---- */

enum { SHARDS_MOST = 1024 };

/* CORNU_INVALID unless it is a power of two, 1 to SHARDS_MOST. */
cornu_status shards_check_count(int64_t count);
/* CORNU_INVALID unless `count` is a power of two, 1 to SHARDS_MOST, which the ranks (may be NULL)
   divide, and a batch has a sample for each. */
cornu_status shards_check(int64_t count, int64_t batch, const cornu_ranks *ranks);
/* "fp32" (NULL too) or "bf16". */
cornu_status shards_wire_find(const char *name, bool *bf16);
const char *shards_wire_name(bool bf16);

/* ---- the layout ----

   In the order of a step: gradients, the first that is made being first, so that the others can be
   made while it is on its way to other ranks; then the variables that the forward pass changes. */

typedef struct shard_part {
    int variable;
    bool gradient;     /* its; else the variable itself */
    int64_t count, at; /* floats */
    int made; /* a gradient: by so many of the first operations of the plan that is followed */
    double seconds; /* into the last step, when this rank had it */
} shard_part;

typedef struct shard_layout {
    shard_part *parts;
    int count, gradients;    /* parts; those that are gradients */
    int64_t values;          /* floats of all */
    int64_t gradient_values; /* of gradients, which come first */
} shard_layout;

/* So many floats from one part to the next. */
int64_t shard_layout_align(int64_t floats);
/* By a plan of SCOPE_GRADIENTS; all such plans of a model have the same order. Does nothing where
   the layout is known. */
cornu_status shard_layout_find(shard_layout *l, const cornu_model *m, const plan *gradients);
/* Parts are made by this plan from now on. */
void shard_layout_follow(shard_layout *l, const plan *gradients);

#endif
