/* C and OpenCL C. */
#ifndef DEVICE_OPENCL_PROBE_H
#define DEVICE_OPENCL_PROBE_H

#define PROBE_ITEMS 256 /* work-items of a work-group */
#define PROBE_CHAINS 8  /* independent chains of PROBE_LANES floats: CPUs' vectors are longer */
#define PROBE_LANES(item_n) ((item_n) > 8 ? 16 : 4)
#define PROBE_UNROLL 8
#define PROBE_FLOPS(item_n) (2 * PROBE_LANES(item_n) * PROBE_CHAINS * PROBE_UNROLL)

#endif
