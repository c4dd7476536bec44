/* One kernel for each operation: the host appends it to every list. */
#include "device/reference/reference.h"

const kernel reference_kernels[OP_COUNT] = {
#define OP(id, operation, ...) \
    [OP_##id] = {.name = "plain", .device = "reference", .run = reference_##operation},
#include "step/ops.def"
};
