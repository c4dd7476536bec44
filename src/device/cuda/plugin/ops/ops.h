/* The plug-in's kernels for each kind of operation, and what several of them use. */
#ifndef DEVICE_CUDA_PLUGIN_OPS_H
#define DEVICE_CUDA_PLUGIN_OPS_H

#include "device/cuda/plugin/cuda.h"
#include "device/cuda/plugin/kernels/elementwise.h"
#include "device/cuda/plugin/kernels/sums.h"

/* For each operation of ops.def the kernels that run it, in the order in which they are asked;
   gpu_kernel_list. ops.c makes cuda_kernels of all of them: an operation without a list does not
   link. */
#define OP(id, name, ...) extern const gpu_kernel *const cuda_##name[];
#include "step/ops.def"

/* sums.c: out[c] = sum of column c of x [rows][columns], in a fixed order. `scratch` holds at least
   cuda_column_sums_scratch bytes (0: it may be 0). One launch for few rows, else two. */
size_t cuda_column_sums_scratch(int64_t rows, int64_t columns);
cornu_status cuda_column_sums(gpu *g, gpu_address x, int64_t rows, int64_t columns,
                              gpu_address scratch, gpu_address out);

/* activation.c: y[r][c] = act(x[r][c] + bias[c]); x may be y; bias 0: none. Not for softmax. */
cornu_status cuda_bias_activation(gpu *g, gpu_address x, gpu_address bias, gpu_address y,
                                  int64_t rows, int64_t columns, activation act);
/* activation.c: y[i] = bfloat16 of x[i], rounded to nearest even; y holds 2 bytes an element. */
cornu_status cuda_cast_bf16(gpu *g, gpu_address x, gpu_address y, int64_t count);

/* update.c: what cuda_updates_absorb says as the first kernel of cuda_dense_backward_weights. */
extern const gpu_kernel cuda_dense_with_updates;

/* loss.c: the last activation, the loss and the metrics behind it, in one launch. */
extern const gpu_kernel cuda_head;
/* loss.c: does the loss's launch also end the step's count? Then cuda_end_step_enqueue has nothing
   to do, and what runs behind the loss finds its step one entry back. */
bool cuda_loss_counts_step(const plan *p);
/* The clock as this operation has to read it. */
cuda_clock cuda_clock_of(const gpu_op *r);

/* sums.c: the blocking of rows and columns; *partials: ranges of the rows. */
#define CUDA_SUM_BLOCKS 512
sum_strips cuda_strips(int64_t rows, int64_t columns, int64_t blocks, unsigned *partials);
cuda_grid cuda_strips_grid(const sum_strips *t, unsigned partials);

/* Blocks for `items`, `per_block` each; at most `most` (0: 2^31 - 1), as kernels go on in strides
   of the grid. */
static inline unsigned cuda_blocks(int64_t items, int64_t per_block, int64_t most)
{
    int64_t blocks = (items + per_block - 1) / per_block;
    if (most == 0)
        most = INT32_MAX;
    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

/* The grid of the kernels of elementwise.h: four elements a thread, and enough blocks to fill every
   device several times over. */
static inline cuda_grid cuda_element_grid(int64_t count)
{
    return (cuda_grid){.x = cuda_blocks(count, 4 * ELEMENT_THREADS, 4096),
                       .threads = ELEMENT_THREADS};
}

/* Threads for a row of n elements: a power of two up to 32. */
static inline int cuda_lanes(int64_t n)
{
    int lanes = 1;
    while (lanes < 32 && lanes < n)
        lanes *= 2;
    return lanes;
}

/* Floats that a thread takes at once where channels lie innermost. */
static inline int cuda_pack(int64_t channels)
{
    return channels % 4 == 0 ? 4 : 1;
}

#endif
