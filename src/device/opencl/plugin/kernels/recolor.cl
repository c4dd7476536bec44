#include "device/opencl/plugin/kernels/common.h"

/* RECOLOR: pixels' channels by random numbers (device/rules/recoloring.h). */
#include "device/opencl/plugin/kernels/shared.h"

#define rule_floor(a) floor(a)
#include "device/rules/recoloring.h"

enum { NUMBERS_MAX = 2 };

#define SIZES                                                                       \
    const long pixels, const long channels, const long of_sample, const long count, \
        const int kind, const float low, const float high

static inline void read_numbers(global const float *drawn, long sample, long count, float *out)
{
    for (int k = 0; k < NUMBERS_MAX; k++)
        out[k] = k < count ? drawn[sample * count + k] : 0;
}

/* A work-item has pixels. */
KERNEL(recolor_forward, WORK_ITEMS)(IN(float, x), IN(float, drawn), OUT(float, y), SIZES)
{
    AT(x);
    AT(drawn);
    AT(y);
    const recoloring how = {kind, low, high};
    for (EACH(i, pixels)) {
        float numbers[NUMBERS_MAX], from[COLORS], to[COLORS];
        read_numbers(drawn, i / of_sample, count, numbers);
        if (kind >= RECOLOR_GRAYSCALE) {
            for (int k = 0; k < COLORS; k++)
                from[k] = x[i * COLORS + k];
            recolor_pixel(&how, numbers, from, to);
            for (int k = 0; k < COLORS; k++)
                y[i * COLORS + k] = to[k];
        } else {
            for (long k = 0; k < channels; k++)
                y[i * channels + k] = recolor_value(&how, numbers, x[i * channels + k]);
        }
    }
}

KERNEL(recolor_backward, WORK_ITEMS)
(IN(float, x), IN(float, drawn), IN(float, dy), OUT(float, y), SIZES)
{
    AT(x);
    AT(drawn);
    AT(dy);
    AT(y);
    const recoloring how = {kind, low, high};
    for (EACH(i, pixels)) {
        float numbers[NUMBERS_MAX], from[COLORS], gradient[COLORS], to[COLORS];
        read_numbers(drawn, i / of_sample, count, numbers);
        if (kind >= RECOLOR_GRAYSCALE) {
            for (int k = 0; k < COLORS; k++) {
                from[k] = x[i * COLORS + k];
                gradient[k] = dy[i * COLORS + k];
            }
            recolor_pixel_back(&how, numbers, from, gradient, to);
            for (int k = 0; k < COLORS; k++)
                y[i * COLORS + k] = to[k];
        } else {
            for (long k = 0; k < channels; k++)
                y[i * channels + k] =
                    dy[i * channels + k] * recolor_slope(&how, numbers, x[i * channels + k]);
        }
    }
}
