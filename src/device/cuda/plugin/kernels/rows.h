/* Loss and metrics over rows in one launch: the last activation if the loss reads its output,
   the loss with its gradient, the metrics, and the sums of cuda_results. */
#ifndef DEVICE_CUDA_KERNELS_ROWS_H
#define DEVICE_CUDA_KERNELS_ROWS_H

#include "device/cuda/plugin/kernels/kernels.h"
#include "model/kinds.h"

#define ROWS_THREADS 1024 /* at most */
#define ROWS_METRICS 5

typedef struct rows_metric {
    int32_t sum;          /* row_sum, or: */
    int32_t loss, logits; /* loss_id whose values are added; -1: of none */
    int32_t slot;         /* index into cuda_results.metrics */
    int32_t whole;        /* the sum itself counts, not its mean over rows */
    const float *weight;  /* [batch]: of each sample; NULL: 1 */
    float reals[ROW_REALS];
    int64_t k;
} rows_metric;

typedef struct rows_params {
    const float *output; /* input of the loss: [rows][n] */
    const float *target; /* [rows][targets] */
    const float *weight; /* [batch]: of each sample's loss; NULL: 1 */
    float *gradient;     /* [rows][n], or NULL */
    float *activated;    /* result activation(output); NULL: no activation */
    const float *judged; /* input of the metrics: [rows][n] */
    int64_t rows, n, targets, batch;
    int32_t activation; /* ACTIVATION_SOFTMAX or _SIGMOID */
    int32_t loss;       /* loss_id; -1: only metrics */
    int32_t logits;
    int32_t lanes; /* threads a row: a power of two up to 32 */
    /* A loss that is a term of the step's: its share, whether it is not the first, and the metric
       that is this loss alone (-1: none). Of another loss the share is 1. */
    float share;
    int32_t further, own;
    float factor; /* of each row's loss */
    float reals[ROW_REALS];
    int32_t metric_count;
    rows_metric metrics[ROWS_METRICS];
    cuda_results *results;
    /* One block adds to `results` itself. Several write their sums of the loss and of each metric
       to partials[block][1 + metric_count], which rows_reduce adds. */
    sum2 *partials;
    int64_t *position; /* not NULL: this launch also counts the step (step.cuh) */
} rows_params;

typedef struct rows_reduce_params {
    rows_params r;
    int64_t partial_count;
} rows_reduce_params;

#endif
