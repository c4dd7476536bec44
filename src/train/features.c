#include "train/features.h"
#include <math.h>

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
