/* Convolutions fused with the 2x2 max-pool after them, forward (groups CONV_POOL) and backward
   (CONV_BACKWARD): the groups that the kernels accept, and the codes (pool_kernels.h) that
   the forward pass leaves for the backward pass in place of the convolution's output. */
#ifndef DEVICE_CPU_POOL_CONV_POOL_H
#define DEVICE_CPU_POOL_CONV_POOL_H

#include "device/cpu/cpu.h"

/* Two kernels that share a format of codes: one of CONV_POOL, and one of a CONV_BACKWARD that
   begins with a pool. */
typedef struct conv_pool_pair {
    const kernel *forward, *backward;
} conv_pool_pair;
/* That of convolutions of an image with few channels (conv/conv_first.c). */
extern const conv_pool_pair conv_first_pair;

/* Members of a CONV_BACKWARD; absent ones are NULL. */
typedef struct conv_backward {
    const op *pool, *act, *weights, *data;
} conv_backward;

/* Does this pool, forward or backward, have non-overlapping 2x2 windows, all inside the image? */
bool conv_pool_windows(const plan *p, const op *pool, const char **why);
/* Does this CONV_POOL have such a pool, and no activation other than relu? */
bool conv_pool_accepts(const plan *p, const op *conv, const char **why);
/* The members of the CONV_BACKWARD that begins with `o`; without one, all are NULL. */
conv_backward conv_backward_of(const plan *p, const op *o);
/* May kernels with codes take this CONV_BACKWARD? Between pool and convolution only relu is
   allowed. */
bool conv_backward_accepts(const plan *p, const conv_backward *f, const char **why);
/* The MAX_POOL_BACKWARD at the start of the CONV_POOL's partner, if the pair's kernels take both
   groups: then the forward pass can leave codes in place of the convolution's output. Else NULL. */
const op *conv_pool_reader(const plan *p, const op *conv, const conv_pool_pair *pair);
/* The reverse: the convolution whose output this MAX_POOL_BACKWARD reads. */
const op *conv_pool_writer(const plan *p, const op *pool, const conv_pool_pair *pair);
/* The outputs of a pair's CONV2D_FORWARD; NULL: not needed. */
typedef struct conv_pool_output {
    float *y, *pooled;
    uint8_t *codes; /* in y's place */
} conv_pool_output;
/* For `r`, which runs a convolution and the pool after it; reader: conv_pool_reader. */
conv_pool_output conv_pool_outputs(const op_run *r, const op *reader, const conv_pool_pair *pair);
/* kernel.needs of both: codes take one byte per window in the memory of the convolution's output
   or, where the forward pass leaves none, of the pool's gradient. */
void conv_pool_forward_needs(const plan *p, const op_group *g, const kernel_info *const *kernels,
                             const conv_pool_pair *pair, size_t *bytes);
void conv_pool_backward_needs(const plan *p, const op_group *g, const kernel_info *const *kernels,
                              const conv_pool_pair *pair, size_t *bytes);
/* kernel.bytes of both: where the pair leaves codes, one byte per window is moved in place of the
   convolution's output, and in the backward pass also in place of the pool's output. */
double conv_pool_forward_bytes(const plan *p, const op *conv, const kernel_info *const *kernels,
                               const conv_pool_pair *pair);
double conv_pool_backward_bytes(const plan *p, const op *pool, const kernel_info *const *kernels,
                                const conv_pool_pair *pair);
/* For `r`, which runs `f`: the codes that `writer` (conv_pool_writer) left, or else codes computed
   from the outputs, which are then stored in the memory of the pool's gradient. */
const uint8_t *conv_pool_codes(const op_run *r, cpu_isa isa, const conv_backward *f,
                               const op *writer, const conv_pool_pair *pair);

#endif
