/* The pixels of an image from which a pixel of a resampled one comes, written once: each device
   includes this file. It is written in the common subset of C17, CUDA C++ and OpenCL C. The
   including file defines

     RULE                        qualifiers of a function
     rule_real                   a coordinate: a float, or a vector of them
     rule_index                  index of a pixel in a row or column: a signed integer, or a vector
     rule_all(a)                 the float a as a rule_real
     rule_to_index(a)            a, which is whole, as a rule_index
     rule_select(mask, a, b)     mask ? a : b, elementwise
     rule_floor                  of a rule_real within +-2^30 */
#include "model/drawing.h"

/* The two pixels of a row or column around a coordinate. */
typedef struct resample_pair {
    rule_index low, high; /* outside the image: `value` of the border */
    rule_real weight;     /* of `high` */
} resample_pair;

RULE rule_real resample_clamped(rule_real at, float least, float largest)
{
    at = rule_select(at > least, at, rule_all(least)); /* also of NaN */
    return rule_select(at < largest, at, rule_all(largest));
}

/* The coordinate that a border puts in the place of one, as TensorFlow's ImageProjectiveTransformV3
   does. */
RULE rule_real resample_inside(rule_real at, float size, int border)
{
    const float last = size - 1;
    if (border == BORDER_CONSTANT)
        return resample_clamped(at, -2, size + 1);
    if (last > 0 && border == BORDER_REFLECT) {
        rule_real before = at + 2 * size * rule_floor(-at / (2 * size));
        rule_real after = at - 2 * size * rule_floor(at / (2 * size));
        before = rule_select(before < -size, before + 2 * size, -before - 1);
        after = rule_select(after >= size, 2 * size - after - 1, after);
        at = rule_select(at < 0, before, rule_select(at > last, after, at));
    } else if (last > 0 && border == BORDER_WRAP) {
        const rule_real before = at + size * (rule_floor(-at / last) + 1);
        const rule_real after = at - size * rule_floor(at / last);
        at = rule_select(at < 0, before, rule_select(at > last, after, at));
    }
    return resample_clamped(at, 0, last);
}

/* Around coordinate `at` of a side of `size` pixels. */
RULE resample_pair resample_around(rule_real at, float size, int border, int nearest)
{
    resample_pair p;
    rule_real low;
    at = resample_inside(resample_clamped(at, -1e8f, 1e8f), size, border);
    if (nearest) { /* halves go away from 0 */
        low = rule_select(at < 0, -rule_floor(0.5f - at), rule_floor(at + 0.5f));
        p.weight = rule_all(0);
    } else {
        low = rule_floor(at);
        p.weight = at - low;
    }
    /* a weight of 0 shall not spread what is not finite */
    p.low = rule_to_index(low);
    p.high = rule_to_index(rule_select(p.weight > 0, low + 1, low));
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
