/* The verbs of model/emit.h: each appends one operation of the forward pass. */
#include "step/builder.h"
#include <string.h>

shape emit_shape(const step_builder *b, tensor_ref x)
{
    const shape *full = &b->plan->tensors[x].shape;
    shape s = {.rank = full->rank - 1};
    memcpy(s.dim, full->dim + 1, (size_t)s.rank * sizeof *s.dim);
    return s;
}

int emit_inputs(const step_builder *b)
{
    return b->frame ? 1 : b->node->input_count;
}

shape emit_output(const step_builder *b)
{
    return b->frame ? b->frame->out : b->node->out;
}

void emit_enter(step_builder *b, emit_frame *f)
{
    f->around = b->frame;
    f->number = ++b->frames;
    b->frame = f;
}

void emit_leave(step_builder *b)
{
    b->frame = b->frame->around;
}

/* The variables are the plan's first tensors, in the model's order. */
tensor_ref emit_weight(step_builder *b, int index)
{
    const layer *l = b->node->layer;
    if (index < 0 || index >= (b->frame ? b->frame->weight_count : l->weight_count))
        return NO_TENSOR;
    for (const emit_frame *f = b->frame; f; f = f->around)
        index += f->first_weight + (f->own_weight > 0 && index >= f->own_weight);
    return l->first_variable + index;
}

const shape *emit_weight_shape(step_builder *b, int index)
{
    return &b->plan->model->variables[emit_weight(b, index)].shape;
}

bool emit_training(const step_builder *b)
{
    return b->plan->mode == PLAN_TRAIN;
}

void emit_one_begin(step_builder *b)
{
    b->as_one = true;
}

void emit_one_end(step_builder *b)
{
    b->as_one = false;
}

/* The next operation reads x. */
static cornu_status take(step_builder *b, tensor_ref x)
{
    if (x < 0 || x >= b->plan->tensor_count)
        return status_fail(CORNU_INTERNAL, "reads a tensor that does not exist (number %d of %d)",
                           x, b->plan->tensor_count);
    if (b->notes[x].first_reader < 0)
        b->notes[x].first_reader = b->plan->op_count;
    return CORNU_OK;
}

/* Append `o`, whose in[] is filled in; its out[0] becomes a new tensor of this shape. */
static cornu_status forward_to(step_builder *b, op *o, const shape *full, tensor_ref *y)
{
    TRY(builder_buffer(b, full, y, "%s/%s", b->node->name, op_infos[o->kind].name));
    o->out[0] = *y;
    for (int i = 0; i < OP_INPUTS_MAX; i++) {
        if (o->in[i] == NO_TENSOR)
            continue;
        TRY(take(b, o->in[i]));
        b->notes[*y].needs_gradient |= b->notes[o->in[i]].needs_gradient;
    }
    return builder_add(b, o, b->node->name);
}

/* The same of shape `s` for each sample. */
static cornu_status forward(step_builder *b, op *o, const shape *s, tensor_ref *y)
{
    shape full;
    TRY(builder_batched(b, s, &full));
    return forward_to(b, o, &full, y);
}

/* The memory of x in this shape, which has as many elements. */
static cornu_status reshape_to(step_builder *b, tensor_ref x, const shape *full, tensor_ref *y)
{
    *y = x;
    if (shape_equal(&b->plan->tensors[x].shape, full))
        return CORNU_OK;
    TRY(builder_alias(b, x, full, y, "%s/reshaped", b->node->name));
    b->notes[*y].needs_gradient = b->notes[x].needs_gradient;
    return CORNU_OK;
}

cornu_status emit_constant(step_builder *b, const shape *s, const float *values, tensor_ref *y)
{
    shape full;
    TRY(builder_batched(b, s, &full));
    full.dim[0] = 1;
    return builder_constant(b, &full, values, y);
}

static cornu_status shape_fail(const step_builder *b, const char *what, tensor_ref found,
                               const char *expected)
{
    char text[128] = "none";
    if (found != NO_TENSOR)
        shape_show(&b->plan->tensors[found].shape, false, text);
    return status_fail(CORNU_INVALID, "%s: found shape %s; expected %s", what, text, expected);
}

static cornu_status check_vector(const step_builder *b, const char *what, tensor_ref v,
                                 int64_t count)
{
    if (v == NO_TENSOR || b->plan->tensors[v].count == count)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "%s: found %lld numbers; expected %lld", what,
                       (long long)b->plan->tensors[v].count, (long long)count);
}

static cornu_status check_image(const step_builder *b, tensor_ref x)
{
    if (x == NO_TENSOR || b->plan->tensors[x].shape.rank != 4)
        return shape_fail(b, "input", x, "(batch, height, width, channels)");
    return CORNU_OK;
}

cornu_status emit_dense(step_builder *b, tensor_ref x, tensor_ref kernel, tensor_ref bias,
                        tensor_ref *y)
{
    shape s = emit_shape(b, x);
    if (s.rank < 1)
        return shape_fail(b, "input", x, "(batch, ..., inputs)");
    if (kernel == NO_TENSOR || b->plan->tensors[kernel].shape.rank != 2 ||
        b->plan->tensors[kernel].shape.dim[0] != s.dim[s.rank - 1])
        return shape_fail(b, "kernel", kernel, "(inputs, units)");
    s.dim[s.rank - 1] = b->plan->tensors[kernel].shape.dim[1];
    TRY(check_vector(b, "bias", bias, s.dim[s.rank - 1]));
    op o = op_new(OP_DENSE_FORWARD);
    o.in[0] = x;
    o.in[1] = kernel;
    o.in[2] = bias;
    return forward(b, &o, &s, y);
}

/* The output's height and width under `w`. */
static cornu_status window_shape(const window2d *w, shape *s)
{
    for (int i = 0; i < 2; i++) {
        int64_t in = s->dim[i];
        s->dim[i] = window_output(w, i, in);
        if (s->dim[i] < 1)
            return status_fail(CORNU_INVALID, "window of %lld does not fit into %s %lld",
                               (long long)w->kernel[i], i ? "width" : "height", (long long)in);
    }
    return CORNU_OK;
}

cornu_status emit_conv2d(step_builder *b, tensor_ref x, tensor_ref kernel, tensor_ref bias,
                         const window2d *w, tensor_ref *y)
{
    TRY(check_image(b, x));
    shape s = emit_shape(b, x);
    const shape *k = kernel == NO_TENSOR ? NULL : &b->plan->tensors[kernel].shape;
    if (!k || k->rank != 4 || w->groups < 1 || k->dim[0] != w->kernel[0] ||
        k->dim[1] != w->kernel[1] || k->dim[2] * w->groups != s.dim[2] ||
        k->dim[3] % w->groups != 0)
        return shape_fail(b, "kernel", kernel, "(height, width, channels / groups, filters)");
    TRY(window_shape(w, &s));
    s.dim[2] = k->dim[3];
    TRY(check_vector(b, "bias", bias, s.dim[2]));
    op o = op_new(OP_CONV2D_FORWARD);
    o.in[0] = x;
    o.in[1] = kernel;
    o.in[2] = bias;
    o.a.conv.w = *w;
    return forward(b, &o, &s, y);
}

cornu_status emit_conv2d_transpose(step_builder *b, tensor_ref x, tensor_ref kernel,
                                   const int64_t size[2], const window2d *w, tensor_ref *y)
{
    TRY(check_image(b, x));
    const shape in = emit_shape(b, x);
    const shape *k = kernel == NO_TENSOR ? NULL : &b->plan->tensors[kernel].shape;
    if (!k || k->rank != 4 || w->groups != 1 || k->dim[0] != w->kernel[0] ||
        k->dim[1] != w->kernel[1] || k->dim[3] != in.dim[2])
        return shape_fail(b, "kernel", kernel, "(height, width, filters, channels)");
    shape s = {3, {size[0], size[1], k->dim[2]}};
    shape from = s;
    TRY(window_shape(w, &from));
    if (from.dim[0] != in.dim[0] || from.dim[1] != in.dim[1])
        return shape_fail(b, "input", x, "that of a convolution over the output");
    op o = op_new(OP_CONV2D_BACKWARD_DATA);
    o.in[0] = x;
    o.in[1] = kernel;
    o.a.conv.w = *w;
    return forward(b, &o, &s, y);
}

static cornu_status emit_pool(step_builder *b, op_kind kind, tensor_ref x, const window2d *w,
                              tensor_ref *y)
{
    TRY(check_image(b, x));
    shape s = emit_shape(b, x);
    TRY(window_shape(w, &s));
    op o = op_new(kind);
    o.in[0] = x;
    o.a.window = *w;
    return forward(b, &o, &s, y);
}

cornu_status emit_max_pool(step_builder *b, tensor_ref x, const window2d *w, tensor_ref *y)
{
    return emit_pool(b, OP_MAX_POOL_FORWARD, x, w, y);
}

cornu_status emit_average_pool(step_builder *b, tensor_ref x, const window2d *w, tensor_ref *y)
{
    return emit_pool(b, OP_AVERAGE_POOL_FORWARD, x, w, y);
}

cornu_status emit_reshape(step_builder *b, tensor_ref x, const shape *s, tensor_ref *y)
{
    const shape from = emit_shape(b, x);
    shape full;
    char found[128], wanted[128];
    TRY(builder_batched(b, s, &full));
    if (shape_elements(&full) != b->plan->tensors[x].count)
        return status_fail(CORNU_INVALID, "found shape %s; %s has another number of elements",
                           shape_show(&from, false, found), shape_show(s, false, wanted));
    return reshape_to(b, x, &full, y);
}

cornu_status emit_activation(step_builder *b, tensor_ref x, activation a, tensor_ref *y)
{
    if (a.kind == ACTIVATION_LINEAR) {
        *y = x;
        return CORNU_OK;
    }
    /* With a negative slope the output's sign would no longer be the input's. */
    if (!(a.alpha >= 0) && !activation_is_function(a.kind))
        return status_fail(CORNU_INVALID, "%s: found alpha %g; expected 0 or more",
                           activation_name(a.kind), (double)a.alpha);
    shape s = emit_shape(b, x);
    op o = op_new(OP_ACTIVATION_FORWARD);
    o.in[0] = x;
    o.a.act = a;
    return forward(b, &o, &s, y);
}

/* The stream of the random numbers of a call, or of a layer within it. */
static uint32_t stream_of(const step_builder *b)
{
    const uint32_t node = (uint32_t)(b->node - b->plan->model->nodes);
    return node + (b->frame ? b->frame->number << 16 : 0);
}

/* Numbers are drawn by the number of the model's node. */
static cornu_status check_draws(const step_builder *b)
{
    return b->in_loss ? status_fail(CORNU_UNSUPPORTED, "found random numbers in a loss; expected "
                                                       "operations without them")
                      : CORNU_OK;
}

bool emit_draws(const step_builder *b)
{
    const cornu_draws draws = b->plan->draws;
    return draws == CORNU_DRAW_ALL ||
           (draws == CORNU_DRAW_IMAGES && b->node->layer->kind->changes_images);
}

cornu_status emit_dropout(step_builder *b, tensor_ref x, double rate, tensor_ref *y)
{
    if (!(rate >= 0 && rate < 1))
        return status_fail(CORNU_INVALID, "rate: found %g; expected 0 or more and less than 1",
                           rate);
    if (!emit_draws(b) || rate == 0) {
        *y = x;
        return CORNU_OK;
    }
    TRY(check_draws(b));
    shape s = emit_shape(b, x);
    op o = op_new(OP_DROPOUT);
    o.in[0] = x;
    o.a.dropout.rate = (float)rate;
    o.a.dropout.stream = stream_of(b);
    return forward(b, &o, &s, y);
}

/* Each further drawing of a node has a stream of its own. */
enum { DRAWS_SHIFT = 24 };

static uint32_t draws_before(const step_builder *b)
{
    const uint32_t own = stream_of(b), nodes = ((uint32_t)1 << DRAWS_SHIFT) - 1;
    uint32_t count = 0;
    for (int i = 0; i < b->plan->op_count; i++) {
        const op *o = &b->plan->ops[i];
        count += o->kind == OP_DRAW && (o->a.draw.stream & nodes) == own;
    }
    return count;
}

/* Numbers of this shape for each sample. */
static cornu_status emit_drawn(step_builder *b, const drawing *d, const shape *s, tensor_ref *y)
{
    TRY(check_draws(b));
    op o = op_new(OP_DRAW);
    o.a.draw.how = *d;
    o.a.draw.stream = stream_of(b) + (draws_before(b) << DRAWS_SHIFT);
    return forward(b, &o, s, y);
}

cornu_status emit_draw(step_builder *b, const drawing *d, tensor_ref *y)
{
    return emit_drawn(b, d, &(shape){1, {drawing_numbers(d->kind)}}, y);
}

cornu_status emit_noise(step_builder *b, tensor_ref x, double mean, double deviation, tensor_ref *y)
{
    const shape s = emit_shape(b, x);
    const drawing d = {.kind = DRAW_NORMAL, .low = {(float)mean}, .high = {(float)deviation}};
    return emit_drawn(b, &d, &s, y);
}

cornu_status emit_resample(step_builder *b, tensor_ref x, tensor_ref map, const int64_t size[2],
                           const resampling *r, tensor_ref *y)
{
    TRY(check_image(b, x));
    shape s = emit_shape(b, x);
    const shape m = emit_shape(b, map);
    if (m.rank != 1 || m.dim[0] != MAP_NUMBERS)
        return shape_fail(b, "map", map, "(6)");
    s.dim[0] = size[0];
    s.dim[1] = size[1];
    op o = op_new(OP_RESAMPLE_FORWARD);
    o.in[0] = x;
    o.in[1] = map;
    o.a.resample = *r;
    return forward(b, &o, &s, y);
}

cornu_status emit_recolor(step_builder *b, tensor_ref x, tensor_ref numbers, const recoloring *r,
                          tensor_ref *y)
{
    TRY(check_image(b, x));
    const shape s = emit_shape(b, x);
    if (r->kind >= RECOLOR_GRAYSCALE && s.dim[2] != COLORS)
        return shape_fail(b, "input", x, "(height, width, 3)");
    op o = op_new(OP_RECOLOR_FORWARD);
    o.in[0] = x;
    o.in[1] = numbers;
    o.a.recolor = *r;
    return forward(b, &o, &s, y);
}

/* Ones of x's shape, but 1 along those dimensions: what a comparison gives, which has no gradient.
 */
static cornu_status emit_ones(step_builder *b, tensor_ref x, const bool together[SHAPE_MAX],
                              tensor_ref *y)
{
    const shape s = emit_shape(b, x);
    *y = x;
    for (int i = 0; i < s.rank; i++)
        if (together[i] && s.dim[i] > 1)
            TRY(emit_slice(b, *y, i + 1, 0, 1, 1, y));
    TRY(emit_binary(b, BINARY_EQUAL, *y, *y, y));
    return emit_scale(b, *y, 0, 1, y);
}

cornu_status emit_dropout_mask(step_builder *b, tensor_ref x, double rate,
                               const bool together[SHAPE_MAX], tensor_ref *mask)
{
    tensor_ref ones;
    *mask = NO_TENSOR;
    if (!emit_draws(b) || !(rate > 0))
        return CORNU_OK;
    TRY(emit_ones(b, x, together, &ones));
    return emit_dropout(b, ones, rate, mask);
}

/* Training also writes the batch's statistics and, in place, the moving ones. */
static cornu_status batch_norm_outputs(step_builder *b, op *o, int64_t channels)
{
    shape s = {.rank = 1, .dim = {channels}};
    TRY(builder_buffer(b, &s, &o->out[1], "%s/mean", b->node->name));
    TRY(builder_buffer(b, &s, &o->out[2], "%s/inverse_deviation", b->node->name));
    o->out[3] = o->in[3];
    o->out[4] = o->in[4];
    return CORNU_OK;
}

cornu_status emit_batch_norm(step_builder *b, tensor_ref x, tensor_ref gamma, tensor_ref beta,
                             tensor_ref moving_mean, tensor_ref moving_variance, double momentum,
                             double epsilon, tensor_ref *y)
{
    shape s = emit_shape(b, x);
    if (s.rank < 1 || moving_mean == NO_TENSOR || moving_variance == NO_TENSOR)
        return shape_fail(b, "input", x, "(batch, ..., channels) and moving statistics");
    int64_t channels = s.dim[s.rank - 1];
    TRY(check_vector(b, "gamma", gamma, channels));
    TRY(check_vector(b, "beta", beta, channels));
    TRY(check_vector(b, "moving_mean", moving_mean, channels));
    TRY(check_vector(b, "moving_variance", moving_variance, channels));
    bool training = b->plan->mode == PLAN_TRAIN && !b->node->layer->frozen;
    op o = op_new(training ? OP_BATCH_NORM_FORWARD : OP_BATCH_NORM_INFERENCE);
    o.in[0] = x;
    o.in[1] = gamma;
    o.in[2] = beta;
    o.in[3] = moving_mean;
    o.in[4] = moving_variance;
    o.a.batch_norm.momentum = (float)momentum;
    o.a.batch_norm.epsilon = (float)epsilon;
    if (training)
        TRY(batch_norm_outputs(b, &o, channels));
    return forward(b, &o, &s, y);
}

cornu_status emit_standardized(step_builder *b, tensor_ref x, tensor_ref gamma, tensor_ref beta,
                               tensor_ref mean, tensor_ref variance, double epsilon, tensor_ref *y)
{
    shape s = emit_shape(b, x);
    op o = op_new(OP_BATCH_NORM_INFERENCE);
    o.in[0] = x;
    o.in[1] = gamma;
    o.in[2] = beta;
    o.in[3] = mean;
    o.in[4] = variance;
    o.a.batch_norm.epsilon = (float)epsilon;
    return forward(b, &o, &s, y);
}

/* Make an output besides y, with the shape that its word in ops.def gives. */
static cornu_status extra_output(step_builder *b, op *o, const op_word *w, tensor_ref *out)
{
    op_word input;
    for (int i = 0; op_word_at(op_infos[o->kind].inputs, i, &input); i++)
        if (strcmp(input.name, w->name) == 0) {
            *out = o->in[i];
            return CORNU_OK;
        }
    if (w->optional && b->plan->mode != PLAN_TRAIN)
        return CORNU_OK;
    shape s = b->plan->tensors[o->in[0]].shape;
    if (strcmp(w->shape, "rows") == 0)
        s.rank--;
    else if (strcmp(w->shape, "columns") == 0)
        s = (shape){.rank = 1, .dim = {s.dim[s.rank - 1]}};
    return builder_buffer(b, &s, out, "%s/%s", b->node->name, w->name);
}

cornu_status emit_operation(step_builder *b, const char *name, const tensor_ref *inputs, int count,
                            const double reals[EMIT_REALS], tensor_ref *y)
{
    int kind = 0;
    op_word w;
    while (kind < OP_COUNT && strcmp(op_infos[kind].name, name) != 0)
        kind++;
    if (kind == OP_COUNT || count > OP_INPUTS_MAX || inputs[0] == NO_TENSOR)
        return status_fail(CORNU_INTERNAL, "%s: found no such operation of %d inputs", name, count);
    op o = op_new((op_kind)kind);
    memcpy(o.in, inputs, (size_t)count * sizeof *inputs);
    for (int i = 0; i < EMIT_REALS; i++)
        o.a.reals[i] = (float)reals[i];
    for (int i = 1; op_word_at(op_infos[kind].outputs, i, &w); i++)
        TRY(extra_output(b, &o, &w, &o.out[i]));
    shape s = emit_shape(b, inputs[0]);
    return forward(b, &o, &s, y);
}

/* Numbers that name rows have no gradient. */
cornu_status emit_embedding(step_builder *b, tensor_ref x, tensor_ref table, tensor_ref *y)
{
    shape s = emit_shape(b, x);
    if (table == NO_TENSOR || b->plan->tensors[table].shape.rank != 2 || s.rank + 1 >= SHAPE_MAX)
        return shape_fail(b, "table", table, "(rows, columns)");
    s.dim[s.rank++] = b->plan->tensors[table].shape.dim[1];
    op o = op_new(OP_EMBEDDING_FORWARD);
    o.in[0] = x;
    o.in[1] = table;
    TRY(forward(b, &o, &s, y));
    b->notes[*y].needs_gradient = b->notes[table].needs_gradient;
    return CORNU_OK;
}

static cornu_status saved_of_steps(step_builder *b, const shape *h, op *o)
{
    shape s = *h;
    s.dim[2] *= recurrent_kept(o->a.recurrent.cell);
    if (s.dim[2] == 0)
        return CORNU_OK;
    return builder_buffer(b, &s, &o->out[1], "%s/saved", b->node->name);
}

static cornu_status check_state(const step_builder *b, tensor_ref state, const shape *h)
{
    const shape *s = state == NO_TENSOR ? NULL : &b->plan->tensors[state].shape;
    if (!s || (s->rank == 2 && s->dim[0] == h->dim[0] && s->dim[1] == h->dim[2]))
        return CORNU_OK;
    return shape_fail(b, "initial state", state, "(batch, units)");
}

cornu_status emit_recurrent(step_builder *b, tensor_ref z, tensor_ref u, tensor_ref bias,
                            const recurrence *r, const tensor_ref first[2], tensor_ref *y,
                            tensor_ref *c)
{
    shape s = emit_shape(b, z), full;
    const shape *w = u == NO_TENSOR ? NULL : &b->plan->tensors[u].shape;
    const int64_t gates = recurrent_gates(r->cell);
    if (!w || w->rank != 2 || w->dim[1] != gates * w->dim[0])
        return shape_fail(b, "recurrent kernel", u, "(units, gates x units)");
    if (s.rank != 2 || s.dim[1] != w->dim[1])
        return shape_fail(b, "input", z, "(batch, steps, gates x units)");
    TRY(check_vector(b, "bias", bias, w->dim[1]));
    s.dim[1] = w->dim[0];
    TRY(builder_batched(b, &s, &full));
    op o = op_new(OP_RECURRENT_FORWARD);
    o.in[0] = z;
    o.in[1] = u;
    o.in[2] = bias;
    for (int i = 0; first && i < 2; i++) {
        TRY(check_state(b, first[i], &full));
        o.in[3 + i] = first[i];
    }
    o.a.recurrent = *r;
    TRY(saved_of_steps(b, &full, &o));
    if (c) {
        const shape last = {2, {full.dim[0], full.dim[2]}};
        TRY(builder_buffer(b, &last, &o.out[2], "%s/c", b->node->name));
        *c = o.out[2];
    }
    TRY(forward_to(b, &o, &full, y));
    if (c)
        b->notes[*c].needs_gradient = b->notes[*y].needs_gradient;
    return CORNU_OK;
}

cornu_status emit_weight_row(step_builder *b, tensor_ref weight, int64_t row, tensor_ref *y)
{
    const shape *w = &b->plan->tensors[weight].shape;
    if (w->rank != 2 || row < 0 || row >= w->dim[0])
        return shape_fail(b, "weight", weight, "(rows, columns)");
    const shape one = {2, {1, w->dim[1]}};
    op o = op_new(OP_SLICE);
    o.in[0] = weight;
    o.a.slice.begin = row;
    o.a.slice.step = 1;
    return forward_to(b, &o, &one, y);
}

cornu_status emit_whole_weight(step_builder *b, tensor_ref weight, const shape *s, tensor_ref *y)
{
    const shape w = b->plan->tensors[weight].shape;
    shape full;
    op o = op_new(OP_SLICE);
    o.in[0] = weight;
    o.a.slice.step = 1;
    TRY(builder_batched(b, s, &full));
    TRY(forward_to(b, &o, &w, y));
    return reshape_to(b, *y, &full, y);
}

cornu_status emit_assign(step_builder *b, tensor_ref weight, tensor_ref x)
{
    const shape w = b->plan->tensors[weight].shape;
    op o = op_new(OP_INSERT);
    TRY(reshape_to(b, x, &w, &o.in[0]));
    o.in[1] = o.out[0] = weight;
    o.a.slice.step = 1;
    TRY(take(b, o.in[0]));
    return builder_add(b, &o, b->node->name);
}

cornu_status emit_scale(step_builder *b, tensor_ref x, double scale, double offset, tensor_ref *y)
{
    shape s = emit_shape(b, x);
    op o = op_new(OP_SCALE);
    o.in[0] = x;
    o.a.scale.scale = (float)scale;
    o.a.scale.offset = (float)offset;
    return forward(b, &o, &s, y);
}

/* 0 for each sample, whatever x is. */
static cornu_status zero_rows(step_builder *b, tensor_ref x, tensor_ref *y)
{
    const shape row = {1, {b->plan->tensors[x].count / b->plan->batch}};
    TRY(emit_reshape(b, x, &row, y));
    TRY(emit_slice(b, *y, 1, 0, 1, 1, y));
    return emit_binary(b, BINARY_GREATER, *y, *y, y);
}

cornu_status emit_reduce_batch(step_builder *b, tensor_ref x, bool largest, int64_t *count,
                               tensor_ref *y)
{
    if (!b->in_loss)
        return status_fail(CORNU_UNSUPPORTED,
                           "found axis null, over all samples together; expected axes of a sample, "
                           "as only losses see a batch as a whole");
    *count = b->plan->tensors[x].count;
    const shape row = {4, {1, 1, *count, 1}}, one = {4, {1, 1, 1, 1}}, beside = {2, {1, 1}};
    op o = op_new(largest ? OP_MAX_POOL_FORWARD : OP_AVERAGE_POOL_FORWARD);
    o.a.window =
        (window2d){.kernel = {1, *count}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    tensor_ref reduced, rows;
    TRY(zero_rows(b, x, &rows));
    TRY(reshape_to(b, x, &row, &o.in[0]));
    TRY(forward_to(b, &o, &one, &reduced));
    TRY(reshape_to(b, reduced, &beside, &reduced));
    return emit_binary(b, BINARY_ADD, rows, reduced, y);
}

cornu_status emit_batch_as_one(step_builder *b, tensor_ref x, tensor_ref *y)
{
    const shape all = b->plan->tensors[x].shape;
    shape full;
    b->as_one = true;
    TRY(builder_batched(b, &all, &full));
    return reshape_to(b, x, &full, y);
}

cornu_status emit_batch_apart(step_builder *b, tensor_ref x, const shape *s, tensor_ref *y)
{
    shape full;
    b->as_one = false;
    TRY(builder_batched(b, s, &full));
    return reshape_to(b, x, &full, y);
}

void emit_stop_gradient(step_builder *b, tensor_ref x)
{
    b->notes[x].needs_gradient = false;
}

cornu_status emit_pad(step_builder *b, tensor_ref x, const int64_t before[2],
                      const int64_t after[2], tensor_ref *y)
{
    TRY(check_image(b, x));
    shape s = emit_shape(b, x);
    op o = op_new(OP_PAD);
    o.in[0] = x;
    for (int i = 0; i < 2; i++) {
        if (before[i] < 0 || after[i] < 0 || before[i] > SHAPE_ELEMENTS_MAX ||
            after[i] > SHAPE_ELEMENTS_MAX)
            return status_fail(CORNU_INVALID, "padding: found (%lld, %lld); expected 0 or more",
                               (long long)before[i], (long long)after[i]);
        s.dim[i] += before[i] + after[i];
        o.a.pad.before[i] = before[i];
        o.a.pad.after[i] = after[i];
    }
    return forward(b, &o, &s, y);
}

const char *binary_name(binary_kind kind)
{
    static const char *const names[BINARY_COUNT] = {
#define BINARY(id, name, ...) [BINARY_##id] = name,
#include "model/binaries.def"
    };
    return names[kind];
}

int binary_gradients(binary_kind kind)
{
    static const int counts[BINARY_COUNT] = {
#define BINARY(id, name, rule, gradients, ...) [BINARY_##id] = gradients,
#include "model/binaries.def"
    };
    return counts[kind];
}

cornu_status emit_binary(step_builder *b, binary_kind kind, tensor_ref x, tensor_ref z,
                         tensor_ref *y)
{
    const shape sx = emit_shape(b, x), sz = emit_shape(b, z);
    char found[128], other[128];
    shape s = sx;
    if (sx.rank != sz.rank || !shape_broadcast(&sz, &s))
        return status_fail(CORNU_INVALID,
                           "%s: found shapes %s and %s; expected equal dimensions, or 1 where one "
                           "of them is repeated",
                           binary_name(kind), shape_show(&sx, true, found),
                           shape_show(&sz, true, other));
    const tensor *t = b->plan->tensors;
    const bool sum = kind == BINARY_ADD && shape_equal(&t[x].shape, &t[z].shape);
    op o = op_new(sum ? OP_ADD : OP_BINARY_FORWARD);
    o.in[0] = x;
    o.in[1] = z;
    if (o.kind == OP_BINARY_FORWARD)
        o.a.binary.kind = kind;
    TRY(forward(b, &o, &s, y));
    b->notes[*y].needs_gradient = false;
    for (int i = 0; i < binary_gradients(kind); i++)
        b->notes[*y].needs_gradient |= b->notes[o.in[i]].needs_gradient;
    return CORNU_OK;
}

/* Rows of all samples times one matrix. */
static cornu_status matmul_with_constant(step_builder *b, tensor_ref x, op *o, const shape *s,
                                         tensor_ref *y)
{
    const tensor *of = &b->plan->tensors[x];
    const int64_t n = of->shape.dim[of->shape.rank - 1], columns = s->dim[s->rank - 1];
    const shape rows = {3, {1, of->count / n, n}}, products = {3, {1, of->count / n, columns}};
    shape full;
    TRY(builder_batched(b, s, &full));
    TRY(reshape_to(b, x, &rows, &o->in[0]));
    TRY(forward_to(b, o, &products, y));
    return reshape_to(b, *y, &full, y);
}

cornu_status emit_matmul(step_builder *b, tensor_ref x, bool transpose_x, tensor_ref z,
                         bool transpose_z, tensor_ref *y)
{
    const shape a = emit_shape(b, x), c = emit_shape(b, z);
    char found[128], other[128];
    const bool one = b->plan->tensors[z].role == TENSOR_CONSTANT;
    shape s = a;
    bool fits = one ? a.rank >= 1 && !transpose_x && c.rank == 2 : a.rank == c.rank && a.rank >= 2;
    for (int i = 0; fits && !one && i < a.rank - 2; i++)
        fits = a.dim[i] == c.dim[i];
    if (!fits || a.dim[a.rank - (transpose_x ? 2 : 1)] != c.dim[c.rank - (transpose_z ? 1 : 2)])
        return status_fail(
            CORNU_INVALID,
            "matmul: found shapes %s and %s; expected (..., rows, n) and (..., n, columns)",
            shape_show(&a, true, found), shape_show(&c, true, other));
    if (transpose_x)
        s.dim[s.rank - 2] = a.dim[a.rank - 1];
    s.dim[s.rank - 1] = c.dim[c.rank - (transpose_z ? 2 : 1)];
    op o = op_new(OP_MATMUL);
    o.in[0] = x;
    o.in[1] = z;
    o.a.matmul.transposed[0] = transpose_x;
    o.a.matmul.transposed[1] = transpose_z;
    return one ? matmul_with_constant(b, x, &o, &s, y) : forward(b, &o, &s, y);
}

cornu_status emit_transpose(step_builder *b, tensor_ref x, const int *order, tensor_ref *y)
{
    const shape in = emit_shape(b, x);
    shape s = in;
    bool seen[SHAPE_MAX] = {true}, same = true;
    op o = op_new(OP_TRANSPOSE);
    o.in[0] = x;
    for (int i = 0; i < s.rank; i++) {
        if (order[i] < 1 || order[i] > s.rank || seen[order[i]])
            return status_fail(CORNU_INVALID,
                               "transpose: found dimension %d; expected each of 1 to %d once",
                               order[i], s.rank);
        seen[order[i]] = true;
        same = same && order[i] == i + 1;
        o.a.order[i + 1] = order[i];
        s.dim[i] = in.dim[order[i] - 1];
    }
    if (!same)
        return forward(b, &o, &s, y);
    *y = x;
    return CORNU_OK;
}

static cornu_status check_axis(int axis, const shape *s)
{
    if (axis >= 1 && axis <= s->rank)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "axis: found %d; expected 1 to %d", axis, s->rank);
}

/* x's elements along the axis come after the first out->dim[axis - 1]. */
static cornu_status append_shape(const shape *x, int axis, shape *out)
{
    char found[128], expected[128];
    shape s = *x;
    if (s.rank == out->rank)
        s.dim[axis - 1] = out->dim[axis - 1];
    if (!shape_equal(&s, out))
        return status_fail(CORNU_INVALID,
                           "found shapes %s and %s; expected equal ones, but for axis %d",
                           shape_show(out, true, expected), shape_show(x, true, found), axis);
    out->dim[axis - 1] += x->dim[axis - 1];
    return CORNU_OK;
}

cornu_status emit_concatenate(step_builder *b, const tensor_ref *x, int count, int axis,
                              tensor_ref *y)
{
    shape whole = emit_shape(b, x[0]);
    int64_t at = 0;
    TRY(check_axis(axis, &whole));
    for (int i = 1; i < count; i++) {
        const shape s = emit_shape(b, x[i]);
        TRY(append_shape(&s, axis, &whole));
    }
    if (count == 1) {
        *y = x[0];
        return CORNU_OK;
    }
    for (int i = 0; i < count; i++) {
        op o = op_new(OP_INSERT);
        o.in[0] = x[i];
        o.a.slice.axis = axis;
        o.a.slice.begin = at;
        o.a.slice.step = 1;
        o.a.slice.partial = true;
        at += b->plan->tensors[x[i]].shape.dim[axis];
        if (i == 0) {
            TRY(forward(b, &o, &whole, y));
            continue;
        }
        o.in[1] = o.out[0] = *y;
        TRY(take(b, x[i]));
        b->notes[*y].needs_gradient |= b->notes[x[i]].needs_gradient;
        TRY(builder_add(b, &o, b->node->name));
    }
    return CORNU_OK;
}

cornu_status emit_slice(step_builder *b, tensor_ref x, int axis, int64_t begin, int64_t step,
                        int64_t count, tensor_ref *y)
{
    shape s = emit_shape(b, x);
    TRY(check_axis(axis, &s));
    const int64_t n = s.dim[axis - 1];
    if (begin < 0 || step < 1 || count < 1 || begin >= n || count - 1 > (n - 1 - begin) / step)
        return status_fail(CORNU_INVALID,
                           "slice: found %lld elements from %lld on, %lld apart; expected elements "
                           "within the %lld of axis %d",
                           (long long)count, (long long)begin, (long long)step, (long long)n, axis);
    op o = op_new(OP_SLICE);
    o.in[0] = x;
    o.a.slice.axis = axis;
    o.a.slice.begin = begin;
    o.a.slice.step = step;
    s.dim[axis - 1] = count;
    return forward(b, &o, &s, y);
}
