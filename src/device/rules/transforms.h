/* Source coordinates of the pixels of a randomly transformed image, written once: each device
   includes this file. It is written in the common subset of C17, CUDA C++ and OpenCL C. The
   including file defines

     RULE                        qualifiers of a function
     rule_index                  index of a pixel in a row or column: a signed integer

   and cos, sin, fabs, floor for doubles. */
#include "device/rules/random_transform.h"

/* ---- once for an image ---------------------------------------------------------------------- */

/* The item of random_key for a sample's random numbers. */
RULE uint64_t transform_item(int64_t epoch, int64_t sample)
{
    return (uint64_t)epoch << 40 ^ (uint64_t)sample;
}

/* Map u in [0, 1) to a number within +-range. */
RULE double transform_spread(float u, float range)
{
    return ((double)u * 2 - 1) * (double)range;
}

RULE double transform_shift(float u, const shift_range *s, int64_t side)
{
    double scale = s->pixels ? 1 : (double)side;
    if (s->choices == 0)
        return transform_spread(u, s->most) * scale;
    int32_t choice = (int32_t)(u * (float)(2 * s->choices));
    double value = s->listed ? (double)s->value[choice / 2] : (double)(choice / 2);
    return (choice % 2 ? value : -value) * scale;
}

/* The transform drawn by TRANSFORM_DRAWS numbers in [0, 1). */
RULE random_transform random_transform_of(const augmentation *a, const float *u, int64_t height,
                                          int64_t width)
{
    random_transform t;
    double zoom = (double)a->zoom_range[1] - (double)a->zoom_range[0];
    t.rotation = transform_spread(u[0], a->rotation_range);
    t.down = transform_shift(u[1], &a->height_shift_range, height);
    t.right = transform_shift(u[2], &a->width_shift_range, width);
    t.shear = transform_spread(u[3], a->shear_range);
    t.zoom_x = 1 + ((double)a->zoom_range[0] + (double)u[4] * zoom);
    t.zoom_y = 1 + ((double)a->zoom_range[0] + (double)u[5] * zoom);
    t.flip_horizontal = u[6] < 0.5f && a->horizontal_flip;
    t.flip_vertical = u[7] < 0.5f && a->vertical_flip;
    t.channel_shift = (float)transform_spread(u[8], a->channel_shift_range);
    t.brightens = a->brightens;
    t.brightness =
        a->brightness_range[0] + u[9] * (a->brightness_range[1] - a->brightness_range[0]);
    t.cval = a->cval;
    t.fill = a->fill;
    return t;
}

/* Rotation x shift x shear x zoom: [c -s; s c], [1 -sin; 0 cos], diag(zoom_x, zoom_y). Keras builds
   the matrix for (x, y) and then swaps the axes, so "x" is the column. It gives x the middle of the
   height and y that of the width, so the centre of an image that is not square is the point
   (width / 2, height / 2); this is kept. (`right` is Keras's tx, `down` its ty.) */
RULE affine_map affine_map_of(const random_transform *t, int64_t height, int64_t width)
{
    const double degree = 3.14159265358979323846 / 180;
    double c = cos(t->rotation * degree), s = sin(t->rotation * degree);
    double sheared = sin(t->shear * degree), kept = cos(t->shear * degree);
    double xx = c * t->zoom_x, xy = (-c * sheared - s * kept) * t->zoom_y;
    double yx = s * t->zoom_x, yy = (-s * sheared + c * kept) * t->zoom_y;
    double middle_x = (double)height / 2 - 0.5, middle_y = (double)width / 2 - 0.5;
    double x = c * t->right - s * t->down, y = s * t->right + c * t->down;
    affine_map map;
    map.m[0][0] = yy;
    map.m[0][1] = yx;
    map.m[1][0] = xy;
    map.m[1][1] = xx;
    map.offset[0] = -(yx * middle_x) - yy * middle_y + (y + middle_y);
    map.offset[1] = -(xx * middle_x) - xy * middle_y + (x + middle_x);
    map.moves = t->rotation != 0 || t->shear != 0 || t->zoom_x != 1 || t->zoom_y != 1 ||
                t->down != 0 || t->right != 0;
    return map;
}

/* Does it change values, and not only positions? */
RULE bool transform_changes_values(const random_transform *t)
{
    return t->channel_shift != 0 || t->brightens;
}

/* ---- for each pixel ------------------------------------------------------------------------- */

/* The source row or column of `at` under a flip. */
RULE int64_t transform_flipped(bool flip, int64_t at, int64_t size)
{
    return flip ? size - 1 - at : at;
}

/* Coordinate `axis` (0: row, 1: column) of the source of (row, 0): shared by a row. */
RULE double affine_start(const affine_map *map, int axis, double row)
{
    return map->offset[axis] + map->m[axis][0] * row;
}

/* The same for (row, column); step: m[axis][1]. */
RULE double affine_along(double start, double step, double column)
{
    return start + column * step;
}

/* The two pixels of a row or column around a coordinate. */
typedef struct neighbours {
    rule_index low, high;
    float weight; /* weight of `high` */
    int outside;  /* the pixel is cval */
} neighbours;

/* A pixel's index in an image that continues mirrored, 0 <= at <= 2 size. */
RULE rule_index transform_mirrored(rule_index at, rule_index size)
{
    at = at < 2 * size ? at : at - 2 * size;
    return at < size ? at : 2 * size - 1 - at;
}

/* As in scipy.ndimage's affine_transform of order 1. */
RULE neighbours neighbours_at(double at, rule_index size, fill_mode fill)
{
    const double last = (double)(size - 1), period = 2 * (double)size;
    neighbours n;
    n.outside = fill == FILL_CONSTANT && !(at >= 0 && at <= last);
    if (fill == FILL_REFLECT) {
        at -= period * floor(at / period);
        rule_index whole = (rule_index)at;
        n.low = transform_mirrored(whole, size);
        n.high = transform_mirrored(whole + 1, size);
        n.weight = (float)(at - (double)whole);
        return n;
    }
    if (fill == FILL_WRAP && size > 1 && !(at >= 0 && at <= last)) {
        double whole = floor(fabs(at) / last);
        at += last * (at < 0 ? whole + 1 : -whole);
    }
    at = at > 0 ? at : 0;
    at = at < last ? at : last;
    n.low = (rule_index)at;
    n.high = n.low + (n.low < size - 1);
    n.weight = (float)(at - (double)n.low);
    return n;
}
