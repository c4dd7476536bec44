/* What the files of the cpu device share: its kernels, how work is cut, and the few loops that more
   than one of them needs.

   The bit rule: which kernel runs, which terms each sum has, how it is split into partial sums and
   in which order these are added depends on an operation's shapes and the instruction set alone,
   never on the number of threads; a chunk is computed by one thread. So results have the same bits
   for any number of threads. That number may decide two things only:
   - how much scratch memory an operation has, where each thread has some of its own;
   - how many outputs a chunk computes, each of them as any other chunk would. Two kernels look at
     it for that: DENSE_FORWARD, for the columns of y in a chunk (dense_forward.c), and Winograd's
     forward pass and dx by AMX's tiles, for the image tiles in a block (winograd.c). */
#ifndef DEVICE_CPU_CPU_H
#define DEVICE_CPU_CPU_H

#include "device/cpu/isa.h"
#include "device/host/host.h"
#include <signal.h>

/* Elements of one chunk of an element-wise operation: 64 KiB, so that a few tensors' parts stay in
   L2 and a chunk outlasts the handing out of it by far. */
enum { CPU_CHUNK = 16384 };

static inline int64_t cpu_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Rows per chunk, for rows that take `cost` element operations each; at least 1. */
static inline int64_t cpu_rows_per_chunk(int64_t cost)
{
    return cost >= CPU_CHUNK || cost <= 0 ? 1 : CPU_CHUNK / cost;
}

static inline int64_t cpu_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cpu_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The part [*begin, *end) of 0..total-1 in chunk `chunk`, `size` to a chunk. */
static inline void cpu_part(int64_t total, int64_t size, int64_t chunk, int64_t *begin,
                            int64_t *end)
{
    *begin = chunk * size;
    *end = cpu_least(*begin + size, total);
}

/* Defines the `prepare` of a kernel whose state is its instruction set's row of a CPU_ISA_TABLE. */
#define CPU_ISA_PREPARE(function, table)                                                  \
    static cornu_status function(const plan *p, const op *o, threads *pool, void **state, \
                                 size_t *scratch_bytes)                                   \
    {                                                                                     \
        (void)p, (void)o, (void)pool, (void)scratch_bytes;                                \
        cpu_isa isa;                                                                      \
        TRY(cpu_isa_choose(&isa));                                                        \
        *state = (void *)(uintptr_t)table[isa];                                           \
        return CORNU_OK;                                                                  \
    }

enum { CPU_DOUBLE = sizeof(double) / sizeof(float) }; /* floats of scratch */

/* For `prepare`: op_run.scratch has to hold so many floats. */
static inline void cpu_need_scratch(size_t *scratch_bytes, int64_t floats)
{
    if (*scratch_bytes < (size_t)floats * sizeof(float))
        *scratch_bytes = (size_t)floats * sizeof(float);
}

/* Of a part of it, so that the next part is aligned, too. */
static inline int64_t cpu_scratch_floats(int64_t floats)
{
    return cpu_divide_up(floats, 16) * 16;
}

/* y = act(x), element by element; x and y may be the same. Not for softmax. */
void cpu_activate(cpu_isa isa, activation act, const float *x, float *y, int64_t count);
/* Its gradient: dx from dy, which may be the same, and what ACTIVATION_BACKWARD reads as x_or_y. */
void cpu_activate_back(cpu_isa isa, activation act, const float *from, const float *dy, float *dx,
                       int64_t count);
/* sum[i] = part[0][i] + part[1][i] + ... in this order, for `parts` arrays that lie `stride` floats
   apart. */
void cpu_sum_range(const float *parts, int64_t count, int64_t part_count, int64_t stride,
                   float *sum);
/* The same, cut over the pool. */
void cpu_sum_parts(threads *pool, const float *parts, int64_t count, int64_t part_count,
                   int64_t stride, float *sum);
/* Around every call that makes or runs something of oneDNN's, on the calling thread:
   - it runs on one thread: its own threading would cut sums by the number of threads;
   - signals wait: its matrix product for small sizes (oneDNN 2.6) moves the stack pointer into a
     buffer on the heap, and the kernel would write a handler's frame over what lies below.
   Both settings are given back afterwards. */
typedef struct onednn_scope {
    int threads;
    sigset_t signals;
} onednn_scope;
onednn_scope cpu_onednn_begin(void);
void cpu_onednn_end(const onednn_scope *before);

extern const kernel cpu_gather, cpu_conv_first_forward, cpu_conv_first_pool_forward,
    cpu_conv_first_backward_weights, cpu_conv_first_relu_backward, cpu_conv_first_pool_backward,
    cpu_dense_forward, cpu_dense_forward_tiles, cpu_dense_backward_data,
    cpu_dense_backward_data_tiles, cpu_dense_backward_weights, cpu_dense_backward_weights_tiles,
    cpu_dense_backward, cpu_dense_backward_tiles, cpu_winograd_backward_both, cpu_winograd_forward,
    cpu_winograd_backward_data, cpu_winograd_backward_weights, cpu_winograd_pool_forward,
    cpu_winograd_pool_backward, cpu_conv_forward, cpu_conv_backward_data, cpu_conv_backward_weights,
    cpu_max_pool_forward_2x2, cpu_max_pool_backward_2x2, cpu_max_pool_backward_2x2_fused,
    cpu_max_pool_forward, cpu_max_pool_backward, cpu_average_pool_forward,
    cpu_average_pool_backward, cpu_activation_forward, cpu_activation_backward, cpu_dropout,
    cpu_batch_norm_forward, cpu_batch_norm_inference, cpu_batch_norm_backward, cpu_scale, cpu_pad,
    cpu_crop, cpu_softmax_head, cpu_softmax_loss, cpu_softmax_forward, cpu_loss, cpu_metric,
    cpu_square_sum, cpu_update;

#endif
