#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/recolor.h"

#define rule_floor(a) floorf(a)
#include "device/rules/recoloring.h"

extern "C" __global__ void __launch_bounds__(RECOLOR_THREADS)
    cornu_recolor_forward(recolor_forward_params p)
{
    for (EACH(i, p.pixels)) {
        const float *drawn = p.drawn + i / p.pixels_of_sample * p.numbers;
        const float *x = p.x + i * p.channels;
        float *y = p.y + i * p.channels;
        if (p.how.kind >= RECOLOR_GRAYSCALE)
            recolor_pixel(&p.how, drawn, x, y);
        else
            for (int64_t k = 0; k < p.channels; k++)
                y[k] = recolor_value(&p.how, drawn, x[k]);
    }
}

extern "C" __global__ void __launch_bounds__(RECOLOR_THREADS)
    cornu_recolor_backward(recolor_backward_params p)
{
    for (EACH(i, p.pixels)) {
        const float *drawn = p.drawn + i / p.pixels_of_sample * p.numbers;
        const float *x = p.x + i * p.channels, *dy = p.dy + i * p.channels;
        float *dx = p.y + i * p.channels;
        if (p.how.kind >= RECOLOR_GRAYSCALE)
            recolor_pixel_back(&p.how, drawn, x, dy, dx);
        else
            for (int64_t k = 0; k < p.channels; k++)
                dx[k] = dy[k] * recolor_slope(&p.how, drawn, x[k]);
    }
}
