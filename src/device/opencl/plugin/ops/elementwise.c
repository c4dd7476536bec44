/* Samples, activations, dropout, scaling and padding, sums of columns and squares, updates. */
#include "device/opencl/plugin/ops/ops.h"
#include "device/optimizer_step.h"

/* ---- samples ----------------------------------------------------------------------------- */

enum { SAMPLES_MOST = 65535 }; /* maximum of dimension 1; the kernel strides over the rest */

static cornu_status enqueue_gather(const gpu_op *r)
{
    const gpu_gather_size s = gpu_gather_size_of(r);
    int64_t batch = r->plan->batch;
    opencl_grid grid = opencl_line(gpu_blocks(s.count, GATHER_PIECE, 0) + (r->out[1] ? 1 : 0));
    grid.groups[1] = (size_t)gpu_blocks(batch, 1, SAMPLES_MOST);
    return OPENCL_LAUNCH(r->g, OPENCL_gather, grid, A_ADDRESS(r->out[0]), A_ADDRESS(r->out[1]),
                         A_ADDRESS(r->out[2]), A_LONG(batch), A_LONG(s.count),
                         A_LONG(s.target_count), A_LONG(s.columns), A_STEP(STEP_X), A_STEP(STEP_Y),
                         A_STEP(STEP_WEIGHT), A_STEP(STEP_INDEX), A_STEP(STEP_X_SCALE),
                         A_STEP(STEP_X_BYTES), A_STEP(STEP_Y_LABELS));
}

static const gpu_kernel gather = {.name = "gather", .enqueue = enqueue_gather};
const gpu_kernel *const opencl_gather_samples[] = {&gather, NULL};

/* ---- activations ------------------------------------------------------------------------- */

static cornu_status enqueue_rows(const gpu_op *r)
{
    static const opencl_function functions[ACTIVATION_COUNT][2] = {
#define ACTIVATION(...)
#define ACTIVATION_OF_ROWS(id, ...) [ACTIVATION_##id] = {OPENCL_row_##id, OPENCL_row_##id##_back},
#include "model/activations.def"
    };
    const bool back = r->op->kind == OP_ACTIVATION_BACKWARD;
    int64_t rows, n;
    tensor_matrix(GPU_OUT(r, 0), &rows, &n);
    const int lanes = gpu_lanes(n, GPU_ROW_LANES_MOST);
    return OPENCL_LAUNCH(r->g, functions[r->op->a.act.kind][back],
                         opencl_line(gpu_blocks(rows, WORK_ITEMS / lanes, 0)), A_ADDRESS(r->in[0]),
                         A_ADDRESS(back ? r->in[1] : 0), A_ADDRESS(r->out[0]), A_LONG(rows),
                         A_LONG(n), A_INT(lanes));
}

static cornu_status enqueue_forward(const gpu_op *r)
{
    activation act = r->op->a.act;
    int64_t count = GPU_OUT(r, 0)->count;
    return OPENCL_LAUNCH(r->g, OPENCL_activation_forward, opencl_element_grid(count),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->out[0]), A_LONG(count), A_INT(act.kind),
                         A_FLOAT(act.alpha));
}

static cornu_status enqueue_backward(const gpu_op *r)
{
    activation act = r->op->a.act;
    int64_t count = GPU_OUT(r, 0)->count;
    return OPENCL_LAUNCH(r->g, OPENCL_activation_backward, opencl_element_grid(count),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->out[0]),
                         A_LONG(count), A_INT(act.kind), A_FLOAT(act.alpha));
}

static const gpu_kernel of_rows = {
    .name = "rows", .accepts = gpu_accepts_rows, .enqueue = enqueue_rows};
static const gpu_kernel forward = {
    .name = "elementwise", .accepts = gpu_accepts_elements, .enqueue = enqueue_forward};
static const gpu_kernel backward = {
    .name = "elementwise", .accepts = gpu_accepts_elements, .enqueue = enqueue_backward};
const gpu_kernel *const opencl_activation_forward[] = {&opencl_head, &forward, &of_rows, NULL};
const gpu_kernel *const opencl_activation_backward[] = {&backward, &of_rows, NULL};

/* ---- dropout ----------------------------------------------------------------------------- */

/* Forward and backward alike. Backward the gradient of the activation before it is fused. */
static cornu_status enqueue_dropout(const gpu_op *r)
{
    const gpu_slope slope = gpu_slope_of(r);
    int64_t count = GPU_OUT(r, 0)->count;
    float rate = r->op->a.dropout.rate;
    return OPENCL_LAUNCH(r->g, OPENCL_dropout, opencl_element_grid(count), A_ADDRESS(r->in[0]),
                         A_ADDRESS(slope.out), A_ADDRESS(slope.x_or_y), A_LONG(count),
                         A_FLOAT(rate), A_FLOAT(1 / (1 - rate)), A_INT(r->op->a.dropout.stream),
                         A_INT(slope.act.kind), A_FLOAT(slope.act.alpha),
                         A_LONG(count / r->plan->batch), A_STEP(STEP_SEED), A_STEP(STEP_ITERATION),
                         A_STEP(STEP_FIRST));
}

static const gpu_kernel fused = {
    .name = "philox", .group = GROUP_ACTIVATION_BACKWARD, .enqueue = enqueue_dropout};
static const gpu_kernel alone = {.name = "philox", .enqueue = enqueue_dropout};
const gpu_kernel *const opencl_dropout[] = {&fused, &alone, NULL};

/* ---- scale, add, pad, crop --------------------------------------------------------------- */

static cornu_status enqueue_scale(const gpu_op *r)
{
    int64_t count = GPU_OUT(r, 0)->count;
    return OPENCL_LAUNCH(r->g, OPENCL_scale, opencl_element_grid(count), A_ADDRESS(r->in[0]),
                         A_ADDRESS(r->out[0]), A_LONG(count), A_FLOAT(r->op->a.scale.scale),
                         A_FLOAT(r->op->a.scale.offset));
}

static cornu_status enqueue_add(const gpu_op *r)
{
    int64_t count = GPU_OUT(r, 0)->count;
    return OPENCL_LAUNCH(r->g, OPENCL_add, opencl_element_grid(count), A_ADDRESS(r->in[0]),
                         A_ADDRESS(r->in[1]), A_ADDRESS(r->out[0]), A_LONG(count));
}

#define A_DIMENSIONS(n) \
    A_LONG((n)[0]), A_LONG((n)[1]), A_LONG((n)[2]), A_LONG((n)[3]), A_LONG((n)[4])
#define A_STEPS(s) A_DIMENSIONS((s).step[0]), A_DIMENSIONS((s).step[1]), A_DIMENSIONS((s).step[2])
_Static_assert(SHAPE_MAX == BINARY_DIMENSIONS, "A_DIMENSIONS and kernels/binary.cl have all");

static cornu_status enqueue_binary(const gpu_op *r)
{
    const gpu_binary g = gpu_binary_of(r);
    return OPENCL_LAUNCH(r->g, OPENCL_binary_forward, opencl_element_grid(g.count), A_ADDRESS(g.a),
                         A_ADDRESS(g.b), A_ADDRESS(r->out[0]), A_LONG(g.count), A_INT(g.kind),
                         A_DIMENSIONS(g.s.size), A_STEPS(g.s));
}

static cornu_status enqueue_binary_back(const gpu_op *r)
{
    const gpu_binary g = gpu_binary_of(r);
    return OPENCL_LAUNCH(r->g, g.wide ? OPENCL_binary_backward_sums : OPENCL_binary_backward,
                         opencl_line(gpu_blocks(g.count, g.wide ? 1 : WORK_ITEMS, 4096)),
                         A_ADDRESS(g.a), A_ADDRESS(g.b), A_ADDRESS(r->in[2]), A_ADDRESS(r->out[0]),
                         A_LONG(g.count), A_LONG(g.terms), A_INT(g.kind), A_INT(r->op->a.binary.of),
                         A_DIMENSIONS(g.kept.size), A_DIMENSIONS(g.repeated.size), A_STEPS(g.s));
}

static cornu_status enqueue_runs(const gpu_op *r)
{
    const gpu_slice g = gpu_slice_of(r);
    const opencl_function function = r->op->kind == OP_SLICE ? OPENCL_slice
                                     : g.spreads             ? OPENCL_spread
                                                             : OPENCL_insert;
    return OPENCL_LAUNCH(r->g, function, opencl_line(gpu_blocks(g.packs, WORK_ITEMS, 4096)),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->out[0]), A_LONG(g.packs),
                         A_LONG(g.s.runs), A_LONG(g.s.floats), A_LONG(g.s.outer), A_LONG(g.s.first),
                         A_LONG(g.s.step), A_INT(g.pack));
}

static cornu_status copy(const gpu_op *r, opencl_function function)
{
    const gpu_pad s = gpu_pad_of(r);
    const int64_t *outer = s.outer->dim, *inner = s.inner->dim;
    return OPENCL_LAUNCH(r->g, function, opencl_line(gpu_blocks(s.packs, WORK_ITEMS, 0)),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->out[0]), A_LONG(outer[0]),
                         A_LONG(outer[1]), A_LONG(outer[2]), A_LONG(inner[1]), A_LONG(inner[2]),
                         A_LONG(outer[3] / s.pack), A_LONG(s.before[0]), A_LONG(s.before[1]),
                         A_INT(s.pack));
}

static cornu_status enqueue_pad(const gpu_op *r)
{
    return copy(r, OPENCL_pad);
}

static cornu_status enqueue_crop(const gpu_op *r)
{
    return copy(r, OPENCL_crop);
}

static const gpu_kernel scale = {.name = "elementwise", .enqueue = enqueue_scale};
static const gpu_kernel add = {.name = "elementwise", .enqueue = enqueue_add};
static const gpu_kernel binary = {.name = "elementwise", .enqueue = enqueue_binary};
static const gpu_kernel binary_back = {.name = "elementwise", .enqueue = enqueue_binary_back};
static const gpu_kernel transpose = {.name = "elementwise", .enqueue = enqueue_binary};
static const gpu_kernel runs = {.name = "copy", .enqueue = enqueue_runs};
static const gpu_kernel pad = {.name = "copy", .enqueue = enqueue_pad};
static const gpu_kernel crop = {.name = "copy", .enqueue = enqueue_crop};
const gpu_kernel *const opencl_scale[] = {&scale, NULL};
const gpu_kernel *const opencl_add[] = {&add, NULL};
const gpu_kernel *const opencl_binary_forward[] = {&binary, NULL};
const gpu_kernel *const opencl_binary_backward[] = {&binary_back, NULL};
const gpu_kernel *const opencl_transpose[] = {&transpose, NULL};
const gpu_kernel *const opencl_slice[] = {&runs, NULL};
const gpu_kernel *const opencl_insert[] = {&runs, NULL};
const gpu_kernel *const opencl_pad[] = {&pad, NULL};
const gpu_kernel *const opencl_crop[] = {&crop, NULL};

/* ---- sums of columns --------------------------------------------------------------------- */

typedef struct sum2 { /* as in kernels/common.h */
    float high, low;
} sum2;

/* ---- columns -------------------------------------------------------------------------------- */

gpu_strips opencl_strips_of(int64_t rows, int64_t columns, int64_t groups)
{
    return gpu_strips_of(rows, columns, WORK_ITEMS, groups);
}

gpu_strips opencl_strips_whole(int64_t rows, int64_t columns)
{
    return opencl_strips_of(rows, columns, 1);
}

opencl_grid opencl_strips_grid(const gpu_strips *t)
{
    opencl_grid grid = opencl_line(gpu_blocks(t->columns, t->width, 0));
    grid.groups[1] = (size_t)t->count;
    return grid;
}

size_t opencl_partials_bytes(const gpu_strips *t)
{
    return (size_t)t->count * 2 * (size_t)t->columns * sizeof(sum2);
}

size_t opencl_column_sums_scratch(int64_t rows, int64_t columns)
{
    gpu_strips t = opencl_strips_of(rows, columns, GPU_SUM_BLOCKS);
    return t.count > 1 ? (size_t)t.count * (size_t)columns * sizeof(sum2) : 0;
}

cornu_status opencl_column_sums(gpu *g, gpu_address x, int64_t rows, int64_t columns,
                                gpu_address scratch, gpu_address out)
{
    gpu_strips t = opencl_strips_of(rows, columns, GPU_SUM_BLOCKS);
    bool one = t.count == 1;
    TRY(OPENCL_LAUNCH(g, OPENCL_column_sums, opencl_strips_grid(&t), A_STRIPS(t), A_ADDRESS(x),
                      A_ADDRESS(one ? 0 : scratch), A_ADDRESS(one ? out : 0)));
    if (one)
        return CORNU_OK;
    t = opencl_strips_whole(t.count, columns);
    return OPENCL_LAUNCH(g, OPENCL_column_sums_reduce, opencl_strips_grid(&t), A_STRIPS(t),
                         A_ADDRESS(scratch), A_ADDRESS(out), A_ADDRESS(0));
}

/* ---- SQUARE_SUM ---------------------------------------------------------------------------- */

enum { PIECE_LEAST = 16 * WORK_ITEMS }; /* elements of a group: a multiple of 4 */

/* Elements per group, and the number of groups. */
static int64_t square_piece(int64_t count, int64_t *groups)
{
    int64_t piece = (count + GPU_SUM_BLOCKS - 1) / GPU_SUM_BLOCKS;
    piece = piece < PIECE_LEAST ? PIECE_LEAST : (piece + 3) / 4 * 4;
    *groups = (count + piece - 1) / piece;
    return piece;
}

static cornu_status prepare_squares(gpu *g, const plan *p, const op *o, void **state,
                                    size_t *scratch_bytes)
{
    (void)g, (void)state;
    int64_t groups;
    (void)square_piece(p->tensors[o->in[0]].count, &groups);
    const bool partial = groups > 1 || o->kind == OP_PENALTY || o->in[1] != NO_TENSOR;
    *scratch_bytes += partial ? (size_t)groups * sizeof(sum2) : 0;
    return CORNU_OK;
}

/* A PENALTY's sum, or that of the squares of penalized gradients (g not 0), as partial sums. */
static cornu_status launch_penalty(const gpu_op *r, gpu_address w, gpu_address g, penalty of,
                                   int64_t *groups)
{
    int64_t count = GPU_IN(r, 0)->count, piece = square_piece(count, groups);
    return OPENCL_LAUNCH(r->g, OPENCL_penalty, opencl_line(*groups), A_ADDRESS(w), A_ADDRESS(g),
                         A_LONG(count), A_LONG(piece), A_FLOAT(of.l1), A_FLOAT(of.l2),
                         A_ADDRESS(r->scratch));
}

static cornu_status enqueue_squares(const gpu_op *r)
{
    int64_t groups, count = GPU_IN(r, 0)->count, piece = square_piece(count, &groups);
    gpu_address sum = r->out[0] + (gpu_address)r->op->a.norm.slot * sizeof(float);
    bool one = groups == 1 && !r->in[1];
    if (r->in[1])
        TRY(launch_penalty(r, r->in[1], r->in[0], r->op->a.norm.penalty, &groups));
    else
        TRY(OPENCL_LAUNCH(r->g, OPENCL_square_sum, opencl_line(groups), A_ADDRESS(r->in[0]),
                          A_LONG(count), A_LONG(piece), A_ADDRESS(one ? 0 : r->scratch),
                          A_ADDRESS(one ? sum : 0)));
    if (one)
        return CORNU_OK;
    return OPENCL_LAUNCH(r->g, OPENCL_square_sum_reduce, opencl_line(1), A_ADDRESS(r->scratch),
                         A_LONG(groups), A_ADDRESS(sum));
}

static const gpu_kernel squares = {
    .name = "pieces", .prepare = prepare_squares, .enqueue = enqueue_squares};
const gpu_kernel *const opencl_square_sum[] = {&squares, NULL};

static cornu_status enqueue_penalty(const gpu_op *r)
{
    int64_t groups;
    TRY(launch_penalty(r, r->in[0], 0, r->op->a.penalty, &groups));
    return OPENCL_LAUNCH(r->g, OPENCL_penalty_reduce, opencl_line(1), A_ADDRESS(r->scratch),
                         A_LONG(groups), A_STEP(STEP_RESULTS), A_SUM2((double)r->plan->batch));
}

static const gpu_kernel penalties = {
    .name = "pieces", .prepare = prepare_squares, .enqueue = enqueue_penalty};
const gpu_kernel *const opencl_penalty[] = {&penalties, NULL};

/* ---- updates ----------------------------------------------------------------------------- */

/* UPDATE: one launch per variable. */

_Static_assert(OPTIMIZER_SLOTS_MAX == 3, "kernels/update.cl has parameters for these");

static opencl_function function_of(optimizer_id id)
{
    static const opencl_function functions[OPTIMIZER_COUNT] = {
#define OPTIMIZER(id, ...) [OPTIMIZER_##id] = OPENCL_update_##id,
#include "model/optimizers.def"
    };
    return functions[id];
}

static cornu_status enqueue_update(const gpu_op *r)
{
    const optimizer *how = &r->op->a.update.optimizer;
    /* but for what the step itself gives: learning_rate, factors, and the norm's gradient_scale */
    const optimizer_constants c = optimizer_step(r->op, 0, 0, 0);
    int own = r->op->a.update.norm_slot;
    int64_t count = GPU_IN(r, 0)->count, steps = how->gradient_accumulation_steps;
    return OPENCL_LAUNCH(
        r->g, function_of(how->id), opencl_element_grid(count), A_ADDRESS(r->out[0]),
        A_ADDRESS(r->in[1]), A_ADDRESS(r->out[1]), A_ADDRESS(r->out[2]), A_ADDRESS(r->out[3]),
        A_ADDRESS(r->in[5]), A_LONG(count), A_INT(c.form), A_INT(own < 0 ? 0 : own),
        A_INT(own < 0 ? r->op->a.update.norm_count : 1),
        A_FLOAT((float)(how->clipnorm > 0 ? how->clipnorm : how->global_clipnorm)),
        A_FLOAT(c.clip_value), A_FLOAT(c.weight_decay), A_FLOAT(c.momentum), A_FLOAT(c.rho),
        A_FLOAT(c.epsilon), A_FLOAT(c.rate_1), A_FLOAT(c.rate_2), A_FLOAT(c.power), A_FLOAT(c.l1),
        A_FLOAT(c.l2), A_FLOAT(c.shrinkage), A_FLOAT(c.beta), A_FLOAT(c.penalty_l1),
        A_FLOAT(c.penalty_l2), A_STEP(STEP_LEARNING_RATE), A_STEP(STEP_ALPHA),
        A_STEP(STEP_GRADIENT_ALPHA), A_STEP(STEP_EPSILON), A_LONG(steps),
        steps > 0 ? A_STEP(STEP_ITERATION) : A_LONG(0));
}

static const gpu_kernel update = {.name = "update", .enqueue = enqueue_update};
const gpu_kernel *const opencl_update[] = {&update, NULL};

/* ---- LAYERWISE ------------------------------------------------------------------------------- */

static cornu_status prepare_layerwise(gpu *g, const plan *p, const op *o, void **state,
                                      size_t *scratch_bytes)
{
    (void)g, (void)state;
    int64_t groups;
    (void)square_piece(p->tensors[o->in[0]].count, &groups);
    *scratch_bytes += (size_t)(2 * groups) * sizeof(sum2);
    return CORNU_OK;
}

static cornu_status enqueue_layerwise(const gpu_op *r)
{
    const optimizer *how = &r->op->a.update.optimizer;
    int64_t groups, count = GPU_IN(r, 0)->count, piece = square_piece(count, &groups);
    const int64_t steps = how->gradient_accumulation_steps;
    TRY(OPENCL_LAUNCH(r->g, OPENCL_layerwise_sums, opencl_line(groups), A_ADDRESS(r->in[0]),
                      A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]), A_LONG(count), A_LONG(piece),
                      A_FLOAT((float)how->epsilon), A_STEP(STEP_ALPHA), A_STEP(STEP_GRADIENT_ALPHA),
                      A_ADDRESS(r->scratch)));
    return OPENCL_LAUNCH(
        r->g, OPENCL_layerwise, opencl_element_grid(count), A_ADDRESS(r->out[0]),
        A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]), A_LONG(count), A_FLOAT((float)how->epsilon),
        A_ADDRESS(r->scratch), A_LONG(groups), A_STEP(STEP_LEARNING_RATE), A_STEP(STEP_ALPHA),
        A_STEP(STEP_GRADIENT_ALPHA), A_LONG(steps), steps > 0 ? A_STEP(STEP_ITERATION) : A_LONG(0));
}

static const gpu_kernel layerwise = {
    .name = "passes", .prepare = prepare_layerwise, .enqueue = enqueue_layerwise};
const gpu_kernel *const opencl_layerwise[] = {&layerwise, NULL};

/* ---- FACTORED_UPDATE ------------------------------------------------------------------------- */

/* GRADIENT of kernels/gradient.h */
#define A_GRADIENT                                                                            \
    A_ADDRESS(r->out[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[5]), A_INT(own < 0 ? 0 : own), \
        A_INT(own < 0 ? r->op->a.update.norm_count : 1),                                      \
        A_FLOAT((float)(how->clipnorm > 0 ? how->clipnorm : how->global_clipnorm)),           \
        A_FLOAT(c.clip_value), A_FLOAT(c.weight_decay), A_FLOAT(c.penalty_l1),                \
        A_FLOAT(c.penalty_l2), A_STEP(STEP_LEARNING_RATE), A_STEP(STEP_GRADIENT_ALPHA),       \
        A_LONG(steps), steps > 0 ? A_STEP(STEP_ITERATION) : A_LONG(0)

/* Scratch memory: the partial sums, then the means over the rows, then the directions' rate. */
static cornu_status prepare_factored(gpu *g, const plan *p, const op *o, void **state,
                                     size_t *scratch_bytes)
{
    TRY(prepare_layerwise(g, p, o, state, scratch_bytes));
    *scratch_bytes += (size_t)(o->a.update.extents[0] + 1) * sizeof(float);
    return CORNU_OK;
}

static cornu_status enqueue_factored(const gpu_op *r)
{
    const optimizer *how = &r->op->a.update.optimizer;
    const optimizer_constants c = optimizer_step(r->op, 0, 0, 0);
    const int own = r->op->a.update.norm_slot;
    const int64_t *extents = r->op->a.update.extents, steps = how->gradient_accumulation_steps;
    const int64_t outer = extents[0], rows = extents[1], columns = extents[2];
    int64_t groups, count = GPU_IN(r, 0)->count, piece = square_piece(count, &groups);
    const gpu_address means = r->scratch + (gpu_address)(2 * groups) * sizeof(sum2);
    const gpu_address v = r->out[FACTORED_VELOCITY];
    const gpu_address rate = means + (gpu_address)outer * sizeof(float);
    const float epsilon_1 = (float)how->epsilon_1;
    if (rows > 0) {
        TRY(OPENCL_LAUNCH(r->g, OPENCL_factored_rows, opencl_line(outer * rows), A_GRADIENT,
                          A_ADDRESS(r->out[1]), A_LONG(columns), A_FLOAT(epsilon_1)));
        TRY(OPENCL_LAUNCH(r->g, OPENCL_factored_columns, opencl_element_grid(outer * columns),
                          A_GRADIENT, A_ADDRESS(r->out[2]), A_LONG(outer), A_LONG(rows),
                          A_LONG(columns), A_FLOAT(epsilon_1)));
        TRY(OPENCL_LAUNCH(r->g, OPENCL_factored_means, opencl_line(outer), A_ADDRESS(r->out[1]),
                          A_LONG(rows), A_ADDRESS(means)));
        TRY(OPENCL_LAUNCH(r->g, OPENCL_factored_velocities, opencl_element_grid(count),
                          A_ADDRESS(r->out[1]), A_ADDRESS(r->out[2]), A_ADDRESS(means),
                          A_ADDRESS(v), A_LONG(rows), A_LONG(columns), A_LONG(count), A_LONG(steps),
                          steps > 0 ? A_STEP(STEP_ITERATION) : A_LONG(0)));
    } else {
        TRY(OPENCL_LAUNCH(r->g, OPENCL_factored_vector, opencl_element_grid(count), A_GRADIENT,
                          A_ADDRESS(v), A_LONG(count), A_FLOAT(epsilon_1)));
    }
    TRY(OPENCL_LAUNCH(r->g, OPENCL_factored_directions, opencl_line(groups), A_GRADIENT,
                      A_ADDRESS(v), A_LONG(count), A_LONG(piece), A_ADDRESS(r->scratch)));
    TRY(OPENCL_LAUNCH(r->g, OPENCL_factored_rate, opencl_line(1), A_ADDRESS(r->scratch),
                      A_LONG(groups), A_LONG(count), A_STEP(STEP_ALPHA),
                      A_FLOAT((float)how->epsilon_2), A_FLOAT((float)how->clip_threshold),
                      A_ADDRESS(rate)));
    return OPENCL_LAUNCH(r->g, OPENCL_factored_step, opencl_element_grid(count), A_GRADIENT,
                         A_ADDRESS(v), A_LONG(count), A_ADDRESS(rate));
}

static const gpu_kernel factored = {
    .name = "factors", .prepare = prepare_factored, .enqueue = enqueue_factored};
const gpu_kernel *const opencl_factored_update[] = {&factored, NULL};

/* ---- MATRIX_UPDATE --------------------------------------------------------------------------- */

/* Scratch memory: the partial sums, X twice, A = X X' and a sum of its powers, X's norm. */
typedef struct matrix_buffers {
    gpu_address x, y, a, b, norm, end;
} matrix_buffers;

static matrix_buffers matrix_buffers_at(const int64_t *extents, int64_t groups, gpu_address scratch)
{
    const int64_t least = extents[1] < extents[2] ? extents[1] : extents[2];
    const gpu_address all = (gpu_address)(extents[1] * extents[2]) * sizeof(float);
    const gpu_address square = (gpu_address)(least * least) * sizeof(float);
    const gpu_address x = scratch + (gpu_address)groups * sizeof(sum2), a = x + 2 * all;
    return (matrix_buffers){.x = x,
                            .y = x + all,
                            .a = a,
                            .b = a + square,
                            .norm = a + 2 * square,
                            .end = a + 2 * square + sizeof(float)};
}

static cornu_status prepare_matrix(gpu *g, const plan *p, const op *o, void **state,
                                   size_t *scratch_bytes)
{
    int64_t groups;
    (void)g, (void)state;
    (void)square_piece(p->tensors[o->in[0]].count, &groups);
    *scratch_bytes += (size_t)matrix_buffers_at(o->a.update.extents, groups, 0).end;
    return CORNU_OK;
}

#define A_UPDATE_STEPS A_LONG(steps), steps > 0 ? A_STEP(STEP_ITERATION) : A_LONG(0)

static cornu_status enqueue_matrix_iteration(const gpu_op *r, matrix_buffers *m)
{
    const optimizer *how = &r->op->a.update.optimizer;
    const int64_t *extents = r->op->a.update.extents, steps = how->gradient_accumulation_steps;
    const int64_t least = extents[1] < extents[2] ? extents[1] : extents[2];
    const int64_t most = extents[1] < extents[2] ? extents[2] : extents[1];
    const gpu_address x = m->x, y = m->y;
    TRY(OPENCL_LAUNCH(r->g, OPENCL_matrix_product, opencl_element_grid(least * least), A_ADDRESS(x),
                      A_ADDRESS(x), A_ADDRESS(0), A_ADDRESS(m->a), A_LONG(least), A_LONG(least),
                      A_LONG(most), A_LONG(1), A_LONG(most), A_FLOAT(1), A_FLOAT(0),
                      A_UPDATE_STEPS));
    TRY(OPENCL_LAUNCH(r->g, OPENCL_matrix_product, opencl_element_grid(least * least),
                      A_ADDRESS(m->a), A_ADDRESS(m->a), A_ADDRESS(m->a), A_ADDRESS(m->b),
                      A_LONG(least), A_LONG(least), A_LONG(least), A_LONG(least), A_LONG(1),
                      A_FLOAT((float)how->muon_c), A_FLOAT((float)how->muon_b), A_UPDATE_STEPS));
    TRY(OPENCL_LAUNCH(r->g, OPENCL_matrix_product, opencl_element_grid(least * most),
                      A_ADDRESS(m->b), A_ADDRESS(x), A_ADDRESS(x), A_ADDRESS(y), A_LONG(least),
                      A_LONG(most), A_LONG(least), A_LONG(most), A_LONG(1), A_FLOAT(1),
                      A_FLOAT((float)how->muon_a), A_UPDATE_STEPS));
    m->x = y;
    m->y = x;
    return CORNU_OK;
}

static cornu_status enqueue_matrix(const gpu_op *r)
{
    const optimizer *how = &r->op->a.update.optimizer;
    const optimizer_constants c = optimizer_step(r->op, 0, 0, 0);
    const int own = r->op->a.update.norm_slot;
    const int64_t *extents = r->op->a.update.extents, steps = how->gradient_accumulation_steps;
    int64_t groups, count = GPU_IN(r, 0)->count, piece = square_piece(count, &groups);
    matrix_buffers m = matrix_buffers_at(extents, groups, r->scratch);
    TRY(OPENCL_LAUNCH(r->g, OPENCL_matrix_directions, opencl_line(groups), A_GRADIENT,
                      A_ADDRESS(r->out[1]), A_ADDRESS(m.x), A_LONG(extents[1]), A_LONG(extents[2]),
                      A_LONG(piece), A_FLOAT(c.momentum), A_INT(how->nesterov),
                      A_ADDRESS(r->scratch)));
    TRY(OPENCL_LAUNCH(r->g, OPENCL_matrix_norm, opencl_line(1), A_ADDRESS(r->scratch),
                      A_LONG(groups), A_ADDRESS(m.norm), A_UPDATE_STEPS));
    TRY(OPENCL_LAUNCH(r->g, OPENCL_matrix_scale, opencl_element_grid(count), A_ADDRESS(m.x),
                      A_LONG(count), A_ADDRESS(m.norm), A_UPDATE_STEPS));
    for (int64_t i = 0; i < how->ns_steps; i++)
        TRY(enqueue_matrix_iteration(r, &m));
    return OPENCL_LAUNCH(r->g, OPENCL_matrix_step, opencl_element_grid(count), A_GRADIENT,
                         A_ADDRESS(m.x), A_LONG(extents[1]), A_LONG(extents[2]),
                         A_FLOAT(optimizer_matrix_root(r->op)),
                         A_FLOAT(optimizer_matrix_share(r->op)));
}

static const gpu_kernel matrix = {
    .name = "matrices", .prepare = prepare_matrix, .enqueue = enqueue_matrix};
const gpu_kernel *const opencl_matrix_update[] = {&matrix, NULL};

/* ---- sums of gradients, averages of weights ------------------------------------------------ */

static cornu_status enqueue_accumulate(const gpu_op *r)
{
    const int64_t count = GPU_OUT(r, 0)->count;
    return OPENCL_LAUNCH(r->g, OPENCL_accumulate, opencl_element_grid(count), A_ADDRESS(r->out[0]),
                         A_ADDRESS(r->out[1]), A_LONG(count), A_LONG(r->op->a.accumulate),
                         A_STEP(STEP_ITERATION));
}

static cornu_status enqueue_average(const gpu_op *r)
{
    const int64_t count = GPU_OUT(r, 0)->count;
    const op_attributes *a = &r->op->a;
    return OPENCL_LAUNCH(r->g, OPENCL_average, opencl_element_grid(count), A_ADDRESS(r->out[0]),
                         A_ADDRESS(r->out[1]), A_LONG(count), A_FLOAT(a->average.momentum),
                         A_LONG(optimizer_update_steps(a->average.accumulate)),
                         A_LONG(a->average.overwrite), A_STEP(STEP_ITERATION));
}

static const gpu_kernel accumulate = {.name = "elements", .enqueue = enqueue_accumulate};
const gpu_kernel *const opencl_accumulate[] = {&accumulate, NULL};
static const gpu_kernel average = {.name = "elements", .enqueue = enqueue_average};
const gpu_kernel *const opencl_average[] = {&average, NULL};

/* ---- constraints --------------------------------------------------------------------------- */

static cornu_status enqueue_constrain(const gpu_op *r)
{
    const op_attributes *a = &r->op->a;
    const int64_t *extents = a->constrain.extents, norms = extents[0] * extents[2];
    return OPENCL_LAUNCH(r->g, OPENCL_constrain, opencl_element_grid(norms), A_ADDRESS(r->out[0]),
                         A_LONG(norms), A_LONG(extents[1]), A_LONG(extents[2]),
                         A_INT(a->constrain.non_neg), A_FLOAT(a->constrain.least),
                         A_FLOAT(a->constrain.most), A_FLOAT(a->constrain.rate));
}

static const gpu_kernel constrain = {.name = "norms", .enqueue = enqueue_constrain};
const gpu_kernel *const opencl_constrain[] = {&constrain, NULL};
