#include "device/opencl/plugin/kernels/common.h"

#pragma OPENCL FP_CONTRACT OFF

#include "device/opencl/plugin/kernels/shared.h"

#include "device/rules/averaging.h"

KERNEL(accumulate, WORK_ITEMS)
(OUT(float, g), OUT(float, sum), const long count, const long steps, const ulong iteration)
{
    AT(g);
    AT(sum);
    const int last = iteration % (ulong)steps == (ulong)(steps - 1);
    for (EACH(i, count)) {
        float own = g[i], all = sum[i];
        rule_accumulate((float)steps, last, &own, &all);
        g[i] = own;
        sum[i] = all;
    }
}

/* steps: of an update; overwrite: updates after which the weights become their averages; 0: never */
KERNEL(average, WORK_ITEMS)
(OUT(float, w), OUT(float, mean), const long count, const float momentum, const long steps,
 const long overwrite, const ulong iteration)
{
    AT(w);
    AT(mean);
    const long update = (long)iteration / steps;
    const float share = update == 0 ? 0 : momentum;
    const int overwrites = overwrite > 0 && (update + 1) % overwrite == 0;
    for (EACH(i, count)) {
        mean[i] = rule_average(share, mean[i], w[i]);
        w[i] = overwrites ? mean[i] : w[i];
    }
}
