/* Operations as all plug-ins see them: their tensors by role, the sizes that kernels are launched
   for, and what an operation refuses. A plug-in's own file of an operation only launches. */
#ifndef DEVICE_ACCELERATOR_OPS_H
#define DEVICE_ACCELERATOR_OPS_H

#include "device/accelerator/gpu.h"
#include "device/broadcast.h"
#include "device/matmul.h"
#include "device/slices.h"

/* Image sizes up to here: kernels add a few of them in 32-bit numbers. */
#define GPU_SIDE_MOST (1 << 28)

/* ---- launches: blocks are CUDA's word for OpenCL's work-groups --------------------------------
 */

/* Blocks for `items`, `per_block` each; at most `most` (0: 2^31 - 1), as kernels go on in strides
   of the grid. */
static inline int64_t gpu_blocks(int64_t items, int64_t per_block, int64_t most)
{
    int64_t blocks = (items + per_block - 1) / per_block;
    if (most == 0)
        most = INT32_MAX;
    return blocks < 1 ? 1 : blocks > most ? most : blocks;
}

/* Number of blocks of elementwise kernels with four elements per thread: enough to fill every
   device several times. */
static inline int64_t gpu_element_blocks(int64_t count, int block)
{
    return gpu_blocks(count, 4 * (int64_t)block, 4096);
}

/* Threads that share a row of n elements: a power of two up to `most`. */
static inline int gpu_lanes(int64_t n, int most)
{
    int lanes = 1;
    while (lanes < most && lanes < n)
        lanes *= 2;
    return lanes;
}

/* The same for the rows of a softmax, loss or metric: a warp at most. */
enum { GPU_ROW_LANES_MOST = 32 };

/* The same for a row of a layer normalization, up to `block` threads: each thread has about
   four elements. */
static inline int gpu_norm_lanes(int64_t n, int block)
{
    return gpu_lanes((n + 3) / 4, block);
}

/* Floats per thread if channels are the innermost dimension. */
static inline int gpu_pack(int64_t channels)
{
    return channels % 4 == 0 ? 4 : 1;
}

/* Sums over the rows of [rows][columns]: blocks of strips of `width` columns (a power of two up to
   32), each over a range of block_rows rows; `count` ranges, whose partial sums are then added. */
typedef struct gpu_strips {
    int64_t rows, columns, block_rows, count;
    int width;
} gpu_strips;
/* About `blocks` blocks of `block` threads. */
gpu_strips gpu_strips_of(int64_t rows, int64_t columns, int block, int64_t blocks);
/* Maximum blocks of sums over rows, and of kernels that write a result for every element. */
enum { GPU_SUM_BLOCKS = 512, GPU_APPLY_BLOCKS = 2048 };
/* Partial sums that each block of a second kernel adds up for itself; more are reduced before. */
enum { GPU_PARTIALS_MOST = 16 };

/* ---- rows: softmax, loss, metrics -------------------------------------------------------------
 */

/* softmax and other activations of rows; all others */
bool gpu_accepts_rows(const gpu *g, const plan *p, const op *o, const char **why);
bool gpu_accepts_elements(const gpu *g, const plan *p, const op *o, const char **why);

/* The operations of a GROUP_HEAD, or a single LOSS or METRIC. */
typedef struct gpu_head {
    const op *activation, *loss, *metrics; /* NULL: not there; metrics stand side by side */
    int metric_count;
} gpu_head;
gpu_head gpu_head_of(const plan *p, const op *o, const op_group *g);
/* Accepts a softmax with a categorical cross-entropy, or a sigmoid with any cross-entropy, of
   the same logits. */
bool gpu_accepts_head(const gpu *g, const plan *p, const op *o, const char **why);

/* How a TALLY is divided: a group of `items` work-items counts a slice of rows or elements for so
   many buckets, each work-item for one. */
typedef struct gpu_tally {
    int64_t rows, n, targets, rows_per_sample, limits;
    int64_t per_row;        /* 1, or n: what counts of a row */
    int64_t count;          /* that of all rows */
    int64_t slice;          /* of a group: a multiple of `items` */
    int64_t slices, blocks; /* groups: slices x blocks of buckets */
    int planes;
    int64_t numbers; /* of the table */
} gpu_tally;
gpu_tally gpu_tally_of(const plan *p, const op *o, int items);
/* Bytes of partial tables, two floats for each number; 0 where there is one slice. */
size_t gpu_tally_scratch(const gpu_tally *t);

/* Threads for each row of a LOSS or METRIC, in blocks of `block`. */
int gpu_head_lanes(const plan *p, const op *o, int block);
/* Rounds of one block over the rows, before several blocks share them; and how many at most. */
enum { GPU_HEAD_ROUNDS_MOST = 2, GPU_HEAD_BLOCKS_MOST = 512 };

/* ---- dense layers -----------------------------------------------------------------------------
 */

/* x [rows][in], W [in][units] */
typedef struct gpu_dense_size {
    int64_t rows, in, units;
} gpu_dense_size;
gpu_dense_size gpu_dense_size_of(const plan *p, const op *o);

/* ---- convolutions -----------------------------------------------------------------------------
 */

/* The tensors by role; gradients stand for their tensors. b: NULL where absent. */
typedef struct gpu_conv_roles {
    const tensor *x, *w, *b, *y;
} gpu_conv_roles;
gpu_conv_roles gpu_conv_roles_of(const plan *p, const op *o);
/* CORNU_UNSUPPORTED where images with their padding have sides beyond GPU_SIDE_MOST. */
cornu_status gpu_conv_check_sides(const gpu_conv_roles *r, const window2d *w);

/* ---- pooling ----------------------------------------------------------------------------------
 */

bool gpu_accepts_pool(const gpu *g, const plan *p, const op *o, const char **why);
/* MAX_POOL_BACKWARD whose windows do not overlap */
bool gpu_accepts_pool_apart(const gpu *g, const plan *p, const op *o, const char **why);

typedef struct gpu_pool {
    const shape *in, *out; /* images that are pooled, and the result, also in the backward pass */
    const window2d *w;
    int pack;
} gpu_pool;
gpu_pool gpu_pool_of(const gpu_op *r);
/* Packs of the tiles of stride x stride pixels that cover the images, from the first window on. */
int64_t gpu_pool_tile_packs(const gpu_pool *p);

/* ---- others -----------------------------------------------------------------------------------
 */

/* A gradient's operation that may have the gradient of the activation before it fused. */
typedef struct gpu_slope {
    activation act;     /* linear where none is fused */
    gpu_address x_or_y; /* input or output of the activation; 0 if none is fused */
    gpu_address out;    /* of the complete result */
} gpu_slope;
gpu_slope gpu_slope_of(const gpu_op *r);

/* GATHER: floats of a sample and of its target, whose rows have `columns`. */
typedef struct gpu_gather_size {
    int64_t count, target_count, columns; /* target_count: 0 where no targets are gathered */
} gpu_gather_size;
gpu_gather_size gpu_gather_size_of(const gpu_op *r);

/* RESAMPLE_*: x is dy backward. */
typedef struct gpu_resample {
    bool back;
    gpu_address x, map;
    const shape *in, *out; /* of the images that are resampled, and of the resampled ones */
    int64_t map_step;      /* floats from a sample's map to the next one's */
    int64_t items;         /* forward elements of y, backward the channels of all rows of x */
} gpu_resample;
gpu_resample gpu_resample_of(const gpu_op *r);
/* RECOLOR_*: its pixels, the numbers of a sample, and whether all channels change together. */
typedef struct gpu_recolor {
    bool back;
    int64_t pixels, channels, pixels_of_sample, numbers;
} gpu_recolor;
gpu_recolor gpu_recolor_of(const gpu_op *r);
/* DRAW of normal numbers: blocks of DRAW_TOGETHER, none of which two samples share. */
int64_t gpu_draw_blocks(const tensor *y);

/* MATMUL in tiles of `side` rows and columns: how many there are. */
int64_t gpu_matmul_tiles(const matmul_shape *s, int64_t side);

/* BINARY_FORWARD or BINARY_BACKWARD: what a rule does not read has dy's address and steps.
   TRANSPOSE: as the maximum of x and x, where these have another order than y. */
typedef struct gpu_binary {
    broadcast s, kept, repeated; /* backward: of the input whose gradient is computed */
    gpu_address a, b;
    binary_kind kind;
    int64_t count, terms; /* elements that are written, and how many are summed for each */
    bool wide;            /* the terms of an element are worth a block */
} gpu_binary;
gpu_binary gpu_binary_of(const gpu_op *r);

/* SLICE or INSERT: in packs of `pack` floats. */
typedef struct gpu_slice {
    slice_runs s;
    int pack;
    bool spreads;  /* INSERT: the elements between the runs become 0 */
    int64_t packs; /* that are copied or, where it spreads, written */
} gpu_slice;
gpu_slice gpu_slice_of(const gpu_op *r);

/* PAD or CROP: the larger and the smaller images, and how many packs are written. */
typedef struct gpu_pad {
    const shape *outer, *inner;
    const int64_t *before; /* rows, columns */
    int pack;
    int64_t packs;
} gpu_pad;
gpu_pad gpu_pad_of(const gpu_op *r);

/* RECURRENT_BACKWARD: bytes of the gradients that a step hands to the one before,
 * [batch][2][units].
 */
static inline size_t gpu_recurrent_carries(const plan *p, const op *o)
{
    const shape *h = &p->tensors[o->in[1]].shape;
    return (size_t)(h->dim[0] * 2 * h->dim[2]) * sizeof(float);
}

/* True if LAYER_NORM_BACKWARD computes gradients of gamma or beta. */
static inline bool gpu_norm_has_gradients(const op *o)
{
    return o->out[1] != NO_TENSOR || o->out[2] != NO_TENSOR;
}

static inline gpu_address gpu_address_of(const gpu_op *r, tensor_ref t)
{
    return t == NO_TENSOR ? 0 : r->tensors[t];
}

#endif
