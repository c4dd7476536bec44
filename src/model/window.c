#include "model/emit.h"

int64_t window_output(const window2d *w, int dimension, int64_t in)
{
    int64_t extent = w->dilation[dimension] * (w->kernel[dimension] - 1) + 1;
    int64_t room = in + w->before[dimension] + w->after[dimension] - extent;
    return room < 0 ? 0 : room / w->stride[dimension] + 1;
}

void window_pad(window2d *w, bool same, int64_t height, int64_t width)
{
    const int64_t in[2] = {height, width};
    for (int i = 0; i < 2; i++) {
        int64_t extent = w->dilation[i] * (w->kernel[i] - 1) + 1;
        int64_t out = (in[i] + w->stride[i] - 1) / w->stride[i];
        int64_t missing = (out - 1) * w->stride[i] + extent - in[i];
        if (!same || missing < 0)
            missing = 0;
        w->before[i] = missing / 2;
        w->after[i] = missing - missing / 2;
    }
}
