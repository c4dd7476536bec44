/* The samples of one rank among several. Which samples a batch has hangs on which files can be
   read, and each rank reads its own alone: so while a file is new to them, all tell each other
   after each batch's reading what they found. After the first pass nothing is told any more. */
#ifndef PARALLEL_FEED_SHARE_H
#define PARALLEL_FEED_SHARE_H

#include "data/data.h"
#include "parallel/ranks.h"

/* The samples of each batch that this rank reads: from *begin to *end - 1 of batch `number` of a
   pass, which has `samples`. */
typedef struct feed_share {
    cornu_ranks *ranks; /* NULL: all samples are this process's */
    void (*own)(const void *context, int64_t number, int64_t samples, int64_t *begin, int64_t *end);
    const void *context;
    int64_t round; /* so many batches are in work at the same time, each rank's another one */
} feed_share;

enum { NOT_LISTED = -1 };

/* The order of a pass over the data, as far as it is known which of its samples can be read. */
typedef struct feed_pass {
    const cornu_data *data;
    cornu_split split;
    int64_t *order; /* numbers of samples; the first `kept` are usable */
    int64_t kept;
    bool patient; /* no callback is asked whether to go on while it waits */

    /* With several ranks: order[left] without those that all ranks know to be unusable. Places
       below `kept` are known to all to be usable, and read as far as they are this rank's. */
    feed_share share;
    int64_t left;
    int64_t *own;   /* [own_count] this rank's samples, in order, from place `listed` on: */
    int64_t listed; /* own[own_next], or the first after it, is the next to be waited for */
    int64_t own_count, own_next;
} feed_pass;

/* At the beginning of a pass (`left` is all samples): from here on wait for, and decode, this
   rank's alone; all ranks take the same batches in the same order. They tell each other which files
   cannot be read, so that batches are those of one process. Where samples need no decoding there is
   nothing to divide. */
cornu_status feed_divide(feed_pass *p, const feed_share *share);
/* Places from..from+batch-1 are known, and this rank's are there. */
cornu_status feed_take_own(feed_pass *p, int64_t from, int64_t batch);
/* Leave out what all ranks know to be unusable, from place `kept` on. */
void feed_leave_out(feed_pass *p);

#endif
