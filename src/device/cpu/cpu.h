/* Declarations shared by the files of the cpu device: its kernels, the division of work into tasks,
   and a few common loops.

   The bit rule: which kernel runs, which terms each sum has, how it is split into partial sums and
   in which order these are added depends on an operation's shapes and the instruction set alone,
   never on the number of threads; a task is computed by one thread. So results have the same bits
   for any number of threads. The number of threads may decide two things only:
   - how much scratch memory an operation has, where each thread needs its own;
   - how many outputs a task computes; each output is computed as in any other task. Two kernels use
     it for that: DENSE_FORWARD, for the columns of y of a task (dense_forward.c), and Winograd's
     forward pass and dx where they multiply with AMX, for the tiles of a block (winograd.c). */
#ifndef DEVICE_CPU_CPU_H
#define DEVICE_CPU_CPU_H

#include "base/threads.h"
#include "device/cpu/isa.h"
#include "device/device.h"
#include "device/host/host.h"

/* Elements of one task of an elementwise operation: 64 KiB per tensor, so that a few tensors'
   ranges stay in L2 and a task takes far longer than its dispatch. */
enum { CPU_TASK = 16384 };
/* Elements of a block on which several operations are made in turn: three tensors' stay in L1. */
enum { CPU_BLOCK = 2048 };

static inline int64_t cpu_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Rows of a task, for rows that take `cost` element operations each; at least 1. */
static inline int64_t cpu_rows_per_task(int64_t cost)
{
    return cost >= CPU_TASK || cost <= 0 ? 1 : CPU_TASK / cost;
}

static inline int64_t cpu_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cpu_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The range [*begin, *end) of 0..total-1 that belongs to task number `task`; each task has
   `size`. */
static inline void cpu_task_range(int64_t total, int64_t size, int64_t task, int64_t *begin,
                                  int64_t *end)
{
    *begin = task * size;
    *end = cpu_least(*begin + size, total);
}

/* Defines `prepare` for a kernel whose state is its instruction set's row of a CPU_ISA_TABLE. */
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

/* For `prepare`: request at least `floats` floats in op_run.scratch. */
static inline void cpu_need_scratch(size_t *scratch_bytes, int64_t floats)
{
    if (*scratch_bytes < (size_t)floats * sizeof(float))
        *scratch_bytes = (size_t)floats * sizeof(float);
}

/* Size of one buffer in scratch memory, rounded up so that the next one is also aligned. */
static inline int64_t cpu_scratch_floats(int64_t floats)
{
    return cpu_divide_up(floats, 16) * 16;
}

/* y = act(x), elementwise; x and y may be the same. Not for softmax. */
void cpu_activate(cpu_isa isa, activation act, const float *x, float *y, int64_t count);
/* The activation's gradient: dx from dy (they may be the same) and from the tensor that
   ACTIVATION_BACKWARD reads as x_or_y. */
void cpu_activate_back(cpu_isa isa, activation act, const float *from, const float *dy, float *dx,
                       int64_t count);
/* sum[i] = partials[0][i] + partials[1][i] + ... in this order, over `partial_count` partial sums
   that are `stride` floats apart. */
void cpu_sum_range(cpu_isa isa, const float *partials, int64_t count, int64_t partial_count,
                   int64_t stride, float *sum);
/* The same, on all threads. */
void cpu_sum_partials(threads *pool, cpu_isa isa, const float *partials, int64_t count,
                      int64_t partial_count, int64_t stride, float *sum);

extern const kernel cpu_gather, cpu_conv_first_forward, cpu_conv_first_pool_forward,
    cpu_conv_first_backward_data, cpu_conv_last_forward, cpu_conv_last_backward_data,
    cpu_conv_last_backward_weights, cpu_conv_first_backward_weights, cpu_conv_first_relu_backward,
    cpu_conv_first_pool_backward, cpu_dense_forward, cpu_dense_forward_amx, cpu_dense_backward_data,
    cpu_dense_backward_data_amx, cpu_dense_backward_weights, cpu_dense_backward_weights_amx,
    cpu_dense_backward, cpu_dense_backward_amx, cpu_winograd_backward_both, cpu_winograd_forward,
    cpu_winograd_backward_data, cpu_winograd_backward_weights, cpu_winograd_pool_forward,
    cpu_winograd_pool_backward, cpu_depthwise_forward, cpu_depthwise_backward_data,
    cpu_depthwise_backward_weights, cpu_indirect_dense_forward, cpu_indirect_dense_backward_data,
    cpu_indirect_dense_backward_weights, cpu_indirect_forward, cpu_indirect_backward_data,
    cpu_indirect_backward_weights, cpu_max_pool_forward_2x2, cpu_max_pool_backward_2x2,
    cpu_max_pool_backward_2x2_fused, cpu_max_pool_forward, cpu_max_pool_backward,
    cpu_average_pool_forward, cpu_average_pool_backward, cpu_activation_forward,
    cpu_activation_backward, cpu_dropout, cpu_batch_norm_forward, cpu_batch_norm_forward_residual,
    cpu_batch_norm_inference, cpu_batch_norm_inference_residual, cpu_batch_norm_backward,
    cpu_layer_norm_forward, cpu_layer_norm_backward, cpu_scale, cpu_add, cpu_add_activation,
    cpu_add_activation_backward, cpu_binary_forward, cpu_binary_backward, cpu_slice, cpu_insert,
    cpu_unpack, cpu_pack, cpu_matmul, cpu_attention, cpu_attention_backward, cpu_transpose, cpu_pad,
    cpu_crop, cpu_softmax_head, cpu_softmax_loss, cpu_softmax_forward, cpu_softmax_backward,
    cpu_loss, cpu_metric, cpu_penalty, cpu_square_sum, cpu_penalized_square_sum, cpu_update,
    cpu_draw, cpu_resample_forward, cpu_resample_backward, cpu_embedding_forward,
    cpu_embedding_backward, cpu_recurrent_forward, cpu_recurrent_backward, cpu_tally, cpu_constrain,
    cpu_accumulate, cpu_average, cpu_layerwise, cpu_recolor, cpu_factored_update, cpu_matrix_update;

/* ---- limits (limits.c) ------------------------------------------------------------------- */

/* The measured peaks of the host's cores: the cpu device's limits and probe. */

/* Takes about half a second. Fails only without memory for the bandwidth probes. */
cornu_status cpu_limits_measure(threads *pool, device_limits *out);
/* The bandwidths alone, over memory[count], which is written first; `count` is at least a few
   million, or else the caches are measured. */
void cpu_limits_bandwidth(threads *pool, float *memory, int64_t count, device_limits *out);
/* FLOP/s of one millisecond of FMA work on all threads. */
double cpu_limits_probe(threads *pool);

#endif
