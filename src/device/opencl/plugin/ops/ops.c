#include "device/opencl/plugin/ops/ops.h"

const gpu_kernel_list opencl_kernels[OP_COUNT] = {
#define OP(id, name, ...) [OP_##id] = opencl_##name,
#include "step/ops.def"
};

/* Lacking: updates are divided among ranks only on the host's devices. */
const gpu_kernel *const opencl_dense_update[] = {NULL};
