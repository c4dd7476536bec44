/* Rows of a table by their numbers. A number that names none gives NaN. */
#ifndef DEVICE_CUDA_PLUGIN_KERNELS_EMBEDDING_CUH
#define DEVICE_CUDA_PLUGIN_KERNELS_EMBEDDING_CUH

#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/embedding.h"
#include "device/rules/embedding.h"

extern "C" __global__ void __launch_bounds__(EMBEDDING_THREADS)
    cornu_embedding_forward(embedding_forward_params p)
{
    for (EACH(i, p.count * p.columns)) {
        int64_t column;
        const int64_t row = embedding_row(p.x[divide(i, p.columns, &column)], p.rows);
        p.to[i] = row < 0 ? NAN : p.from[row * p.columns + column];
    }
}

/* Each row in the order of the batch. */
extern "C" __global__ void __launch_bounds__(EMBEDDING_THREADS)
    cornu_embedding_backward(embedding_backward_params p)
{
    for (EACH(i, EMBEDDING_CLASSES * p.columns)) {
        int64_t column;
        const int64_t first = divide(i, p.columns, &column);
        for (int64_t row = first; row < p.rows; row += EMBEDDING_CLASSES)
            p.to[row * p.columns + column] = 0;
        for (int64_t k = 0; k < p.count; k++) {
            const int64_t row = embedding_row(p.x[k], p.rows);
            if (row >= 0 && row % EMBEDDING_CLASSES == first)
                p.to[row * p.columns + column] += p.from[k * p.columns + column];
        }
    }
}

#endif
