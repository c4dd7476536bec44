/* MATMUL: many products of matrices whose rows and columns may each be transposed in memory. */
#ifndef DEVICE_MATMUL_H
#define DEVICE_MATMUL_H

#include "step/plan.h"

/* y[rows][columns] = a[rows][depth] b[depth][columns], `count` times. The matrices of a tensor
   stand one after the other; a_row, ... are the floats from one row (column, index of the sum) of a
   matrix to the next. */
typedef struct matmul_shape {
    int64_t count, rows, depth, columns;
    int64_t a_row, a_depth, b_depth, b_column;
} matmul_shape;
matmul_shape matmul_shape_of(const plan *p, const op *o);

#endif
