/* Declarations shared by the kernels for convolutions of an image with few channels: conv_first.c
   has the forward pass, conv_first_gradient.c the backward pass. */
#ifndef DEVICE_CPU_CONV_CONV_FIRST_H
#define DEVICE_CPU_CONV_CONV_FIRST_H

#include "device/cpu/conv/conv_first_kernels.h"
#include "device/cpu/pool/conv_pool.h"

/* The shape of a CONV2D_FORWARD or CONV2D_BACKWARD_WEIGHTS; false, with *why, where its image has
   too many channels or its window is not a plain one. */
bool conv_first_shape(const plan *p, const op *o, first_shape *s, const char **why);
/* Output rows of a band such that its packed copy, with `row_floats` floats per row, has about
   `floats`: a multiple of `multiple`, and at least `multiple`. */
int64_t conv_first_band_rows(const first_shape *s, int64_t row_floats, int64_t floats,
                             int64_t multiple);
/* Bands per task, with `rows` output rows each: enough work to be worth dispatching. */
int64_t conv_first_bands_per_task(const first_shape *s, int64_t rows);
/* The convolution with the pool after it. */
extern const conv_pool_pair conv_first_pair;

#endif
