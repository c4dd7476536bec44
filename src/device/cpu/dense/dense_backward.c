/* DENSE_BACKWARD_WEIGHTS and DENSE_BACKWARD_DATA on weights in panels: dW = x' dy, dx = dy W',
   alone, or as the group DENSE_BACKWARD with the updates and the activation's gradient.

   First dy is packed, in panels for dW, transposed for dx; its columns' sums are the bias's
   gradient. Where dy is small each worker packs it for itself: data written by another core arrive
   slowly. Then W is swept once (dense_backward_run.c):

                units, in panels of 48 columns
               +------+------+------+------+
        task 0 |  1   |  2   |  3   |  4   |  For each block, `depth` rows of a panel of W:
               +------+------+------+------+    dgrad  dx' [depth][rows] += W dy'
    in         |  5   |  6   |  7   |  8   |    wgrad  dW [depth][48] = x' dy, then the update
               +------+------+------+------+  while the next one is prefetched.
        task 1 |      |      |      |      |
               +------+------+------+------+

   Each element of dx and of dW is summed by one task alone. Where the updates of kernel and bias
   follow and nothing else reads their gradients, dW is never stored. dx is multiplied by the
   derivative of the activation that made x, if that is in the group, before it is stored. Where no
   dx is needed, the update of W may be deferred to the next step's forward pass
   (dense_deferred.c). */
#include "device/cpu/dense/dense_backward.h"
#include "base/memory.h"
#include <stdlib.h>

enum {
    TASKS_MOST = 64,
    DEPTH_TASKS = 16, /* deep blocks read dy less often */
    TASKS_FEW = 8     /* below this number of tasks, blocks become smaller */
};
#define BLOCK_BYTES ((int64_t)256 << 10) /* for x and dx, in the second-level cache */
#define OWN_BYTES ((int64_t)128 << 10)   /* of packed dy, for each worker to pack its own */

/* ---- preparation --------------------------------------------------------------------------- */

static void choose_blocking(dense_backward_state *s)
{
    const dense_size *d = &s->size;
    dense_row_blocks(d->rows, &s->row_blocks, &s->block_rows);
    s->lane_groups = cpu_divide_up(s->block_rows, DENSE_LANES);
    int products = (s->ops.data != NULL) + (s->ops.weights != NULL);
    int64_t wanted = dense_tasks(d, products, DEPTH_TASKS);
    int64_t most = BLOCK_BYTES / (2 * s->block_rows * (int64_t)sizeof(float));
    const dense_kernels *k = s->kernels;
    int64_t even = wanted + (wanted > 1 && wanted % 2); /* number of blocks, an even one */
    int64_t depth = cpu_least(cpu_divide_up(d->in, even), cpu_least(most, k->backward_depth));
    bool coarse = d->in >= TASKS_FEW * k->coarse_grain && depth >= 2 * k->coarse_grain;
    int64_t grain = coarse ? k->coarse_grain : k->grain;
    s->depth = cpu_divide_up(depth, grain) * grain;
    s->blocks = cpu_divide_up(d->in, s->depth);
    s->tasks = cpu_least(s->blocks, TASKS_MOST);
    s->x_floats = s->ops.weights ? k->wgrad_x_floats(s->block_rows, s->depth) : 0;
    int64_t dx_groups = s->ops.data ? s->lane_groups + (s->ops.act != NULL) : 0;
    s->worker_floats = cpu_scratch_floats(s->x_floats + dx_groups * s->depth * DENSE_LANES);
    int64_t panels = s->row_blocks * d->panels;
    s->panel_floats = k->panel_floats(s->block_rows);
    s->dy_floats = s->ops.weights ? panels * s->panel_floats : 0;
    s->dy_transposed_floats = s->ops.data ? panels * s->lane_groups * k->lanes_floats : 0;
    s->shared_floats = s->dy_floats + s->dy_transposed_floats;
    s->own = s->shared_floats * (int64_t)sizeof(float) <= OWN_BYTES;
    if (s->own) {
        s->worker_floats += DENSE_PACKED_FLOATS + s->shared_floats;
        s->shared_floats = 0;
    }
}

static dense_size size_of(const plan *p, const op *o)
{
    if (o->kind == OP_DENSE_BACKWARD_DATA)
        return dense_size_of(OP_OUT(p, o, 0), OP_IN(p, o, 1));
    int64_t rows, in, units;
    tensor_matrix(OP_IN(p, o, 0), &rows, &in);
    tensor_matrix(OP_IN(p, o, 1), &rows, &units);
    return dense_size_from(rows, in, units);
}

static bool fused_accepts(const plan *p, const op *o, const char **why)
{
    *why = "more than 512 rows";
    return size_of(p, o).rows <= DENSE_BLOCK_ROWS;
}

static bool defers(const plan *p, const op_group *g)
{
    const op *weights = group_op(p, g, ROLE_WGRAD);
    const dense_size d = size_of(p, weights);
    return dense_worth_deferring(&d);
}

static cornu_status prepare(const plan *p, const op *o, group_kind group, bool amx, threads *pool,
                            void **state, size_t *scratch_bytes)
{
    const op_group *g = plan_group(p, o, group);
    dense_backward_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "dense layer", &s));
    *state = s;
    TRY(cpu_isa_choose(&s->isa));
    s->kernels = dense_kernels_of(s->isa, amx);
    s->ops =
        (dense_backward){.weights = o->kind == OP_DENSE_BACKWARD_WEIGHTS ? o : NULL,
                         .data = o->kind == OP_DENSE_BACKWARD_DATA ? o : group_op(p, g, ROLE_DGRAD),
                         .update_w = group_op(p, g, ROLE_UPDATE_KERNEL),
                         .update_b = group_op(p, g, ROLE_UPDATE_BIAS),
                         .act = group_op(p, g, ROLE_ACTIVATION)};
    s->size = size_of(p, o);
    s->samples = s->ops.weights && s->kernels->pack_u8 && dense_reads_samples(p, o->in[0]);
    choose_blocking(s);
    s->workers = threads_count(pool);
    cpu_need_scratch(scratch_bytes, s->shared_floats + s->workers * s->worker_floats);
    if (g && g->absorber >= 0 && defers(p, g))
        TRY(dense_deferred_new(s->kernels, &s->size, &s->deferred));
    return CORNU_OK;
}

static cornu_status panels_prepare(const plan *p, const op *o, threads *pool, void **state,
                                   size_t *scratch_bytes)
{
    return prepare(p, o, GROUP_NONE, false, pool, state, scratch_bytes);
}

static cornu_status panels_prepare_fused(const plan *p, const op *o, threads *pool, void **state,
                                         size_t *scratch_bytes)
{
    return prepare(p, o, GROUP_DENSE_BACKWARD, false, pool, state, scratch_bytes);
}

static bool amx_accepts(const plan *p, const op *o, const char **why)
{
    dense_size d = size_of(p, o);
    return dense_takes_amx(&d, why);
}

static bool amx_accepts_fused(const plan *p, const op *o, const char **why)
{
    return amx_accepts(p, o, why) && fused_accepts(p, o, why);
}

static cornu_status amx_prepare(const plan *p, const op *o, threads *pool, void **state,
                                size_t *scratch_bytes)
{
    return prepare(p, o, GROUP_NONE, true, pool, state, scratch_bytes);
}

static cornu_status amx_prepare_fused(const plan *p, const op *o, threads *pool, void **state,
                                      size_t *scratch_bytes)
{
    return prepare(p, o, GROUP_DENSE_BACKWARD, true, pool, state, scratch_bytes);
}

static void release(void *state)
{
    dense_backward_state *s = state;
    if (s)
        memory_free_aligned(s->deferred.x);
    free(s);
}

/* ---- running ------------------------------------------------------------------------------- */

static cornu_status weights_run(const op_run *o)
{
    dense_backward_state *s = o->state;
    dense_backward_run r = {.s = s,
                            .x = o->in[0],
                            .bytes = s->samples ? dense_u8_of(o) : (dense_u8){0},
                            .dy = o->in[1],
                            .dw = o->out[0],
                            .db = o->out[1]};
    if (s->ops.update_w) {
        r.update_w = cpu_update_begin(o, s->ops.update_w, s->isa);
        r.simple = s->ops.update_w->a.update.optimizer.id == OPTIMIZER_SGD &&
                   r.update_w.constants.plain && !r.update_w.slot[0];
        r.w = r.update_w.w;
        r.dw = NULL;
    }
    if (s->ops.update_b)
        r.update_b = cpu_update_begin(o, s->ops.update_b, s->isa);
    if (!r.dw && !s->ops.update_w)
        return dense_backward_bias(o, &r);
    if (s->ops.data)
        r.dx = o->tensors[(s->ops.act ? s->ops.act : s->ops.data)->out[0]];
    if (!o->deferred)
        return dense_backward_sweep(o, &r);
    r.panels = s->deferred.dy;
    dense_backward_pack_dy(o, &r);
    dense_deferred_keep(&s->deferred, r.x, &r.bytes, &r.update_w, r.simple, o->pool);
    return CORNU_OK;
}

const dense_deferred *dense_deferred_of(const void *state)
{
    const dense_backward_state *s = state;
    return &s->deferred;
}

static void flush(void *state, threads *pool)
{
    dense_backward_state *s = state;
    dense_deferred_flush(&s->deferred, pool);
}

static cornu_status data_run(const op_run *o)
{
    /* Only the update writes W, and there is none here. */
    dense_backward_run r = {
        .s = o->state, .dy = o->in[0], .w = (float *)(uintptr_t)o->in[1], .dx = o->out[0]};
    return dense_backward_sweep(o, &r);
}

const kernel cpu_dense_backward_weights = {.name = "panels",
                                           .prepare = panels_prepare,
                                           .release = release,
                                           .run = weights_run,
                                           .panels = true};
const kernel cpu_dense_backward_weights_amx = {.name = "tiles",
                                               .accepts = amx_accepts,
                                               .prepare = amx_prepare,
                                               .release = release,
                                               .run = weights_run,
                                               .panels = true};
const kernel cpu_dense_backward = {.name = "panels",
                                   .group = GROUP_DENSE_BACKWARD,
                                   .accepts = fused_accepts,
                                   .prepare = panels_prepare_fused,
                                   .release = release,
                                   .run = weights_run,
                                   .defers = defers,
                                   .flush = flush,
                                   .panels = true};
const kernel cpu_dense_backward_amx = {.name = "tiles",
                                       .group = GROUP_DENSE_BACKWARD,
                                       .accepts = amx_accepts_fused,
                                       .prepare = amx_prepare_fused,
                                       .release = release,
                                       .run = weights_run,
                                       .defers = defers,
                                       .flush = flush,
                                       .panels = true};
const kernel cpu_dense_backward_data = {
    .name = "panels", .prepare = panels_prepare, .release = free, .run = data_run, .panels = true};
const kernel cpu_dense_backward_data_amx = {.name = "tiles",
                                            .accepts = amx_accepts,
                                            .prepare = amx_prepare,
                                            .release = free,
                                            .run = data_run,
                                            .panels = true};
