/* The pixels of an image from which a pixel of a resampled one comes, written once: each device
   includes this file. It is written in the common subset of C17, CUDA C++ and OpenCL C. The
   including file defines

     RULE                        qualifiers of a function
     rule_index                  index of a pixel in a row or column: a signed integer
     rule_floor                  of a float within +-2^30 */
#include "model/drawing.h"

/* The two pixels of a row or column around a coordinate. */
typedef struct resample_pair {
    rule_index low, high; /* outside the image: `value` of the border */
    float weight;         /* of `high` */
} resample_pair;

RULE float resample_clamped(float at, float least, float largest)
{
    at = at > least ? at : least; /* also of NaN */
    return at < largest ? at : largest;
}

/* The coordinate that a border puts in the place of one, as TensorFlow's ImageProjectiveTransformV3
   does. */
RULE float resample_inside(float at, float size, int border)
{
    const float last = size - 1;
    if (border == BORDER_CONSTANT)
        return resample_clamped(at, -2, size + 1);
    if (last > 0 && border == BORDER_REFLECT) {
        if (at < 0) {
            at += 2 * size * rule_floor(-at / (2 * size));
            at = at < -size ? at + 2 * size : -at - 1;
        } else if (at > last) {
            at -= 2 * size * rule_floor(at / (2 * size));
            at = at >= size ? 2 * size - at - 1 : at;
        }
    } else if (last > 0 && border == BORDER_WRAP) {
        if (at < 0)
            at += size * (rule_floor(-at / last) + 1);
        else if (at > last)
            at -= size * rule_floor(at / last);
    }
    return resample_clamped(at, 0, last);
}

/* Around coordinate `at` of a side of `size` pixels. */
RULE resample_pair resample_around(float at, rule_index size, int border, int nearest)
{
    resample_pair p;
    float low;
    at = resample_inside(resample_clamped(at, -1e8f, 1e8f), (float)size, border);
    if (nearest) { /* halves go away from 0 */
        low = at < 0 ? -rule_floor(0.5f - at) : rule_floor(at + 0.5f);
        p.weight = 0;
    } else {
        low = rule_floor(at);
        p.weight = at - low;
    }
    p.low = (rule_index)low;
    p.high =
        p.weight > 0 ? p.low + 1 : p.low; /* a weight of 0 shall not spread what is not finite */
    return p;
}

/* The coordinate in a row (at = 0) or column (1) of the input of a pixel of the output; map:
   MAP_NUMBERS numbers. */
RULE float resample_column(const float *map, float row, float column)
{
    return map[0] * column + map[1] * row + map[2];
}

RULE float resample_row(const float *map, float row, float column)
{
    return map[3] * column + map[4] * row + map[5];
}

/* Bilinear interpolation is this along columns, then along rows. */
RULE float resample_between(float low, float high, float weight)
{
    return (1 - weight) * low + weight * high;
}
