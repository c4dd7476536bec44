/* What the backward pass of dense layers is prepared with, by dense_backward.c, and runs with, in
   dense_backward_run.c. */
#ifndef DEVICE_CPU_DENSE_DENSE_BACKWARD_H
#define DEVICE_CPU_DENSE_DENSE_BACKWARD_H

#include "device/cpu/dense/dense.h"

enum { DENSE_PACKED_FLOATS = 16 }; /* a cache line: has the worker packed dy? */

/* The operations that run as one: those of a DENSE_BACKWARD, or one of its first two alone. */
typedef struct dense_backward {
    const op *weights, *data, *update_w, *update_b, *act; /* NULL: not there */
} dense_backward;

typedef struct dense_backward_state {
    const dense_kernels *kernels;
    cpu_isa isa;
    dense_backward ops;
    dense_size size;
    int64_t row_blocks, block_rows, lane_groups; /* of DENSE_LANES rows in a block */
    int64_t depth, blocks;                       /* of W */
    int64_t tasks, workers;
    int64_t panel_floats, dy_floats, dy_transposed_floats;
    int64_t x_floats;
    bool samples;                         /* x may be uint8 inputs with a scale */
    bool own;                             /* each worker packs dy for itself */
    int64_t shared_floats, worker_floats; /* of scratch memory */
    dense_deferred deferred;
} dense_backward_state;

typedef struct dense_backward_run {
    const dense_backward_state *s;
    const float *x, *dy;
    dense_u8 bytes;          /* where it has a scale, in place of x */
    float *w, *dw, *db, *dx; /* dw NULL: update */
    cpu_update_step update_w, update_b;
    bool simple; /* w -= learning rate * dW: needs no rule */
    /* Scratch memory. With dW dy: [row_blocks][panels][panel_floats]; with dx it transposed:
       [row_blocks][panels][lane_groups][lanes_floats]. What each worker needs: with `own` whether
       its dy is packed, and that; x, dx and dy as in `sweep_block`. */
    float *panels, *transposed, *workers;
} dense_backward_run;

/* dy into panels, and the bias's gradient or update. */
void dense_backward_pack_dy(const op_run *o, dense_backward_run *r);
/* That alone. */
cornu_status dense_backward_bias(const op_run *o, dense_backward_run *r);
/* Everything: packs dy, then sweeps W. */
cornu_status dense_backward_sweep(const op_run *o, dense_backward_run *r);

#endif
