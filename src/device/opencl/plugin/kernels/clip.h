/* The factor of gradients that are clipped by norm. OpenCL C; after common.h. */
#ifndef DEVICE_OPENCL_PLUGIN_KERNELS_CLIP_H
#define DEVICE_OPENCL_PLUGIN_KERNELS_CLIP_H

/* The square sums of the gradients of a norm: `count` from squares[first] on. In doubles if the
   device has them: the sum of squares of large gradients may exceed a float's range. */
#if HAS_DOUBLE
typedef double wide;
#else
typedef float wide;
#endif

/* Gradients are multiplied by this. A norm that is not finite makes it NaN, so that it is seen. */
static inline float clip_scale(global const float *squares, int first, int count, float norm_most)
{
    wide sum = 0;
    for (int i = 0; i < count; i++)
        sum += (wide)squares[first + i];
    wide norm = sqrt(sum);
    if (!isfinite(norm))
        return NAN;
    return norm > (wide)norm_most ? (float)((wide)norm_most / norm) : 1.0f;
}

#endif
