/* The update of the first layer's weights, deferred to the next step.

   Where no gradient of a dense layer's input is needed, its backward pass only changes W, and
   nothing reads W before the next step's forward pass. The forward pass reads W block by block
   anyway: it updates each block first, while the block is in the cache, so that W passes through
   memory once per step in place of twice. Until then the factors of dW are kept: dy in panels, x by
   blocks of columns. The bits are those of an immediate update: the same sums in the same order.

   Measured on 2 Cascade Lake cores, the step's time divided by the time without it: cifar10-mlp
   0.72 at batch 1, 0.84 at 8, 0.91 at 16, 1.00 at its own 32, where multiplications are the
   bottleneck. */
#include "base/memory.h"
#include "device/cpu/dense/dense.h"

enum { LARGER = 4 }; /* W must be this many times larger than x and dy, which are copied for it */

bool dense_worth_deferring(const dense_size *d)
{
    return d->rows <= DENSE_ROWS_MOST && d->in * d->units >= LARGER * d->rows * (d->in + d->units);
}

cornu_status dense_deferred_new(const dense_kernels *kernels, const dense_size *d,
                                dense_deferred *out)
{
    const int64_t depth = dense_forward_depth(kernels, d->in);
    dense_deferred l = {.kernels = kernels,
                        .size = *d,
                        .depth = depth,
                        .x_floats = kernels->wgrad_x_floats(d->rows, depth),
                        .dy_floats = kernels->panel_floats(d->rows)};
    int64_t x = cpu_divide_up(d->in, depth) * l.x_floats;
    int64_t floats = x + d->panels * l.dy_floats;
    TRY(memory_new_aligned((size_t)floats * sizeof(float), "dense layer", &l.x));
    l.dy = l.x + x;
    *out = l;
    return CORNU_OK;
}

/* ---- keeping ------------------------------------------------------------------------------ */

typedef struct keep_run {
    const dense_deferred *deferred;
    const float *x;
    const dense_u8 *bytes;
} keep_run;

static void keep_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const keep_run *r = context;
    const dense_deferred *l = r->deferred;
    const dense_size *d = &l->size;
    int64_t k, end;
    cpu_task_range(d->in, l->depth, block, &k, &end);
    float *to = l->x + block * l->x_floats;
    if (l->scale != 0)
        l->kernels->pack_wgrad_u8(r->bytes, d->rows, k, end - k, to);
    else
        l->kernels->pack_wgrad_x(r->x + k, d->in, d->rows, end - k, to);
}

void dense_deferred_keep(dense_deferred *l, const float *x, const dense_u8 *bytes,
                         const cpu_update_step *update, bool simple, threads *pool)
{
    keep_run r = {l, x, bytes};
    l->scale = bytes->scale;
    l->update = *update;
    l->simple = simple;
    threads_run(pool, cpu_divide_up(l->size.in, l->depth), keep_block, &r);
}

/* ---- updating ----------------------------------------------------------------------------- */

void dense_deferred_update(const dense_deferred *l, int64_t panel, int64_t k, int64_t depth,
                           int64_t distance, bool prefetches_w)
{
    const dense_size *d = &l->size;
    int64_t at = dense_offset(d, panel, k);
    int streams = 0;
    dense_wgrad g = {.rows = d->rows,
                     .depth = depth,
                     .width = dense_width(d, panel),
                     .x = l->x + k / l->depth * l->x_floats,
                     .dy = l->dy + panel * l->dy_floats,
                     .scale = l->scale,
                     .w = l->update.w + at,
                     .rate = l->update.constants.learning_rate,
                     .update = l->simple ? NULL : l->update.rule,
                     .constants = &l->update.constants};
    if (distance && prefetches_w)
        g.prefetch[streams++] = g.w + distance;
    dense_give_slots(&g, &l->update, at, distance, streams);
    l->kernels->wgrad(&g);
}

static void update_panel(void *context, int64_t panel, int worker)
{
    (void)worker;
    const dense_deferred *l = context;
    const int64_t most = l->depth;
    dense_begin(l->kernels);
    for (int64_t k = 0; k < l->size.in; k += most) {
        int64_t depth = cpu_least(most, l->size.in - k);
        int64_t distance = k + depth < l->size.in ? depth * dense_width(&l->size, panel) : 0;
        dense_deferred_update(l, panel, k, depth, distance, true);
    }
    dense_end(l->kernels);
}

void dense_deferred_flush(dense_deferred *l, threads *pool)
{
    threads_run(pool, l->size.panels, update_panel, l);
}
