/* Products with a recurrent layer's state: the weights are packed once for all steps. */
#ifndef DEVICE_CPU_RECURRENT_STATE_PRODUCTS_KERNELS_H
#define DEVICE_CPU_RECURRENT_STATE_PRODUCTS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

enum { STATE_PANEL = 32 }; /* columns of b that are packed: a multiple of every vector */

/* y[rows][columns] = a panel, or added to the content of y; columns <= STATE_PANEL. Rows of a are
   a_row floats apart, indices of the sum a_depth. */
typedef struct state_block {
    const float *a, *panel; /* panel: [depth][STATE_PANEL] */
    float *y;
    int64_t a_row, a_depth, y_row;
    int64_t rows, depth, columns;
    bool add;
} state_block;

typedef struct state_products {
    void (*multiply)(const state_block *m);
    /* panel[depth][STATE_PANEL] of b, whose columns after the last become 0 */
    void (*pack)(const float *b, int64_t b_depth, int64_t b_column, int64_t depth, int64_t columns,
                 float *panel);
} state_products;

#endif
