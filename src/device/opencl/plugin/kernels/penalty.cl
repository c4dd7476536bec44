#include "device/opencl/plugin/kernels/common.h"

/* The sums of penalties on weights: what the loss counts, and the squares of penalized gradients. */
#include "device/opencl/plugin/kernels/shared.h"

#include "device/rules/penalty.h"

/* The sum of l1 |w| + l2 w^2 or, with gradients, of the squares of g and its slopes: partials[group]
   of `piece` elements (a multiple of 4) each. */
static inline float penalty_summand(float w, float g, int squares, float l1, float l2)
{
    if (!squares)
        return l1 * fabs(w) + l2 * (w * w);
    const float slope = rule_penalized(l1, l2, w, g);
    return slope * slope;
}

KERNEL(penalty, WORK_ITEMS)
(IN(float, w), IN(float, g), const long count, const long piece, const float l1, const float l2,
 OUT(sum2, partials))
{
    local sum2 shared[WORK_ITEMS];
    AT(w);
    AT(g);
    AT(partials);
    const int squares = g != 0;
    long begin = (long)get_group_id(0) * piece, end = min(begin + piece, count);
    sum2 all = sum2_of(0.0f);
    for (long i = begin + get_local_id(0); i < end; i += WORK_ITEMS)
        all = sum2_plus(all, penalty_summand(w[i], squares ? g[i] : 0, squares, l1, l2));
    all = group_sum2(sum2_settled(all), shared);
    if (get_local_id(0) == 0)
        partials[get_group_id(0)] = all;
}

/* One group: `count` partial sums become one, which the step's loss counts; batch_high + batch_low
   is the batch. */
KERNEL(penalty_reduce, WORK_ITEMS)
(IN(sum2, partials), const long count, OUT(float, results), const float batch_high,
 const float batch_low)
{
    local sum2 shared[WORK_ITEMS];
    AT(partials);
    AT(results);
    global sum2 *sums = (global sum2 *)results;
    sum2 all = sum2_of(0.0f);
    for (long i = get_local_id(0); i < count; i += WORK_ITEMS)
        all = sum2_add(all, partials[i]);
    all = group_sum2(all, shared);
    if (get_local_id(0) != 0)
        return;
    sums[RESULT_LOSS] =
        sum2_add(sums[RESULT_LOSS], sum2_times(all, (sum2)(batch_high, batch_low)));
    sums[RESULT_MEAN] = sum2_add(sums[RESULT_MEAN], all);
}
