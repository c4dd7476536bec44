/* Ranks agree: by claims before a run's first step, so that all do the same, and by votes after
   each step. */
#ifndef PARALLEL_AGREE_H
#define PARALLEL_AGREE_H

#include "data/data.h"
#include "device/device.h"
#include "model/model.h"
#include "parallel/ranks.h"

/* ---- claims ---- */

/* For ranks_agree: name and value of each, with a digest where a value is long. */
enum { CLAIMS_MOST = 64 };

typedef struct claims {
    ranks_claim all[CLAIMS_MOST];
    int count;
} claims;

void claim(claims *c, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void claim_number(claims *c, const char *name, int64_t number);
/* The beginning of a text, and a digest of all. */
void claim_text(claims *c, const char *name, const char *value);
/* Samples as far as they lie in memory: of pictures that are decoded later, their targets. */
void claim_samples(claims *c, const char *name, const cornu_data *data, const sample_block *b);
/* Pictures are too many to be read by each rank: their names and sizes, and the bytes of a few.
   "none" where the data is in memory, or NULL. */
void claim_files(claims *c, const char *name, const cornu_data *data);
/* Layers, optimizer, loss and metrics. */
cornu_status claim_network(claims *c, const cornu_model *m);
/* Weights and slots, and where training stands. */
void claim_weights(claims *c, const cornu_model *m);

/* ---- votes ---- */

/* Each rank votes; all do what the largest vote says. */
typedef enum shards_vote {
    VOTE_GO,
    VOTE_LAST, /* training stops after this step */
    VOTE_NOT   /* said in place of shards_begin: this rank cannot begin, so nothing is added and all
                  is as before */
} shards_vote;

void results_add(step_results *to, const step_results *from);
/* All ranks: the largest vote, and in *results (or NULL: it has none) everybody's sum, in the order
   of the tree. */
cornu_status vote_share(cornu_ranks *r, shards_vote vote, step_results *results,
                        shards_vote *agreed);

#endif
