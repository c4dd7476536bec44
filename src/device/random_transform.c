/* The reference implementation of image transforms: one simple pass after another. */
#include "base/philox.h"
#include "device/gather_sample.h"
#include <math.h>

#define RULE static
typedef int64_t rule_index;
#include "device/rules/transforms.h"

#define SAMPLE_RULE(name) sample_##name
typedef float rule_real;
#define rule_all(a) (a)
#define rule_max(a, b) ((a) > (b) ? (a) : (b))
#define rule_min(a, b) ((a) < (b) ? (a) : (b))
#define rule_whole(a) ((float)(int32_t)(a))
#include "device/rules/samples.h"
#include "device/rules/whole_samples.h"

random_transform gather_draw(const augmentation *a, const step_input *input, int64_t index)
{
    const shape *s = &input->samples->x_shape;
    random_stream r = random_open(input->seed, RANDOM_AUGMENT, transform_item(input->epoch, index));
    float u[TRANSFORM_DRAWS];
    for (int i = 0; i < TRANSFORM_DRAWS; i++)
        u[i] = random_uniform(&r);
    return random_transform_of(a, u, s->dim[0], s->dim[1]);
}

static float pixel(const sample_block *s, int64_t at)
{
    return s->x_type == SAMPLE_U8 ? (float)((const uint8_t *)s->x)[at] : ((const float *)s->x)[at];
}

/* One pixel of all channels by bilinear interpolation; `base`: index of the sample's first
   element. */
static void interpolate(const sample_block *s, int64_t base, const random_transform *transform,
                        double row, double column, float *out)
{
    int64_t channels = s->x_shape.dim[2], line = s->x_shape.dim[1] * channels;
    neighbours r = neighbours_at(row, s->x_shape.dim[0], transform->fill);
    neighbours c = neighbours_at(column, s->x_shape.dim[1], transform->fill);
    int64_t top = base + r.low * line, bottom = base + r.high * line;
    for (int64_t k = 0; k < channels; k++) {
        int64_t left = c.low * channels + k, right = c.high * channels + k;
        float upper = sample_between(pixel(s, top + left), pixel(s, top + right), c.weight);
        float lower = sample_between(pixel(s, bottom + left), pixel(s, bottom + right), c.weight);
        out[k] = r.outside || c.outside ? transform->cval : sample_between(upper, lower, r.weight);
    }
}

/* Compute every pixel from its source coordinates. */
static void resample(const sample_block *s, int64_t base, const random_transform *transform,
                     float *x)
{
    int64_t height = s->x_shape.dim[0], width = s->x_shape.dim[1], channels = s->x_shape.dim[2];
    affine_map map = affine_map_of(transform, height, width);
    for (int64_t row = 0; row < height; row++) {
        int64_t r = transform_flipped(transform->flip_vertical, row, height);
        double y = affine_start(&map, 0, (double)r), x_start = affine_start(&map, 1, (double)r);
        for (int64_t column = 0; column < width; column++) {
            int64_t c = transform_flipped(transform->flip_horizontal, column, width);
            float *out = x + (row * width + column) * channels;
            if (map.moves)
                interpolate(s, base, transform, affine_along(y, map.m[0][1], (double)c),
                            affine_along(x_start, map.m[1][1], (double)c), out);
            else
                for (int64_t k = 0; k < channels; k++)
                    out[k] = pixel(s, base + (r * width + c) * channels + k);
        }
    }
}

void gather_augmented(const sample_block *s, int64_t index, const random_transform *transform,
                      float *x)
{
    int64_t count = shape_elements(&s->x_shape);
    resample(s, index * count, transform, x);
    if (!transform_changes_values(transform))
        return;
    float least = x[0], largest = x[0];
    for (int64_t i = 1; i < count; i++) {
        least = rule_min(x[i], least);
        largest = rule_max(x[i], largest);
    }
    image_range range = image_range_of(transform, least, largest);
    for (int64_t i = 0; i < count; i++)
        x[i] = image_value(transform, &range, x[i]);
}

/* ---- standardization ---------------------------------------------------------------------- */

/* Subtract the sample's own mean; divide by its own deviation. */
static void standardize_by_itself(bool deviation, int64_t count, float *x)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)x[i];
    double mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++)
        squares += deviation_square(x[i], mean);
    double factor = deviation ? deviation_factor(squares, count) : 1;
    for (int64_t i = 0; i < count; i++)
        x[i] = sample_standardized(x[i], mean, factor);
}

void gather_channel_scales(const standardization *st, float scale, float *factor, float *shift)
{
    for (int64_t c = 0; c < (st->featurewise_center ? st->channels : 1); c++)
        channel_scale_of(st, scale, c, &factor[c], &shift[c]);
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
    gather_channel_scales(st, scale, factor, shift);
    for (int64_t i = 0; i < count; i++) {
        int64_t c = st->featurewise_center ? i % channels : 0;
        x[i] = sample_scaled(x[i], factor[c], shift[c]);
    }
}
