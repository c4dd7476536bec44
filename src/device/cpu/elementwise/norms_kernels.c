/* Microkernels of normalization. */
#include "device/cpu/elementwise/elementwise_kernels.h"
#include "device/cpu/vec.h"

/* ---- batch normalization ----------------------------------------------------------------- */

/* Batch normalization's loops over channels, which GCC vectorizes; sums in doubles. They are
   memory-bound. */

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

/* ---- layer normalization ----------------------------------------------------------------- */

/* Layer normalization's loops over a row, which GCC vectorizes; sums in doubles, in LANES running
   sums, so that the additions of one do not wait for those of another. */

enum { LANES = 2 * VEC_FLOATS };

VEC_INLINE double lanes_total(const double *lane)
{
    double sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

static double sum_row(const float *x, int64_t count)
{
    double lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += (double)x[i + l];
    for (int l = 0; i < count; i++, l++)
        lane[l] += (double)x[i];
    return lanes_total(lane);
}

static double squares(const float *x, double mean, int64_t count)
{
    double lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += ((double)x[i + l] - mean) * ((double)x[i + l] - mean);
    for (int l = 0; i < count; i++, l++)
        lane[l] += ((double)x[i] - mean) * ((double)x[i] - mean);
    return lanes_total(lane);
}

/* Inlined where it is known which of gamma and beta there are. */
VEC_INLINE void normalize_by(const float *x, float mean, float rest, float inverse,
                             const float *gamma, const float *beta, float *restrict y,
                             int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = ((x[i] - mean) - rest) * inverse * (gamma ? gamma[i] : 1) + (beta ? beta[i] : 0);
}

static void normalize(const float *x, double mean, float inverse, const float *gamma,
                      const float *beta, float *y, int64_t count)
{
    const float high = (float)mean, low = (float)(mean - (double)high);
    if (gamma && beta)
        normalize_by(x, high, low, inverse, gamma, beta, y, count);
    else if (gamma)
        normalize_by(x, high, low, inverse, gamma, NULL, y, count);
    else if (beta)
        normalize_by(x, high, low, inverse, NULL, beta, y, count);
    else
        normalize_by(x, high, low, inverse, NULL, NULL, y, count);
}

VEC_INLINE void add_gradient(const float *x, const float *dy, const float *gamma, float mean,
                             int64_t i, double *sum, double *product)
{
    double g = gamma ? (double)dy[i] * (double)gamma[i] : (double)dy[i];
    *sum += g;
    *product += g * ((double)x[i] - (double)mean);
}

VEC_INLINE void gradient_sums_by(const float *x, const float *dy, const float *gamma, float mean,
                                 int64_t count, double *sums)
{
    double sum[LANES] = {0}, product[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++)
            add_gradient(x, dy, gamma, mean, i + l, &sum[l], &product[l]);
    for (int l = 0; i < count; i++, l++)
        add_gradient(x, dy, gamma, mean, i, &sum[l], &product[l]);
    sums[0] = lanes_total(sum);
    sums[1] = lanes_total(product);
}

static void gradient_sums(const float *x, const float *dy, const float *gamma, float mean,
                          int64_t count, double sums[2])
{
    if (gamma)
        gradient_sums_by(x, dy, gamma, mean, count, sums);
    else
        gradient_sums_by(x, dy, NULL, mean, count, sums);
}

static void gradient(const float *x, const float *dy, const float *gamma, float mean, float inverse,
                     float shift, float slope, float *restrict dx, int64_t count)
{
    if (gamma)
        for (int64_t i = 0; i < count; i++)
            dx[i] = inverse * ((dy[i] * gamma[i] - shift) - (x[i] - mean) * slope);
    else
        for (int64_t i = 0; i < count; i++)
            dx[i] = inverse * ((dy[i] - shift) - (x[i] - mean) * slope);
}

static void add_columns(const float *restrict x, const float *restrict dy, float mean,
                        float inverse, double *restrict dgamma, double *restrict dbeta,
                        int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        dbeta[i] += (double)dy[i];
        dgamma[i] += (double)dy[i] * (((double)x[i] - (double)mean) * (double)inverse);
    }
}

const layer_norm_kernels ISA(cpu_layer_norm_kernels) = {
    .sum = sum_row,
    .squares = squares,
    .normalize = normalize,
    .gradient_sums = gradient_sums,
    .gradient = gradient,
    .add_columns = add_columns,
};
