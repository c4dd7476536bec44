/* The sums of a step as the device keeps them. C and OpenCL C.

   A float has too few digits for a sum over an epoch, and not every device has doubles: each sum
   is two floats, high + low, whose sum it is (common.h: sum2). */
#ifndef DEVICE_OPENCL_RESULTS_H
#define DEVICE_OPENCL_RESULTS_H

enum {
    RESULT_LOSS,      /* sum over steps of mean loss times batch */
    RESULT_LAST_LOSS, /* of the last step alone */
    RESULT_METRICS,   /* and up to RESULT_METRICS_MOST in all: row sums by slot */
    RESULT_METRICS_MOST = 16,
    RESULT_SUMS = RESULT_METRICS + RESULT_METRICS_MOST,
    RESULT_NOT_FINITE = 2 * RESULT_SUMS, /* float: 1 where a step's loss was NaN or infinite */
    RESULT_FLOATS
};

#endif
