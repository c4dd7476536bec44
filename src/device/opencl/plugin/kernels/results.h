/* The results of a step from the kernels, which the host adds. C and OpenCL C.

   A float has too few digits, and not every device has doubles: each number is two floats, high +
   low, whose sum it is (device/rules/sum2.h). */
#ifndef DEVICE_OPENCL_RESULTS_H
#define DEVICE_OPENCL_RESULTS_H

enum {
    RESULT_LOSS,    /* mean loss times batch */
    RESULT_MEAN,    /* mean loss */
    RESULT_METRICS, /* and up to RESULT_METRICS_MOST in all: row sums by slot */
    RESULT_METRICS_MOST = 16,
    RESULT_FLOATS = 2 * (RESULT_METRICS + RESULT_METRICS_MOST)
};

#endif
