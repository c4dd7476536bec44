/* Batch normalization's loops over channels, which GCC vectorizes; sums in doubles. They are
   memory-bound. */
#include "device/cpu/elementwise/elementwise_kernels.h"
#include "device/cpu/vec.h"

static void add_row(const float *restrict x, double *restrict sum, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        sum[i] += (double)x[i];
}

static void add_squares(const float *restrict x, const float *restrict mean, double *restrict sum,
                        int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double d = (double)x[i] - (double)mean[i];
        sum[i] += d * d;
    }
}

/* sums of dy, and of dy (x - mean) */
static void add_gradients(const float *restrict x, const float *restrict dy,
                          const float *restrict mean, double *restrict sum,
                          double *restrict product, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        sum[i] += (double)dy[i];
        product[i] += (double)dy[i] * ((double)x[i] - (double)mean[i]);
    }
}

/* y = (x - mean) scale + shift */
static void normalize_row(const float *x, const float *mean, const float *scale, const float *shift,
                          float *restrict y, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = (x[i] - mean[i]) * scale[i] + shift[i];
}

/* dx = dy scale - shift - (x - mean) slope */
static void gradient_row(const float *x, const float *dy, const float *mean, const float *scale,
                         const float *shift, const float *slope, float *restrict dx, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        dx[i] = dy[i] * scale[i] - shift[i] - (x[i] - mean[i]) * slope[i];
}

const batch_norm_kernels ISA(cpu_batch_norm_kernels) = {
    .add_row = add_row,
    .add_squares = add_squares,
    .add_gradients = add_gradients,
    .normalize_row = normalize_row,
    .gradient_row = gradient_row,
};
