/* Shards of a batch: checks of the users' options, and the memory layout of the numbers that are
   added over the shards. */
#ifndef PARALLEL_SHARD_LAYOUT_H
#define PARALLEL_SHARD_LAYOUT_H

#include "parallel/ranks.h"
#include "step/plan.h"

/* ---- users' options ---- */

enum { SHARDS_MOST = 1024 };

/* CORNU_INVALID unless it is a power of two, 1 to SHARDS_MOST. */
cornu_status shards_check_count(int64_t count);
/* CORNU_INVALID unless `count` is a power of two, 1 to SHARDS_MOST, a multiple of the number of
   ranks (may be NULL), and at most the samples of a batch. */
cornu_status shards_check(int64_t count, int64_t batch, const cornu_ranks *ranks);
/* "fp32" (NULL too) or "bf16". */
cornu_status shards_wire_find(const char *name, bool *bf16);
const char *shards_wire_name(bool bf16);

/* ---- the layout ----

   In the order of a step: gradients, the first that is made being first, so that the others can be
   made while it is on its way to other ranks; then the variables that the forward pass changes. */

typedef struct shard_part {
    int variable;
    bool gradient;     /* the variable's gradient; else the variable itself */
    int64_t count, at; /* floats */
    int made;       /* a gradient: complete after this number of operations of the followed plan */
    double seconds; /* time from the begin of the last step until this rank had it */
} shard_part;

typedef struct shard_layout {
    shard_part *parts;
    int count, gradients;    /* all parts; gradients, which come first */
    int64_t values;          /* floats of all parts */
    int64_t gradient_values; /* floats of the gradients */
} shard_layout;

/* Number of floats from one part to the next. */
int64_t shard_layout_align(int64_t floats);
/* Make the layout from a plan of SCOPE_GRADIENTS; all such plans of a model have the same order.
   Does nothing if the layout is known. */
cornu_status shard_layout_find(shard_layout *l, const cornu_model *m, const plan *gradients);
/* From now on this plan computes the parts. */
void shard_layout_follow(shard_layout *l, const plan *gradients);

#endif
