/* Microkernels of normalization. */
#include "device/cpu/elementwise/elementwise_kernels.h"
#include "device/cpu/vec.h"

/* ---- batch normalization ----------------------------------------------------------------- */

/* Batch normalization's loops over rows, which GCC vectorizes; sums in doubles. A strip of channels
   goes through some rows of the block, so that its sums and factors stay in registers. */

enum { STRIP_MOST = 2 * VEC_FLOATS };

/* Rows of more channels than a strip are read with gaps, which the hardware foresees late: strips
   go through few of them before the next strip does, and prefetch. */
enum { ROWS_TOGETHER = 8, ROWS_AHEAD = 24 };

/* The strip of a later row; `ahead` and `strip` are constant where it is inlined. */
VEC_INLINE void prefetch_strip(const float *p, const batch_norm_block *b, int strip, bool ahead)
{
    if (!ahead)
        return;
    VEC_PREFETCH(p + ROWS_AHEAD * b->channels);
    if (strip > VEC_FLOATS)
        VEC_PREFETCH(p + ROWS_AHEAD * b->channels + VEC_FLOATS);
}

/* `strip` is constant where a function below is inlined: the arrays are registers. */
VEC_INLINE void add_strip(const batch_norm_block *b, int64_t at, int strip, bool ahead)
{
    double sum[STRIP_MOST];
    memcpy(sum, b->sum + at, (size_t)strip * sizeof *sum);
    const float *x = b->x + at;
    for (int64_t r = 0; r < b->rows; r++, x += b->channels) {
        prefetch_strip(x, b, strip, ahead);
        for (int i = 0; i < strip; i++)
            sum[i] += (double)x[i];
    }
    memcpy(b->sum + at, sum, (size_t)strip * sizeof *sum);
}

VEC_INLINE void add_moments_strip(const batch_norm_block *b, int64_t at, int strip, bool ahead)
{
    double sum[STRIP_MOST], squares[STRIP_MOST], start[STRIP_MOST];
    memcpy(sum, b->sum + at, (size_t)strip * sizeof *sum);
    memcpy(squares, b->second + at, (size_t)strip * sizeof *squares);
    for (int i = 0; i < strip; i++)
        start[i] = (double)b->mean[at + i];
    const float *x = b->x + at;
    for (int64_t r = 0; r < b->rows; r++, x += b->channels) {
        prefetch_strip(x, b, strip, ahead);
        for (int i = 0; i < strip; i++) {
            double d = (double)x[i] - start[i];
            sum[i] += d;
            squares[i] += d * d;
        }
    }
    memcpy(b->sum + at, sum, (size_t)strip * sizeof *sum);
    memcpy(b->second + at, squares, (size_t)strip * sizeof *squares);
}

VEC_INLINE void add_gradients_strip(const batch_norm_block *b, int64_t at, int strip, bool ahead)
{
    double sum[STRIP_MOST], product[STRIP_MOST], mean[STRIP_MOST];
    memcpy(sum, b->sum + at, (size_t)strip * sizeof *sum);
    memcpy(product, b->second + at, (size_t)strip * sizeof *product);
    for (int i = 0; i < strip; i++)
        mean[i] = (double)b->mean[at + i];
    const float *x = b->x + at, *dy = b->dy + at;
    for (int64_t r = 0; r < b->rows; r++, x += b->channels, dy += b->channels) {
        prefetch_strip(x, b, strip, ahead);
        prefetch_strip(dy, b, strip, ahead);
        for (int i = 0; i < strip; i++) {
            sum[i] += (double)dy[i];
            product[i] += (double)dy[i] * ((double)x[i] - mean[i]);
        }
    }
    memcpy(b->sum + at, sum, (size_t)strip * sizeof *sum);
    memcpy(b->second + at, product, (size_t)strip * sizeof *product);
}

VEC_INLINE void normalize_strip(const batch_norm_block *b, int64_t at, int strip, bool ahead)
{
    float mean[STRIP_MOST], scale[STRIP_MOST], shift[STRIP_MOST];
    memcpy(mean, b->mean + at, (size_t)strip * sizeof *mean);
    memcpy(scale, b->scale + at, (size_t)strip * sizeof *scale);
    memcpy(shift, b->shift + at, (size_t)strip * sizeof *shift);
    const float *x = b->x + at;
    float *restrict y = b->out + at;
    for (int64_t r = 0; r < b->rows; r++, x += b->channels, y += b->channels) {
        prefetch_strip(x, b, strip, ahead);
        for (int i = 0; i < strip; i++)
            y[i] = (x[i] - mean[i]) * scale[i] + shift[i];
    }
}

VEC_INLINE void gradient_strip(const batch_norm_block *b, int64_t at, int strip, bool ahead)
{
    float mean[STRIP_MOST], scale[STRIP_MOST], shift[STRIP_MOST], slope[STRIP_MOST];
    memcpy(mean, b->mean + at, (size_t)strip * sizeof *mean);
    memcpy(scale, b->scale + at, (size_t)strip * sizeof *scale);
    memcpy(shift, b->shift + at, (size_t)strip * sizeof *shift);
    memcpy(slope, b->slope + at, (size_t)strip * sizeof *slope);
    const float *x = b->x + at, *dy = b->dy + at;
    float *restrict dx = b->out + at;
    for (int64_t r = 0; r < b->rows; r++, x += b->channels, dy += b->channels, dx += b->channels) {
        prefetch_strip(x, b, strip, ahead);
        prefetch_strip(dy, b, strip, ahead);
        for (int i = 0; i < strip; i++)
            dx[i] = dy[i] * scale[i] - shift[i] - (x[i] - mean[i]) * slope[i];
    }
}

/* Where channels are more than a strip, a row is written at a time: memory, and not the loads of
   factors, is the limit, and it is read and written in order. */
VEC_INLINE void normalize_vector(const batch_norm_block *b, int64_t row, int64_t c, int64_t count)
{
    const int64_t at = row * b->channels + c;
    const vec d = vec_load_count(b->x + at, count) - vec_load_count(b->mean + c, count);
    vec_store_count(b->out + at,
                    d * vec_load_count(b->scale + c, count) + vec_load_count(b->shift + c, count),
                    count);
}

VEC_INLINE void gradient_vector(const batch_norm_block *b, int64_t row, int64_t c, int64_t count)
{
    const int64_t at = row * b->channels + c;
    const vec d = vec_load_count(b->x + at, count) - vec_load_count(b->mean + c, count);
    const vec dy = vec_load_count(b->dy + at, count);
    vec_store_count(b->out + at,
                    dy * vec_load_count(b->scale + c, count) - vec_load_count(b->shift + c, count) -
                        d * vec_load_count(b->slope + c, count),
                    count);
}

#define BY_ROWS(name)                                       \
    VEC_INLINE void name##_rows(const batch_norm_block *b)  \
    {                                                       \
        const int64_t rest = b->channels % VEC_FLOATS;      \
        const int64_t whole = b->channels - rest;           \
        for (int64_t row = 0; row < b->rows; row++) {       \
            for (int64_t c = 0; c < whole; c += VEC_FLOATS) \
                name##_vector(b, row, c, VEC_FLOATS);       \
            if (rest)                                       \
                name##_vector(b, row, whole, rest);         \
        }                                                   \
    }

/* add() from add_strip(), and so on. */
#define BY_STRIPS(name)                                                  \
    VEC_INLINE void name##_strips(const batch_norm_block *b, bool ahead) \
    {                                                                    \
        int64_t at = 0;                                                  \
        for (; at + STRIP_MOST <= b->channels; at += STRIP_MOST)         \
            name##_strip(b, at, STRIP_MOST, ahead);                      \
        for (; at + VEC_FLOATS <= b->channels; at += VEC_FLOATS)         \
            name##_strip(b, at, VEC_FLOATS, ahead);                      \
        if (at < b->channels)                                            \
            name##_strip(b, at, (int)(b->channels - at), ahead);         \
    }
#define SUMS(name)                                                         \
    BY_STRIPS(name)                                                        \
    static void name##_together(const batch_norm_block *block)             \
    {                                                                      \
        batch_norm_block b = *block;                                       \
        for (int64_t row = 0; row < block->rows; row += ROWS_TOGETHER) {   \
            const int64_t left = block->rows - row, at = row * b.channels; \
            b.rows = left < ROWS_TOGETHER ? left : ROWS_TOGETHER;          \
            b.x = block->x + at;                                           \
            b.dy = block->dy ? block->dy + at : NULL;                      \
            name##_strips(&b, true);                                       \
        }                                                                  \
    }                                                                      \
    static void name(const batch_norm_block *block)                        \
    {                                                                      \
        const batch_norm_block b = *block;                                 \
        if (b.channels > STRIP_MOST)                                       \
            name##_together(block);                                        \
        else                                                               \
            name##_strips(&b, false);                                      \
    }
#define WRITES(name)                                \
    BY_STRIPS(name)                                 \
    BY_ROWS(name)                                   \
    static void name(const batch_norm_block *block) \
    {                                               \
        const batch_norm_block b = *block;          \
        if (b.channels > STRIP_MOST)                \
            name##_rows(&b);                        \
        else                                        \
            name##_strips(&b, false);               \
    }
SUMS(add)
SUMS(add_moments)
SUMS(add_gradients)
WRITES(normalize)
WRITES(gradient)

const batch_norm_kernels ISA(cpu_batch_norm_kernels) = {
    .add = add,
    .add_moments = add_moments,
    .add_gradients = add_gradients,
    .normalize = normalize,
    .gradient = gradient,
};

/* ---- layer normalization ----------------------------------------------------------------- */

/* Layer normalization's loops over a row, which GCC vectorizes; sums in doubles, in LANES running
   sums, so that the additions of one do not wait for those of another. */

enum { LANES = 2 * VEC_FLOATS };

/* As a binary tree: additions one after the other would take longer than a row of 64. */
VEC_INLINE double lanes_total(double *lane)
{
    UNROLL(8)
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
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

static void normalize_row(const float *x, double mean, float inverse, const float *gamma,
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

static void gradient_row(const float *x, const float *dy, const float *gamma, float mean,
                         float inverse, float shift, float slope, float *restrict dx, int64_t count)
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
    .normalize = normalize_row,
    .gradient_sums = gradient_sums,
    .gradient = gradient_row,
    .add_columns = add_columns,
};
