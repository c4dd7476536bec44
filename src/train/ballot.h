/* What ranks tell each other at the end of a step: how it goes on, and its losses and metrics. */
#ifndef TRAIN_BALLOT_H
#define TRAIN_BALLOT_H

#include "train/shards.h"

void results_add(step_results *to, const step_results *from);
/* All ranks: the largest vote, and in *results (or NULL: it has none) everybody's sum, in the order
   of the tree. */
cornu_status ballot_share(cornu_ranks *r, shards_vote vote, step_results *results,
                          shards_vote *agreed);

#endif
