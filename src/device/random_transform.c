/* The reference of what happens to an image: one obvious pass after another. */
#include "base/philox.h"
#include "device/gather_sample.h"

random_transform gather_draw(const augmentation *a, const step_input *input, int64_t index)
{
    const shape *s = &input->samples->x_shape;
    uint64_t item = (uint64_t)input->epoch << 40 ^ (uint64_t)index;
    random_stream r = random_open(input->seed, RANDOM_AUGMENT, item);
    float u[IMAGE_DRAWS];
    for (int i = 0; i < IMAGE_DRAWS; i++)
        u[i] = random_uniform(&r);
    return random_transform_of(a, u, s->dim[0], s->dim[1]);
}

static float pixel(const sample_block *s, int64_t place)
{
    return s->x_type == SAMPLE_U8 ? (float)((const uint8_t *)s->x)[place]
                                  : ((const float *)s->x)[place];
}

/* One pixel of all channels by bilinear interpolation; `base`: the sample's first element. */
static void interpolate(const sample_block *s, int64_t base, const random_transform *change,
                        double row, double column, float *out)
{
    int64_t channels = s->x_shape.dim[2], line = s->x_shape.dim[1] * channels;
    image_side r = image_side_at(row, s->x_shape.dim[0], change->fill);
    image_side c = image_side_at(column, s->x_shape.dim[1], change->fill);
    int64_t top = base + r.low * line, bottom = base + r.high * line;
    for (int64_t k = 0; k < channels; k++) {
        int64_t left = c.low * channels + k, right = c.high * channels + k;
        float upper = image_between(pixel(s, top + left), pixel(s, top + right), c.share);
        float lower = image_between(pixel(s, bottom + left), pixel(s, bottom + right), c.share);
        out[k] = r.outside || c.outside ? change->cval : image_between(upper, lower, r.share);
    }
}

/* Every pixel from where it comes from. */
static void move(const sample_block *s, int64_t base, const random_transform *change, float *x)
{
    int64_t height = s->x_shape.dim[0], width = s->x_shape.dim[1], channels = s->x_shape.dim[2];
    image_transform t = image_transform_of(change, height, width);
    for (int64_t row = 0; row < height; row++) {
        int64_t r = change->flip_vertical ? height - 1 - row : row;
        for (int64_t column = 0; column < width; column++) {
            int64_t c = change->flip_horizontal ? width - 1 - column : column;
            float *out = x + (row * width + column) * channels;
            if (t.moves)
                interpolate(s, base, change,
                            t.offset[0] + t.m[0][0] * (double)r + t.m[0][1] * (double)c,
                            t.offset[1] + t.m[1][0] * (double)r + t.m[1][1] * (double)c, out);
            else
                for (int64_t k = 0; k < channels; k++)
                    out[k] = pixel(s, base + (r * width + c) * channels + k);
        }
    }
}

void gather_augmented(const sample_block *s, int64_t index, const random_transform *change,
                      float *x)
{
    int64_t count = shape_elements(&s->x_shape);
    move(s, index * count, change, x);
    if (change->channel_shift == 0 && !change->brightens)
        return;
    float least = x[0], largest = x[0];
    for (int64_t i = 1; i < count; i++) {
        least = x[i] < least ? x[i] : least;
        largest = x[i] > largest ? x[i] : largest;
    }
    image_values v = image_values_of(change, least, largest);
    for (int64_t i = 0; i < count; i++)
        x[i] = image_value(change, &v, x[i]);
}

/* ---- what every sample gets --------------------------------------------------------------- */

/* Less its own mean; divided by its own deviation. */
static void standardize_by_itself(bool deviation, int64_t count, float *x)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)x[i];
    double mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    double factor = deviation ? 1 / (sqrt(squares / (double)count) + 1e-6) : 1;
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)(((double)x[i] - mean) * factor);
}

void gather_factors(const standardization *st, float scale, float *factor, float *shift)
{
    bool features = st->featurewise_center;
    for (int64_t c = 0; c < (features ? st->channels : 1); c++) {
        float by = features && st->featurewise_std ? 1 / (st->std[c] + 1e-6f) : 1;
        factor[c] = scale * by;
        shift[c] = features ? -st->mean[c] * by : 0;
    }
}

void gather_standardize(const standardization *st, float scale, int64_t channels, int64_t count,
                        float *x)
{
    float factor[AUGMENT_CHANNELS_MOST], shift[AUGMENT_CHANNELS_MOST];
    if (st->samplewise_center) {
        for (int64_t i = 0; i < count; i++)
            x[i] *= scale;
        standardize_by_itself(st->samplewise_std, count, x);
        scale = 1;
    }
    gather_factors(st, scale, factor, shift);
    for (int64_t i = 0; i < count; i++) {
        int64_t c = st->featurewise_center ? i % channels : 0;
        x[i] = x[i] * factor[c] + shift[c];
    }
}
