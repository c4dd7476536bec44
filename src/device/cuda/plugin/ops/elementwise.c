/* Samples, activations, alone and as dense layers and convolutions use them; dropout, scaling and
   padding, and sums. */
#include "device/cuda/plugin/kernels/elementwise.h"
#include "device/cuda/plugin/kernels/binary.h"
#include "device/cuda/plugin/kernels/gather.h"
#include "device/cuda/plugin/ops/ops.h"
#include <string.h>

/* ---- samples ----------------------------------------------------------------------------- */

enum { GRID_Y_MOST = 65535 };

static gather_params params_of(const gpu_op *r)
{
    const gpu_gather_size s = gpu_gather_size_of(r);
    return (gather_params){.clock = cuda_clock_of(r),
                           .x = (float *)r->out[0],
                           .t = (float *)r->out[1],
                           .weight = (float *)r->out[2],
                           .batch = r->plan->batch,
                           .count = s.count,
                           .target_count = s.target_count,
                           .columns = s.columns};
}

/* `pieces` of each sample, and its target. */
static cuda_grid grid_of(const gather_params *p, int64_t pieces)
{
    cuda_grid grid = cuda_line(pieces + (p->t ? 1 : 0), GATHER_THREADS);
    grid.y = (unsigned)gpu_blocks(p->batch, 1, GRID_Y_MOST);
    return grid;
}

/* True if the result of a pixel depends on other pixels. */
static bool needs_whole(const augmentation *a, const standardization *st)
{
    return a->channel_shift_range != 0 || a->brightens || st->samplewise_center;
}

static cornu_status enqueue_augmented(const gpu_op *r)
{
    const shape *s = &GPU_OUT(r, 0)->shape;
    const augmentation *a = &r->op->a.gather.augment;
    gather_augmented_params p = {.gather = params_of(r),
                                 .augment = *a,
                                 .standardize = r->op->a.gather.standardize,
                                 .augments = augmentation_any(a)};
    if (needs_whole(a, &p.standardize))
        return cuda_launch(r->g, CUDA_gather_whole, grid_of(&p.gather, 1), &p);
    /* The samples' shape is not known yet; the kernel uses a grid-stride loop. */
    int64_t pixels = s->rank == 4 ? s->dim[1] * s->dim[2] : p.gather.count;
    cuda_grid grid = grid_of(&p.gather, gpu_blocks(pixels, GATHER_PIXELS, 0));
    return cuda_launch(r->g, CUDA_gather_augmented, grid, &p);
}

static cornu_status enqueue_gather(const gpu_op *r)
{
    if (augmentation_any(&r->op->a.gather.augment) ||
        standardization_any(&r->op->a.gather.standardize))
        return enqueue_augmented(r);
    gather_params p = params_of(r);
    return cuda_launch(r->g, CUDA_gather, grid_of(&p, gpu_blocks(p.count, GATHER_PIECE, 0)), &p);
}

static const gpu_kernel gather = {.name = "gather", .enqueue = enqueue_gather};
const gpu_kernel *const cuda_gather_samples[] = {&gather, NULL};

/* ---- activations ------------------------------------------------------------------------- */

/* Forward, and backward where dy is not NULL. */
static cornu_status launch_rows(const gpu_op *r, cuda_function function, const float *dy)
{
    row_activation_params p = {.x_or_y = (const float *)r->in[0],
                               .dy = dy,
                               .result = (float *)r->out[0],
                               .kind = (int32_t)r->op->a.act.kind};
    tensor_matrix(GPU_OUT(r, 0), &p.rows, &p.n);
    p.lanes = gpu_lanes(p.n, GPU_ROW_LANES_MOST);
    const cuda_grid grid =
        cuda_line(gpu_blocks(p.rows, ELEMENT_THREADS / p.lanes, 0), ELEMENT_THREADS);
    return cuda_launch(r->g, function, grid, &p);
}

static cornu_status enqueue_rows_forward(const gpu_op *r)
{
    return launch_rows(r, CUDA_row_activation_forward, NULL);
}

static cornu_status enqueue_rows_backward(const gpu_op *r)
{
    return launch_rows(r, CUDA_row_activation_backward, (const float *)r->in[1]);
}

static cornu_status enqueue_forward(const gpu_op *r)
{
    activation act = r->op->a.act;
    activation_forward_params p = {.x = (const float *)r->in[0],
                                   .y = (float *)r->out[0],
                                   .count = GPU_OUT(r, 0)->count,
                                   .kind = (int32_t)act.kind,
                                   .alpha = act.alpha};
    return cuda_launch(r->g, CUDA_activation_forward, cuda_element_grid(p.count), &p);
}

static cornu_status enqueue_backward(const gpu_op *r)
{
    activation act = r->op->a.act;
    activation_backward_params p = {.x_or_y = (const float *)r->in[0],
                                    .dy = (const float *)r->in[1],
                                    .dx = (float *)r->out[0],
                                    .count = GPU_OUT(r, 0)->count,
                                    .kind = (int32_t)act.kind,
                                    .alpha = act.alpha};
    return cuda_launch(r->g, CUDA_activation_backward, cuda_element_grid(p.count), &p);
}

cornu_status cuda_bias_activation(gpu *g, gpu_address x, gpu_address bias, gpu_address y,
                                  int64_t rows, int64_t columns, activation act)
{
    int64_t count = rows * columns;
    if (!bias) {
        activation_forward_params p = {.x = (const float *)x,
                                       .y = (float *)y,
                                       .count = count,
                                       .kind = (int32_t)act.kind,
                                       .alpha = act.alpha};
        return cuda_launch(g, CUDA_activation_forward, cuda_element_grid(count), &p);
    }
    bias_activation_params p = {.x = (const float *)x,
                                .bias = (const float *)bias,
                                .y = (float *)y,
                                .count = count,
                                .columns = columns,
                                .kind = (int32_t)act.kind,
                                .alpha = act.alpha};
    return cuda_launch(g, CUDA_bias_activation, cuda_element_grid(count), &p);
}

cornu_status cuda_cast_bf16(gpu *g, gpu_address x, gpu_address y, int64_t count)
{
    cast_bf16_params p = {.x = (const float *)x, .y = (uint16_t *)y, .count = count};
    return cuda_launch(g, CUDA_cast_bf16, cuda_element_grid(count), &p);
}

static const gpu_kernel rows_forward = {
    .name = "rows", .accepts = gpu_accepts_rows, .enqueue = enqueue_rows_forward};
static const gpu_kernel rows_backward = {
    .name = "rows", .accepts = gpu_accepts_rows, .enqueue = enqueue_rows_backward};
static const gpu_kernel forward = {
    .name = "elementwise", .accepts = gpu_accepts_elements, .enqueue = enqueue_forward};
static const gpu_kernel backward = {
    .name = "elementwise", .accepts = gpu_accepts_elements, .enqueue = enqueue_backward};
const gpu_kernel *const cuda_activation_forward[] = {&cuda_head, &forward, &rows_forward, NULL};
const gpu_kernel *const cuda_activation_backward[] = {&backward, &rows_backward, NULL};

/* ---- dropout ----------------------------------------------------------------------------- */

/* Forward and backward alike; four elements share one block of random numbers. Backward the
   gradient of the activation before it is fused. */
static cornu_status enqueue(const gpu_op *r)
{
    const gpu_slope slope = gpu_slope_of(r);
    dropout_params p = {.clock = cuda_clock_of(r),
                        .x = (const float *)r->in[0],
                        .y = (float *)slope.out,
                        .count = GPU_OUT(r, 0)->count,
                        .per_sample = GPU_OUT(r, 0)->count / r->plan->batch,
                        .rate = r->op->a.dropout.rate,
                        .stream = r->op->a.dropout.stream,
                        .x_or_y = (const float *)slope.x_or_y,
                        .activation = (int32_t)slope.act.kind,
                        .alpha = slope.act.alpha};
    return cuda_launch(r->g, CUDA_dropout, cuda_element_grid(p.count), &p);
}

static const gpu_kernel fused = {
    .name = "philox", .group = GROUP_ACTIVATION_BACKWARD, .enqueue = enqueue};
static const gpu_kernel dropout_alone = {.name = "philox", .enqueue = enqueue};
const gpu_kernel *const cuda_dropout[] = {&fused, &dropout_alone, NULL};

/* ---- scale, add, pad, crop --------------------------------------------------------------- */

static cornu_status enqueue_scale(const gpu_op *r)
{
    scale_params p = {.x = (const float *)r->in[0],
                      .y = (float *)r->out[0],
                      .count = GPU_OUT(r, 0)->count,
                      .scale = r->op->a.scale.scale,
                      .offset = r->op->a.scale.offset};
    return cuda_launch(r->g, CUDA_scale, cuda_element_grid(p.count), &p);
}

static cornu_status enqueue_add(const gpu_op *r)
{
    add_params p = {.a = (const float *)r->in[0],
                    .b = (const float *)r->in[1],
                    .y = (float *)r->out[0],
                    .count = GPU_OUT(r, 0)->count};
    return cuda_launch(r->g, CUDA_add, cuda_element_grid(p.count), &p);
}

_Static_assert(SHAPE_MAX == BINARY_DIMENSIONS, "kernels/binary.h has all dimensions");

static binary_steps steps_of(const gpu_binary *g)
{
    binary_steps s;
    memcpy(s.a, g->s.step[BROADCAST_A], sizeof s.a);
    memcpy(s.b, g->s.step[BROADCAST_B], sizeof s.b);
    memcpy(s.y, g->s.step[BROADCAST_Y], sizeof s.y);
    return s;
}

static cornu_status launch_binary(const gpu_op *r, const gpu_binary *g)
{
    binary_forward_params p = {.a = (const float *)g->a,
                               .b = (const float *)g->b,
                               .y = (float *)r->out[0],
                               .count = g->count,
                               .steps = steps_of(g),
                               .kind = (int32_t)g->kind};
    memcpy(p.size, g->s.size, sizeof p.size);
    return cuda_launch(r->g, CUDA_binary_forward, cuda_element_grid(p.count), &p);
}

static cornu_status enqueue_binary(const gpu_op *r)
{
    const gpu_binary g = gpu_binary_of(r);
    return launch_binary(r, &g);
}

static cornu_status enqueue_binary_back(const gpu_op *r)
{
    const gpu_binary g = gpu_binary_of(r);
    binary_backward_params p = {.a = (const float *)g.a,
                                .b = (const float *)g.b,
                                .dy = (const float *)r->in[2],
                                .dx = (float *)r->out[0],
                                .count = g.count,
                                .terms = g.terms,
                                .steps = steps_of(&g),
                                .kind = (int32_t)g.kind,
                                .of = r->op->a.binary.of};
    memcpy(p.kept, g.kept.size, sizeof p.kept);
    memcpy(p.repeated, g.repeated.size, sizeof p.repeated);
    return cuda_launch(
        r->g, g.wide ? CUDA_binary_backward_sums : CUDA_binary_backward,
        cuda_line(gpu_blocks(g.count, g.wide ? 1 : ELEMENT_THREADS, 4096), ELEMENT_THREADS), &p);
}

/* The kernel of a convolution that a SLICE copies whole, or an INSERT writes: its output channels
   come first on the device, and last in what the plan computes with. */
static const tensor *copied_kernel(const gpu_op *r)
{
    const tensor *t = r->op->kind == OP_SLICE ? GPU_IN(r, 0) : GPU_OUT(r, 0);
    return t->form == FORM_CONV_KERNEL ? t : NULL;
}

static cornu_status copy_kernel(const gpu_op *r, const tensor *t)
{
    static const int exchanged[2] = {1, 0};
    const int64_t columns = t->shape.dim[t->shape.rank - 1], rows = t->count / columns;
    const shape stored = {2, {columns, rows}}, plain = {2, {rows, columns}};
    const bool reads = r->op->kind == OP_SLICE;
    const gpu_binary g = {
        .s = broadcast_transposed(reads ? &stored : &plain, exchanged, reads ? &plain : &stored),
        .a = r->in[0],
        .b = r->in[0],
        .kind = BINARY_MAXIMUM,
        .count = t->count,
        .terms = 1};
    return launch_binary(r, &g);
}

static cornu_status enqueue_runs(const gpu_op *r)
{
    if (copied_kernel(r))
        return copy_kernel(r, copied_kernel(r));
    const gpu_slice g = gpu_slice_of(r);
    const cuda_function function = r->op->kind == OP_SLICE ? CUDA_slice
                                   : g.spreads             ? CUDA_spread
                                                           : CUDA_insert;
    const slice_params p = {.from = (const float *)r->in[0],
                            .to = (float *)r->out[0],
                            .packs = g.packs,
                            .runs = g.s.runs,
                            .floats = g.s.floats,
                            .outer = g.s.outer,
                            .first = g.s.first,
                            .step = g.s.step,
                            .pack = g.pack};
    return cuda_launch(r->g, function,
                       cuda_line(gpu_blocks(g.packs, ELEMENT_THREADS, 4096), ELEMENT_THREADS), &p);
}

static cornu_status copy(const gpu_op *r, cuda_function function)
{
    const gpu_pad s = gpu_pad_of(r);
    const pad_params p = {.from = (const float *)r->in[0],
                          .to = (float *)r->out[0],
                          .batch = s.outer->dim[0],
                          .outer_h = s.outer->dim[1],
                          .outer_w = s.outer->dim[2],
                          .inner_h = s.inner->dim[1],
                          .inner_w = s.inner->dim[2],
                          .packs = s.outer->dim[3] / s.pack,
                          .top = s.before[0],
                          .left = s.before[1],
                          .pack = s.pack};
    return cuda_launch(r->g, function,
                       cuda_line(gpu_blocks(s.packs, ELEMENT_THREADS, 0), ELEMENT_THREADS), &p);
}

static cornu_status enqueue_pad(const gpu_op *r)
{
    return copy(r, CUDA_pad);
}

static cornu_status enqueue_crop(const gpu_op *r)
{
    return copy(r, CUDA_crop);
}

static const gpu_kernel scale = {.name = "elementwise", .enqueue = enqueue_scale};
static const gpu_kernel add = {.name = "elementwise", .enqueue = enqueue_add};
static const gpu_kernel binary = {.name = "elementwise", .enqueue = enqueue_binary};
static const gpu_kernel binary_back = {.name = "elementwise", .enqueue = enqueue_binary_back};
static const gpu_kernel transpose = {.name = "elementwise", .enqueue = enqueue_binary};
static const gpu_kernel runs = {.name = "copy", .enqueue = enqueue_runs};
static const gpu_kernel pad = {.name = "copy", .enqueue = enqueue_pad};
static const gpu_kernel crop = {.name = "copy", .enqueue = enqueue_crop};
const gpu_kernel *const cuda_scale[] = {&scale, NULL};
const gpu_kernel *const cuda_add[] = {&add, NULL};
const gpu_kernel *const cuda_binary_forward[] = {&binary, NULL};
const gpu_kernel *const cuda_binary_backward[] = {&binary_back, NULL};
const gpu_kernel *const cuda_transpose[] = {&transpose, NULL};
const gpu_kernel *const cuda_slice[] = {&runs, NULL};
const gpu_kernel *const cuda_insert[] = {&runs, NULL};
const gpu_kernel *const cuda_pad[] = {&pad, NULL};
const gpu_kernel *const cuda_crop[] = {&crop, NULL};

/* ---- sums of columns --------------------------------------------------------------------- */

sum_strips cuda_strips_params(const gpu_strips *t)
{
    return (sum_strips){
        .rows = t->rows, .columns = t->columns, .block_rows = t->block_rows, .width = t->width};
}

cuda_grid cuda_strips_grid(const gpu_strips *t)
{
    cuda_grid grid = cuda_line(gpu_blocks(t->columns, t->width, 0), SUM_THREADS);
    grid.y = (unsigned)t->count;
    return grid;
}

static gpu_strips strips_of(int64_t rows, int64_t columns)
{
    return gpu_strips_of(rows, columns, SUM_THREADS, GPU_SUM_BLOCKS);
}

size_t cuda_column_sums_scratch(int64_t rows, int64_t columns)
{
    const gpu_strips t = strips_of(rows, columns);
    return t.count > 1 ? (size_t)t.count * (size_t)columns * sizeof(sum2) : 0;
}

cornu_status cuda_column_sums(gpu *g, gpu_address x, int64_t rows, int64_t columns,
                              gpu_address scratch, gpu_address out)
{
    gpu_strips t = strips_of(rows, columns);
    column_sums_params p = {
        .t = cuda_strips_params(&t), .x = (const float *)x, .partials = (sum2 *)scratch};
    if (t.count == 1)
        p.sums = (float *)out;
    TRY(cuda_launch(g, CUDA_column_sums, cuda_strips_grid(&t), &p));
    if (t.count == 1)
        return CORNU_OK;
    column_sums_reduce_params f = {.t = p.t, .partials = p.partials, .sums = (float *)out};
    f.t.rows = f.t.block_rows = t.count;
    t.count = 1;
    return cuda_launch(g, CUDA_column_sums_reduce, cuda_strips_grid(&t), &f);
}

/* ---- SQUARE_SUM ---------------------------------------------------------------------------- */

static bool has(const plan *p, op_kind kind)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == kind)
            return true;
    return false;
}

bool cuda_sums_squares_alone(const plan *p)
{
    return !has(p, OP_UPDATE) || has(p, OP_MATRIX_UPDATE);
}

static bool accepts_with_updates(const gpu *g, const plan *p, const op *o, const char **why)
{
    (void)g, (void)o;
    *why = has(p, OP_UPDATE) ? "a MATRIX_UPDATE reads the sums before the updates run"
                             : "nothing is updated";
    return !cuda_sums_squares_alone(p);
}

static cornu_status enqueue_alone(const gpu_op *r)
{
    square_sum_params p = {.x = (const float *)r->in[0],
                           .w = (const float *)r->in[1],
                           .penalty_l1 = r->op->a.norm.penalty.l1,
                           .penalty_l2 = r->op->a.norm.penalty.l2,
                           .count = GPU_IN(r, 0)->count,
                           .sum = (float *)r->out[0] + r->op->a.norm.slot};
    cuda_grid grid = {.x = 1, .threads = SQUARE_THREADS};
    return cuda_launch(r->g, CUDA_square_sum, grid, &p);
}

/* The updates' first launches sum the squares of all gradients at once. */
static const gpu_kernel with_updates = {
    .name = "updates", .accepts = accepts_with_updates, .with_updates = true};
static const gpu_kernel sums_alone = {.name = "block", .enqueue = enqueue_alone};
const gpu_kernel *const cuda_square_sum[] = {&with_updates, &sums_alone, NULL};

/* ---- PENALTY ------------------------------------------------------------------------------- */

enum { PENALTY_PIECE_LEAST = 16 * SUM_THREADS };

static int64_t penalty_piece(int64_t count, int64_t *blocks)
{
    int64_t piece = (count + GPU_SUM_BLOCKS - 1) / GPU_SUM_BLOCKS;
    piece = piece < PENALTY_PIECE_LEAST ? PENALTY_PIECE_LEAST : piece;
    *blocks = (count + piece - 1) / piece;
    return piece;
}

static cornu_status prepare_penalty(gpu *g, const plan *p, const op *o, void **state,
                                    size_t *scratch_bytes)
{
    (void)g, (void)state;
    int64_t blocks;
    (void)penalty_piece(p->tensors[o->in[0]].count, &blocks);
    *scratch_bytes += (size_t)blocks * sizeof(sum2);
    return CORNU_OK;
}

static cornu_status enqueue_penalty(const gpu_op *r)
{
    int64_t blocks, count = GPU_IN(r, 0)->count;
    penalty_params p = {.w = (const float *)r->in[0],
                        .count = count,
                        .piece = penalty_piece(count, &blocks),
                        .l1 = r->op->a.penalty.l1,
                        .l2 = r->op->a.penalty.l2,
                        .partials = (sum2 *)r->scratch};
    cuda_grid grid = {.x = (unsigned)blocks, .threads = SUM_THREADS};
    TRY(cuda_launch(r->g, CUDA_penalty, grid, &p));
    penalty_reduce_params f = {.partials = p.partials,
                               .count = blocks,
                               .batch = r->plan->batch,
                               .results = cuda_of(r->g)->results};
    return cuda_launch(r->g, CUDA_penalty_reduce, (cuda_grid){.x = 1, .threads = SUM_THREADS}, &f);
}

static const gpu_kernel penalties = {
    .name = "pieces", .prepare = prepare_penalty, .enqueue = enqueue_penalty};
const gpu_kernel *const cuda_penalty[] = {&penalties, NULL};

/* ---- CONSTRAIN ----------------------------------------------------------------------------- */

static cornu_status enqueue_constrain(const gpu_op *r)
{
    const op_attributes *a = &r->op->a;
    const int64_t *extents = a->constrain.extents;
    const tensor *w = GPU_OUT(r, 0);
    const bool by_output = w->form == FORM_CONV_KERNEL;
    const int64_t columns = by_output ? w->shape.dim[w->shape.rank - 1] : 1;
    constrain_params p = {.w = (float *)r->out[0],
                          .rows = w->count / columns,
                          .columns = columns,
                          .norms = extents[0] * extents[2],
                          .along = extents[1],
                          .inner = extents[2],
                          .non_neg = a->constrain.non_neg,
                          .least = a->constrain.least,
                          .most = a->constrain.most,
                          .rate = a->constrain.rate};
    return cuda_launch(r->g, CUDA_constrain, cuda_element_grid(p.norms), &p);
}

static const gpu_kernel constrain = {.name = "norms", .enqueue = enqueue_constrain};
const gpu_kernel *const cuda_constrain[] = {&constrain, NULL};
