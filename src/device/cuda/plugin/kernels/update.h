/* The optimizer's step on all variables in one launch, alone or with the gradients of dense layers.
 */
#ifndef DEVICE_CUDA_KERNELS_UPDATE_H
#define DEVICE_CUDA_KERNELS_UPDATE_H

#include "device/cuda/plugin/kernels/kernels.h"
#include "device/rules/optimizer_constants.h"

/* The optimizer's step on all variables in one launch. Every variable is divided into pieces of
   UPDATE_PIECE elements with one block each; a table in device memory has their addresses. */

#define UPDATE_THREADS 256
#define UPDATE_PIECE 2048

typedef struct update_piece {
    float *w;
    const float *g;
    float *slot[3]; /* the optimizer row's slots, NULL where this configuration has none */
    int32_t count;
    int32_t square; /* index of this variable's square sum */
    float penalty_l1, penalty_l2, weight_decay;
} update_piece;

typedef struct update_params {
    cuda_clock clock;
    const update_piece *pieces;    /* [gridDim.x] */
    const float *squares;          /* square sums, or NULL: gradients are not clipped by norm */
    int32_t square_count;          /* global_clipnorm: all of them count; 0: the variable's own */
    float norm_most;               /* clipping by norm: the largest that stays */
    int64_t steps;                 /* of an update; in those before its last nothing happens */
    optimizer_constants constants; /* but for what the step itself gives: learning_rate, factors and
                                      gradient_scale; and for the variable's penalty and decay */
} update_params;
#define OPTIMIZER(id, ...) typedef update_params update_##id##_params;
#include "model/optimizers.def"

/* ACCUMULATE and AVERAGE: elementwise, by the step's number. steps: of an update; overwrite:
   updates after which the weights become their averages; 0: never. */
typedef struct accumulate_params {
    cuda_clock clock;
    float *g, *sum;
    int64_t count, steps;
} accumulate_params;
typedef struct average_params {
    cuda_clock clock;
    float *w, *average;
    int64_t count, steps, overwrite;
    float momentum;
} average_params;

/* LAYERWISE: sums of squares of pieces of a weight and of its step's directions,
   partials[2][blocks]; then the step. */
typedef struct layerwise_params {
    cuda_clock clock;
    float *w;
    const float *m, *v;
    sum2 *partials;
    int64_t count, piece, blocks; /* of the first launch */
    int64_t steps;                /* of an update */
    float epsilon;
} layerwise_params;
typedef layerwise_params layerwise_sums_params;

/* FACTORED_UPDATE on a weight [outer][rows][columns], which a pass after the other reads, with its
   gradient; only the last one writes it. */
typedef struct factored_params {
    update_params update;
    float *w;
    const float *g;
    float *r, *c, *v;
    float *means;                        /* [outer]: of r */
    sum2 *partials;                      /* [2][blocks] */
    int64_t outer, rows, columns;        /* rows: 0 of a vector */
    int64_t count, piece, blocks;        /* of the pass over the directions */
    int64_t stored_rows, stored_columns; /* of a convolution's kernel, which is stored by output
                                            channel: [columns] [rows]; else columns is 1 */
    float epsilon_1, epsilon_2, clip_threshold;
    int32_t square; /* index of the weight's square sum */
} factored_params;
typedef factored_params factored_rows_params, factored_columns_params, factored_means_params,
    factored_directions_params, factored_step_params;

/* MATRIX_UPDATE on a weight [rows][columns]: X, which has the fewer of the two as rows, and sums of
   squares of its pieces; X over its norm; after the products the step. */
typedef struct matrix_params {
    update_params update;
    float *w;
    const float *g;
    float *m;
    float *x;
    sum2 *partials; /* [blocks] */
    int64_t rows, columns;
    int64_t piece, blocks; /* of the first launch */
    float root, share;
    int32_t nesterov;
    int32_t square; /* index of the weight's square sum */
} matrix_params;
typedef matrix_params matrix_directions_params, matrix_scale_params, matrix_step_params;

/* y[rows][columns] = keep kept + factor a b; kept may be NULL. b_depth, b_column: from one index of
   the sum, and one column of b, to the next. */
typedef struct matrix_product_params {
    cuda_clock clock;
    int64_t steps; /* of an update */
    const float *a, *b, *kept;
    float *y;
    int64_t rows, columns, depth, b_depth, b_column;
    float factor, keep;
} matrix_product_params;

/* Square sums of all variables, in two launches: one block a piece, one block a variable. */
typedef struct update_squares_params {
    const update_piece *pieces;
    sum2 *partials; /* [pieces] */
} update_squares_params;

typedef struct update_range {
    int32_t first, count; /* pieces of one variable */
} update_range;
typedef struct update_squares_reduce_params {
    const update_piece *pieces;
    const update_range *ranges; /* [gridDim.x] */
    const sum2 *partials;
    float *squares;
} update_squares_reduce_params;

/* ---- with gradients of dense layers ------------------------------------------------------ */

/* Weight gradients of dense layers fused with the optimizer's step: dW = x' dy is computed tile
   by tile and used in registers, so that it is never written to memory. For few rows, when the
   traffic of the weights takes most of the time. One launch for all such layers; after their
   tiles come the pieces of the other variables (update.h). */

#define DENSE_UPDATE_THREADS UPDATE_THREADS
#define DENSE_UPDATE_TILE 64  /* inputs and units of a block */
#define DENSE_UPDATE_DEPTH 32 /* rows that it has in shared memory at once */

typedef struct dense_update_layer {
    const float *x, *dy;        /* [rows][in], [rows][units] */
    float *w, *slot[3];         /* [in][units] */
    float *bias, *bias_slot[3]; /* [units]; NULL: none */
    int32_t rows, in, units, padding;
    float penalty_l1, penalty_l2, weight_decay, bias_l1, bias_l2, bias_decay;
} dense_update_layer;

typedef struct dense_update_tile {
    int32_t layer, in, unit; /* its first */
} dense_update_tile;

typedef struct dense_update_params {
    update_params update;
    const dense_update_layer *layers;
    const dense_update_tile *tiles; /* [tile_count], the first blocks' */
    int32_t tile_count;
    int32_t rounding; /* product_rounding of x and dy */
} dense_update_params;
#define OPTIMIZER(id, ...) typedef dense_update_params dense_update_##id##_params;
#include "model/optimizers.def"

#endif
