/* Data whose batches come one by one (cornu_data_stream). Its training block says what a batch
   looks like: the pointers there are those of the batch that it was shown, and are not read. */
#ifndef DATA_STREAM_H
#define DATA_STREAM_H

#include "data/data.h"

struct stream {
    cornu_stream source;
};

/* The next batch, for as long as the one behind it is not asked for; count 0: the pass is over.
   batch->x_scale stays. CORNU_STOPPED where the caller wants no more. */
cornu_status data_stream_next(const cornu_data *data, sample_block *batch);
/* The caller's arrays as a block, which points at them. `what`: their name in messages. */
cornu_status data_block_of(const cornu_arrays *a, const char *what, sample_block *out);

#endif
