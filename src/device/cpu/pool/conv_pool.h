/* Convolutions fused with the 2x2 max-pool behind them, forward (groups CONV_POOL) and backward
   (CONV_BACKWARD): what of them kernels take, and how the forward pass leaves codes
   (pool/pool_2x2_kernels.h) in place of the convolution's output for the backward pass. */
#ifndef DEVICE_CPU_POOL_CONV_POOL_H
#define DEVICE_CPU_POOL_CONV_POOL_H

#include "device/cpu/cpu.h"

/* Two kernels that know each other's codes: of CONV_POOL and of CONV_BACKWARD from a pool on. */
typedef struct conv_pool_pair {
    const kernel *forward, *backward;
} conv_pool_pair;

/* Members of a CONV_BACKWARD; absent ones are NULL. */
typedef struct conv_backward {
    const op *pool, *act, *weights, *data;
} conv_backward;

/* Does this pool, forward or backward, go over 2x2 windows side by side, all inside the image? */
bool conv_pool_windows(const plan *p, const op *pool, const char **why);
/* Does this CONV_POOL have such a pool, and an activation of none or relu? */
bool conv_pool_accepts(const plan *p, const op *conv, const char **why);
/* The CONV_BACKWARD that begins with `o`; without one, all are NULL. */
conv_backward conv_backward_of(const plan *p, const op *o);
/* May kernels with codes take this CONV_BACKWARD? No other activation than relu between pool and
   convolution. */
bool conv_backward_accepts(const plan *p, const conv_backward *f, const char **why);
/* The MAX_POOL_BACKWARD with which the CONV_POOL's partner begins, if the pair takes both: then the
   forward pass can leave codes in place of the convolution's output. NULL: there is none. */
const op *conv_pool_reader(const plan *p, const op *conv, const conv_pool_pair *pair);
/* The other way around: the convolution whose output this MAX_POOL_BACKWARD reads. */
const op *conv_pool_writer(const plan *p, const op *pool, const conv_pool_pair *pair);
/* Where a pair's CONV2D_FORWARD writes; what is NULL is not wanted. */
typedef struct conv_pool_output {
    float *y, *pooled;
    uint8_t *codes; /* in y's place */
} conv_pool_output;
/* For `r`, which runs a convolution and the pool behind it; reader: conv_pool_reader. */
conv_pool_output conv_pool_outputs(const op_run *r, const op *reader, const conv_pool_pair *pair);
/* kernel.needs of both: codes take a byte a window of the convolution's output or, where the
   forward pass does not leave any, of the pool's gradient. */
void conv_pool_forward_needs(const plan *p, const op_group *g, const kernel_info *const *kernels,
                             const conv_pool_pair *pair, size_t *bytes);
void conv_pool_backward_needs(const plan *p, const op_group *g, const kernel_info *const *kernels,
                              const conv_pool_pair *pair, size_t *bytes);
/* kernel.bytes of both: where the pair leaves codes, a byte a window goes in place of the
   convolution's output, and in the backward pass of the pool's, too. */
double conv_pool_forward_bytes(const plan *p, const op *conv, const kernel_info *const *kernels,
                               const conv_pool_pair *pair);
double conv_pool_backward_bytes(const plan *p, const op *pool, const kernel_info *const *kernels,
                                const conv_pool_pair *pair);
/* For `r`, which runs `f`: the codes that `writer` (conv_pool_writer) has left, or else those found
   from the outputs, which then lie where the pool's gradient would. */
const uint8_t *conv_pool_codes(const op_run *r, cpu_isa isa, const conv_backward *f,
                               const op *writer, const conv_pool_pair *pair);

#endif
