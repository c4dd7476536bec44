/* C and OpenCL C. */
#ifndef DEVICE_OPENCL_PROBE_H
#define DEVICE_OPENCL_PROBE_H

#define PROBE_ITEMS 256 /* of a work-group */
#define PROBE_CHAINS 8  /* of four floats, that wait for nobody */
#define PROBE_UNROLL 8
#define PROBE_FLOPS (2 * 4 * PROBE_CHAINS * PROBE_UNROLL)

#endif
