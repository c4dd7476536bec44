/* The samples of a pass over the data, batch by batch: in their order, without those whose files
   turn out to be unreadable; or the batches of a stream as they come. */
#ifndef TRAIN_FEED_H
#define TRAIN_FEED_H

#include "data/data.h"

/* What one of several ranks looks at: of batch `number` of a pass, which has so many samples, those
   from *begin to *end - 1. */
typedef struct feed_share {
    cornu_ranks *ranks; /* NULL: all samples are this process's */
    void (*own)(const void *context, int64_t number, int64_t samples, int64_t *begin, int64_t *end);
    const void *context;
    int64_t round; /* so many batches are in work at the same time, each rank's another one */
} feed_share;

enum { NOT_LISTED = -1 };

typedef struct feed {
    const cornu_data *data;
    cornu_split split;
    sample_block samples; /* what is read: the split, or the stream's batch at hand */
    int64_t first, count; /* the range of the split that is passed over */
    int64_t *order;       /* [count]: the usable ones among the first `seen`, then all others */
    int64_t kept, seen;
    int64_t batch, batch_count; /* the batch that is in use: its first of `order`, its samples */
    bool patient;               /* nobody is asked whether to go on while it waits */

    /* Of one of several ranks (feed_share.c): order[left] without those that all ranks know to be
       unusable. Places below `kept` are known to all to be usable, and read as far as they are this
       rank's. */
    feed_share share;
    int64_t left;
    int64_t *own;   /* [own_count] this rank's samples, in order, from place `listed` on: */
    int64_t listed; /* own[own_next], or the first behind it, is the next to be waited for */
    int64_t own_count, own_next;
} feed;

/* `samples`: the split as the model sees it. */
cornu_status feed_open(const cornu_data *data, cornu_split split, const sample_block *samples,
                       int64_t first, int64_t count, feed *f);
void feed_close(feed *f);
/* Begin pass `pass`: shuffled by (seed, pass), or in the block's order. Steps that read batches of
   the pass before must be done. */
void feed_begin(feed *f, uint64_t seed, int64_t pass, bool shuffle);
/* Samples from..from+batch-1 of the pass, by their numbers in `samples`; *got is smaller at its
   end. Waits until they are decoded, and until it is known whether there are any behind them. The
   batch before is released. Of a stream: all of its next batch, which takes the place of the one
   before; 0 at the pass's end. */
cornu_status feed_take(feed *f, int64_t from, int64_t batch, const int64_t **index, int64_t *got);
/* From here on wait for, and decode, this rank's samples alone; all ranks take the same batches in
   the same order. They tell each other which files cannot be read, so that batches are those of one
   process. Where samples need no decoding there is nothing to divide. */
cornu_status feed_divide(feed *f, const feed_share *share);
/* Every file is read by one of the ranks, so that all know what is unusable: their data_finish. */
cornu_status feed_finish(const cornu_data *data, cornu_ranks *ranks);
/* feed_take's: places from..from+batch-1 are known, and this rank's are there. */
cornu_status feed_take_own(feed *f, int64_t from, int64_t batch);
/* Leave out what all ranks know to be unusable, from place `kept` on. */
void feed_leave_out(feed *f);
/* Samples of a pass, as far as is known: the very number once a pass has come to its end. */
int64_t feed_samples(const feed *f);

#endif
