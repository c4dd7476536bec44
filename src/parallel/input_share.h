/* The input pipeline's samples of one rank. The samples of a batch depend on which files are
   readable, and each rank reads only its own files. So in the first pass all ranks exchange what
   they found after they have read a batch; after it no exchange is needed. */
#ifndef PARALLEL_INPUT_SHARE_H
#define PARALLEL_INPUT_SHARE_H

#include "data/data.h"
#include "parallel/ranks.h"

/* The range of samples that this rank reads in batch `number` of a pass, which has `samples`:
   from *begin to *end - 1. */
typedef struct input_share {
    cornu_ranks *ranks; /* NULL: this process reads all samples */
    void (*own)(const void *context, int64_t number, int64_t samples, int64_t *begin, int64_t *end);
    const void *context;
    int64_t round; /* batches processed at the same time, a different one on each rank */
} input_share;

enum { NOT_LISTED = -1 };

/* The order of a pass over the data, without the samples that are known to be unreadable. */
typedef struct input_pass {
    const cornu_data *data;
    cornu_split split;
    int64_t *order; /* indices of samples; the first `kept` are readable */
    int64_t kept;
    bool patient; /* calls no should_stop while it waits */

    /* With several ranks: order[left] without the samples that all ranks know to be unreadable.
       All ranks know that the samples below `kept` are readable, and this rank has read its own
       of them. */
    input_share share;
    int64_t left;
    int64_t *own;   /* [own_count] this rank's samples, in order, from position `listed` */
    int64_t listed; /* own[own_next], or the first after it, is awaited next */
    int64_t own_count, own_next;
} input_pass;

/* Call at the beginning of a pass (`left` is all samples): from now on this rank waits for, and
   decodes, only its own samples; all ranks take the same batches in the same order. They
   exchange which files are unreadable, so that the batches are those of one process. Without
   effect if samples need no decoding. */
cornu_status input_divide(input_pass *p, const input_share *share);
/* Waits until positions from..from+batch-1 are known to be readable, and this rank's samples of
   them are decoded. */
cornu_status input_take_own(input_pass *p, int64_t from, int64_t batch);
/* Remove the samples that all ranks know to be unreadable, from position `kept` on. */
void input_leave_out(input_pass *p);

#endif
