/* Definitions shared by kernels and their launches on the host. C and OpenCL C. */
#ifndef DEVICE_OPENCL_PLUGIN_KERNELS_SHARED_H
#define DEVICE_OPENCL_PLUGIN_KERNELS_SHARED_H

/* ---- work-items -------------------------------------------------------------------------- */

/* Work-items of a work-group of every kernel that is no product. */
#define WORK_ITEMS 256

/* gather.cl: elements of a sample that a group takes; a multiple of 4 */
#define GATHER_PIECE (4 * WORK_ITEMS)

/* dense.cl, reduce_many_slices: neighbouring numbers that a group makes, WORK_ITEMS / 8 work-items
   each: 32 bytes, which is what a GPU's memory is read by */
#define REDUCE_NUMBERS 8

/* matmul.cl: rows and columns of a tile */
#define MATMUL_SIDE 16

/* embedding.cl: the table's gradient; a work-item sums one column of every so many rows */
#define EMBEDDING_CLASSES 64

/* binary.cl: dimensions of a tensor */
#define BINARY_DIMENSIONS 5

/* ---- results of a step ------------------------------------------------------------------- */

/* The results of a step from the kernels, which the host adds.

   A float has too few digits, and not every device has doubles: each number is two floats, high +
   low, whose sum it is (device/rules/sum2.h). */

enum {
    RESULT_LOSS,    /* mean loss times batch */
    RESULT_MEAN,    /* mean loss */
    RESULT_METRICS, /* and up to RESULT_METRICS_MOST in all: row sums by slot */
    RESULT_METRICS_MOST = 64,
    RESULT_FLOATS = 2 * (RESULT_METRICS + RESULT_METRICS_MOST)
};

/* ---- winograd.cl ------------------------------------------------------------------------- */

#define WINOGRAD_STEP 4       /* rows and columns of a tile's outputs */
#define WINOGRAD_POSITIONS 36 /* (4 + 3 - 1)^2 */
/* Channels that a work-item takes: a GPU's has registers for one; a CPU's vectors are filled. */
#define WINOGRAD_VECTOR(item_n) ((item_n) > 8 ? (item_n) : 1)
/* Work-items of a work-group: the number for the channels, times the number of tiles. */
#define WINOGRAD_ITEMS(item_n) ((item_n) > 8 ? 4 : 32)
#define WINOGRAD_TILES 8

/* ---- probe.cl ---------------------------------------------------------------------------- */

#define PROBE_ITEMS 256 /* work-items of a work-group */
#define PROBE_CHAINS 8  /* independent chains of PROBE_LANES floats: CPUs' vectors are longer */
#define PROBE_LANES(item_n) ((item_n) > 8 ? 16 : 4)
#define PROBE_UNROLL 8
#define PROBE_FLOPS(item_n) (2 * PROBE_LANES(item_n) * PROBE_CHAINS * PROBE_UNROLL)

#endif
