#include "device/gather_sample.h"
#include "base/philox.h"
#include <math.h>
#include <string.h>

static double draw(random_stream *r, float range)
{
    return ((double)random_uniform(r) * 2 - 1) * (double)range;
}

image_change gather_draw(const augmentation *a, const step_input *input, int64_t index)
{
    const shape *s = &input->samples->x_shape;
    uint64_t item = (uint64_t)input->epoch << 40 ^ (uint64_t)index;
    random_stream r = random_open(input->seed, RANDOM_AUGMENT, item);
    image_change c;
    c.rotation = draw(&r, a->rotation_range);
    c.down = draw(&r, a->height_shift_range) * (double)s->dim[0];
    c.right = draw(&r, a->width_shift_range) * (double)s->dim[1];
    c.shear = draw(&r, a->shear_range);
    c.zoom_x = 1 + draw(&r, a->zoom_range);
    c.zoom_y = 1 + draw(&r, a->zoom_range);
    c.flip_horizontal = random_uniform(&r) < 0.5f && a->horizontal_flip;
    c.flip_vertical = random_uniform(&r) < 0.5f && a->vertical_flip;
    return c;
}

/* R x T x Shear x Zoom of Keras's ImageDataGenerator: rotation [c -s; s c], shear [1 -sin; 0 cos],
   zoom diag(x, y). Keras builds the matrix for (x, y) and then swaps the axes, so "x" is the
   column; height_shift here moves rows, as its name says (Keras 3 moves columns by it). */
image_transform gather_transform(const image_change *change)
{
    const double degree = 3.14159265358979323846 / 180;
    double c = cos(change->rotation * degree), s = sin(change->rotation * degree);
    double sheared = sin(change->shear * degree), kept = cos(change->shear * degree);
    double xx = c * change->zoom_x, xy = (-c * sheared - s * kept) * change->zoom_y;
    double yx = s * change->zoom_x, yy = (-s * sheared + c * kept) * change->zoom_y;
    return (image_transform){
        .m = {{yy, yx}, {xy, xx}},
        .offset = {s * change->right + c * change->down, c * change->right - s * change->down},
        .moves = change->rotation != 0 || change->shear != 0 || change->zoom_x != 1 ||
                 change->zoom_y != 1 || change->down != 0 || change->right != 0,
    };
}

static float pixel(const sample_block *s, int64_t place)
{
    return s->x_type == SAMPLE_U8 ? (float)((const uint8_t *)s->x)[place]
                                  : ((const float *)s->x)[place];
}

/* A coordinate cut to the image (fill_mode nearest), its lower neighbour and the share of the
 * upper. */
static float neighbours(double at, int64_t size, int64_t *low, int64_t *high)
{
    at = at < 0 ? 0 : at > (double)(size - 1) ? (double)(size - 1) : at;
    *low = (int64_t)at;
    *high = *low + 1 < size ? *low + 1 : *low;
    return (float)(at - (double)*low);
}

/* One pixel of all channels by bilinear interpolation; `base`: the sample's first element. */
static void interpolate(const sample_block *s, int64_t base, double row, double column, float *out)
{
    int64_t channels = s->x_shape.dim[2], width = s->x_shape.dim[1], r0, r1, c0, c1;
    float fr = neighbours(row, s->x_shape.dim[0], &r0, &r1);
    float fc = neighbours(column, width, &c0, &c1);
    int64_t top = base + r0 * width * channels, bottom = base + r1 * width * channels;
    for (int64_t k = 0; k < channels; k++) {
        int64_t left = c0 * channels + k, right = c1 * channels + k;
        float upper = pixel(s, top + left) * (1 - fc) + pixel(s, top + right) * fc;
        float lower = pixel(s, bottom + left) * (1 - fc) + pixel(s, bottom + right) * fc;
        out[k] = (upper * (1 - fr) + lower * fr) * s->x_scale;
    }
}

void gather_changed(const sample_block *s, int64_t index, const image_change *change, float *x)
{
    int64_t height = s->x_shape.dim[0], width = s->x_shape.dim[1], channels = s->x_shape.dim[2];
    int64_t base = index * height * width * channels;
    double middle_row = (double)height / 2 - 0.5, middle_column = (double)width / 2 - 0.5;
    image_transform t = gather_transform(change);
    for (int64_t row = 0; row < height; row++) {
        int64_t from_row = change->flip_vertical ? height - 1 - row : row;
        for (int64_t column = 0; column < width; column++) {
            int64_t from_column = change->flip_horizontal ? width - 1 - column : column;
            float *out = x + (row * width + column) * channels;
            if (!t.moves) {
                for (int64_t k = 0; k < channels; k++)
                    out[k] = pixel(s, base + (from_row * width + from_column) * channels + k) *
                             s->x_scale;
                continue;
            }
            double r = (double)from_row - middle_row, c = (double)from_column - middle_column;
            interpolate(s, base, t.m[0][0] * r + t.m[0][1] * c + t.offset[0] + middle_row,
                        t.m[1][0] * r + t.m[1][1] * c + t.offset[1] + middle_column, out);
        }
    }
}

static void write_plain(const sample_block *s, int64_t base, int64_t count, float *x)
{
    if (s->x_type == SAMPLE_U8) {
        const uint8_t *from = (const uint8_t *)s->x + base;
        for (int64_t i = 0; i < count; i++)
            x[i] = (float)from[i] * s->x_scale;
    } else {
        const float *from = (const float *)s->x + base;
        for (int64_t i = 0; i < count; i++)
            x[i] = from[i] * s->x_scale;
    }
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

void gather_sample(const plan *p, const op *o, const step_input *input, int64_t row, float *x,
                   float *t)
{
    const sample_block *s = input->samples;
    const augmentation *a = &o->a.gather.augment;
    int64_t index = input->index[row], count = p->tensors[p->input].count / p->batch;
    if (augmentation_any(a)) {
        image_change change = gather_draw(a, input, index);
        gather_changed(s, index, &change, x);
    } else {
        write_plain(s, index * count, count, x);
    }
    if (t)
        gather_target(p, s, index, t);
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
    for (int64_t i = 0; i < p->batch; i++)
        if (input->index[i] < 0 || input->index[i] >= s->count)
            return status_fail(CORNU_INVALID, "sample number: found %lld; expected 0 to %lld",
                               (long long)input->index[i], (long long)s->count - 1);
    return CORNU_OK;
}

/* Class numbers of the batch's samples against the network's outputs. */
static cornu_status check_classes(const plan *p, const step_input *input, int64_t per_sample,
                                  int64_t classes)
{
    const int32_t *labels = input->samples->y;
    const float *values = input->samples->y;
    for (int64_t i = 0; i < p->batch; i++) {
        for (int64_t k = 0; k < per_sample; k++) {
            int64_t place = input->index[i] * per_sample + k;
            bool whole = input->samples->y_type == SAMPLE_I32;
            double label = whole ? (double)labels[place] : (double)values[place];
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

cornu_status gather_check(const plan *p, const step_input *input)
{
    TRY(check_inputs(p, input));
    if (p->target == NO_TENSOR)
        return CORNU_OK;
    const sample_block *s = input->samples;
    if (!s->y)
        return status_fail(CORNU_INVALID, "samples: found no targets; the loss needs them");
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
    if (loss_kind_of(p->model->loss.id)->sparse)
        return check_classes(p, input, rows, outputs);
    if (s->y_type == SAMPLE_I32 && columns > 1)
        return check_classes(p, input, rows, columns);
    return CORNU_OK;
}
