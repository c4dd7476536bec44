#include "device/opencl/plugin/kernels/common.h"

/* Batch normalisation over the last dimension. Forward and backward are two launches each: sums over
   ranges of the rows, and the result. share_high + share_low is 1 / rows. */
#include "device/opencl/plugin/kernels/strips.h"

/* partials[range][0][column]: sum of x - x[0][column]; [1]: of its squares. Counted from the first
   row, so that a large mean does not swallow the variance; the squares are exact, so that an odd
   first row does not either. */
KERNEL(batch_norm_sums, WORK_ITEMS)(STRIPS, IN(float, x), OUT(sum2, partials))
{
    local sum2 shared[WORK_ITEMS];
    AT(x);
    AT(partials);
    strip_walk w = WALK;
    sum2 sum = sum2_of(0.0f), squares = sum2_of(0.0f);
    float start = w.active ? x[w.column] : 0;
    for (long row = w.begin; row < w.end; row += w.step) {
        float d = x[row * columns + w.column] - start;
        sum2 square = sum2_product(d, d);
        sum = sum2_plus(sum, d);
        squares = sum2_plus(squares, square.x);
        squares.y += square.y;
    }
    store_partials(&w, columns, sum, squares, shared, partials);
}

static inline void normalize(const strip_walk *w, long columns, global const float *x, sum2 mean,
                             float scale, float beta, global float *y)
{
    for (long row = w->begin; row < w->end; row += w->step) {
        long at = row * columns + w->column;
        y[at] = ((x[at] - mean.x) - mean.y) * scale + beta;
    }
}

KERNEL(batch_norm_forward, WORK_ITEMS)
(STRIPS, IN(float, x), IN(float, gamma), IN(float, beta), OUT(float, y), IN(sum2, partials),
 const long partial_count, OUT(float, mean), OUT(float, inverse), OUT(float, moving_mean),
 OUT(float, moving_variance), const float momentum, const float epsilon, const float share_high,
 const float share_low)
{
    local sum2 shared[WORK_ITEMS];
    AT(x);
    AT(gamma);
    AT(beta);
    AT(y);
    AT(partials);
    AT(mean);
    AT(inverse);
    AT(moving_mean);
    AT(moving_variance);
    strip_walk w = WALK;
    sum2 sum, squares, share = (sum2)(share_high, share_low);
    total_of(&w, columns, partials, partial_count, shared, &sum, &squares);
    if (!w.active)
        return;
    long c = w.column;
    sum2 shift = sum2_times(sum, share), center = sum2_add(sum2_of(x[c]), shift);
    float variance = sum2_value(sum2_add(sum2_times(squares, share), -sum2_times(shift, shift)));
    variance = variance < 0 ? 0 : variance;
    float factor = 1 / sqrt(variance + epsilon);
    if (get_group_id(1) == 0 && strip_writes(&w)) {
        mean[c] = center.x;
        inverse[c] = factor;
        if (moving_mean) {
            moving_mean[c] = moving_mean[c] * momentum + center.x * (1 - momentum);
            moving_variance[c] = moving_variance[c] * momentum + variance * (1 - momentum);
        }
    }
    normalize(&w, columns, x, center, factor * or_else(gamma, c, 1), or_else(beta, c, 0), y);
}

KERNEL(batch_norm_inference, WORK_ITEMS)
(STRIPS, IN(float, x), IN(float, gamma), IN(float, beta), IN(float, moving_mean),
 IN(float, moving_variance), OUT(float, y), const float epsilon)
{
    AT(x);
    AT(gamma);
    AT(beta);
    AT(moving_mean);
    AT(moving_variance);
    AT(y);
    strip_walk w = WALK;
    if (!w.active)
        return;
    long c = w.column;
    float factor = 1 / sqrt(moving_variance[c] + epsilon);
    normalize(&w, columns, x, sum2_of(or_else(moving_mean, c, 0)), factor * or_else(gamma, c, 1),
              or_else(beta, c, 0), y);
}

/* partials[range][0][column]: sum of dy; [1]: of dy (x - mean) inverse. */
KERNEL(batch_norm_backward_sums, WORK_ITEMS)
(STRIPS, IN(float, x), IN(float, dy), IN(float, mean), IN(float, inverse), OUT(sum2, partials))
{
    local sum2 shared[WORK_ITEMS];
    AT(x);
    AT(dy);
    AT(mean);
    AT(inverse);
    AT(partials);
    strip_walk w = WALK;
    sum2 dbeta = sum2_of(0.0f), dgamma = sum2_of(0.0f);
    float center = w.active ? mean[w.column] : 0, factor = w.active ? inverse[w.column] : 0;
    for (long row = w.begin; row < w.end; row += w.step) {
        long at = row * columns + w.column;
        dbeta = sum2_plus(dbeta, dy[at]);
        dgamma = sum2_plus(dgamma, dy[at] * ((x[at] - center) * factor));
    }
    store_partials(&w, columns, dbeta, dgamma, shared, partials);
}

/* dx = gamma inverse (dy - dbeta / rows - h dgamma / rows), h = (x - mean) inverse; dgamma, dbeta:
   NULL where not wanted */
KERNEL(batch_norm_backward, WORK_ITEMS)
(STRIPS, IN(float, x), IN(float, dy), IN(float, gamma), IN(float, mean), IN(float, inverse),
 OUT(float, dx), OUT(float, dgamma), OUT(float, dbeta), IN(sum2, partials),
 const long partial_count, const float share_high, const float share_low)
{
    local sum2 shared[WORK_ITEMS];
    AT(x);
    AT(dy);
    AT(gamma);
    AT(mean);
    AT(inverse);
    AT(dx);
    AT(dgamma);
    AT(dbeta);
    AT(partials);
    strip_walk w = WALK;
    sum2 of_beta, of_gamma, share = (sum2)(share_high, share_low);
    total_of(&w, columns, partials, partial_count, shared, &of_beta, &of_gamma);
    if (!w.active)
        return;
    long c = w.column;
    if (get_group_id(1) == 0 && strip_writes(&w)) {
        if (dgamma)
            dgamma[c] = sum2_value(of_gamma);
        if (dbeta)
            dbeta[c] = sum2_value(of_beta);
    }
    float center = mean[c], factor = inverse[c], scale = or_else(gamma, c, 1) * factor;
    float from_beta = sum2_value(sum2_times(of_beta, share));
    float from_gamma = sum2_value(sum2_times(of_gamma, share)) * factor;
    for (long row = w.begin; row < w.end; row += w.step) {
        long at = row * columns + w.column;
        dx[at] = scale * ((dy[at] - from_beta) - (x[at] - center) * from_gamma);
    }
}
