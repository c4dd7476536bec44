/* Transforms of a sample's numbers that depend on the whole sample or on the channel, written once:
   each device includes this file after device/rules/samples.h for floats, where SAMPLE_RULE(name)
   is sample_##name. Each device computes sums and extremes in its own way. */
#include "device/rules/random_transform.h"

/* ---- channel shift and brightness ----------------------------------------------------------- */

RULE image_range image_range_of(const random_transform *t, float least, float largest)
{
    image_range r;
    float shifted_largest = sample_shifted(largest, t->channel_shift, least, largest);
    r.least = least;
    r.largest = largest;
    r.base = sample_shifted(least, t->channel_shift, least, largest);
    r.extent = shifted_largest - r.base;
    r.stretches = r.base < 0 || shifted_largest > 255;
    return r;
}

/* Brightness and channel shift of one number of the moved image. Keras converts the image to bytes
   for its brightness, and stretches the numbers only where some do not fit a byte. */
RULE float image_value(const random_transform *t, const image_range *r, float value)
{
    if (t->channel_shift != 0)
        value = sample_shifted(value, t->channel_shift, r->least, r->largest);
    if (!t->brightens)
        return value;
    if (!r->stretches)
        return sample_brightened(value, t->brightness);
    float ratio = r->extent != 0 ? (value - r->base) / r->extent : value - r->base;
    return sample_brightened(ratio * 255, t->brightness) / 255 * r->extent + r->base;
}

/* ---- standardization ------------------------------------------------------------------------ */

RULE double deviation_square(float value, double mean)
{
    return ((double)value - mean) * ((double)value - mean);
}

/* 1 / (deviation + 1e-6), from the sum of `count` squares */
RULE double deviation_factor(double squares, int64_t count)
{
    return 1 / (sqrt(squares / (double)count) + 1e-6);
}

/* By the sample itself: minus its mean; factor: 1 or deviation_factor() */
RULE float sample_standardized(float value, double mean, double factor)
{
    return (float)(((double)value - mean) * factor);
}

/* Factor and shift of sample_scaled() for channel c: (x scale - mean) / (std + 1e-6) with the
   training samples' statistics, or x scale. */
RULE void channel_scale_of(const standardization *st, float scale, int64_t c, float *factor,
                           float *shift)
{
    float by = st->featurewise_center && st->featurewise_std ? 1 / (st->std[c] + 1e-6f) : 1;
    *factor = scale * by;
    *shift = st->featurewise_center ? -st->mean[c] * by : 0;
}
