/* Does a device compute what the reference does? */
#ifndef DEVICE_REFERENCE_SELF_TEST_H
#define DEVICE_REFERENCE_SELF_TEST_H

#include "device/device.h"

/* A few operations of small odd sizes, one at a time, on a device that has `write` and before any
   model is bound: products, convolutions both ways and by Winograd, reductions, softmax, loss,
   updates. CORNU_DEVICE with the operation that is wrong, what was found and what was expected;
   `name`: of the device. */
cornu_status self_test(device *d, const char *name);

#endif
