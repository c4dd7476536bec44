/* All UPDATE operations of a plan in one launch, after all other operations of the step; it
   includes the weight gradients of dense layers with few rows (kernels/update.h). */
#include "device/cuda/plugin/kernels/update.h"
#include "device/cuda/plugin/core.h"
#include "device/cuda/plugin/kernels/product.h"
#include "device/cuda/plugin/ops/ops.h"
#include "device/optimizer_step.h"
#include <stdlib.h>
#include <string.h>

_Static_assert(OPTIMIZER_SLOTS_MAX == 3, "update_piece has room for these");

struct cuda_updates {
    cuda_function function;
    dense_update_params params; /* only .update if there are no tiles */
    bool sums_squares;          /* SQUARE_SUM operations are done here */
    update_squares_params squares;
    update_squares_reduce_params squares_reduce;
    unsigned variable_count, piece_count;
    gpu_memory memory;
};

/* ---- which weight gradients are fused ---------------------------------------------------------
 */

/* With more rows the products take longer than the weights' traffic, and a library is faster
   than these tiles of 64 x 64. */
enum { DENSE_ROWS_MOST = 128 };

/* The UPDATE of the variable whose gradient is `t`, or NULL. */
static const op *update_of(const plan *p, tensor_ref t)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_UPDATE && p->ops[i].in[1] == t)
            return &p->ops[i];
    return NULL;
}

/* Is it read by other operations than UPDATE: by the sum over the calls of a shared layer? */
static bool is_read(const plan *p, tensor_ref t)
{
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0; k < OP_INPUTS_MAX && p->ops[i].kind != OP_UPDATE; k++)
            if (p->ops[i].in[k] == t)
                return true;
    return false;
}

/* Gradients that are clipped by norm have to be there before the first step on any. */
static bool steps_at_once(const plan *p, tensor_ref gradient)
{
    const op *o = update_of(p, gradient);
    return o && o->in[5] == NO_TENSOR && !is_read(p, gradient);
}

static bool other_is_forced(const gpu *g)
{
    const char *forced = g->state->forced;
    for (gpu_kernel_list k = g->driver->kernels[OP_DENSE_BACKWARD_WEIGHTS]; forced && *k; k++)
        if (*k != &cuda_dense_with_updates && strcmp((*k)->name, forced) == 0)
            return true;
    return false;
}

bool cuda_updates_absorb(const gpu *g, const plan *p, const op *o)
{
    if (o->kind != OP_DENSE_BACKWARD_WEIGHTS || other_is_forced(g))
        return false;
    const tensor *x = &p->tensors[o->in[0]], *dw = &p->tensors[o->out[0]];
    return x->count / dw->shape.dim[0] <= DENSE_ROWS_MOST && dw->shape.dim[0] <= INT32_MAX / 2 &&
           dw->shape.dim[1] <= INT32_MAX / 2 && steps_at_once(p, o->out[0]) &&
           (o->out[1] == NO_TENSOR || steps_at_once(p, o->out[1]));
}

/* True if the launch computes gradient `t` itself. */
static bool is_absorbed(const gpu *g, const plan *p, tensor_ref t)
{
    for (int i = 0; i < p->op_count; i++)
        if ((p->ops[i].out[0] == t || p->ops[i].out[1] == t) &&
            cuda_updates_absorb(g, p, &p->ops[i]))
            return true;
    return false;
}

static bool accepts_absorbed(const gpu *g, const plan *p, const op *o, const char **why)
{
    *why = "many rows, or the gradient itself is wanted";
    return cuda_updates_absorb(g, p, o);
}

const gpu_kernel cuda_dense_with_updates = {
    .name = "updates", .accepts = accepts_absorbed, .with_updates = true};
static const gpu_kernel all_updates = {.name = "update", .with_updates = true};
const gpu_kernel *const cuda_update[] = {&all_updates, NULL};

/* ---- tables ---------------------------------------------------------------------------------- */

/* Each kind of table, while it grows on the host. */
enum { PIECES, RANGES, LAYERS, TILES, TABLES };
typedef struct table {
    unsigned char *items;
    size_t count, capacity, size;
} table;
typedef struct tables {
    table of[TABLES];
} tables;

static cornu_status add(tables *t, int which, const void *item)
{
    table *a = &t->of[which];
    TRY(memory_grow(&a->items, &a->capacity, a->count + 1, a->size));
    memcpy(a->items + a->count++ * a->size, item, a->size);
    return a->count <= INT32_MAX ? CORNU_OK
                                 : status_fail(CORNU_UNSUPPORTED, "table of updates: found more "
                                                                  "than 2^31 entries");
}

static void tables_free(tables *t)
{
    for (int i = 0; i < TABLES; i++)
        free(t->of[i].items);
}

static void slots_of(const op *update, const gpu_address *tensors, int64_t first, float **slots)
{
    for (int k = 0; k < OPTIMIZER_SLOTS_MAX; k++)
        if (update->out[1 + k] != NO_TENSOR)
            slots[k] = (float *)tensors[update->out[1 + k]] + first;
}

/* The index of the gradient's square sum: that of SQUARE_SUM, else that of UPDATE. */
static int square_of(const plan *p, const op *update, bool *summed)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_SQUARE_SUM && p->ops[i].in[0] == update->in[1]) {
            *summed = true;
            return p->ops[i].a.norm.slot;
        }
    return update->a.update.norm_slot;
}

static cornu_status add_pieces(tables *t, const plan *p, const op *o, const gpu_address *tensors,
                               bool *sums_squares)
{
    int64_t count = p->tensors[o->in[0]].count;
    int square = square_of(p, o, sums_squares);
    update_range range = {.first = (int32_t)t->of[PIECES].count,
                          .count = (int32_t)((count + UPDATE_PIECE - 1) / UPDATE_PIECE)};
    TRY(add(t, RANGES, &range));
    for (int64_t first = 0; first < count; first += UPDATE_PIECE) {
        int64_t left = count - first;
        update_piece v = {.w = (float *)tensors[o->out[0]] + first,
                          .g = (const float *)tensors[o->in[1]] + first,
                          .count = left < UPDATE_PIECE ? (int32_t)left : UPDATE_PIECE,
                          .square = square,
                          .penalty_l1 = o->a.update.penalty.l1,
                          .penalty_l2 = o->a.update.penalty.l2,
                          .weight_decay = (float)o->a.update.optimizer.weight_decay};
        slots_of(o, tensors, first, v.slot);
        TRY(add(t, PIECES, &v));
    }
    return CORNU_OK;
}

static cornu_status add_layer(tables *t, const plan *p, const op *o, const gpu_address *tensors)
{
    const shape *s = &p->tensors[o->out[0]].shape;
    const op *weights = update_of(p, o->out[0]);
    const op *bias = o->out[1] == NO_TENSOR ? NULL : update_of(p, o->out[1]);
    dense_update_layer l = {.x = (const float *)tensors[o->in[0]],
                            .dy = (const float *)tensors[o->in[1]],
                            .w = (float *)tensors[weights->out[0]],
                            .bias = bias ? (float *)tensors[bias->out[0]] : NULL,
                            .rows = (int32_t)(p->tensors[o->in[0]].count / s->dim[0]),
                            .in = (int32_t)s->dim[0],
                            .units = (int32_t)s->dim[1],
                            .penalty_l1 = weights->a.update.penalty.l1,
                            .penalty_l2 = weights->a.update.penalty.l2,
                            .bias_l1 = bias ? bias->a.update.penalty.l1 : 0,
                            .bias_l2 = bias ? bias->a.update.penalty.l2 : 0,
                            .weight_decay = (float)weights->a.update.optimizer.weight_decay,
                            .bias_decay = bias ? (float)bias->a.update.optimizer.weight_decay : 0};
    slots_of(weights, tensors, 0, l.slot);
    if (bias)
        slots_of(bias, tensors, 0, l.bias_slot);
    dense_update_tile tile = {.layer = (int32_t)t->of[LAYERS].count};
    TRY(add(t, LAYERS, &l));
    for (tile.in = 0; tile.in < l.in; tile.in += DENSE_UPDATE_TILE)
        for (tile.unit = 0; tile.unit < l.units; tile.unit += DENSE_UPDATE_TILE)
            TRY(add(t, TILES, &tile));
    return CORNU_OK;
}

static cornu_status fill_tables(const gpu *g, tables *t, const plan *p, const gpu_address *tensors,
                                bool *sums_squares)
{
    *t = (tables){.of = {[PIECES] = {.size = sizeof(update_piece)},
                         [RANGES] = {.size = sizeof(update_range)},
                         [LAYERS] = {.size = sizeof(dense_update_layer)},
                         [TILES] = {.size = sizeof(dense_update_tile)}}};
    for (int i = 0; i < p->op_count; i++) {
        const op *o = &p->ops[i];
        if (cuda_updates_absorb(g, p, o))
            TRY(add_layer(t, p, o, tensors));
        else if (o->kind == OP_UPDATE && !is_absorbed(g, p, o->in[1]))
            TRY(add_pieces(t, p, o, tensors, sums_squares));
    }
    *sums_squares &= !cuda_sums_squares_alone(p);
    return CORNU_OK;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static cuda_function function_of(optimizer_id id, bool dense)
{
    static const cuda_function functions[OPTIMIZER_COUNT][2] = {
#define OPTIMIZER(id, ...) [OPTIMIZER_##id] = {CUDA_update_##id, CUDA_dense_update_##id},
#include "model/optimizers.def"
    };
    return functions[id][dense];
}

static update_params params_of(const op *o, const gpu_address *tensors)
{
    const optimizer *r = &o->a.update.optimizer;
    return (update_params){.squares =
                               o->in[5] == NO_TENSOR ? NULL : (const float *)tensors[o->in[5]],
                           .square_count = o->a.update.norm_slot < 0 ? o->a.update.norm_count : 0,
                           .norm_most = (float)(r->clipnorm > 0 ? r->clipnorm : r->global_clipnorm),
                           .steps = optimizer_update_steps(r->gradient_accumulation_steps),
                           .constants = optimizer_step(o, 0, 0, 0)};
}

/* The tables, and room for the partial square sums, in one allocation of device memory. */
static cornu_status upload(gpu *g, cuda_updates *u, const tables *t, gpu_address at[TABLES + 1])
{
    size_t bytes = 0, partials = u->sums_squares ? t->of[PIECES].count * sizeof(sum2) : 0;
    for (int i = 0; i < TABLES; i++) {
        at[i] = bytes;
        bytes += gpu_aligned(t->of[i].count * t->of[i].size);
    }
    at[TABLES] = bytes;
    TRY(gpu_memory_new(g, bytes + partials, "table of updates", &u->memory));
    for (int i = 0; i <= TABLES; i++)
        at[i] += u->memory.at;
    for (int i = 0; i < TABLES; i++)
        TRY(gpu_upload(g, at[i], t->of[i].items, t->of[i].count * t->of[i].size));
    return CORNU_OK;
}

static void set_params(const gpu *g, cuda_updates *u, const tables *t, const gpu_address *at)
{
    static const product_rounding rounding[] = {[PRECISION_FP32] = ROUND_NOTHING,
                                                [PRECISION_TF32] = ROUND_TF32,
                                                [PRECISION_BF16] = ROUND_BF16};
    u->piece_count = (unsigned)t->of[PIECES].count;
    u->variable_count = (unsigned)t->of[RANGES].count;
    u->params.update.pieces = (const update_piece *)at[PIECES];
    u->params.layers = (const dense_update_layer *)at[LAYERS];
    u->params.tiles = (const dense_update_tile *)at[TILES];
    u->params.tile_count = (int32_t)t->of[TILES].count;
    u->params.rounding = (int32_t)rounding[g->precision];
    u->squares =
        (update_squares_params){.pieces = u->params.update.pieces, .partials = (sum2 *)at[TABLES]};
    u->squares_reduce =
        (update_squares_reduce_params){.pieces = u->params.update.pieces,
                                       .ranges = (const update_range *)at[RANGES],
                                       .partials = u->squares.partials,
                                       .squares = (float *)(uintptr_t)u->params.update.squares};
}

static cornu_status make(gpu *g, const plan *p, const gpu_address *tensors, cuda_updates *u)
{
    tables t;
    gpu_address at[TABLES + 1];
    const op *first = p->ops;
    while (first->kind != OP_UPDATE)
        first++;
    cornu_status status = fill_tables(g, &t, p, tensors, &u->sums_squares);
    if (status == CORNU_OK)
        status = upload(g, u, &t, at);
    if (status == CORNU_OK) {
        u->params.update = params_of(first, tensors);
        u->params.update.clock.back = cuda_loss_counts_step(p);
        u->function = function_of(first->a.update.optimizer.id, t.of[TILES].count > 0);
        set_params(g, u, &t, at);
    }
    tables_free(&t);
    return status;
}

/* ---- LAYERWISE ------------------------------------------------------------------------------- */

static int64_t layerwise_piece(int64_t count, int64_t *blocks)
{
    const int64_t piece = (count + GPU_SUM_BLOCKS - 1) / GPU_SUM_BLOCKS;
    const int64_t least = piece < UPDATE_PIECE ? UPDATE_PIECE : piece;
    *blocks = (count + least - 1) / least;
    return least;
}

static cornu_status prepare_layerwise(gpu *g, const plan *p, const op *o, void **state,
                                      size_t *scratch_bytes)
{
    (void)g, (void)state;
    int64_t blocks;
    (void)layerwise_piece(p->tensors[o->in[0]].count, &blocks);
    *scratch_bytes += (size_t)(2 * blocks) * sizeof(sum2);
    return CORNU_OK;
}

static cornu_status enqueue_layerwise(const gpu_op *r)
{
    const optimizer *how = &r->op->a.update.optimizer;
    layerwise_params p = {.clock = cuda_clock_of(r),
                          .w = (float *)r->out[0],
                          .m = (const float *)r->in[1],
                          .v = (const float *)r->in[2],
                          .partials = (sum2 *)r->scratch,
                          .count = GPU_OUT(r, 0)->count,
                          .steps = optimizer_update_steps(how->gradient_accumulation_steps),
                          .epsilon = (float)how->epsilon};
    p.piece = layerwise_piece(p.count, &p.blocks);
    const cuda_grid pieces = {.x = (unsigned)p.blocks, .threads = UPDATE_THREADS};
    cuda_grid all = cuda_element_grid(p.count);
    all.threads = UPDATE_THREADS;
    TRY(cuda_launch(r->g, CUDA_layerwise_sums, pieces, &p));
    return cuda_launch(r->g, CUDA_layerwise, all, &p);
}

static const gpu_kernel layerwise = {
    .name = "passes", .prepare = prepare_layerwise, .enqueue = enqueue_layerwise};
const gpu_kernel *const cuda_layerwise[] = {&layerwise, NULL};

/* ---- FACTORED_UPDATE ------------------------------------------------------------------------- */

/* Scratch memory: the partial sums, then the means over the rows. */
static cornu_status prepare_factored(gpu *g, const plan *p, const op *o, void **state,
                                     size_t *scratch_bytes)
{
    TRY(prepare_layerwise(g, p, o, state, scratch_bytes));
    *scratch_bytes += (size_t)o->a.update.extents[0] * sizeof(float);
    return CORNU_OK;
}

static cornu_status launch_factors(const gpu_op *r, const factored_params *p)
{
    const cuda_grid rows = {.x = (unsigned)(p->outer * p->rows), .threads = UPDATE_THREADS};
    const cuda_grid means = {.x = (unsigned)p->outer, .threads = UPDATE_THREADS};
    TRY(cuda_launch(r->g, CUDA_factored_rows, rows, p));
    TRY(cuda_launch(r->g, CUDA_factored_columns, cuda_element_grid(p->outer * p->columns), p));
    return cuda_launch(r->g, CUDA_factored_means, means, p);
}

static cornu_status enqueue_factored(const gpu_op *r)
{
    const optimizer *how = &r->op->a.update.optimizer;
    const int64_t *extents = r->op->a.update.extents;
    const tensor *w = GPU_OUT(r, 0);
    const bool by_output = w->form == FORM_CONV_KERNEL;
    const int64_t columns = by_output ? w->shape.dim[w->shape.rank - 1] : 1;
    factored_params p = {.update = params_of(r->op, r->tensors),
                         .w = (float *)r->out[0],
                         .g = (const float *)r->in[1],
                         .r = (float *)r->out[1],
                         .c = (float *)r->out[2],
                         .v = (float *)r->out[FACTORED_VELOCITY],
                         .partials = (sum2 *)r->scratch,
                         .outer = extents[0],
                         .rows = extents[1],
                         .columns = extents[2],
                         .count = w->count,
                         .stored_rows = w->count / columns,
                         .stored_columns = columns,
                         .epsilon_1 = (float)how->epsilon_1,
                         .epsilon_2 = (float)how->epsilon_2,
                         .clip_threshold = (float)how->clip_threshold,
                         .square = r->op->a.update.norm_slot};
    p.update.clock = cuda_clock_of(r);
    p.piece = layerwise_piece(p.count, &p.blocks);
    p.means = (float *)(p.partials + 2 * p.blocks);
    const cuda_grid pieces = {.x = (unsigned)p.blocks, .threads = UPDATE_THREADS};
    cuda_grid all = cuda_element_grid(p.count);
    all.threads = UPDATE_THREADS;
    if (p.rows > 0)
        TRY(launch_factors(r, &p));
    TRY(cuda_launch(r->g, CUDA_factored_directions, pieces, &p));
    return cuda_launch(r->g, CUDA_factored_step, all, &p);
}

static const gpu_kernel factored = {
    .name = "factors", .prepare = prepare_factored, .enqueue = enqueue_factored};
const gpu_kernel *const cuda_factored_update[] = {&factored, NULL};

/* ---- MATRIX_UPDATE --------------------------------------------------------------------------- */

/* Scratch memory: X twice, A = X X' and a sum of its powers, the partial sums. */
typedef struct matrix_buffers {
    float *x, *y, *a, *b;
    sum2 *partials;
} matrix_buffers;

static int64_t least_of(const int64_t *extents)
{
    return extents[1] < extents[2] ? extents[1] : extents[2];
}

static cornu_status prepare_matrix(gpu *g, const plan *p, const op *o, void **state,
                                   size_t *scratch_bytes)
{
    const int64_t count = p->tensors[o->in[0]].count, least = least_of(o->a.update.extents);
    int64_t blocks;
    (void)g, (void)state;
    (void)layerwise_piece(count, &blocks);
    *scratch_bytes += 2 * gpu_aligned((size_t)count * sizeof(float)) +
                      2 * gpu_aligned((size_t)(least * least) * sizeof(float)) +
                      (size_t)blocks * sizeof(sum2);
    return CORNU_OK;
}

static matrix_buffers matrix_buffers_at(const int64_t *extents, gpu_address scratch)
{
    const int64_t least = least_of(extents);
    const size_t all = gpu_aligned((size_t)(extents[1] * extents[2]) * sizeof(float));
    const size_t square = gpu_aligned((size_t)(least * least) * sizeof(float));
    const gpu_address a = scratch + 2 * all;
    return (matrix_buffers){.x = (float *)scratch,
                            .y = (float *)(scratch + all),
                            .a = (float *)a,
                            .b = (float *)(a + square),
                            .partials = (sum2 *)(a + 2 * square)};
}

/* X = a X + (b A + c A A) X */
static cornu_status launch_iteration(const gpu_op *r, matrix_buffers *m)
{
    const optimizer *how = &r->op->a.update.optimizer;
    const int64_t *extents = r->op->a.update.extents, least = least_of(extents);
    const int64_t most = extents[1] * extents[2] / least;
    float *x = m->x;
    matrix_product_params p = {.clock = cuda_clock_of(r),
                               .steps = optimizer_update_steps(how->gradient_accumulation_steps),
                               .a = x,
                               .b = x,
                               .y = m->a,
                               .rows = least,
                               .columns = least,
                               .depth = most,
                               .b_depth = 1,
                               .b_column = most,
                               .factor = 1};
    TRY(cuda_launch(r->g, CUDA_matrix_product, cuda_element_grid(least * least), &p));
    p.a = p.b = p.kept = m->a;
    p.y = m->b;
    p.depth = p.b_depth = least;
    p.b_column = 1;
    p.factor = (float)how->muon_c;
    p.keep = (float)how->muon_b;
    TRY(cuda_launch(r->g, CUDA_matrix_product, cuda_element_grid(least * least), &p));
    p.a = m->b;
    p.b = p.kept = x;
    p.y = m->y;
    p.columns = p.b_depth = most;
    p.factor = 1;
    p.keep = (float)how->muon_a;
    TRY(cuda_launch(r->g, CUDA_matrix_product, cuda_element_grid(least * most), &p));
    m->x = m->y;
    m->y = x;
    return CORNU_OK;
}

static cornu_status enqueue_matrix(const gpu_op *r)
{
    const optimizer *how = &r->op->a.update.optimizer;
    const int64_t *extents = r->op->a.update.extents, count = GPU_OUT(r, 0)->count;
    matrix_buffers m = matrix_buffers_at(extents, r->scratch);
    matrix_params p = {.update = params_of(r->op, r->tensors),
                       .w = (float *)r->out[0],
                       .g = (const float *)r->in[1],
                       .m = (float *)r->out[1],
                       .x = m.x,
                       .partials = m.partials,
                       .rows = extents[1],
                       .columns = extents[2],
                       .root = optimizer_matrix_root(r->op),
                       .share = optimizer_matrix_share(r->op),
                       .nesterov = how->nesterov,
                       .square = r->op->a.update.norm_slot};
    p.update.clock = cuda_clock_of(r);
    p.piece = layerwise_piece(count, &p.blocks);
    const cuda_grid pieces = {.x = (unsigned)p.blocks, .threads = UPDATE_THREADS};
    cuda_grid all = cuda_element_grid(count);
    all.threads = UPDATE_THREADS;
    TRY(cuda_launch(r->g, CUDA_matrix_directions, pieces, &p));
    TRY(cuda_launch(r->g, CUDA_matrix_scale, all, &p));
    for (int64_t i = 0; i < how->ns_steps; i++)
        TRY(launch_iteration(r, &m));
    p.x = m.x;
    return cuda_launch(r->g, CUDA_matrix_step, all, &p);
}

static const gpu_kernel matrix = {
    .name = "matrices", .prepare = prepare_matrix, .enqueue = enqueue_matrix};
const gpu_kernel *const cuda_matrix_update[] = {&matrix, NULL};

/* ---- sums of gradients, averages of weights ------------------------------------------------ */

static cornu_status enqueue_accumulate(const gpu_op *r)
{
    accumulate_params p = {.clock = cuda_clock_of(r),
                           .g = (float *)r->out[0],
                           .sum = (float *)r->out[1],
                           .count = GPU_OUT(r, 0)->count,
                           .steps = r->op->a.accumulate};
    return cuda_launch(r->g, CUDA_accumulate, cuda_element_grid(p.count), &p);
}

static cornu_status enqueue_average(const gpu_op *r)
{
    average_params p = {.clock = cuda_clock_of(r),
                        .w = (float *)r->out[0],
                        .average = (float *)r->out[1],
                        .count = GPU_OUT(r, 0)->count,
                        .steps = optimizer_update_steps(r->op->a.average.accumulate),
                        .overwrite = r->op->a.average.overwrite,
                        .momentum = r->op->a.average.momentum};
    return cuda_launch(r->g, CUDA_average, cuda_element_grid(p.count), &p);
}

static const gpu_kernel accumulate = {.name = "elements", .enqueue = enqueue_accumulate};
const gpu_kernel *const cuda_accumulate[] = {&accumulate, NULL};
static const gpu_kernel average = {.name = "elements", .enqueue = enqueue_average};
const gpu_kernel *const cuda_average[] = {&average, NULL};

/* ---- preparing and launching ------------------------------------------------------------- */

cornu_status cuda_updates_prepare(gpu *g, const plan *p, const gpu_address *tensors,
                                  cuda_updates **out)
{
    *out = NULL;
    cuda_updates *u = NULL;
    TRY(memory_new(1, sizeof *u, "updates", &u));
    cornu_status status = make(g, p, tensors, u);
    if (status == CORNU_OK)
        *out = u;
    else
        cuda_updates_release(g, u);
    return status;
}

cornu_status cuda_updates_enqueue(gpu *g, const cuda_updates *u)
{
    if (u->sums_squares) {
        cuda_grid pieces = {.x = u->piece_count, .threads = UPDATE_THREADS};
        cuda_grid variables = {.x = u->variable_count, .threads = UPDATE_THREADS};
        TRY(cuda_launch(g, CUDA_update_squares, pieces, &u->squares));
        TRY(cuda_launch(g, CUDA_update_squares_reduce, variables, &u->squares_reduce));
    }
    dense_update_params p = u->params;
    p.update.clock = cuda_of(g)->clock;
    p.update.clock.back = u->params.update.clock.back;
    cuda_grid grid = {.x = (unsigned)p.tile_count + u->piece_count, .threads = UPDATE_THREADS};
    return cuda_launch(g, u->function, grid,
                       p.tile_count > 0 ? (const void *)&p : (const void *)&p.update);
}

void cuda_updates_release(gpu *g, cuda_updates *u)
{
    if (!u)
        return;
    gpu_memory_free(g, &u->memory);
    free(u);
}
