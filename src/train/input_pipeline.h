/* The samples of a pass over the data, batch by batch: in their order, without those whose files
   turn out to be unreadable; or the batches of a stream as they come. */
#ifndef TRAIN_INPUT_PIPELINE_H
#define TRAIN_INPUT_PIPELINE_H

#include "parallel/input_share.h"
#include "train/session.h"

/* The order of an epoch's samples: index[count] is a permutation keyed by (seed, epoch), or
   0..count-1 without shuffle. */
void input_order(uint64_t seed, int64_t epoch, bool shuffle, int64_t count, int64_t *index);

/* The steps of a stream that does not say how many batches it has. */
#define STEPS_UNKNOWN INT64_MAX

typedef struct input_pipeline {
    input_pass pass;
    sample_block samples; /* source of the samples: the split, or the stream's current batch */
    int64_t first, count; /* the range of the split that is passed over */
    int64_t seen; /* pass.order[count]: usable ones among the first `seen`, then all others */
    int64_t batch, batch_count; /* the batch that is in use: its first of the order, its samples */
} input_pipeline;

/* `samples`: the split as the model sees it. */
cornu_status input_open(const cornu_data *data, cornu_split split, const sample_block *samples,
                        int64_t first, int64_t count, input_pipeline *f);
void input_close(input_pipeline *f);
/* Begin pass `pass`: shuffled by (seed, pass), or in the block's order. Steps that read batches of
   the pass before must be done. */
void input_begin(input_pipeline *f, uint64_t seed, int64_t pass, bool shuffle);
/* Get samples from..from+batch-1 of the pass, as indices into `samples`; *got is smaller at the
   end of the pass. Waits until they are decoded, and until it is known whether more follow.
   Releases the previous batch. A stream returns its complete next batch, which replaces the
   previous one; 0 at the end of the pass. */
cornu_status input_take(input_pipeline *f, int64_t from, int64_t batch, const int64_t **index,
                        int64_t *got);
/* input_take; a stream's batch is checked against the model, as other data is before the first
 * step.
 */
cornu_status input_take_checked(session *s, input_pipeline *f, int64_t from, int64_t batch,
                                const int64_t **index, int64_t *got);
/* data_finish for ranks: each file is read by one rank, so that all ranks know the unusable
   ones. */
cornu_status input_finish(const cornu_data *data, cornu_ranks *ranks);
/* Samples of a pass, as far as is known: the very number once a pass has come to its end. */
int64_t input_samples(const input_pipeline *f);

/* Featurewise standardization: mean and deviation of the training samples, which a model keeps. */

/* If the model's data section asks for the statistics, compute them from the samples of the
   input pipeline (per channel, after scaling) and store them in the model. */
cornu_status features_learn(cornu_model *model, input_pipeline *train);

#endif
