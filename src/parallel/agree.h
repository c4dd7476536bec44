/* Agreement between ranks: claims compare their settings and data before a run's first step, and
   votes decide after each step whether to continue. */
#ifndef PARALLEL_AGREE_H
#define PARALLEL_AGREE_H

#include "data/data.h"
#include "device/device.h"
#include "model/model.h"
#include "parallel/ranks.h"

/* ---- claims ---- */

/* The claims for ranks_agree: name and value of each, with a digest if the value is long. */
enum { CLAIMS_MOST = 64 };

typedef struct claims {
    ranks_claim all[CLAIMS_MOST];
    int count;
} claims;

void claim(claims *c, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void claim_number(claims *c, const char *name, int64_t number);
/* Claims the beginning of a text, and a digest of the complete text. */
void claim_text(claims *c, const char *name, const char *value);
/* Claims the samples in memory; for pictures that are decoded later, only their targets. */
void claim_samples(claims *c, const char *name, const cornu_data *data, const sample_block *b);
/* Claims the names and sizes of all pictures and the bytes of a few, as each rank cannot read
   all of them. "none" if the data is in memory, or NULL. */
void claim_files(claims *c, const char *name, const cornu_data *data);
/* Claims layers, optimizer, loss and metrics. */
cornu_status claim_network(claims *c, const cornu_model *m);
/* Claims weights, slots, and the position of training. */
void claim_weights(claims *c, const cornu_model *m);

/* ---- votes ---- */

/* Each rank votes; the maximum applies to all. */
typedef enum shards_vote {
    VOTE_GO,
    VOTE_LAST, /* training stops after this step */
    VOTE_NOT /* replaces shards_begin: this rank cannot begin the step, so nothing is all-reduced or
                changed */
} shards_vote;

/* Room for a model's tables in results of one's own, all 0; results_free gives it back. */
cornu_status results_new(const cornu_model *m, step_results *out);
void results_free(step_results *r);
/* Those of `r` become 0; become a copy; `from` is added. `to` is of results_new. */
void results_clear(step_results *r);
void results_copy(step_results *to, const step_results *from);
void results_add(step_results *to, const step_results *from);
/* A collective call, with the same table_count on each rank, which is that of the results: *agreed
   is the maximum of the votes, and *results (of results_new; may be NULL) becomes the sum over all
   ranks, added in the order of the tree. */
cornu_status vote_share(cornu_ranks *r, shards_vote vote, int table_count, step_results *results,
                        shards_vote *agreed);

#endif
