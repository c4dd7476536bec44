/* Sizes of a dense layer's operation. */
#ifndef DEVICE_CUDA_PLUGIN_DENSE_H
#define DEVICE_CUDA_PLUGIN_DENSE_H

#include "step/plan.h"

typedef struct dense_size {
    int64_t rows, in, units;
} dense_size;
dense_size dense_size_of(const plan *p, const op *o);

#endif
