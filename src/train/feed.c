#include "train/feed.h"

#include "base/memory.h"
#include "data/stream.h"
#include "train/session.h"
#include <stdlib.h>

cornu_status feed_open(const cornu_data *data, cornu_split split, const sample_block *samples,
                       int64_t first, int64_t count, feed *f)
{
    *f = (feed){.data = data, .split = split, .samples = *samples, .first = first, .count = count};
    TRY(memory_new((size_t)count, sizeof *f->order, "order of the samples", &f->order));
    feed_begin(f, 0, 0, false);
    return CORNU_OK;
}

static void release_batch(feed *f)
{
    data_release(f->data, f->split, f->order + f->batch, f->batch_count);
    f->batch_count = 0;
}

void feed_close(feed *f)
{
    if (!f->order)
        return;
    release_batch(f);
    if (data_is_wanted_by(f->data, f))
        data_want(f->data, NULL, f->split, NULL, 0);
    free(f->order);
    free(f->own);
    *f = (feed){0};
}

void feed_begin(feed *f, uint64_t seed, int64_t pass, bool shuffle)
{
    release_batch(f);
    if (data_is_wanted_by(f->data, f))
        data_want(f->data, NULL, f->split, NULL, 0); /* workers read the order */
    session_order(seed, pass, shuffle, f->count, f->order);
    for (int64_t i = 0; i < f->count; i++)
        f->order[i] += f->first;
    f->kept = f->seen = f->batch = 0;
    f->left = f->count;
    f->listed = NOT_LISTED;
    if (f->share.ranks)
        feed_leave_out(f);
}

/* 0, 1, ... for a batch that is larger than any before. */
static cornu_status number_batch(feed *f)
{
    int64_t *order;
    if (f->samples.count <= f->count)
        return CORNU_OK;
    TRY(memory_new((size_t)f->samples.count, sizeof *order, "order of the samples", &order));
    session_order(0, 0, false, f->samples.count, order);
    free(f->order);
    f->order = order;
    f->count = f->samples.count;
    return CORNU_OK;
}

/* The samples from `seen` on, until one behind the batch is known. */
static cornu_status take_all(feed *f, int64_t from, int64_t batch)
{
    if (!data_is_wanted_by(f->data, f)) /* first, or somebody else was in between */
        data_want(f->data, f, f->split, f->order + f->seen, f->count - f->seen);
    while (f->seen < f->count && f->kept <= from + batch) {
        bool usable;
        TRY(data_next(f->data, !f->patient, &usable));
        int64_t number = f->order[f->seen++];
        if (usable)
            f->order[f->kept++] = number;
    }
    return CORNU_OK;
}

cornu_status feed_take(feed *f, int64_t from, int64_t batch, const int64_t **index, int64_t *got)
{
    if (f->data->stream) {
        *got = 0;
        TRY(data_stream_next(f->data, &f->samples));
        TRY(number_batch(f));
        *index = f->order;
        *got = f->samples.count;
        return CORNU_OK;
    }
    release_batch(f);
    TRY(f->share.ranks ? feed_take_own(f, from, batch) : take_all(f, from, batch));
    int64_t left = f->kept - from;
    *got = left < 0 ? 0 : left < batch ? left : batch;
    *index = f->order + from;
    f->batch = from;
    f->batch_count = *got;
    return CORNU_OK;
}

int64_t feed_samples(const feed *f)
{
    if (f->seen == f->count)
        return f->kept;
    return data_usable(f->data, f->split, f->first, f->count);
}
