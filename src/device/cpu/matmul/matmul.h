/* Products of MATMUL, for its kernel and others. */
#ifndef DEVICE_CPU_MATMUL_MATMUL_H
#define DEVICE_CPU_MATMUL_MATMUL_H

#include "device/cpu/conv/indirect_kernels.h"
#include "device/cpu/cpu.h"
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

/* All products, on all threads; each sum has one order. */
void cpu_multiply(const indirect_kernels *k, threads *pool, const matmul_shape *s, const float *a,
                  const float *b, float *y, float *memory);
/* Floats of its memory. */
int64_t cpu_matmul_floats(threads *pool);
/* kernel.prepare: *state is the kernels. */
cornu_status cpu_matmul_prepare(const plan *p, const op *o, threads *pool, void **state,
                                size_t *scratch_bytes);

#endif
