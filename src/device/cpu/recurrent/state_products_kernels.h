/* Products with a recurrent layer's state: the weights are packed once for all steps. */
#ifndef DEVICE_CPU_RECURRENT_STATE_PRODUCTS_KERNELS_H
#define DEVICE_CPU_RECURRENT_STATE_PRODUCTS_KERNELS_H

#include <stdint.h>

enum { STATE_PANEL = 32 }; /* columns of b that are packed: a multiple of every vector */

/* y[rows][columns] += a panel; columns <= STATE_PANEL. */
typedef struct state_block {
    const float *a, *panel; /* panel: [depth][STATE_PANEL] */
    float *y;
    int64_t a_row, y_row; /* floats from one row to the next */
    int64_t rows, depth, columns;
} state_block;

typedef struct state_products {
    void (*multiply)(const state_block *m);
} state_products;

#endif
