#include "parallel/vote.h"
#include "base/memory.h"
#include <stdlib.h>

typedef struct ballot {
    int32_t vote;
    step_results results;
} ballot;

void results_add(step_results *to, const step_results *from)
{
    to->samples += from->samples;
    to->loss += from->loss;
    for (int i = 0; i < MODEL_METRICS_MAX; i++)
        to->metrics[i] += from->metrics[i];
    to->gather_seconds += from->gather_seconds;
    to->not_finite = to->not_finite || from->not_finite;
}

/* In the order of the tree: neighbours first. */
static void add_ballots(ballot *all, int count)
{
    for (int distance = 1; distance < count; distance *= 2)
        for (int i = 0; i + distance < count; i += 2 * distance) {
            results_add(&all[i].results, &all[i + distance].results);
            if (all[i + distance].vote > all[i].vote)
                all[i].vote = all[i + distance].vote;
        }
}

cornu_status vote_share(cornu_ranks *r, shards_vote vote, step_results *results,
                        shards_vote *agreed)
{
    int count = cornu_ranks_count(r);
    ballot own = {.vote = vote}, *all;
    if (results)
        own.results = *results;
    TRY(memory_new((size_t)count, sizeof *all, "results of ranks", &all));
    cornu_status status = ranks_share(r, &own, all, sizeof own);
    add_ballots(all, count);
    *agreed = (shards_vote)all->vote;
    if (results)
        *results = all->results;
    free(all);
    return status;
}
