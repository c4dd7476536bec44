/* Microkernels of depthwise convolutions, whose filter c reads channel c alone. */
#ifndef DEVICE_CPU_CONV_DEPTHWISE_KERNELS_H
#define DEVICE_CPU_CONV_DEPTHWISE_KERNELS_H

#include <stdint.h>

/* Larger windows are no depthwise kernel's: 11x11, and a few more. */
enum { DEPTHWISE_TAPS_MOST = 128 };

/* One tap of a window: what it reads, and its weights. */
typedef struct depthwise_tap {
    int64_t at;      /* floats from the input of the run to the tap's */
    int64_t weights; /* floats from the first weight to the tap's [channels] */
} depthwise_tap;

/* Outputs whose windows have the same taps inside the image: in some samples, rows and columns,
   whose order here is the caller's. The kernels are quickest where the last count is the largest.
 */
enum { DEPTHWISE_AHEAD_MOST = 4 };
typedef struct depthwise_run {
    const depthwise_tap *taps;
    int tap_count;
    int64_t count[3], in_step[3], out_step[3]; /* steps: floats from one to the next */
    int64_t channels;                          /* floats of an output */
    const float *in;                           /* of the first output */
    /* Floats from an output's input, and from the output or its dy, to what is prefetched: that of
       the next row. Strided in both directions, that is more than the hardware foresees. */
    int ahead_count;
    int64_t in_ahead[DEPTHWISE_AHEAD_MOST], out_ahead;
} depthwise_run;

typedef struct depthwise_kernels {
    /* out = b + the sum over the taps of in * w, added in their order; b may be NULL. */
    void (*sums)(const depthwise_run *r, const float *w, const float *b, float *out);
    /* dw += the sum of in * dy over the outputs, for each tap, and db += that of dy where it is not
       NULL; dy has the steps of `out`. */
    void (*gradients)(const depthwise_run *r, const float *dy, float *dw, float *db);
} depthwise_kernels;

#endif
