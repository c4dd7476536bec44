/* What the kernels for convolutions of an image with few channels share: conv_first.c has the
   forward pass, conv_first_gradient.c the backward pass. */
#ifndef DEVICE_CPU_CONV_FIRST_H
#define DEVICE_CPU_CONV_FIRST_H

#include "device/cpu/cpu.h"
#include "device/cpu/kernels/conv_first.h"

/* The shape of a CONV2D_FORWARD or CONV2D_BACKWARD_WEIGHTS; false, and why, where its image has too
   many channels or its window is not of the plain kind. */
bool conv_first_shape(const plan *p, const op *o, first_shape *s, const char **why);
/* Does this pool, forward or backward, go over 2x2 windows side by side, all inside the image? */
bool conv_first_pool(const plan *p, const op *pool, const char **why);
/* Output rows of a band whose packed copy, `row_floats` floats a row, is to have about `floats`: a
   multiple of `multiple`, at least that. */
int64_t conv_first_band_rows(const first_shape *s, int64_t row_floats, int64_t floats,
                             int64_t multiple);
/* Bands of a chunk, `rows` output rows each: enough work to be worth handing out. */
int64_t conv_first_bands_per_chunk(const first_shape *s, int64_t rows);
/* The MAX_POOL_BACKWARD that leads back to this convolution through a pool fused with it, if all
   that reads the convolution's output is run there by cpu_conv_first_pool_backward: then the fused
   forward pass can leave codes in place of that output. NULL: there is none. */
const op *conv_first_reader_of_codes(const plan *p, const op *conv);
/* The other way around: the convolution whose output this MAX_POOL_BACKWARD reads. */
const op *conv_first_writer_of_codes(const plan *p, const op *pool);
/* Have these two been chosen for that? Where the device does not say, they have not. */
bool conv_first_codes_used(const op_run *r, const op *conv, const op *pool);

#endif
