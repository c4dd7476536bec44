#include "device/opencl/plugin/kernels/common.h"

/* Layer normalisation: each row of n columns by `lanes` work-items side by side (a power of two up
   to WORK_ITEMS), as device/reference/norms.c. share_high + share_low is 1 / n. All
   work-items make the same number of rounds, as they wait for each other. */
#include "device/opencl/plugin/kernels/strips.h"

/* Sum over the lanes of a row, for all of them; `shared`: WORK_ITEMS. */
static inline sum2 lanes_sum(sum2 value, int lanes, local sum2 *shared)
{
    int item = get_local_id(0), lane = item & (lanes - 1);
    FENCE; /* shared may still be read from the call before */
    shared[item] = value;
    for (int half_ = lanes / 2; half_ > 0; half_ /= 2) {
        FENCE;
        if (lane < half_)
            shared[item] = sum2_add(shared[item], shared[item + half_]);
    }
    FENCE;
    return shared[item - lane];
}

/* A group's rows: first, first + 1, ... of which this work-item is lane `lane` of one. */
#define ROUNDS(first)                                                           \
    long first = (long)get_group_id(0) * (WORK_ITEMS / lanes);                  \
    first < rows;                                                               \
    first += (long)get_num_groups(0) * (WORK_ITEMS / lanes)

/* mean, inverse [rows]: NULL where not wanted */
KERNEL(layer_norm_forward, WORK_ITEMS)
(IN(float, x), IN(float, gamma), IN(float, beta), OUT(float, y), OUT(float, mean),
 OUT(float, inverse), const long rows, const long n, const int lanes, const float epsilon,
 const float share_high, const float share_low)
{
    local sum2 shared[WORK_ITEMS];
    AT(x);
    AT(gamma);
    AT(beta);
    AT(y);
    AT(mean);
    AT(inverse);
    const int lane = get_local_id(0) & (lanes - 1);
    const sum2 share = (sum2)(share_high, share_low);
    for (ROUNDS(first)) {
        long row = first + get_local_id(0) / lanes, end = row < rows ? (row + 1) * n : 0;
        sum2 sum = sum2_of(0.0f), squares = sum2_of(0.0f);
        for (long i = row * n + lane; i < end; i += lanes)
            sum = sum2_plus(sum, x[i]);
        sum2 center = sum2_times(lanes_sum(sum2_settled(sum), lanes, shared), share);
        for (long i = row * n + lane; i < end; i += lanes) {
            float d = (x[i] - center.x) - center.y;
            squares = sum2_plus(squares, d * d);
        }
        squares = lanes_sum(sum2_settled(squares), lanes, shared);
        float factor = 1 / sqrt(sum2_value(sum2_times(squares, share)) + epsilon);
        for (long c = lane, i = row * n + lane; i < end; i += lanes, c += lanes)
            y[i] = ((x[i] - center.x) - center.y) * factor * or_else(gamma, c, 1) +
                   or_else(beta, c, 0);
        if (lane == 0 && row < rows && mean)
            mean[row] = center.x;
        if (lane == 0 && row < rows && inverse)
            inverse[row] = factor;
    }
}

/* With h = (x - mean) inverse and g = dy gamma: dx = inverse (g - mean of g - h mean of g h) */
KERNEL(layer_norm_backward, WORK_ITEMS)
(IN(float, x), IN(float, dy), IN(float, gamma), IN(float, mean), IN(float, inverse), OUT(float, dx),
 const long rows, const long n, const int lanes, const float share_high, const float share_low)
{
    local sum2 shared[WORK_ITEMS];
    AT(x);
    AT(dy);
    AT(gamma);
    AT(mean);
    AT(inverse);
    AT(dx);
    const int lane = get_local_id(0) & (lanes - 1);
    const sum2 share = (sum2)(share_high, share_low);
    for (ROUNDS(first)) {
        long row = first + get_local_id(0) / lanes, end = row < rows ? (row + 1) * n : 0;
        float center = row < rows ? mean[row] : 0, factor = row < rows ? inverse[row] : 0;
        sum2 sum = sum2_of(0.0f), product = sum2_of(0.0f);
        for (long c = lane, i = row * n + lane; i < end; i += lanes, c += lanes) {
            float g = dy[i] * or_else(gamma, c, 1);
            sum = sum2_plus(sum, g);
            product = sum2_plus(product, g * ((x[i] - center) * factor));
        }
        sum = sum2_times(lanes_sum(sum2_settled(sum), lanes, shared), share);
        product = sum2_times(lanes_sum(sum2_settled(product), lanes, shared), share);
        for (long c = lane, i = row * n + lane; i < end; i += lanes, c += lanes) {
            float g = dy[i] * or_else(gamma, c, 1), h = (x[i] - center) * factor;
            dx[i] = factor * ((g - sum2_value(sum)) - h * sum2_value(product));
        }
    }
}

/* ---- gamma's and beta's gradients ----------------------------------------------------------- */

/* partials[range][0][column]: sum of dy; [1]: of dy (x - mean) inverse, with each row's own. */
KERNEL(layer_norm_sums, WORK_ITEMS)
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
    for (long row = w.begin; row < w.end; row += w.step) {
        long at = row * columns + w.column;
        dbeta = sum2_plus(dbeta, dy[at]);
        dgamma = sum2_plus(dgamma, dy[at] * ((x[at] - mean[row]) * inverse[row]));
    }
    store_partials(&w, columns, dbeta, dgamma, shared, partials);
}

/* Sums over all `rows` ranges; dgamma, dbeta: NULL if not needed */
KERNEL(layer_norm_gradients, WORK_ITEMS)
(STRIPS, IN(sum2, partials), OUT(float, dgamma), OUT(float, dbeta))
{
    local sum2 shared[WORK_ITEMS];
    AT(partials);
    AT(dgamma);
    AT(dbeta);
    strip_walk w = WALK;
    sum2 of_beta, of_gamma;
    total_of(&w, columns, partials, rows, shared, &of_beta, &of_gamma);
    if (!strip_writes(&w))
        return;
    if (dgamma)
        dgamma[w.column] = sum2_value(of_gamma);
    if (dbeta)
        dbeta[w.column] = sum2_value(of_beta);
}
