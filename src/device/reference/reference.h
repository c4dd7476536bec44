/* The reference's run functions, one per operation: simple loops on one thread, with sums in
   double. They define the correct results; shapes and formulas are in step/ops.def. */
#ifndef DEVICE_REFERENCE_REFERENCE_H
#define DEVICE_REFERENCE_REFERENCE_H

#include "device/device.h"
#include "device/host/host.h"

#define OP(id, name, ...) cornu_status reference_##name(const op_run *r);
#include "step/ops.def"

/* values[i] of an optional input; `missing` where it is absent. */
static inline double or_else(const float *values, int64_t i, double missing)
{
    return values ? (double)values[i] : missing;
}

/* self_test.c: compares a device with the reference. A few operations of small odd sizes, one at a
   time, on a device that has `write` and before any model is bound: products, convolutions both
   directly and by Winograd, reductions, softmax, loss, updates. A difference fails with
   CORNU_DEVICE, and the message has the operation, the value found and the value expected. `name`:
   the device's. */
cornu_status self_test(device *d, const char *name);

#endif
