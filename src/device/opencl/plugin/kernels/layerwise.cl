#include "device/opencl/plugin/kernels/common.h"

#pragma OPENCL FP_CONTRACT OFF

#include "device/opencl/plugin/kernels/shared.h"

#define rule_sqrt(a) sqrt(a)
#include "device/rules/layerwise.h"

/* partials[group], partials[groups + group]: sums of squares of `piece` weights and of their directions.
   steps: of an update. */
KERNEL(layerwise_sums, WORK_ITEMS)
(IN(float, w), IN(float, m), IN(float, v), const long count, const long piece, const float epsilon,
 const float share_1, const float share_2, OUT(sum2, partials))
{
    local sum2 shared[WORK_ITEMS];
    AT(w);
    AT(m);
    AT(v);
    AT(partials);
    const long begin = (long)get_group_id(0) * piece, end = min(begin + piece, count);
    sum2 weights = sum2_of(0.0f), directions = sum2_of(0.0f);
    for (long i = begin + get_local_id(0); i < end; i += WORK_ITEMS) {
        const float u = rule_layerwise(m[i], v[i], share_1, share_2, epsilon);
        weights = sum2_plus(weights, w[i] * w[i]);
        directions = sum2_plus(directions, u * u);
    }
    weights = group_sum2(sum2_settled(weights), shared);
    FENCE;
    directions = group_sum2(sum2_settled(directions), shared);
    if (get_local_id(0) != 0)
        return;
    partials[get_group_id(0)] = weights;
    partials[get_num_groups(0) + get_group_id(0)] = directions;
}

KERNEL(layerwise, WORK_ITEMS)
(OUT(float, w), IN(float, m), IN(float, v), const long count, const float epsilon,
 IN(sum2, partials), const long groups, const float learning_rate, const float share_1,
 const float share_2, const long steps, const ulong iteration)
{
    local float rate[1];
    AT(w);
    AT(m);
    AT(v);
    AT(partials);
    if (steps > 1 && iteration % (ulong)steps != (ulong)(steps - 1))
        return;
    if (get_local_id(0) == 0) {
        sum2 weights = sum2_of(0.0f), directions = sum2_of(0.0f);
        for (long i = 0; i < groups; i++) {
            weights = sum2_add(weights, partials[i]);
            directions = sum2_add(directions, partials[groups + i]);
        }
        *rate = rule_layerwise_ratio(sqrt(sum2_value(weights)), sqrt(sum2_value(directions))) *
                learning_rate;
    }
    FENCE;
    for (EACH(i, count))
        w[i] -= *rate * rule_layerwise(m[i], v[i], share_1, share_2, epsilon);
}
