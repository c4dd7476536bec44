#include "device/opencl/plugin/kernels/common.h"

/* Losses and metrics over rows by the rules of device/rules. Each lane of a row has a
   partial sum of its value; the group adds all. */
#include "device/opencl/plugin/kernels/shared.h"
#include "device/opencl/plugin/kernels/row_rules.h"

#include "device/rules/losses.h"
#include "device/rules/metrics.h"

/* ---- the step's sums ------------------------------------------------------------------------ */

/* How rows become a sum of the step: RESULT_LOSS or a metric's (shared.h). Of a loss that is a term
   of the step's, loss_share is its share, and `own` the metric that is this loss alone (-1: none).
   share_high + share_low is 1 / rows, and scale_high + scale_low batch / rows. One group writes to
   `results` itself; of several each writes its sum to partials[group], and rows_reduce adds those. */
#define SUMS                                                                              \
    const int slot, const int term, const int own, const float loss_share,                \
        OUT(sum2, partials), OUT(float, results), const float share_high,                 \
        const float share_low, const float scale_high, const float scale_low
#define ADD_SUM(sum)                                                         \
    add_sum(sum, slot, term, own, loss_share, partials, results,             \
            (sum2)(share_high, share_low), (sum2)(scale_high, scale_low))

static inline void write_result(sum2 sum, int slot, int term, int own, float weight,
                                global float *results, sum2 share, sum2 scale)
{
    global sum2 *sums = (global sum2 *)results;
    if (term) { /* the sums are 0 when a step begins */
        if (own >= 0)
            sums[RESULT_METRICS + own] = sum2_times(sum, scale);
        sum = sum2_times(sum, (sum2)(weight, 0.0f));
        sums[RESULT_LOSS] = sum2_add(sums[RESULT_LOSS], sum2_times(sum, scale));
        sums[RESULT_MEAN] = sum2_add(sums[RESULT_MEAN], sum2_times(sum, share));
        return;
    }
    sums[slot] = sum2_times(sum, scale);
    if (slot == RESULT_LOSS)
        sums[RESULT_MEAN] = sum2_times(sum, share);
}

static inline void add_sum(sum2 sum, int slot, int term, int own, float weight,
                           global sum2 *partials, global float *results, sum2 share, sum2 scale)
{
    if (get_local_id(0) != 0)
        return;
    if (partials)
        partials[get_group_id(0)] = sum;
    else
        write_result(sum, slot, term, own, weight, results, share, scale);
}

/* Run by one work-group. */
KERNEL(rows_reduce, WORK_ITEMS)(const long partial_count, SUMS)
{
    local sum2 shared[WORK_ITEMS];
    AT(partials);
    AT(results);
    sum2 sum = sum2_of(0.0f);
    for (long k = get_local_id(0); k < partial_count; k += WORK_ITEMS)
        sum = sum2_add(sum, partials[k]);
    sum = group_sum2(sum, shared);
    if (get_local_id(0) == 0)
        write_result(sum, slot, term, own, loss_share, results, (sum2)(share_high, share_low),
                     (sum2)(scale_high, scale_low));
}

/* ---- losses and metrics ---------------------------------------------------------------------
   A kernel for each: no barrier stands in a branch, which compilers for CPUs take minutes for.

   output [rows][n], target [rows][targets]. A loss takes the weight of each sample (NULL: 1), which
   has sample_rows rows, and writes the gradient [rows][n] (NULL: not wanted) and `activated`,
   activation(output) (NULL: there is none). */
#define MATRICES                                                                           \
    IN(float, output), IN(float, target), const long rows, const long n, const long targets, \
        const int lanes

/* The numbers of the options. */
#define REALS const float real0, const float real1, const float real2
#define TAKE_REALS(r)     \
    (r).reals[0] = real0; \
    (r).reals[1] = real1; \
    (r).reals[2] = real2

#define LOSS_KERNEL(name, rule)                                                                 \
    KERNEL(name, WORK_ITEMS)                                                                    \
    (MATRICES, IN(float, weight), OUT(float, gradient), OUT(float, activated),                  \
     const long sample_rows, const int activation, const float factor, REALS, SUMS)             \
    {                                                                                           \
        EXCHANGE(exchange);                                                                     \
        local sum2 shared[WORK_ITEMS];                                                          \
        AT(output);                                                                             \
        AT(target);                                                                             \
        AT(weight);                                                                             \
        AT(gradient);                                                                           \
        AT(activated);                                                                          \
        AT(partials);                                                                           \
        AT(results);                                                                            \
        sum2 sum = sum2_of(0.0f);                                                               \
        for (ROUNDS(first, rows, lanes)) {                                                      \
            long row = first + get_local_id(0) / lanes;                                         \
            row_view r = view_of(exchange, row, rows, n, lanes);                                \
            float counts = weight && row < rows ? factor * weight[row / sample_rows] : factor;  \
            TAKE_REALS(r);                                                                      \
            r.output = output + row * n;                                                        \
            r.target = target + row * targets;                                                  \
            r.gradient = gradient ? gradient + row * n : gradient;                              \
            r.activated = activated ? activated + row * n : activated;                          \
            r.activation = activation;                                                          \
            r.share = counts * share_high * loss_share;                                         \
            sum = sum2_add(sum, sum2_of_number((row_number)counts * rule(&r)));                 \
        }                                                                                       \
        sum = group_sum2(sum, shared);                                                          \
        ADD_SUM(sum);                                                                           \
    }
#define LOSS(id, name, class_name, other_name, targets, options, rule) \
    LOSS_KERNEL(loss_##id, loss_##rule)
#define LOSS_WITH_LOGITS(id, name, class_name, other_name, targets, options, rule, ...) \
    LOSS_KERNEL(loss_##id, loss_##rule)                                                 \
    LOSS_KERNEL(loss_##id##_logits, loss_##rule##_logits)
#include "model/losses.def"

#define SUM(id, rule)                                                          \
    KERNEL(sum_##id, WORK_ITEMS)                                               \
    (MATRICES, IN(float, weight), const long sample_rows, REALS, const long k, SUMS) \
    {                                                                          \
        EXCHANGE(exchange);                                                    \
        local sum2 shared[WORK_ITEMS];                                         \
        AT(output);                                                            \
        AT(target);                                                            \
        AT(weight);                                                            \
        AT(partials);                                                          \
        AT(results);                                                           \
        sum2 sum = sum2_of(0.0f);                                              \
        for (ROUNDS(first, rows, lanes)) {                                     \
            long row = first + get_local_id(0) / lanes;                        \
            row_view r = view_of(exchange, row, rows, n, lanes);               \
            float counts = weight && row < rows ? weight[row / sample_rows] : 1.0f; \
            TAKE_REALS(r);                                                     \
            r.output = output + row * n;                                       \
            r.target = target + row * targets;                                 \
            sum = sum2_add(sum, sum2_times(metric_##rule(&r, k), sum2_of(counts))); \
        }                                                                      \
        sum = group_sum2(sum, shared);                                         \
        ADD_SUM(sum);                                                          \
    }
#include "model/metrics.def"
