/* The plug-in's kernels for each kind of operation, and what several of them use. */
#ifndef DEVICE_CUDA_PLUGIN_OPS_H
#define DEVICE_CUDA_PLUGIN_OPS_H

#include "device/accelerator/ops.h"
#include "device/cuda/plugin/cuda.h"
#include "device/cuda/plugin/kernels/elementwise.h"
#include "device/cuda/plugin/kernels/sums.h"

/* The kernels of each operation of ops.def, in the order in which they are tried
   (gpu_kernel_list). cuda.c collects them: an operation without a list does not link. */
#define OP(id, name, ...) extern const gpu_kernel *const cuda_##name[];
#include "step/ops.def"

/* elementwise.c: out[c] = sum of column c of x [rows][columns], in a fixed order. `scratch` holds
   at least cuda_column_sums_scratch bytes (0: it may be 0). One launch for few rows, else two. */
size_t cuda_column_sums_scratch(int64_t rows, int64_t columns);
cornu_status cuda_column_sums(gpu *g, gpu_address x, int64_t rows, int64_t columns,
                              gpu_address scratch, gpu_address out);

/* elementwise.c: y[r][c] = act(x[r][c] + bias[c]); x may be y; bias 0: none. Not of rows. */
cornu_status cuda_bias_activation(gpu *g, gpu_address x, gpu_address bias, gpu_address y,
                                  int64_t rows, int64_t columns, activation act);
/* elementwise.c: y[i] = bfloat16 of x[i], rounded to nearest even; y holds 2 bytes an element. */
cornu_status cuda_cast_bf16(gpu *g, gpu_address x, gpu_address y, int64_t count);

/* elementwise.c: Are the square sums made where the plan has them, not with all updates? */
bool cuda_sums_squares_alone(const plan *p);
/* update.c: what cuda_updates_absorb says as the first kernel of cuda_dense_backward_weights. */
extern const gpu_kernel cuda_dense_with_updates;

/* loss.c: the last activation, the loss and the metrics in one launch. */
extern const gpu_kernel cuda_head;
/* loss.c: true if the launch of the loss also counts the step. Then cuda_end_step_enqueue has
   nothing to do, and kernels after the loss find their step one entry back. */
bool cuda_loss_counts_step(const plan *p);
/* The clock as this operation has to read it. */
cuda_clock cuda_clock_of(const gpu_op *r);

/* elementwise.c: the strips as kernel parameters, and their grid. */
sum_strips cuda_strips_params(const gpu_strips *t);
cuda_grid cuda_strips_grid(const gpu_strips *t);

/* 1 / n */
static inline sum2 cuda_share(int64_t n)
{
    double share = 1 / (double)n;
    float high = (float)share;
    return (sum2){high, (float)(share - (double)high)};
}

/* A grid of `blocks` blocks of `block` threads. */
static inline cuda_grid cuda_line(int64_t blocks, unsigned block)
{
    return (cuda_grid){.x = (unsigned)blocks, .threads = block};
}

/* The grid of the kernels of elementwise.h. */
static inline cuda_grid cuda_element_grid(int64_t count)
{
    return cuda_line(gpu_element_blocks(count, ELEMENT_THREADS), ELEMENT_THREADS);
}

#endif
