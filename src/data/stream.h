/* Data whose batches come one by one (cornu_data_stream). Its training block describes a batch: the
   pointers there are those of the first batch, and are not read. */
#ifndef DATA_STREAM_H
#define DATA_STREAM_H

#include "data/data.h"
#include <cornu/data.h>

struct stream {
    cornu_stream source;
};

/* The next batch, valid until the call after; count 0: the pass is over. batch->x_scale does not
   change. CORNU_STOPPED where the caller asked to stop. */
cornu_status data_stream_next(const cornu_data *data, sample_block *batch);
/* The caller's arrays as a block that points to them. `what`: their name in messages. */
cornu_status data_block_of(const cornu_arrays *a, const char *what, sample_block *out);

#endif
