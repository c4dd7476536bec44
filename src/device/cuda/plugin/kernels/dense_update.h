/* Weight gradients of dense layers fused with the optimizer's step: dW = x' dy is computed tile
   by tile and used in registers, so that it is never written to memory. For few rows, when the
   traffic of the weights takes most of the time. One launch for all such layers; after their
   tiles come the pieces of the other variables (update.h). */
#ifndef DEVICE_CUDA_KERNELS_DENSE_UPDATE_H
#define DEVICE_CUDA_KERNELS_DENSE_UPDATE_H

#include "device/cuda/plugin/kernels/update.h"

#define DENSE_UPDATE_THREADS UPDATE_THREADS
#define DENSE_UPDATE_TILE 64  /* inputs and units of a block */
#define DENSE_UPDATE_DEPTH 32 /* rows that it has in shared memory at once */

typedef struct dense_update_layer {
    const float *x, *dy;        /* [rows][in], [rows][units] */
    float *w, *slot[3];         /* [in][units] */
    float *bias, *bias_slot[3]; /* [units]; NULL: none */
    int32_t rows, in, units, padding;
} dense_update_layer;

typedef struct dense_update_tile {
    int32_t layer, in, unit; /* its first */
} dense_update_tile;

typedef struct dense_update_params {
    update_params update;
    const dense_update_layer *layers;
    const dense_update_tile *tiles; /* [tile_count], the first blocks' */
    int32_t tile_count;
    int32_t rounding; /* product_rounding of x and dy */
} dense_update_params;
#define OPTIMIZER(id, ...) typedef dense_update_params dense_update_##id##_params;
#include "model/optimizers.def"

#endif
