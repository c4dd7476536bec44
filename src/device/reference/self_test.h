/* Compares a device with the reference. */
#ifndef DEVICE_REFERENCE_SELF_TEST_H
#define DEVICE_REFERENCE_SELF_TEST_H

#include "device/device.h"

/* A few operations of small odd sizes, one at a time, on a device that has `write` and before any
   model is bound: products, convolutions both directly and by Winograd, reductions, softmax, loss,
   updates. A difference fails with CORNU_DEVICE, and the message has the operation, the value found
   and the value expected. `name`: the device's. */
cornu_status self_test(device *d, const char *name);

#endif
