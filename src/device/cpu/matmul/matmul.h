/* Products of MATMUL, one block of rows after the other: for its kernel and for attention's. */
#ifndef DEVICE_CPU_MATMUL_MATMUL_H
#define DEVICE_CPU_MATMUL_MATMUL_H

#include "device/cpu/conv/indirect_kernels.h"
#include "device/cpu/isa.h"
#include "device/matmul.h"

enum { PRODUCT_ROWS = 120 }; /* of a block, at most: a multiple of the tiles' heights */

/* One product. */
typedef struct product {
    const matmul_shape *s;
    const float *a, *b;
    float *y;
} product;

extern const indirect_kernels *const *const cpu_product_kernels; /* [CPU_ISA_COUNT] */

/* Floats of a worker's memory. */
int64_t product_floats(void);
/* Columns of a panel; the last one may have fewer. */
int64_t product_panel(const indirect_kernels *k, const matmul_shape *s);
/* Rows `row` to row + rows - 1 of the panel that begins with `column`; rows <= PRODUCT_ROWS. */
void product_block(const indirect_kernels *k, const product *p, int64_t row, int64_t rows,
                   int64_t column, float *memory);

#endif
