/* The least time that work can take on a device: its roofline, after Williams, Waterman and
   Patterson (CACM 52(4), 2009). */
#ifndef DEVICE_ROOFLINE_H
#define DEVICE_ROOFLINE_H

#include "device/device.h"

/* The device's limits with `fma` of the products' precision ("tf32"; NULL: fp32). A device without
   limits of its own is held against those of the device "cpu" with so many threads. */
cornu_status roofline_measure(device *d, const char *precision, int threads, device_limits *out);
/* Open the device of this name, and close it again: its own limits, as device_ops.limits. */
cornu_status roofline_of(const char *name, int threads, device_limits *out);
/* The same of limits that are known. */
device_limits roofline_at(const device_limits *l, const char *precision);
/* Take over what was measured higher: a machine that was busy the first time. */
void roofline_raise(device_limits *l, const device_limits *again);
/* Least seconds for this work: the larger of FLOPs over fma and bytes over the faster of the two
   bandwidths, so that the figure is a true lower limit. Work that touches no more than
   `working_set` bytes in all, and so may stay in the last-level cache, is held against the cache's
   bandwidth. */
double roofline_seconds(const device_limits *l, double flops, double bytes, double working_set);
/* Which of the two it is: "FMA" or "memory". */
const char *roofline_bound(const device_limits *l, double flops, double bytes, double working_set);

#endif
