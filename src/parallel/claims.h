/* What ranks say of themselves before a run's first step, so that all of them do the same
   (ranks_agree): name and value of each claim, and a digest where a value is long. */
#ifndef PARALLEL_CLAIMS_H
#define PARALLEL_CLAIMS_H

#include "data/data.h"
#include "model/model.h"
#include "parallel/ranks.h"

enum { CLAIMS_MOST = 20 };

typedef struct claims {
    ranks_claim all[CLAIMS_MOST];
    int count;
} claims;

void claim(claims *c, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void claim_number(claims *c, const char *name, int64_t number);
/* The beginning of a text, and a digest of all. */
void claim_text(claims *c, const char *name, const char *text);
/* Samples as far as they lie in memory: of pictures that are decoded later, their targets. */
void claim_samples(claims *c, const char *name, const cornu_data *data, const sample_block *b);
/* Pictures are too many to be read by each rank: their names and sizes, and the bytes of a few.
   "none" where the data is in memory, or NULL. */
void claim_files(claims *c, const char *name, const cornu_data *data);
/* Layers, optimizer, loss and metrics. */
cornu_status claim_network(claims *c, const cornu_model *m);
/* Weights and slots, and where training stands. */
void claim_weights(claims *c, const cornu_model *m);

#endif
