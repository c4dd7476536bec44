/* What ranks tell each other at the end of a step: how it goes on, and its losses and metrics. */
#ifndef PARALLEL_VOTE_H
#define PARALLEL_VOTE_H

#include "device/device.h"
#include "parallel/ranks.h"

/* What a rank wants; the largest vote is what all do. */
typedef enum shards_vote {
    VOTE_GO,
    VOTE_LAST, /* training stops behind this step */
    VOTE_NOT   /* said in place of shards_begin: this rank cannot begin, so nothing is added and all
                  is as before */
} shards_vote;

void results_add(step_results *to, const step_results *from);
/* All ranks: the largest vote, and in *results (or NULL: it has none) everybody's sum, in the order
   of the tree. */
cornu_status vote_share(cornu_ranks *r, shards_vote vote, step_results *results,
                        shards_vote *agreed);

#endif
