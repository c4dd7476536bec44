#include "train/input_pipeline.h"
#include "base/memory.h"
#include "base/philox.h"
#include "data/data.h"
#include <cornu/parallel.h>
#include <math.h>
#include <stdlib.h>

/* Fisher and Yates, from the end. The key holds the epoch, so any epoch's order is known without
   the ones before it: that is what makes resuming exact. */
void input_order(uint64_t seed, int64_t epoch, bool shuffle, int64_t count, int64_t *index)
{
    for (int64_t i = 0; i < count; i++)
        index[i] = i;
    if (!shuffle)
        return;
    random_stream stream = random_open(seed, RANDOM_SHUFFLE, (uint64_t)epoch);
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t other = random_below(&stream, (uint32_t)i + 1);
        int64_t kept = index[i];
        index[i] = index[other];
        index[other] = kept;
    }
}

cornu_status input_open(const cornu_data *data, cornu_split split, const sample_block *samples,
                        int64_t first, int64_t count, input_pipeline *f)
{
    *f = (input_pipeline){.pass = {.data = data, .split = split, .left = count},
                          .samples = *samples,
                          .first = first,
                          .count = count};
    TRY(memory_new((size_t)count, sizeof *f->pass.order, "order of the samples", &f->pass.order));
    input_begin(f, 0, 0, false);
    return CORNU_OK;
}

static void release_batch(input_pipeline *f)
{
    data_release(f->pass.data, f->pass.split, f->pass.order + f->batch, f->batch_count);
    f->batch_count = 0;
}

void input_close(input_pipeline *f)
{
    if (!f->pass.order)
        return;
    release_batch(f);
    if (data_is_wanted_by(f->pass.data, &f->pass))
        data_want(f->pass.data, NULL, f->pass.split, NULL, 0);
    free(f->pass.order);
    free(f->pass.own);
    *f = (input_pipeline){0};
}

void input_begin(input_pipeline *f, uint64_t seed, int64_t pass, bool shuffle)
{
    release_batch(f);
    if (data_is_wanted_by(f->pass.data, &f->pass))
        data_want(f->pass.data, NULL, f->pass.split, NULL, 0); /* workers read the order */
    input_order(seed, pass, shuffle, f->count, f->pass.order);
    for (int64_t i = 0; i < f->count; i++)
        f->pass.order[i] += f->first;
    f->pass.kept = f->seen = f->batch = 0;
    f->pass.left = f->count;
    f->pass.listed = NOT_LISTED;
    if (f->pass.share.ranks)
        input_leave_out(&f->pass);
}

/* 0, 1, ... for a batch that is larger than any before. */
static cornu_status number_batch(input_pipeline *f)
{
    int64_t *order;
    if (f->samples.count <= f->count)
        return CORNU_OK;
    TRY(memory_new((size_t)f->samples.count, sizeof *order, "order of the samples", &order));
    input_order(0, 0, false, f->samples.count, order);
    free(f->pass.order);
    f->pass.order = order;
    f->count = f->samples.count;
    return CORNU_OK;
}

/* Wait for the samples from `seen` on, until one after the batch is known. */
static cornu_status take_all(input_pipeline *f, int64_t from, int64_t batch)
{
    if (!data_is_wanted_by(f->pass.data, &f->pass)) /* first call, or another reader came between */
        data_want(f->pass.data, &f->pass, f->pass.split, f->pass.order + f->seen,
                  f->count - f->seen);
    while (f->seen < f->count && f->pass.kept <= from + batch) {
        bool usable;
        TRY(data_next(f->pass.data, !f->pass.patient, &usable));
        int64_t number = f->pass.order[f->seen++];
        if (usable)
            f->pass.order[f->pass.kept++] = number;
    }
    return CORNU_OK;
}

/* The same, of one of several ranks. */
static cornu_status take_own(input_pipeline *f, int64_t from, int64_t batch)
{
    TRY(input_take_own(&f->pass, from, batch));
    if (f->pass.kept == f->pass.left)
        f->seen = f->count;
    return CORNU_OK;
}

cornu_status input_take(input_pipeline *f, int64_t from, int64_t batch, const int64_t **index,
                        int64_t *got)
{
    if (f->pass.data->stream) {
        *got = 0;
        TRY(data_stream_next(f->pass.data, &f->samples));
        TRY(number_batch(f));
        *index = f->pass.order;
        *got = f->samples.count;
        return CORNU_OK;
    }
    release_batch(f);
    TRY(f->pass.share.ranks ? take_own(f, from, batch) : take_all(f, from, batch));
    int64_t left = f->pass.kept - from;
    *got = left < 0 ? 0 : left < batch ? left : batch;
    *index = f->pass.order + from;
    f->batch = from;
    f->batch_count = *got;
    return CORNU_OK;
}

int64_t input_samples(const input_pipeline *f)
{
    if (f->seen == f->count)
        return f->pass.kept;
    return data_usable(f->pass.data, f->pass.split, f->first, f->count);
}

cornu_status input_take_checked(session *s, input_pipeline *f, int64_t from, int64_t batch,
                                const int64_t **index, int64_t *got)
{
    device *d = session_device(s);
    if (!f->pass.data->stream)
        return input_take(f, from, batch, index, got);
    if (d->ops->upload) /* it may still read the batch that the next one replaces */
        TRY(d->ops->synchronize(d));
    TRY(input_take(f, from, batch, index, got));
    return *got > 0 ? data_check_samples(session_model(s), &f->samples, "a batch of the stream")
                    : CORNU_OK;
}

/* ---- all files, by all ranks ------------------------------------------------------------- */

/* Samples that a rank reads before the ranks exchange what they found. */
enum { FINISH_BATCH = 64 };

/* An equal number of consecutive samples for each rank. */
static void own_piece(const void *context, int64_t number, int64_t samples, int64_t *begin,
                      int64_t *end)
{
    int rank = cornu_ranks_number(context), count = cornu_ranks_count(context);
    (void)number;
    *begin = samples * rank / count;
    *end = samples * (rank + 1) / count;
}

static cornu_status finish_split(const cornu_data *data, cornu_split split, cornu_ranks *ranks)
{
    const sample_block *block = &data->block[split];
    const int64_t *index, batch = FINISH_BATCH * cornu_ranks_count(ranks);
    int64_t got = batch;
    input_pipeline f;
    TRY(input_open(data, split, block, 0, block->count, &f));
    cornu_status status = input_divide(
        &f.pass, &(input_share){.ranks = ranks, .own = own_piece, .context = ranks, .round = 1});
    for (int64_t from = 0; status == CORNU_OK && got == batch; from += got)
        status = input_take(&f, from, batch, &index, &got);
    input_close(&f);
    return status;
}

cornu_status input_finish(const cornu_data *data, cornu_ranks *ranks)
{
    if (!data->loader || cornu_ranks_count(ranks) == 1)
        return data_finish(data);
    for (int split = 0; split < 2; split++)
        if (data->block[split].count > 0)
            TRY(finish_split(data, (cornu_split)split, ranks));
    return data_end(data);
}

/* ---- statistics for featurewise standardization ------------------------------------------ */

enum { BATCH = 64 };

/* Sums over the elements of each channel: of bytes exactly, whatever the order. */
typedef struct byte_sums {
    uint64_t sum[AUGMENT_CHANNELS_MOST], squares[AUGMENT_CHANNELS_MOST];
} byte_sums;

static void add_bytes(const uint8_t *x, int64_t pixels, int64_t channels, byte_sums *s)
{
    for (int64_t i = 0; i < pixels; i++)
        for (int64_t c = 0; c < channels; c++) {
            uint64_t value = x[i * channels + c];
            s->sum[c] += value;
            s->squares[c] += value * value;
        }
}

/* Image folders may have to be decoded for it: a batch at a time. */
static cornu_status learn_from_bytes(input_pipeline *train, const shape *s, double *mean,
                                     double *variance)
{
    byte_sums sums = {0};
    const int64_t *index;
    int64_t got, pixels = s->dim[0] * s->dim[1], channels = s->dim[2];
    const uint8_t *x = train->pass.data->block[train->pass.split].x;
    input_begin(train, 0, 0, false);
    for (int64_t from = 0; from < train->count; from += got) {
        TRY(input_take(train, from, BATCH, &index, &got));
        if (got == 0)
            break;
        for (int64_t i = 0; i < got; i++)
            add_bytes(x + index[i] * pixels * channels, pixels, channels, &sums);
    }
    double count = (double)input_samples(train) * (double)pixels;
    for (int64_t c = 0; c < channels; c++) {
        mean[c] = (double)sums.sum[c] / count;
        variance[c] = (double)sums.squares[c] / count - mean[c] * mean[c];
    }
    return CORNU_OK;
}

static void learn_from_floats(const float *x, int64_t pixels, int64_t channels, double *mean,
                              double *variance)
{
    for (int64_t c = 0; c < channels; c++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < pixels; i++)
            sum += (double)x[i * channels + c];
        mean[c] = sum / (double)pixels;
        for (int64_t i = 0; i < pixels; i++) {
            double d = (double)x[i * channels + c] - mean[c];
            squares += d * d;
        }
        variance[c] = squares / (double)pixels;
    }
}

cornu_status features_learn(cornu_model *model, input_pipeline *f)
{
    sample_block train;
    data_spec spec;
    double mean[AUGMENT_CHANNELS_MOST], variance[AUGMENT_CHANNELS_MOST];
    TRY(data_spec_read(model->data, &spec));
    if (!spec.standardize.featurewise_center)
        return CORNU_OK;
    if (f->pass.data->stream)
        return status_fail(CORNU_UNSUPPORTED, "featurewise_center: found a stream of batches; "
                                              "expected data that can be read beforehand");
    shape picture;
    TRY(data_samples_for(f->pass.data, f->pass.split, model, &train));
    shape_picture(&train.x_shape, &picture);
    const shape *s = &picture;
    int64_t channels = s->rank == 3 ? s->dim[2] : 0;
    if (channels < 1 || channels > AUGMENT_CHANNELS_MOST) {
        char shown[128];
        return status_fail(CORNU_INVALID,
                           "featurewise_center: found samples of %s; expected images (height, "
                           "width, 1 to %d channels)",
                           shape_show(s, false, shown), AUGMENT_CHANNELS_MOST);
    }
    if (train.x_type == SAMPLE_U8)
        TRY(learn_from_bytes(f, s, mean, variance));
    else
        learn_from_floats((const float *)train.x + f->first * shape_elements(s),
                          f->count * s->dim[0] * s->dim[1], channels, mean, variance);
    model->training.features = (feature_statistics){.channels = (int)channels};
    for (int64_t c = 0; c < channels; c++) {
        double scale = (double)train.x_scale;
        model->training.features.mean[c] = (float)(mean[c] * scale);
        model->training.features.std[c] = (float)(sqrt(fmax(variance[c], 0)) * scale);
    }
    return CORNU_OK;
}
