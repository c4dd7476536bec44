/* One random change of an image, as Keras's ImageDataGenerator draws and applies it: the arithmetic
   that all devices share. Included by C and, for the kernels of accelerators, by CUDA C++. */
#ifndef DEVICE_RANDOM_TRANSFORM_H
#define DEVICE_RANDOM_TRANSFORM_H

#include "step/augment.h"
#include <math.h>

/* Kernels of accelerators put their own words here. */
#ifndef IMAGE_INLINE
#define IMAGE_INLINE static inline
#endif

enum { IMAGE_DRAWS = 10 };

typedef struct random_transform {
    double rotation, shear; /* degrees */
    double down, right;     /* pixels; moved by inverse mapping: the image goes the other way */
    double zoom_x, zoom_y;
    float channel_shift; /* added to every number, within the image's least and largest */
    float brightness;    /* factor, where brightens */
    float cval;
    fill_mode fill;
    bool flip_horizontal, flip_vertical; /* after the moves */
    bool brightens;                      /* last; numbers become whole ones from 0 to 255 */
} random_transform;

/* From a place in the changed image, before flips, to one in the sample:
   source = m (row, column) + offset. */
typedef struct image_transform {
    double m[2][2], offset[2];
    bool moves; /* is not the identity */
} image_transform;

/* The two pixels of a side that a place lies between. */
typedef struct image_side {
    int64_t low, high;
    float share;  /* of high */
    bool outside; /* the pixel is cval */
} image_side;

/* u in [0, 1) to a number within +-range. */
IMAGE_INLINE double image_spread(float u, float range)
{
    return ((double)u * 2 - 1) * (double)range;
}

IMAGE_INLINE double image_shift(float u, const shift_range *s, int64_t side)
{
    double unit = s->pixels ? 1 : (double)side;
    if (s->choices == 0)
        return image_spread(u, s->most) * unit;
    int32_t choice = (int32_t)(u * (float)(2 * s->choices));
    double value = s->listed ? (double)s->value[choice / 2] : (double)(choice / 2);
    return (choice % 2 ? value : -value) * unit;
}

/* The change that IMAGE_DRAWS numbers in [0, 1) mean. Each has its own, whatever the ranges are, so
   that switching one change on leaves the others as they were. */
IMAGE_INLINE random_transform random_transform_of(const augmentation *a, const float *u,
                                                  int64_t height, int64_t width)
{
    random_transform c;
    double zoom = (double)a->zoom_range[1] - (double)a->zoom_range[0];
    c.rotation = image_spread(u[0], a->rotation_range);
    c.down = image_shift(u[1], &a->height_shift_range, height);
    c.right = image_shift(u[2], &a->width_shift_range, width);
    c.shear = image_spread(u[3], a->shear_range);
    c.zoom_x = 1 + ((double)a->zoom_range[0] + (double)u[4] * zoom);
    c.zoom_y = 1 + ((double)a->zoom_range[0] + (double)u[5] * zoom);
    c.flip_horizontal = u[6] < 0.5f && a->horizontal_flip;
    c.flip_vertical = u[7] < 0.5f && a->vertical_flip;
    c.channel_shift = (float)image_spread(u[8], a->channel_shift_range);
    c.brightens = a->brightens;
    c.brightness =
        a->brightness_range[0] + u[9] * (a->brightness_range[1] - a->brightness_range[0]);
    c.cval = a->cval;
    c.fill = a->fill;
    return c;
}

/* Rotation x shift x shear x zoom: [c -s; s c], [1 -sin; 0 cos], diag(zoom_x, zoom_y). Keras builds
   the matrix for (x, y) and then swaps the axes, so "x" is the column. It gives x the middle of the
   height and y that of the width, so the centre of an image that is not square is the place
   (width / 2, height / 2); this is kept. (`right` is Keras's tx, `down` its ty.) */
IMAGE_INLINE image_transform image_transform_of(const random_transform *change, int64_t height,
                                                int64_t width)
{
    const double degree = 3.14159265358979323846 / 180;
    double c = cos(change->rotation * degree), s = sin(change->rotation * degree);
    double sheared = sin(change->shear * degree), kept = cos(change->shear * degree);
    double xx = c * change->zoom_x, xy = (-c * sheared - s * kept) * change->zoom_y;
    double yx = s * change->zoom_x, yy = (-s * sheared + c * kept) * change->zoom_y;
    double middle_x = (double)height / 2 - 0.5, middle_y = (double)width / 2 - 0.5;
    double x = c * change->right - s * change->down, y = s * change->right + c * change->down;
    image_transform t;
    t.m[0][0] = yy;
    t.m[0][1] = yx;
    t.m[1][0] = xy;
    t.m[1][1] = xx;
    t.offset[0] = -(yx * middle_x) - yy * middle_y + (y + middle_y);
    t.offset[1] = -(xx * middle_x) - xy * middle_y + (x + middle_x);
    t.moves = change->rotation != 0 || change->shear != 0 || change->zoom_x != 1 ||
              change->zoom_y != 1 || change->down != 0 || change->right != 0;
    return t;
}

/* A pixel's number in an image that goes on mirrored, 0 <= at <= 2 size. */
IMAGE_INLINE int64_t image_mirrored(int64_t at, int64_t size)
{
    at = at < 2 * size ? at : at - 2 * size;
    return at < size ? at : 2 * size - 1 - at;
}

/* Where a coordinate falls, as scipy.ndimage's affine_transform of order 1 sees it. */
IMAGE_INLINE image_side image_side_at(double at, int64_t size, fill_mode fill)
{
    image_side s;
    double last = (double)(size - 1);
    s.outside = fill == FILL_CONSTANT && !(at >= 0 && at <= last);
    if (fill == FILL_REFLECT) {
        at -= 2 * (double)size * floor(at / (2 * (double)size));
        int64_t low = (int64_t)at;
        s.low = image_mirrored(low, size);
        s.high = image_mirrored(low + 1, size);
        s.share = (float)(at - (double)low);
        return s;
    }
    if (fill == FILL_WRAP && size > 1 && at < 0)
        at += last * (floor(-at / last) + 1);
    else if (fill == FILL_WRAP && size > 1 && at > last)
        at -= last * floor(at / last);
    at = at > 0 ? at : 0;
    at = at < last ? at : last;
    s.low = (int64_t)at;
    s.high = s.low + 1 < size ? s.low + 1 : s.low;
    s.share = (float)(at - (double)s.low);
    return s;
}

IMAGE_INLINE float image_between(float low, float high, float share)
{
    return low + (high - low) * share; /* this form keeps equal pixels exactly equal */
}

/* What channel shift and brightness need to know of a whole image. */
typedef struct image_values {
    float least, largest;     /* before the channel shift */
    float after_least, above; /* after it: its least, and its largest less that */
    bool stretches;           /* brightness stretches the numbers to 0...255 and back */
} image_values;

IMAGE_INLINE float image_cut(float value, float least, float largest)
{
    value = value > least ? value : least;
    return value < largest ? value : largest;
}

IMAGE_INLINE image_values image_values_of(const random_transform *c, float least, float largest)
{
    image_values v;
    v.least = least;
    v.largest = largest;
    v.after_least = image_cut(least + c->channel_shift, least, largest);
    float after_largest = image_cut(largest + c->channel_shift, least, largest);
    v.above = after_largest - v.after_least;
    v.stretches = v.after_least < 0 || after_largest > 255;
    return v;
}

/* PIL's ImageEnhance.Brightness: a byte times the factor, cut to bytes. */
IMAGE_INLINE float image_brightened(float value, float factor)
{
    return (float)(int32_t)image_cut((float)(int32_t)value * factor, 0, 255);
}

/* A number of the moved image to one of the changed image. Keras makes bytes of the image for its
   brightness, and stretches the numbers only where some are no bytes. */
IMAGE_INLINE float image_value(const random_transform *c, const image_values *v, float value)
{
    if (c->channel_shift != 0)
        value = image_cut(value + c->channel_shift, v->least, v->largest);
    if (!c->brightens)
        return value;
    if (!v->stretches)
        return image_brightened(value, c->brightness);
    float share = v->above != 0 ? (value - v->after_least) / v->above : value - v->after_least;
    return image_brightened(share * 255, c->brightness) / 255 * v->above + v->after_least;
}

#endif
