#include "device/opencl/plugin/kernels/common.h"

/* Adafactor's step on a weight [outer][rows][columns], which a pass after the other reads, with its
   gradient; only the last one writes it. */
#pragma OPENCL FP_CONTRACT OFF

#include "device/opencl/plugin/kernels/shared.h"

#include "device/opencl/plugin/kernels/gradient.h"

#include "device/rules/factored.h"

/* A group has a row. */
KERNEL(factored_rows, WORK_ITEMS)
(GRADIENT, OUT(float, r), const long columns, const float epsilon_1)
{
    local sum2 shared[WORK_ITEMS];
    if (IS_NOT_ITS_STEP)
        return;
    BEGIN;
    AT(r);
    const long row = get_group_id(0);
    sum2 sum = sum2_of(0.0f);
    for (long i = row * columns + get_local_id(0); i < (row + 1) * columns; i += WORK_ITEMS) {
        float weight = w[i];
        sum = sum2_plus(sum, rule_factored_square(clipped(&constants, &weight, g[i]), epsilon_1));
    }
    sum = group_sum2(sum2_settled(sum), shared);
    if (get_local_id(0) == 0)
        r[row] = rule_factored_mean(gradient_alpha, r[row], sum2_value(sum) / columns);
}

/* A work-item has a column. */
KERNEL(factored_columns, WORK_ITEMS)
(GRADIENT, OUT(float, c), const long outer, const long rows, const long columns,
 const float epsilon_1)
{
    if (IS_NOT_ITS_STEP)
        return;
    BEGIN;
    AT(c);
    for (EACH(i, outer * columns)) {
        const long first = i / columns * rows * columns + i % columns;
        sum2 sum = sum2_of(0.0f);
        for (long k = 0; k < rows; k++) {
            float weight = w[first + k * columns];
            const float gradient = clipped(&constants, &weight, g[first + k * columns]);
            sum = sum2_plus(sum, rule_factored_square(gradient, epsilon_1));
        }
        c[i] = rule_factored_mean(gradient_alpha, c[i], sum2_value(sum2_settled(sum)) / rows);
    }
}

/* mean[group]: of r over the rows */
KERNEL(factored_means, WORK_ITEMS)(IN(float, r), const long rows, OUT(float, mean))
{
    local sum2 shared[WORK_ITEMS];
    AT(r);
    AT(mean);
    const long first = get_group_id(0) * rows;
    sum2 sum = sum2_of(0.0f);
    for (long i = get_local_id(0); i < rows; i += WORK_ITEMS)
        sum = sum2_plus(sum, r[first + i]);
    sum = group_sum2(sum2_settled(sum), shared);
    if (get_local_id(0) == 0)
        mean[get_group_id(0)] = sum2_value(sum) / rows;
}

/* The velocities of a weight with rows. */
KERNEL(factored_velocities, WORK_ITEMS)
(IN(float, r), IN(float, c), IN(float, mean), OUT(float, v), const long rows, const long columns,
 const long count, const long steps, const ulong iteration)
{
    if (IS_NOT_ITS_STEP)
        return;
    AT(r);
    AT(c);
    AT(mean);
    AT(v);
    for (EACH(i, count)) {
        const long row = i / columns, outer = row / rows;
        v[i] = rule_factored_velocity(r[row], mean[outer], c[outer * columns + i % columns]);
    }
}

/* Those of a vector. */
KERNEL(factored_vector, WORK_ITEMS)
(GRADIENT, OUT(float, v), const long count, const float epsilon_1)
{
    if (IS_NOT_ITS_STEP)
        return;
    BEGIN;
    AT(v);
    for (EACH(i, count)) {
        float weight = w[i];
        const float gradient = clipped(&constants, &weight, g[i]);
        v[i] = rule_factored_mean(gradient_alpha, v[i], rule_factored_square(gradient, epsilon_1));
    }
}

/* partials[group], partials[groups + group]: sums of squares of `piece` weights and of their
   directions. */
KERNEL(factored_directions, WORK_ITEMS)
(GRADIENT, IN(float, v), const long count, const long piece, OUT(sum2, partials))
{
    local sum2 shared[WORK_ITEMS];
    if (IS_NOT_ITS_STEP)
        return;
    BEGIN;
    AT(v);
    AT(partials);
    const long begin = (long)get_group_id(0) * piece, end = min(begin + piece, count);
    sum2 weights = sum2_of(0.0f), directions = sum2_of(0.0f);
    for (long i = begin + get_local_id(0); i < end; i += WORK_ITEMS) {
        float weight = w[i];
        const float gradient = clipped(&constants, &weight, g[i]);
        const float u = rule_factored_direction(gradient, v[i]);
        weights = sum2_plus(weights, weight * weight);
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

/* rate[0]: of all directions */
KERNEL(factored_rate, WORK_ITEMS)
(IN(sum2, partials), const long groups, const long count, const float rho, const float epsilon_2,
 const float clip_threshold, OUT(float, rate))
{
    AT(partials);
    AT(rate);
    if (get_local_id(0) != 0)
        return;
    sum2 weights = sum2_of(0.0f), directions = sum2_of(0.0f);
    for (long i = 0; i < groups; i++) {
        weights = sum2_add(weights, partials[i]);
        directions = sum2_add(directions, partials[groups + i]);
    }
    *rate = rule_factored_rate(rho, epsilon_2, sqrt(sum2_value(weights) / count),
                               sqrt(sum2_value(directions) / count), clip_threshold);
}

/* The sums are a kernel of their own: with them in this one, PoCL 3.1 wrote beside the weight. */
KERNEL(factored_step, WORK_ITEMS)
(GRADIENT, IN(float, v), const long count, IN(float, rate))
{
    if (IS_NOT_ITS_STEP)
        return;
    BEGIN;
    AT(v);
    AT(rate);
    for (EACH(i, count)) {
        float weight = w[i];
        const float gradient = clipped(&constants, &weight, g[i]);
        w[i] = weight - *rate * rule_factored_direction(gradient, v[i]);
    }
}
