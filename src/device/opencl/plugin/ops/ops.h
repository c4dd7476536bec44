/* The plug-in's kernels for each kind of operation, and what several of them use. */
#ifndef DEVICE_OPENCL_PLUGIN_OPS_H
#define DEVICE_OPENCL_PLUGIN_OPS_H

#include "device/accelerator/ops.h"
#include "device/opencl/plugin/kernels/shared.h"
#include "device/opencl/plugin/opencl.h"

/* The kernels of each operation of ops.def, in the order in which they are tried
   (gpu_kernel_list). device.c collects them: an operation without a list does not link. */
#define OP(id, name, ...) extern const gpu_kernel *const opencl_##name[];
#include "step/ops.def"

/* loss.c: the last activation with the loss in one launch, then the metrics. */
extern const gpu_kernel opencl_head;

/* ---- elementwise.c ----------------------------------------------------------------------- */

/* out[c] = sum of column c of x [rows][columns], in a fixed order. `scratch` holds at least
   opencl_column_sums_scratch bytes (0: it may be 0). One launch for few rows, else two. */
size_t opencl_column_sums_scratch(int64_t rows, int64_t columns);
cornu_status opencl_column_sums(gpu *g, gpu_address x, int64_t rows, int64_t columns,
                                gpu_address scratch, gpu_address out);

/* Strips for groups of WORK_ITEMS (kernels/strips.h), about `groups` groups in total; and one
   range with all rows. */
gpu_strips opencl_strips_of(int64_t rows, int64_t columns, int64_t groups);
gpu_strips opencl_strips_whole(int64_t rows, int64_t columns);
opencl_grid opencl_strips_grid(const gpu_strips *t);
/* Arguments for a kernel's STRIPS. */
#define A_STRIPS(t) A_LONG((t).rows), A_LONG((t).columns), A_LONG((t).block_rows), A_INT((t).width)
/* Bytes of partials[.count][2][columns], for two sums per column. */
size_t opencl_partials_bytes(const gpu_strips *t);

/* ---- numbers -------------------------------------------------------------------------------- */

/* A number as two floats, for kernels without doubles: sum2 of kernels/common.h. */
#define OPENCL_HIGH(a) ((float)(a))
#define OPENCL_LOW(a) ((float)((a) - (double)(float)(a)))
#define A_SUM2(a) A_FLOAT(OPENCL_HIGH(a)), A_FLOAT(OPENCL_LOW(a))

/* A grid of `groups` groups of WORK_ITEMS. */
static inline opencl_grid opencl_line(int64_t groups)
{
    return (opencl_grid){.groups = {(size_t)groups, 1, 1}, .items = {WORK_ITEMS, 1, 1}};
}

/* The grid of elementwise kernels. */
static inline opencl_grid opencl_element_grid(int64_t count)
{
    return opencl_line(gpu_element_blocks(count, WORK_ITEMS));
}

#endif
