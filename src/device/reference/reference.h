/* The reference's run functions, one per operation: obvious loops on one thread, sums in double.
   They define what is right; shapes and formulas are in step/ops.def. */
#ifndef DEVICE_REFERENCE_REFERENCE_H
#define DEVICE_REFERENCE_REFERENCE_H

#include "device/host/host.h"

#define OP(id, name, ...) cornu_status reference_##name(const op_run *r);
#include "step/ops.def"

/* values[i] of an optional input; `missing` where it is absent. */
static inline double or_else(const float *values, int64_t i, double missing)
{
    return values ? (double)values[i] : missing;
}

/* y = act(x), one element (not softmax). */
double reference_activate(activation act, double x);

#endif
