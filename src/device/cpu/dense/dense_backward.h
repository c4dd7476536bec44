/* The state and the run of the backward pass of dense layers: dense_backward.c prepares it,
   dense_backward_run.c runs it. */
#ifndef DEVICE_CPU_DENSE_DENSE_BACKWARD_H
#define DEVICE_CPU_DENSE_DENSE_BACKWARD_H

#include "device/cpu/dense/dense.h"

enum { DENSE_PACKED_FLOATS = 16 }; /* one cache line, a flag: has the worker packed dy? */

/* The operations that run as one: those of a DENSE_BACKWARD, or one of its first two alone. */
typedef struct dense_backward {
    const op *weights, *data, *update_w, *update_b, *act; /* NULL: absent */
} dense_backward;

typedef struct dense_backward_state {
    const dense_kernels *kernels;
    cpu_isa isa;
    dense_backward ops;
    dense_size size;
    int64_t row_blocks, block_rows, lane_groups; /* groups of DENSE_LANES rows in a block */
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
    dense_u8 bytes;          /* in place of x, if it has a scale */
    float *w, *dw, *db, *dx; /* dw NULL: update w */
    cpu_update_step update_w, update_b;
    bool simple; /* w -= learning rate * dW: no optimizer rule is needed */
    /* Scratch memory. For dW, dy as [row_blocks][panels][panel_floats]; for dx, dy transposed as
       [row_blocks][panels][lane_groups][lanes_floats]. Then each worker's memory: with `own` a flag
       whether its dy is packed, and dy itself; x, dx and dy as in `sweep_block`. */
    float *panels, *transposed, *workers;
} dense_backward_run;

/* Pack dy into panels, and compute the bias's gradient or update. */
void dense_backward_pack_dy(const op_run *o, dense_backward_run *r);
/* The bias's gradient or update alone. */
cornu_status dense_backward_bias(const op_run *o, dense_backward_run *r);
/* The whole backward pass: packs dy, then sweeps W. */
cornu_status dense_backward_sweep(const op_run *o, dense_backward_run *r);

#endif
