#include "device/opencl/plugin/kernels/common.h"

#include "device/opencl/plugin/kernels/shared.h"

#include "device/rules/constraint.h"

/* A work-item has a norm: w is [outer][along][inner], and norms are over the middle. */
KERNEL(constrain, WORK_ITEMS)
(OUT(float, w), const long norms, const long along, const long inner, const int non_neg,
 const float least, const float most, const float rate)
{
    AT(w);
    for (EACH(i, norms)) {
        global float *from = w + i / inner * along * inner + i % inner;
        sum2 sum = sum2_of(0.0f);
        for (long k = 0; k < along; k++)
            sum = sum2_plus(sum, from[k * inner] * from[k * inner]);
        const float norm = sqrt(sum2_value(sum2_settled(sum)));
        const float factor = rule_constrained(norm, least, most, rate);
        for (long k = 0; k < along; k++)
            from[k * inner] = !non_neg              ? from[k * inner] * factor
                              : from[k * inner] < 0 ? 0.0f
                                                    : from[k * inner];
    }
}
