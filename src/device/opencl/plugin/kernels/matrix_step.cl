#include "device/opencl/plugin/kernels/common.h"

/* Muon's step on a weight [rows][columns]. X has the fewer of the two as rows. */
#pragma OPENCL FP_CONTRACT OFF

#include "device/opencl/plugin/kernels/shared.h"

#include "device/opencl/plugin/kernels/gradient.h"

#include "device/rules/matrix_step.h"

/* Where element i of the weight is in X. */
static inline long in_x(long i, long rows, long columns)
{
    return rows > columns ? i % columns * rows + i / columns : i;
}

/* The momentum, X, and partials[group]: the sum of the squares of `piece` elements. */
KERNEL(matrix_directions, WORK_ITEMS)
(GRADIENT, OUT(float, m), OUT(float, x), const long rows, const long columns, const long piece,
 const float momentum, const int nesterov, OUT(sum2, partials))
{
    local sum2 shared[WORK_ITEMS];
    if (IS_NOT_ITS_STEP)
        return;
    BEGIN;
    AT(m);
    AT(x);
    AT(partials);
    const long begin = (long)get_group_id(0) * piece, end = min(begin + piece, rows * columns);
    sum2 sum = sum2_of(0.0f);
    for (long i = begin + get_local_id(0); i < end; i += WORK_ITEMS) {
        float weight = w[i];
        const float gradient = clipped(&constants, &weight, g[i]);
        m[i] = rule_matrix_momentum(m[i], gradient, momentum);
        const float direction = rule_matrix_direction(m[i], gradient, momentum, nesterov);
        x[in_x(i, rows, columns)] = direction;
        sum = sum2_plus(sum, direction * direction);
    }
    sum = group_sum2(sum2_settled(sum), shared);
    if (get_local_id(0) == 0)
        partials[get_group_id(0)] = sum;
}

KERNEL(matrix_norm, WORK_ITEMS)
(IN(sum2, partials), const long groups, OUT(float, norm), const long steps, const ulong iteration)
{
    if (IS_NOT_ITS_STEP)
        return;
    AT(partials);
    AT(norm);
    if (get_local_id(0) != 0)
        return;
    sum2 sum = sum2_of(0.0f);
    for (long i = 0; i < groups; i++)
        sum = sum2_add(sum, partials[i]);
    *norm = sqrt(sum2_value(sum));
}

KERNEL(matrix_scale, WORK_ITEMS)
(OUT(float, x), const long count, IN(float, norm), const long steps, const ulong iteration)
{
    if (IS_NOT_ITS_STEP)
        return;
    AT(x);
    AT(norm);
    for (EACH(i, count))
        x[i] /= *norm + MATRIX_STEP_EPSILON;
}

/* y = keep kept + factor a b */
KERNEL(matrix_product, WORK_ITEMS)
(IN(float, a), IN(float, b), IN(float, kept), OUT(float, y), const long rows, const long columns,
 const long depth, const long b_depth, const long b_column, const float factor, const float keep,
 const long steps, const ulong iteration)
{
    if (IS_NOT_ITS_STEP)
        return;
    AT(a);
    AT(b);
    AT(kept);
    AT(y);
    for (EACH(i, rows * columns)) {
        const long row = i / columns * depth, column = i % columns * b_column;
        sum2 sum = sum2_of(0.0f);
        for (long k = 0; k < depth; k++)
            sum = sum2_plus(sum, a[row + k] * b[k * b_depth + column]);
        const float product = factor * sum2_value(sum2_settled(sum));
        y[i] = kept ? keep * kept[i] + product : product;
    }
}

KERNEL(matrix_step, WORK_ITEMS)
(GRADIENT, IN(float, x), const long rows, const long columns, const float root, const float share)
{
    if (IS_NOT_ITS_STEP)
        return;
    BEGIN;
    AT(x);
    for (EACH(i, rows * columns)) {
        float weight = w[i];
        (void)clipped(&constants, &weight, g[i]);
        w[i] = rule_matrix_step(weight, x[in_x(i, rows, columns)], learning_rate, root, share);
    }
}
