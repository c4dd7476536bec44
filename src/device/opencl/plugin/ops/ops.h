/* The plug-in's kernels for each kind of operation, and what several of them use. */
#ifndef DEVICE_OPENCL_PLUGIN_OPS_H
#define DEVICE_OPENCL_PLUGIN_OPS_H

#include "device/opencl/plugin/kernels/items.h"
#include "device/opencl/plugin/opencl.h"

/* ops.c: gpu_driver.kernels, made of these. */
extern const gpu_kernel_list opencl_kernels[OP_COUNT];

/* For each operation of ops.def the kernels that run it, in the order in which they are asked;
   gpu_kernel_list. An operation without a list does not link. */
#define OP(id, name, ...) extern const gpu_kernel *const opencl_##name[];
#include "step/ops.def"

/* loss.c: the last activation with the loss in one launch, and the metrics behind it. */
extern const gpu_kernel opencl_head;

/* ---- sums.c --------------------------------------------------------------------------------- */

/* out[c] = sum of column c of x [rows][columns], in a fixed order. `scratch` holds at least
   opencl_column_sums_scratch bytes (0: it may be 0). One launch for few rows, else two. */
size_t opencl_column_sums_scratch(int64_t rows, int64_t columns);
cornu_status opencl_column_sums(gpu *g, gpu_address x, int64_t rows, int64_t columns,
                                gpu_address scratch, gpu_address out);

/* The blocking of rows and columns (kernels/strips.h): `count` ranges of block_rows rows, strips of
   `width` columns. */
typedef struct opencl_strips {
    int64_t rows, columns, block_rows, count;
    int width;
} opencl_strips;
/* About this many groups in all. */
#define OPENCL_SUM_GROUPS 512
opencl_strips opencl_strips_of(int64_t rows, int64_t columns, int64_t groups);
/* One range of all rows. */
opencl_strips opencl_strips_whole(int64_t rows, int64_t columns);
opencl_grid opencl_strips_grid(const opencl_strips *t);
/* What a kernel's STRIPS takes. */
#define A_STRIPS(t) A_LONG((t).rows), A_LONG((t).columns), A_LONG((t).block_rows), A_INT((t).width)
/* partials[.count][2][columns], which two sums of each column leave, take this many bytes. */
size_t opencl_partials_bytes(const opencl_strips *t);

/* ---- numbers -------------------------------------------------------------------------------- */

/* A number as two floats, for kernels without doubles: sum2 of kernels/common.h. */
#define OPENCL_HIGH(a) ((float)(a))
#define OPENCL_LOW(a) ((float)((a) - (double)(float)(a)))
#define A_SUM2(a) A_FLOAT(OPENCL_HIGH(a)), A_FLOAT(OPENCL_LOW(a))

/* Groups for `items`, `per_group` each; at most `most` (0: 2^31 - 1), as kernels go on in strides
   of the grid. */
static inline size_t opencl_groups(int64_t items, int64_t per_group, int64_t most)
{
    int64_t groups = (items + per_group - 1) / per_group;
    if (most == 0)
        most = INT32_MAX;
    return (size_t)(groups < 1 ? 1 : groups > most ? most : groups);
}

/* So many groups of WORK_ITEMS. */
static inline opencl_grid opencl_line(size_t groups)
{
    return (opencl_grid){.groups = {groups, 1, 1}, .items = {WORK_ITEMS, 1, 1}};
}

/* The grid of kernels that take each element by itself, four a work-item: enough groups to fill
   every device several times over. */
static inline opencl_grid opencl_element_grid(int64_t count)
{
    return opencl_line(opencl_groups(count, 4 * WORK_ITEMS, 4096));
}

/* Work-items for a row of n elements: a power of two up to `most`. */
static inline int opencl_lanes(int64_t n, int most)
{
    int lanes = 1;
    while (lanes < most && lanes < n)
        lanes *= 2;
    return lanes;
}

/* Floats that a work-item takes at once where channels lie innermost. */
static inline int opencl_pack(int64_t channels)
{
    return channels % 4 == 0 ? 4 : 1;
}

#endif
