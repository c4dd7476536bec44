#include "device/cuda/plugin/ops/ops.h"

const gpu_kernel_list cuda_kernels[OP_COUNT] = {
#define OP(id, name, ...) [OP_##id] = cuda_##name,
#include "step/ops.def"
};

/* Lacking: updates are divided among ranks only on the host's devices. */
const gpu_kernel *const cuda_dense_update[] = {NULL};
