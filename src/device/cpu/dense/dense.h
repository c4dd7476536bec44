/* Dense layers on weights in panels (host/host.h): declarations that their files share.

     dense_forward.c        y = act(x W + b)
     dense_backward.c       dW = x' dy, dx = dy W', with the fused operations
     dense_deferred.c       updates of W that the next step's forward pass applies
     dense_kernels.[ch]     microkernels fprop, dgrad, wgrad on blocks in cache, by vectors
     dense_kernels_amx.c    the same by AMX
   Gradients over more than DENSE_BLOCK_ROWS rows are conv/indirect.c's, where there is no AMX.

   W [in][units] is stored as consecutive panels of 48 columns; the last one may be narrower. The
   loops, from the outermost in: tasks; blocks of `depth` rows of W by one panel, which stay in the
   second-level cache; within these, in the microkernels, tiles that stay in registers. */
#ifndef DEVICE_CPU_DENSE_DENSE_H
#define DEVICE_CPU_DENSE_DENSE_H

#include "device/cpu/cpu.h"
#include "device/cpu/dense/dense_kernels.h"
#include "device/cpu/elementwise/update.h"
#include "device/host/host.h"

_Static_assert((int)DENSE_PANEL == (int)PANEL_COLUMNS, "kernels and host keep the same panels");

/* Rows of a task of the forward pass: 256 are 2 to 5 % slower. A batch of up to this many rows
   reads W once. */
enum { DENSE_ROWS_MOST = 128 };

/* Rows of a batch that the backward pass sums at once; more are added block by block, for
   precision. */
enum { DENSE_BLOCK_ROWS = 512 };
static inline void dense_row_blocks(int64_t rows, int64_t *blocks, int64_t *block_rows)
{
    *blocks = cpu_divide_up(rows, DENSE_BLOCK_ROWS);
    *block_rows = *blocks > 0 ? cpu_divide_up(rows, *blocks) : 0;
}

/* x [rows][in], W [in][units], y [rows][units] */
typedef struct dense_size {
    int64_t rows, in, units, panels;
} dense_size;

static inline dense_size dense_size_from(int64_t rows, int64_t in, int64_t units)
{
    return (dense_size){rows, in, units, cpu_divide_up(units, PANEL_COLUMNS)};
}

/* `x` or its gradient; `w` or its gradient */
static inline dense_size dense_size_of(const tensor *x, const tensor *w)
{
    return dense_size_from(x->count / w->shape.dim[0], w->shape.dim[0], w->shape.dim[1]);
}

static inline int64_t dense_width(const dense_size *d, int64_t panel)
{
    return cpu_least(PANEL_COLUMNS, d->units - panel * PANEL_COLUMNS);
}

/* Offset of row k of a panel, in floats. */
static inline int64_t dense_offset(const dense_size *d, int64_t panel, int64_t k)
{
    return panel * PANEL_COLUMNS * d->in + k * dense_width(d, panel);
}

#if defined(__x86_64__)
extern const dense_kernels cpu_dense_amx;
#define DENSE_AMX (&cpu_dense_amx)
#else
#define DENSE_AMX NULL
#endif
/* The functions of the kernel "panels" or, with `amx`, of "tiles". */
const dense_kernels *dense_kernels_of(cpu_isa isa, bool amx);
/* May "tiles" run this layer? If not, *why is the reason. */
bool dense_takes_amx(const dense_size *d, const char **why);

/* Is x the output of GATHER, which only scales the samples? */
bool dense_reads_samples(const plan *p, tensor_ref x);
/* These samples, if it is; without a scale if they are not uint8 in this run. */
dense_u8 dense_u8_of(const op_run *o);
/* The factor for sums of products with these inputs, or for dy. */
static inline float dense_factor(const dense_u8 *b)
{
    return b->scale != 0 ? b->scale : 1;
}

/* Rows of a block of W in the forward pass, and in an update deferred to it. Where x is packed, and
   so is larger, the number of blocks is even: with two K-slices of blocks a thread mostly stays in
   one half of x. */
static inline int64_t dense_forward_depth(const dense_kernels *k, int64_t in)
{
    if (!k->pack_x)
        return k->forward_depth;
    int64_t blocks = 2 * cpu_divide_up(in, 2 * k->forward_depth);
    return cpu_divide_up(cpu_divide_up(in, blocks), k->coarse_grain) * k->coarse_grain;
}

static inline void dense_begin(const dense_kernels *k)
{
    if (k->begin)
        k->begin();
}

static inline void dense_end(const dense_kernels *k)
{
    if (k->end)
        k->end();
}

/* Number of tasks, of at least 4 microseconds each, for `products` products of this size; at most
   `most`. */
static inline int64_t dense_tasks(const dense_size *d, int products, int64_t most)
{
    const double task_flops = 5e5;
    double columns = (double)(cpu_divide_up(d->units, 16) * 16); /* rounded up to whole vectors */
    double tasks = 2.0 * products * (double)d->rows * (double)d->in * columns / task_flops;
    return tasks >= (double)most ? most : cpu_most((int64_t)tasks, 1);
}

/* Add the optimizer's slots from element `at` on, which an update of W also changes. The elements
   `distance` floats further are prefetched, unless it is 0, after the `streams` that are prefetched
   already. */
static inline void dense_give_slots(dense_wgrad *g, const cpu_update_step *u, int64_t at,
                                    int64_t distance, int streams)
{
    for (int i = 0; i < DENSE_SLOTS; i++) {
        if (!u->slot[i])
            continue;
        g->slot[i] = u->slot[i] + at;
        if (distance)
            g->prefetch[streams++] = g->slot[i] + distance;
    }
}

/* The update of a kernel that the next step's forward pass applies. */
typedef struct dense_deferred {
    const dense_kernels *kernels;
    dense_size size;
    cpu_update_step update;
    bool simple; /* w -= learning rate * dW: no optimizer rule is needed */
    float scale; /* of x */
    float *x;    /* [blocks of `depth` columns][x_floats], NULL: never deferred */
    float *dy;   /* [panels][dy_floats] */
    int64_t depth, x_floats, dy_floats;
} dense_deferred;

/* Is it faster to defer a layer's update to the next step? */
bool dense_worth_deferring(const dense_size *d);
cornu_status dense_deferred_new(const dense_kernels *kernels, const dense_size *d,
                                dense_deferred *out);
/* Keep x, or uint8 inputs with a scale, and the optimizer step; l->dy is already packed. */
void dense_deferred_keep(dense_deferred *l, const float *x, const dense_u8 *bytes,
                         const cpu_update_step *update, bool simple, threads *pool);
/* From the state of a DENSE_BACKWARD_WEIGHTS. */
const dense_deferred *dense_deferred_of(const void *state);
void dense_deferred_flush(dense_deferred *l, threads *pool);
/* Update rows k...k + depth - 1 of one panel of W; k is a multiple of l->depth. The next rows,
   `distance` floats further (0: none), are prefetched: the slots', and with `prefetches_w` also
   W's. */
void dense_deferred_update(const dense_deferred *l, int64_t panel, int64_t k, int64_t depth,
                           int64_t distance, bool prefetches_w);

#endif
