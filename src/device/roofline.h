/* The minimum time of work on a device: its roofline, after Williams, Waterman and Patterson (CACM
   52(4), 2009). */
#ifndef DEVICE_ROOFLINE_H
#define DEVICE_ROOFLINE_H

#include "device/device.h"

/* The device's limits, with `fma` for the products' precision ("tf32"; NULL: fp32). A device
   without limits of its own gets those of the device "cpu" with `threads` threads. */
cornu_status roofline_measure(device *d, const char *precision, int threads, device_limits *out);
/* Open the device with this name, measure its own limits (device_ops.limits), and close it. */
cornu_status roofline_of(const char *name, int threads, device_limits *out);
/* The same from known limits. */
device_limits roofline_at(const device_limits *l, const char *precision);
/* Raise limits to the higher values of another measurement: the machine was busy in the first. */
void roofline_raise(device_limits *l, const device_limits *again);
/* Minimum seconds for this work: the larger of FLOPs over fma and bytes over the faster of the two
   bandwidths, so that the figure is a true lower limit. Work that touches no more than
   `working_set` bytes in all, and so may stay in the last-level cache, is compared with the cache's
   bandwidth. */
double roofline_seconds(const device_limits *l, double flops, double bytes, double working_set);
/* The limiting resource: "FMA" or "memory". */
const char *roofline_bound(const device_limits *l, double flops, double bytes, double working_set);

#endif
