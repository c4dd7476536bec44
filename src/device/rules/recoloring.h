/* A pixel's channels by random numbers, as Keras's layers of colours change them, written once:
   each device includes this file. It is written in the common subset of C17, CUDA C++ and OpenCL C.
   The including file defines

     RULE            qualifiers of a function
     rule_floor      of a float within +-2^30 */
#include "model/drawing.h"

RULE float recolor_clamped(float x, float low, float high)
{
    x = x > high ? high : x;
    return x < low ? low : x;
}

/* x of low to high as a number of 0 to `to`, and back. */
RULE float recolor_to(const recoloring *r, float x, float to)
{
    return (x - r->low) / (r->high - r->low) * to;
}

RULE float recolor_from(const recoloring *r, float x, float from)
{
    return x / from * (r->high - r->low) + r->low;
}

/* ---- each channel for itself --------------------------------------------------------------- */

RULE float recolor_value(const recoloring *r, const float *numbers, float x)
{
    if (r->kind == RECOLOR_INVERT)
        return numbers[0] > 0 ? r->high - x : x;
    const float full = 255;
    float v = recolor_to(r, x, full);
    if (r->kind == RECOLOR_SOLARIZE) {
        v = recolor_clamped(v + numbers[0], 0, full);
        v = v < numbers[1] ? v : full - v;
    } else { /* of whole numbers */
        float step = 1;
        for (float bits = 8; bits > numbers[0]; bits -= 1)
            step *= 2;
        v = recolor_clamped(v, 0, full);
        v = v > 0 ? rule_floor(v / step) * step : v; /* NaN stays */
    }
    return recolor_from(r, v, full);
}

/* dy / dx. */
RULE float recolor_slope(const recoloring *r, const float *numbers, float x)
{
    if (r->kind == RECOLOR_INVERT)
        return numbers[0] > 0 ? -1.0f : 1.0f;
    if (r->kind == RECOLOR_POSTERIZE)
        return 0;
    const float full = 255, v = recolor_to(r, x, full) + numbers[0];
    if (v < 0 || v > full)
        return 0;
    return v < numbers[1] ? 1.0f : -1.0f;
}

/* ---- red, green and blue ------------------------------------------------------------------- */

/* Of red, green and blue in the gray of the same brightness. */
#define RECOLOR_RED 0.2989f
#define RECOLOR_GREEN 0.5870f
#define RECOLOR_BLUE 0.1140f

RULE float recolor_gray(const float *x)
{
    return RECOLOR_RED * x[0] + RECOLOR_GREEN * x[1] + RECOLOR_BLUE * x[2];
}

typedef struct recolor_hsv {
    float hue, saturation, value; /* hue and saturation of 0 to 1 */
    float least;                  /* of the channels */
    int largest;                  /* the first channel that is `value` */
} recolor_hsv;

RULE recolor_hsv recolor_hsv_of(const float *x)
{
    recolor_hsv c;
    c.largest = x[0] >= x[1] && x[0] >= x[2] ? 0 : x[1] >= x[2] ? 1 : 2;
    c.value = x[c.largest];
    c.least = x[0] < x[1] ? x[0] : x[1];
    c.least = c.least < x[2] ? c.least : x[2];
    const float range = c.value - c.least;
    const float next = x[c.largest == 2 ? 0 : c.largest + 1];
    const float before = x[c.largest == 0 ? 2 : c.largest - 1];
    c.saturation = c.value > 0 ? range / c.value : 0;
    c.hue = range > 0 ? (next - before) / (6 * range) + (float)c.largest / 3 : 0;
    c.hue = c.hue < 0 ? c.hue + 1 : c.hue;
    return c;
}

/* How much of the value a channel has where the saturation is 1: 0 to 1; *slope: of the hue. */
RULE float recolor_weight(int channel, float hue, float *slope)
{
    const float apart = hue * 6 - (channel == 0 ? 3.0f : channel == 1 ? 2.0f : 4.0f);
    const float distance = apart < 0 ? -apart : apart, way = apart < 0 ? -6.0f : 6.0f;
    const float weight = channel == 0 ? distance - 1 : 2 - distance;
    *slope = weight < 0 || weight > 1 ? 0 : channel == 0 ? way : -way;
    return recolor_clamped(weight, 0, 1);
}

/* The hue and saturation that the numbers make; *scale: d saturation / d saturation of x. */
RULE recolor_hsv recolor_changed(const recoloring *r, const float *numbers, recolor_hsv c,
                                 float *scale)
{
    *scale = 1;
    if (r->kind == RECOLOR_SATURATE) {
        const float factor = numbers[0] / (1 - numbers[0] + 1e-7f);
        const float wanted = c.saturation * factor;
        c.saturation = recolor_clamped(wanted, r->low, r->high);
        *scale = wanted < r->low || wanted > r->high ? 0 : factor;
    } else {
        c.hue += numbers[0] / 2;
        c.hue = c.hue > 1 ? c.hue - 1 : c.hue;
        c.hue = c.hue < 0 ? c.hue + 1 : c.hue;
    }
    return c;
}

RULE void recolor_pixel(const recoloring *r, const float *numbers, const float *x, float *y)
{
    if (r->kind == RECOLOR_GRAYSCALE || r->kind == RECOLOR_DEGENERATE) {
        const float gray = recolor_gray(x);
        for (int k = 0; k < COLORS; k++) {
            const float degenerate = x[k] + numbers[0] * (gray - x[k]);
            y[k] = r->kind == RECOLOR_DEGENERATE ? recolor_clamped(degenerate, r->low, r->high)
                   : numbers[0] > 0              ? gray
                                                 : x[k];
        }
        return;
    }
    const int is_hue = r->kind == RECOLOR_HUE;
    float own[COLORS], scale, slope;
    for (int k = 0; k < COLORS; k++)
        own[k] = is_hue ? recolor_to(r, x[k], 1) : x[k];
    const recolor_hsv c = recolor_changed(r, numbers, recolor_hsv_of(own), &scale);
    for (int k = 0; k < COLORS; k++) {
        y[k] = (1 - c.saturation + c.saturation * recolor_weight(k, c.hue, &slope)) * c.value;
        if (is_hue)
            y[k] = recolor_from(r, recolor_clamped(y[k], 0, 1), 1);
    }
}

/* The gradient through hue, saturation and value. */
RULE void recolor_hsv_back(const recoloring *r, const float *numbers, const float *x,
                           const float *dy, float *dx)
{
    const int is_hue = r->kind == RECOLOR_HUE;
    float own[COLORS], scale;
    for (int k = 0; k < COLORS; k++) {
        own[k] = is_hue ? recolor_to(r, x[k], 1) : x[k];
        dx[k] = 0;
    }
    const recolor_hsv of = recolor_hsv_of(own);
    const recolor_hsv c = recolor_changed(r, numbers, of, &scale);
    float value = 0, saturation = 0, hue = 0; /* gradients */
    for (int k = 0; k < COLORS; k++) {
        float slope;
        const float weight = recolor_weight(k, c.hue, &slope);
        const float fraction = 1 - c.saturation + c.saturation * weight, y = fraction * c.value;
        const float d = is_hue && (y < 0 || y > 1) ? 0 : dy[k];
        value += d * fraction;
        saturation += d * c.value * (weight - 1);
        hue += d * c.value * c.saturation * slope;
    }
    const float range = of.value - of.least;
    if (range > 0) {
        const int next = of.largest == 2 ? 0 : of.largest + 1;
        const int before = of.largest == 0 ? 2 : of.largest - 1;
        const int lowest = own[next] < own[before] ? next : before;
        const float turn = hue / (6 * range), wide = turn * (own[next] - own[before]) / range;
        saturation = of.value > 0 ? saturation * scale / of.value : 0;
        dx[of.largest] += saturation * (1 - of.saturation) - wide;
        dx[lowest] += wide - saturation;
        dx[next] += turn;
        dx[before] -= turn;
    }
    dx[of.largest] += value;
}

RULE void recolor_pixel_back(const recoloring *r, const float *numbers, const float *x,
                             const float *dy, float *dx)
{
    const float weights[COLORS] = {RECOLOR_RED, RECOLOR_GREEN, RECOLOR_BLUE};
    const float gray = recolor_gray(x);
    const float all = numbers[0] > 0 ? 1.0f : 0.0f;
    const float apart = r->kind == RECOLOR_GRAYSCALE ? all : numbers[0];
    float sum = 0;
    if (r->kind == RECOLOR_SATURATE || r->kind == RECOLOR_HUE) {
        recolor_hsv_back(r, numbers, x, dy, dx);
        return;
    }
    for (int k = 0; k < COLORS; k++) {
        const float y = x[k] + apart * (gray - x[k]);
        const int clipped = r->kind == RECOLOR_DEGENERATE && (y < r->low || y > r->high);
        dx[k] = clipped ? 0 : dy[k];
        sum += dx[k];
    }
    for (int k = 0; k < COLORS; k++)
        dx[k] = dx[k] * (1 - apart) + sum * apart * weights[k];
}
