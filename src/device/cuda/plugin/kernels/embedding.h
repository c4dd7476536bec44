/* Rows of a table by their numbers (device/embedding.h). */
#ifndef DEVICE_CUDA_PLUGIN_KERNELS_EMBEDDING_H
#define DEVICE_CUDA_PLUGIN_KERNELS_EMBEDDING_H

#include <stdint.h>

#define EMBEDDING_THREADS 256
/* The table's gradient: a thread sums one column of every so many rows. */
#define EMBEDDING_CLASSES 64

/* from: the table, or the gradient of the output; to: the output, or the gradient of the table */
typedef struct embedding_forward_params {
    const float *x, *from;
    float *to;
    int64_t count, rows, columns;
} embedding_forward_params;
typedef embedding_forward_params embedding_backward_params;

#endif
