/* The plug-in's kernels for each kind of operation, and what several of them use. */
#ifndef DEVICE_CUDA_PLUGIN_OPS_H
#define DEVICE_CUDA_PLUGIN_OPS_H

#include "device/cuda/plugin/gpu.h"
#include "device/cuda/plugin/kernels/elementwise.h"
#include "device/cuda/plugin/kernels/sums.h"

/* NULL-ended lists, the first that accepts is used; ops.c makes gpu_kernels of them. */
extern const gpu_kernel *const gpu_gather[];
extern const gpu_kernel *const gpu_dense_forward[];           /* dense.c */
extern const gpu_kernel *const gpu_dense_backward_data[];     /* dense.c */
extern const gpu_kernel *const gpu_dense_backward_weights[];  /* dense.c */
extern const gpu_kernel *const gpu_conv2d_forward[];          /* conv.c */
extern const gpu_kernel *const gpu_conv2d_backward_data[];    /* conv.c */
extern const gpu_kernel *const gpu_conv2d_backward_weights[]; /* conv.c */
extern const gpu_kernel *const gpu_max_pool_forward[];
extern const gpu_kernel *const gpu_max_pool_backward[];
extern const gpu_kernel *const gpu_average_pool_forward[];
extern const gpu_kernel *const gpu_average_pool_backward[];
extern const gpu_kernel *const gpu_activation_forward[];
extern const gpu_kernel *const gpu_activation_backward[];
extern const gpu_kernel *const gpu_dropout[];
extern const gpu_kernel *const gpu_batch_norm_forward[];
extern const gpu_kernel *const gpu_batch_norm_inference[];
extern const gpu_kernel *const gpu_batch_norm_backward[];
extern const gpu_kernel *const gpu_scale[];
extern const gpu_kernel *const gpu_pad[];
extern const gpu_kernel *const gpu_crop[];
extern const gpu_kernel *const gpu_loss[];
extern const gpu_kernel *const gpu_metric[];
extern const gpu_kernel *const gpu_square_sum[];

/* sums.c: out[c] = sum of column c of x [rows][columns], in a fixed order. `scratch` holds at least
   gpu_column_sums_scratch bytes (0: it may be 0). One launch for few rows, else two. */
size_t gpu_column_sums_scratch(int64_t rows, int64_t columns);
cornu_status gpu_column_sums(gpu *g, CUdeviceptr x, int64_t rows, int64_t columns,
                             CUdeviceptr scratch, CUdeviceptr out);

/* activation.c: y[r][c] = act(x[r][c] + bias[c]); x may be y; bias 0: none. Not for softmax. */
cornu_status gpu_bias_activation(gpu *g, CUdeviceptr x, CUdeviceptr bias, CUdeviceptr y,
                                 int64_t rows, int64_t columns, activation act);
/* activation.c: y[i] = bfloat16 of x[i], rounded to nearest even; y holds 2 bytes an element. */
cornu_status gpu_cast_bf16(gpu *g, CUdeviceptr x, CUdeviceptr y, int64_t count);

/* update.c: what gpu_updates_absorb says as the first kernel of gpu_dense_backward_weights. */
extern const gpu_kernel gpu_dense_with_updates;

/* loss.c: the last activation, the loss and the metrics behind it, in one launch. */
extern const gpu_kernel gpu_head;
/* loss.c: does the loss's launch also end the step's count? Then gpu_end_step_enqueue has nothing
   to do, and what runs behind the loss finds its step one entry back. */
bool gpu_loss_counts_step(const plan *p);
/* The clock as this operation has to read it. */
gpu_clock gpu_clock_of(const gpu_op *r);

/* sums.c: the blocking of rows and columns; *partials: ranges of the rows. */
#define GPU_SUM_BLOCKS 512
sum_strips gpu_strips(int64_t rows, int64_t columns, int64_t blocks, unsigned *partials);
gpu_grid gpu_strips_grid(const sum_strips *t, unsigned partials);

/* Blocks for `items`, `per_block` each; at most `most` (0: 2^31 - 1), as kernels go on in strides
   of the grid. */
static inline unsigned gpu_blocks(int64_t items, int64_t per_block, int64_t most)
{
    int64_t blocks = (items + per_block - 1) / per_block;
    if (most == 0)
        most = INT32_MAX;
    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

/* The grid of the kernels of elementwise.h: four elements a thread, and enough blocks to fill every
   device several times over. */
static inline gpu_grid gpu_element_grid(int64_t count)
{
    return (gpu_grid){.x = gpu_blocks(count, 4 * ELEMENT_THREADS, 4096),
                      .threads = ELEMENT_THREADS};
}

/* Threads for a row of n elements: a power of two up to 32. */
static inline int gpu_lanes(int64_t n)
{
    int lanes = 1;
    while (lanes < 32 && lanes < n)
        lanes *= 2;
    return lanes;
}

/* Floats that a thread takes at once where channels lie innermost. */
static inline int gpu_pack(int64_t channels)
{
    return channels % 4 == 0 ? 4 : 1;
}

#endif
