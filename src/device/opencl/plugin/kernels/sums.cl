#include "device/opencl/plugin/kernels/common.h"

/* Sums of columns, and of squares. */
#include "device/opencl/plugin/kernels/strips.h"

/* Column sums of x [rows][columns]. A single range of rows writes sums[columns]; else `sums` is
   NULL, and the ranges write partials[range][columns]. */
KERNEL(column_sums, WORK_ITEMS)(STRIPS, IN(float, x), OUT(sum2, partials), OUT(float, sums))
{
    local sum2 shared[WORK_ITEMS];
    AT(x);
    AT(partials);
    AT(sums);
    strip_walk w = WALK;
    sum2 sum = sum2_of(0.0f);
    for (long row = w.begin; row < w.end; row += w.step)
        sum = sum2_plus(sum, x[row * columns + w.column]);
    sum = strip_sum(&w, sum2_settled(sum), shared);
    if (!strip_writes(&w))
        return;
    if (sums)
        sums[w.column] = sum2_value(sum);
    else
        partials[(long)get_group_id(1) * columns + w.column] = sum;
}

/* `rows` partial sums become one: as floats (sums) or, where that is NULL, as they are (totals). */
KERNEL(column_sums_reduce, WORK_ITEMS)
(STRIPS, IN(sum2, partials), OUT(float, sums), OUT(sum2, totals))
{
    local sum2 shared[WORK_ITEMS];
    AT(partials);
    AT(sums);
    AT(totals);
    strip_walk w = WALK;
    sum2 sum = sum2_of(0.0f);
    for (long i = w.begin; i < w.end; i += w.step)
        sum = sum2_add(sum, partials[i * columns + w.column]);
    sum = strip_sum(&w, sum, shared);
    if (!strip_writes(&w))
        return;
    if (sums)
        sums[w.column] = sum2_value(sum);
    else
        totals[w.column] = sum;
}

/* ---- SQUARE_SUM ---------------------------------------------------------------------------- */

/* Each group sums `piece` elements (a multiple of 4): a single group writes *sum; else `sum` is
   NULL, and the groups write partials[group]. */
KERNEL(square_sum, WORK_ITEMS)
(IN(float, x), const long count, const long piece, OUT(sum2, partials), OUT(float, sum))
{
    local sum2 shared[WORK_ITEMS];
    AT(x);
    AT(partials);
    AT(sum);
    long begin = (long)get_group_id(0) * piece, end = min(begin + piece, count);
    sum2 all = sum2_of(0.0f);
    for (long i = begin / 4 + get_local_id(0); i < FOURS(end); i += WORK_ITEMS) {
        float4 v = load4(x, i, end);
        all = sum2_plus(all, (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w));
    }
    all = group_sum2(sum2_settled(all), shared);
    if (get_local_id(0) != 0)
        return;
    if (sum)
        *sum = sum2_value(all);
    else
        partials[get_group_id(0)] = all;
}

/* One group: `count` partial sums become one. */
KERNEL(square_sum_reduce, WORK_ITEMS)(IN(sum2, partials), const long count, OUT(float, sum))
{
    local sum2 shared[WORK_ITEMS];
    AT(partials);
    AT(sum);
    sum2 all = sum2_of(0.0f);
    for (long i = get_local_id(0); i < count; i += WORK_ITEMS)
        all = sum2_add(all, partials[i]);
    all = group_sum2(all, shared);
    if (get_local_id(0) == 0)
        *sum = sum2_value(all);
}
