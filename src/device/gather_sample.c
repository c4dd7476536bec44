#include "device/gather_sample.h"
#include "base/philox.h"
#include <math.h>
#include <string.h>

static void write_plain(const sample_block *s, int64_t base, int64_t count, float *x)
{
    const uint8_t *bytes = (const uint8_t *)s->x + base;
    if (s->x_type == SAMPLE_F32)
        memcpy(x, (const float *)s->x + base, (size_t)count * sizeof *x);
    else
        for (int64_t i = 0; i < count; i++)
            x[i] = (float)bytes[i];
}

/* Elements of one sample's target and its last dimension. */
static void target_size(const plan *p, int64_t *count, int64_t *columns)
{
    const tensor *t = &p->tensors[p->target];
    *count = t->count / p->batch;
    *columns = t->shape.dim[t->shape.rank - 1];
}

void gather_target(const plan *p, const sample_block *s, int64_t index, float *t)
{
    int64_t count, columns;
    target_size(p, &count, &columns);
    if (s->y_type == SAMPLE_F32) {
        memcpy(t, (const float *)s->y + index * count, (size_t)count * sizeof *t);
        return;
    }
    int64_t classes = count / columns;
    const int32_t *from = (const int32_t *)s->y + index * classes;
    if (columns > 1)
        memset(t, 0, (size_t)count * sizeof *t);
    for (int64_t i = 0; i < classes; i++) {
        if (columns > 1)
            t[i * columns + from[i]] = 1;
        else
            t[i] = (float)from[i];
    }
}

static int64_t channels_of(const shape *s)
{
    shape picture;
    if (shape_picture(s, &picture))
        return picture.dim[2];
    return s->rank > 0 ? s->dim[s->rank - 1] : 1;
}

void gather_sample(const plan *p, const op *o, const step_input *input, int64_t row, float *x,
                   float *t)
{
    const sample_block *s = input->samples;
    const augmentation *a = &o->a.gather.augment;
    int64_t index = input->index[row], count = p->tensors[p->input].count / p->batch;
    if (augmentation_any(a)) {
        random_transform transform = gather_draw(a, input, index);
        gather_augmented(s, index, &transform, x);
    } else {
        write_plain(s, index * count, count, x);
    }
    gather_standardize(&o->a.gather.standardize, s->x_scale, channels_of(&s->x_shape), count, x);
    if (t)
        gather_target(p, s, index, t);
}

static cornu_status check_statistics(const standardization *st, const sample_block *s)
{
    if (!st->featurewise_center)
        return CORNU_OK;
    if (st->channels == 0)
        return status_fail(CORNU_INVALID, "featurewise_center: found a model without the training "
                                          "samples' mean; expected one that was trained");
    if (st->channels != channels_of(&s->x_shape))
        return status_fail(CORNU_INVALID,
                           "featurewise_center: found samples of %lld channels; expected the %d of "
                           "the training samples",
                           (long long)channels_of(&s->x_shape), (int)st->channels);
    return CORNU_OK;
}

static cornu_status check_inputs(const plan *p, const step_input *input)
{
    const sample_block *s = input->samples;
    if (!s || !s->x || !input->index)
        return status_fail(CORNU_INVALID, "samples: found none; expected at least %lld",
                           (long long)p->batch);
    const tensor *x = &p->tensors[p->input];
    shape expected = {.rank = x->shape.rank - 1};
    memcpy(expected.dim, x->shape.dim + 1, (size_t)expected.rank * sizeof *expected.dim);
    char found[128], wanted[128];
    if (shape_elements(&s->x_shape) != x->count / p->batch)
        return status_fail(CORNU_INVALID, "samples: found shape %s; expected %s",
                           shape_show(&s->x_shape, false, found),
                           shape_show(&expected, false, wanted));
    if (augmentation_any(&p->ops[0].a.gather.augment) && s->x_shape.rank != 3)
        return status_fail(CORNU_INVALID,
                           "augmentation: found samples of shape %s; expected images (height, "
                           "width, channels)",
                           shape_show(&s->x_shape, false, found));
    TRY(check_statistics(&p->ops[0].a.gather.standardize, s));
    for (int64_t i = 0; i < p->batch; i++)
        if (input->index[i] < 0 || input->index[i] >= s->count)
            return status_fail(CORNU_INVALID, "sample number: found %lld; expected 0 to %lld",
                               (long long)input->index[i], (long long)s->count - 1);
    return CORNU_OK;
}

/* Some of a sample's targets. */
typedef struct target_range {
    int64_t row, first, count; /* targets of a sample, and of those */
} target_range;

/* Check the class numbers of the batch's samples against the network's outputs. */
static cornu_status check_classes(const plan *p, const step_input *input, target_range of,
                                  int64_t classes)
{
    const int32_t *labels = input->samples->y;
    const float *values = input->samples->y;
    for (int64_t i = 0; i < p->batch; i++) {
        for (int64_t k = 0; k < of.count; k++) {
            int64_t at = input->index[i] * of.row + of.first + k;
            bool whole = input->samples->y_type == SAMPLE_I32;
            double label = whole ? (double)labels[at] : (double)values[at];
            if (!(label >= 0 && label < (double)classes))
                return status_fail(CORNU_INVALID,
                                   "sample %lld: found class %g; expected 0 to %lld (the network "
                                   "has %lld outputs)",
                                   (long long)input->index[i], label, (long long)classes - 1,
                                   (long long)classes);
        }
    }
    return CORNU_OK;
}

/* Targets of several outputs: a row of numbers, in which class numbers have a place each. */
static cornu_status check_each_target(const plan *p, const step_input *input)
{
    const cornu_model *m = p->model;
    const sample_block *s = input->samples;
    const int64_t row = p->tensors[p->target].count / p->batch;
    int64_t at = 0;
    if (s->y_type != SAMPLE_F32 || shape_elements(&s->y_shape) != row)
        return status_fail(CORNU_INVALID,
                           "targets: found those of one output; expected %lld values a sample, for "
                           "%d outputs",
                           (long long)row, m->output_count);
    for (int i = 0; i < m->output_count; i++) {
        const shape target = model_target_shape(m, i), *output = model_output_shape(m, i);
        const int64_t n = shape_elements(&target);
        if (m->outputs[i].target == TARGET_CLASSES)
            TRY(check_classes(p, input, (target_range){row, at, n}, output->dim[output->rank - 1]));
        at += n;
    }
    return CORNU_OK;
}

cornu_status gather_check(const plan *p, const step_input *input)
{
    TRY(check_inputs(p, input));
    if (p->target == NO_TENSOR)
        return CORNU_OK;
    const sample_block *s = input->samples;
    if (!s->y)
        return status_fail(CORNU_INVALID, "samples: found no targets; the loss needs them");
    if (p->model->output_count > 1)
        return check_each_target(p, input);
    int64_t count, columns;
    target_size(p, &count, &columns);
    int64_t rows = count / columns, found = shape_elements(&s->y_shape);
    int64_t expected = s->y_type == SAMPLE_I32 ? rows : count;
    if (found != expected)
        return status_fail(CORNU_INVALID, "targets: found %lld %s a sample; expected %lld",
                           (long long)found, s->y_type == SAMPLE_I32 ? "class numbers" : "values",
                           (long long)expected);
    const tensor *output = &p->tensors[p->output];
    int64_t outputs = output->shape.dim[output->shape.rank - 1];
    if (p->model->outputs[0].target == TARGET_CLASSES)
        return check_classes(p, input, (target_range){rows, 0, rows}, outputs);
    if (s->y_type == SAMPLE_I32 && columns > 1)
        return check_classes(p, input, (target_range){rows, 0, rows}, columns);
    return CORNU_OK;
}

/* ---- random transform ----------------------------------------------------------------------- */

/* The reference implementation of image transforms: one simple pass after another. */

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
