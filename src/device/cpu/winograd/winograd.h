/* Convolutions of 3x3 and 5x5 with stride 1 by Winograd's algorithm. The output is divided into
   tiles of 4 x 4 pixels. The pixels that a tile depends on are transformed, each channel to 6 x 6
   (for 5x5 8 x 8) numbers, its transform-domain positions. There the convolution is one matrix
   product per position, over the channels (winograd_kernels.h has the formulas):

     x --input--> v [position][tile][in]
                    times u [position][in][out], the weights, transformed once a step
                    is z [position][tile][out] --output--> y

   v and z are larger than x and y, and never leave the cache: a worker takes a block of tiles,
   makes its v, multiplies position by position and transforms z back, before it takes the next
   block.

     position     in                   out                   out
                +----+              +-------+             +-------+
        0       | v0 | tiles of     |  u0   | in          |  z0   | tiles of
                +----+ the block    +-------+             +-------+ the block
        1       | v1 |       times  |  u1   |      is     |  z1   |
       ...      +----+              +-------+             +-------+
                the worker's        shared by all         the worker's: z1 replaces v0

   dw is the sum of v' z over all tiles, where z is made from dy; a task has a fixed range of the
   tiles and computes partial sums of dw for all positions (winograd_backward.c).

   winograd.c has the forward pass, winograd_backward.c the gradients, winograd_pool.c both with a
   2x2 max-pool after them, small_gemm_kernels.h the products. */
#ifndef DEVICE_CPU_WINOGRAD_WINOGRAD_H
#define DEVICE_CPU_WINOGRAD_WINOGRAD_H

#include "device/cpu/cpu.h"
#include "device/cpu/winograd/small_gemm_kernels.h"
#include "device/cpu/winograd/winograd_kernels.h"

#if defined(__x86_64__)
extern const small_gemm_amx cpu_small_gemm_amx;
#define SMALL_GEMM_AMX (&cpu_small_gemm_amx)
#else
#define SMALL_GEMM_AMX ((const small_gemm_amx *)NULL)
#endif

/* Tolerance of a CONV2D operation's result, as kernel.tolerance. */
#define WINOGRAD_TOLERANCE 2e-5

enum { WINOGRAD_CACHE = 1 << 20 }; /* bytes of a core's second-level cache */

/* The state that all passes need. One block of memory: release with free. */
typedef struct winograd_state {
    cpu_isa isa;
    const winograd_kernels *k;
    const small_gemm_kernels *gemm;
    const small_gemm_amx
        *amx; /* for products with u, which is packed for it; NULL: products use `gemm` */
    winograd_image x, y; /* also of their gradients; `rotated`: of dy and dx */
    bool rotated;
    int64_t tiles, block;     /* in the batch, in a block */
    int positions;            /* number of products */
    winograd_positions u, dw; /* transformed weights; partial sums of dw, of one range */
    winograd_positions v, z;  /* per worker: as wide as x, as y; transforms or products */
    int64_t workers, worker_floats;
    /* Backward passes, which may be one pass: */
    bool weights, data;
    int64_t ranges, grain; /* over all tiles; each is a multiple of `grain` tiles */
    int64_t pair_tasks;    /* tasks per range: one for each pair of rows of positions, or 1 */
    /* Offsets in scratch memory, after the ranges' dw, in floats; blocks: workers' v and z; partial
       sums of db, [ranges][channels]; zeros as wide as an image. */
    int64_t u_at, blocks_at, sums_at, zeros_at;
    int64_t z_at; /* of each worker */
} winograd_state;

/* Slots of a kernel for one of the three CONV2D operations. The FLOPs are those of the products;
   the transforms' additions are not counted. */
bool winograd_accepts(const plan *p, const op *o, const char **why);
double winograd_flops(const plan *p, const op *o);
/* For a forward pass, or the inputs' gradient computed as one. */
cornu_status winograd_prepare_forward(const plan *p, const op *o, threads *pool, void **state,
                                      size_t *scratch_bytes);
/* For the weights' and the inputs' gradients; one may be NULL. */
cornu_status winograd_prepare_backward(const plan *p, const op *weights, const op *data,
                                       threads *pool, void **state, size_t *scratch_bytes);
/* Is it better to compute both gradients in one pass, which transforms dy only once? It is if
   weights and sums are small enough to stay in the cache together. */
bool winograd_one_pass(const plan *p, const op *weights, const op *data);

/* Run with the state prepared for that operation, and with the threads and scratch of `o`.
   Activations other than relu are not applied. */
void winograd_forward(const winograd_state *s, const op_run *o, const float *x, const float *w,
                      const winograd_output *y);
/* The gradients that the state was prepared for; x and dw are not accessed without `weights`, w and
   dx not without `data`. db may be NULL. */
typedef struct winograd_gradients {
    const float *x, *w;
    winograd_gradient dy;
    float *dw, *db, *dx;
} winograd_gradients;
void winograd_backward(const winograd_state *s, const op_run *o, const winograd_gradients *g);

/* ---- shared between the files ------------------------------------------------------------ */

/* One run: pointers to its data. */
typedef struct winograd_run {
    const winograd_state *s;
    winograd_image x, y; /* the state's, with zeros */
    winograd_positions u, dw;
    float *blocks, *sums;
    const float *from, *w;
    winograd_output to;
    winograd_gradients g;
} winograd_run;

/* Channels rounded up to whole vectors. */
int64_t winograd_row(const winograd_state *s, int64_t channels);
/* The layout of `rows`-row matrices, one per position, without memory. With `streamed` they are the
   second operand of products, and rows are not a multiple of 512 bytes apart: that would put them
   into few sets of the first-level cache. */
winograd_positions winograd_positions_of(const winograd_state *s, int64_t rows, int64_t channels,
                                         bool streamed);
/* Choose the layout of the transformed weights, with `rows` rows. Decides for or against AMX. */
void winograd_choose_weights(winograd_state *s, int64_t rows, int64_t channels);
/* Tiles of a block whose positions take `tile_bytes` per tile: at most `bytes` in all. Each block
   reads all `weights`: if they are large, blocks that do not fit are better than many blocks. */
int64_t winograd_block_most(int64_t bytes, int64_t tile_bytes, int64_t weights);
/* Tiles of a block, such that all blocks have about the same size, at most `most`, and their number
   is a multiple of `multiple`. */
int64_t winograd_block(int64_t tiles, int64_t most, int64_t multiple);
/* For passes that make one product of each transform: the maximum number of tiles of a block that
   fit beside the weights; the tiles of a block of a range; and the layout of v and z. Product p is
   written over transform p - 1, which is no longer needed, so that v is one position after z. */
int64_t winograd_single_block_most(const winograd_state *s);
int64_t winograd_single_block(const winograd_state *s, int64_t tiles, int64_t most,
                              int64_t multiple);
void winograd_plan_single(winograd_state *s);
/* Set instruction set, images and their tiles; `rotated`: those of the inputs' gradient as a
   forward pass. */
cornu_status winograd_new(const plan *p, const op *o, bool rotated, threads *pool,
                          winograd_state **state);
/* Set the offsets in scratch memory, and its size. */
void winograd_plan_scratch(winograd_state *s, size_t *scratch_bytes);
winograd_run winograd_begin(const winograd_state *s, const op_run *o);
/* Transform all rows into u. */
void winograd_transform_weights(winograd_run *r, threads *pool);
/* The rows of pixels, or of 2x2 windows, of tiles begin to end - 1, without those that other tiles
   also need. */
small_gemm_lines winograd_lines(const winograd_image *g, const float *x, int window, int64_t begin,
                                int64_t end);
/* Range number `range` of `ranges`, all of about the same length. */
small_gemm_lines winograd_lines_range(const small_gemm_lines *l, int64_t range, int64_t ranges);
/* The products of all positions with u. */
void winograd_multiply_amx(const winograd_run *r, const winograd_positions *a,
                           const winograd_positions *c, int64_t tiles, int64_t depth,
                           const small_gemm_lines *prefetch);
/* Prefetch the operand of the next product, into the first-level cache if it is small. */
void winograd_prefetch_next(small_gemm *g, int which, const float *from, int64_t floats);

#endif
