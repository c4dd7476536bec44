/* The backward pass: one rule per kind of forward operation, applied in reverse order, makes only
   the gradients that something needs; and the updates of the variables. */
#include "base/memory.h"
#include "step/builder.h"
#include <string.h>

/* ---- gradients, which are sums over the readers of a tensor -------------------------------- */

/* The first contribution to a gradient is the gradient. Each further one stands in a buffer of its
   own, and an ADD follows: always in the reverse order of the readers, so that the bits of a sum
   are always the same. */

static void set_gradient(step_builder *b, tensor_ref root, tensor_ref gradient)
{
    b->notes[root].gradient = gradient;
    if (root < b->plan->model->weight_count)
        b->plan->gradients[root] = gradient;
}

/* `value` is a contribution to the gradient of `root`. */
static cornu_status contribute(step_builder *b, tensor_ref root, tensor_ref value)
{
    if (b->notes[root].contributions++ == 0) {
        set_gradient(b, root, value);
        return CORNU_OK;
    }
    TRY(memory_grow(&b->sums, &b->sum_capacity, (size_t)b->sum_count + 1, sizeof *b->sums));
    b->sums[b->sum_count++] = (contribution){.of = root, .value = value};
    return CORNU_OK;
}

cornu_status builder_gradient(step_builder *b, tensor_ref t, tensor_ref *out)
{
    const plan *p = b->plan;
    const tensor_ref root = plan_root(p, t);
    const shape s = p->tensors[t].shape;
    const int before = b->notes[root].contributions;
    if (!b->notes[t].needs_gradient) /* an output that its operation always has */
        return builder_buffer(b, &s, out, "d %s", p->tensors[t].name);
    if (before == 0)
        TRY(builder_buffer(b, &s, out, "d %s", p->tensors[t].name));
    else
        TRY(builder_buffer(b, &s, out, "d %s (%d)", p->tensors[t].name, before + 1));
    return contribute(b, root, *out);
}

/* `gradient` in the shape of `t`. */
static cornu_status shaped_as(step_builder *b, tensor_ref gradient, tensor_ref t, tensor_ref *out)
{
    const shape s = b->plan->tensors[t].shape;
    *out = gradient;
    if (shape_equal(&s, &b->plan->tensors[gradient].shape))
        return CORNU_OK;
    return builder_alias(b, gradient, &s, out, "d %s", b->plan->tensors[t].name);
}

/* The gradient of `t`, or NO_TENSOR where none reaches it. */
static cornu_status gradient_of(step_builder *b, tensor_ref t, tensor_ref *out)
{
    *out = b->notes[plan_root(b->plan, t)].gradient;
    return *out == NO_TENSOR ? CORNU_OK : shaped_as(b, *out, t, out);
}

static bool is_lent(const step_builder *b, tensor_ref gradient)
{
    return b->notes[plan_root(b->plan, gradient)].lent;
}

/* Add a contribution to its gradient, in the memory of one of the two unless both are lent. */
static cornu_status add_sum(step_builder *b, const contribution *c, const char *name)
{
    const tensor_ref before = b->notes[c->of].gradient;
    op o = op_new(OP_ADD);
    TRY(shaped_as(b, before, c->value, &o.in[0]));
    o.in[1] = c->value;
    if (!is_lent(b, before)) {
        o.out[0] = o.in[0];
        return builder_add(b, &o, name);
    }
    o.out[0] = c->value;
    if (is_lent(b, c->value)) {
        const shape s = b->plan->tensors[c->value].shape;
        TRY(builder_buffer(b, &s, &o.out[0], "d %s", b->plan->tensors[c->of].name));
    }
    set_gradient(b, c->of, o.out[0]);
    return builder_add(b, &o, name);
}

/* Add the contributions of the last operations to the gradients of variables, or all that are left.
   Only the former come before the updates, so that an operation and its updates stand together.
   `name` is that of an operation, whose string stays where it is when operations are appended. */
static cornu_status build_sums(step_builder *b, const char *name, bool variables)
{
    int left = 0;
    for (int i = 0; i < b->sum_count; i++) {
        const contribution c = b->sums[i];
        if (variables && b->plan->tensors[c.of].role != TENSOR_VARIABLE)
            b->sums[left++] = c;
        else
            TRY(add_sum(b, &c, name));
    }
    b->sum_count = left;
    return CORNU_OK;
}

static bool needed(const step_builder *b, tensor_ref t)
{
    return t != NO_TENSOR && b->notes[t].needs_gradient;
}

/* `dy` is the gradient of f's out[0]. */
typedef cornu_status backward_rule(step_builder *b, const op *f, tensor_ref dy);

/* dense and convolution: weights first, so that data and weights of one layer stand together */
static cornu_status back_weighted(step_builder *b, const op *f, tensor_ref dy, op_kind weights,
                                  op_kind data)
{
    if (needed(b, f->in[1]) || needed(b, f->in[2])) {
        op o = op_new(weights);
        o.in[0] = f->in[0];
        o.in[1] = dy;
        o.a.window = f->a.window;
        TRY(builder_gradient(b, f->in[1], &o.out[0]));
        if (needed(b, f->in[2]))
            TRY(builder_gradient(b, f->in[2], &o.out[1]));
        TRY(builder_add(b, &o, f->name));
    }
    if (needed(b, f->in[0])) {
        op o = op_new(data);
        o.in[0] = dy;
        o.in[1] = f->in[1];
        o.a.window = f->a.window;
        TRY(builder_gradient(b, f->in[0], &o.out[0]));
        TRY(builder_add(b, &o, f->name));
    }
    return CORNU_OK;
}

static cornu_status back_dense(step_builder *b, const op *f, tensor_ref dy)
{
    return back_weighted(b, f, dy, OP_DENSE_BACKWARD_WEIGHTS, OP_DENSE_BACKWARD_DATA);
}

static cornu_status back_conv2d(step_builder *b, const op *f, tensor_ref dy)
{
    return back_weighted(b, f, dy, OP_CONV2D_BACKWARD_WEIGHTS, OP_CONV2D_BACKWARD_DATA);
}

/* Operations without weights: `o` has the inputs and attributes. */
static cornu_status back_to_input(step_builder *b, const op *f, op *o)
{
    TRY(builder_gradient(b, f->in[0], &o->out[0]));
    return builder_add(b, o, f->name);
}

/* A transposed convolution: x and dy have exchanged their places. */
static cornu_status back_conv2d_transpose(step_builder *b, const op *f, tensor_ref dy)
{
    if (needed(b, f->in[1])) {
        op o = op_new(OP_CONV2D_BACKWARD_WEIGHTS);
        o.in[0] = dy;
        o.in[1] = f->in[0];
        o.a.window = f->a.window;
        TRY(builder_gradient(b, f->in[1], &o.out[0]));
        TRY(builder_add(b, &o, f->name));
    }
    op o = op_new(OP_CONV2D_FORWARD);
    o.in[0] = dy;
    o.in[1] = f->in[1];
    o.a.window = f->a.window;
    return needed(b, f->in[0]) ? back_to_input(b, f, &o) : CORNU_OK;
}

static cornu_status back_activation(step_builder *b, const op *f, tensor_ref dy)
{
    op o = op_new(OP_ACTIVATION_BACKWARD);
    o.in[0] = activation_from_output(f->a.act.kind) ? f->out[0] : f->in[0];
    o.in[1] = dy;
    o.a = f->a;
    return back_to_input(b, f, &o);
}

static cornu_status back_dropout(step_builder *b, const op *f, tensor_ref dy)
{
    op o = op_new(OP_DROPOUT);
    o.in[0] = dy;
    o.a = f->a;
    return back_to_input(b, f, &o);
}

static cornu_status back_scale(step_builder *b, const op *f, tensor_ref dy)
{
    op o = op_new(OP_SCALE);
    o.in[0] = dy;
    o.a.scale.scale = f->a.scale.scale;
    return back_to_input(b, f, &o);
}

/* With statistics that do not depend on x (a frozen layer's), dx = dy gamma / deviation: the same
   operation on dy, without mean and beta. Nothing of the layer itself is trained. */
static cornu_status back_batch_norm_inference(step_builder *b, const op *f, tensor_ref dy)
{
    op o = op_new(OP_BATCH_NORM_INFERENCE);
    o.in[0] = dy;
    o.in[1] = f->in[1];
    o.in[4] = f->in[4];
    o.a = f->a;
    return back_to_input(b, f, &o);
}

/* The gradient of a sum is that of each of its terms. */
static cornu_status back_add(step_builder *b, const op *f, tensor_ref dy)
{
    if (needed(b, f->in[0]) && needed(b, f->in[1]))
        b->notes[plan_root(b->plan, dy)].lent = true;
    for (int i = 0; i < 2; i++)
        if (needed(b, f->in[i]))
            TRY(contribute(b, plan_root(b->plan, f->in[i]), dy));
    return CORNU_OK;
}

/* One operation for each input, which may have another shape than dy. */
static cornu_status back_binary(step_builder *b, const op *f, tensor_ref dy)
{
    static const bool reads[BINARY_COUNT] = {
#define BINARY(id, name, rule, gradients, reads_operands, ...) [BINARY_##id] = reads_operands,
#include "model/binaries.def"
    };
    for (int i = 0; i < binary_gradients(f->a.binary.kind); i++) {
        if (!needed(b, f->in[i]))
            continue;
        op o = op_new(OP_BINARY_BACKWARD);
        o.a = f->a;
        o.a.binary.of = i;
        o.in[2] = dy;
        for (int k = 0; reads[f->a.binary.kind] && k < 2; k++)
            o.in[k] = f->in[k];
        TRY(builder_gradient(b, f->in[i], &o.out[0]));
        TRY(builder_add(b, &o, f->name));
    }
    return CORNU_OK;
}

/* SLICE and INSERT are each other's gradient. */
static cornu_status back_slice(step_builder *b, const op *f, tensor_ref dy)
{
    if (!needed(b, f->in[0]))
        return CORNU_OK;
    op o = op_new(f->kind == OP_SLICE ? OP_INSERT : OP_SLICE);
    o.in[0] = dy;
    o.a = f->a;
    o.a.slice.partial = false;
    return back_to_input(b, f, &o);
}

/* y = A B with A = a or a': dA = dy B', dB = A' dy, and where a is transposed, its gradient is the
   transpose of dA. */
static cornu_status back_matmul(step_builder *b, const op *f, tensor_ref dy)
{
    const bool *transposed = f->a.matmul.transposed;
    for (int i = 0; i < 2; i++) {
        if (!needed(b, f->in[i]))
            continue;
        const int at = transposed[i] != (i == 1); /* the place of dy */
        op o = op_new(OP_MATMUL);
        o.in[at] = dy;
        o.in[1 - at] = f->in[1 - i];
        o.a.matmul.transposed[at] = transposed[i];
        o.a.matmul.transposed[1 - at] = transposed[0] == transposed[1];
        TRY(builder_gradient(b, f->in[i], &o.out[0]));
        TRY(builder_add(b, &o, f->name));
    }
    return CORNU_OK;
}

static cornu_status back_transpose(step_builder *b, const op *f, tensor_ref dy)
{
    op o = op_new(OP_TRANSPOSE);
    o.in[0] = dy;
    for (int i = 0; i < b->plan->tensors[dy].shape.rank; i++)
        o.a.order[f->a.order[i]] = i;
    return back_to_input(b, f, &o);
}

/* `t` as a matrix of rows of this many columns. */
static cornu_status as_rows(step_builder *b, tensor_ref t, int64_t columns, tensor_ref *out)
{
    const shape rows = {2, {b->plan->tensors[t].count / columns, columns}};
    return builder_alias(b, t, &rows, out, "%s/rows", b->plan->tensors[t].name);
}

/* The gradients of the state's weights, before' dr, and of the bias that is added to their product.
 */
static cornu_status back_state_weights(step_builder *b, const op *f, tensor_ref before,
                                       tensor_ref dr)
{
    const int64_t units = b->plan->tensors[f->in[1]].shape.dim[0];
    op product = op_new(OP_MATMUL), sum = op_new(OP_BINARY_BACKWARD);
    product.a.matmul.transposed[0] = true;
    sum.a.binary.kind = BINARY_ADD;
    sum.a.binary.of = 1;
    TRY(as_rows(b, before, units, &product.in[0]));
    TRY(as_rows(b, dr, units * recurrent_gates(f->a.recurrent.cell), &product.in[1]));
    sum.in[2] = product.in[1];
    if (needed(b, f->in[1])) {
        TRY(builder_gradient(b, f->in[1], &product.out[0]));
        TRY(builder_add(b, &product, f->name));
    }
    if (!needed(b, f->in[2]))
        return CORNU_OK;
    TRY(builder_gradient(b, f->in[2], &sum.out[0]));
    return builder_add(b, &sum, f->name);
}

/* dy: NO_TENSOR where only the state after the last step is read. */
static cornu_status back_recurrent(step_builder *b, const op *f, tensor_ref dy)
{
    const recurrent_cell cell = f->a.recurrent.cell;
    const bool trained = needed(b, f->in[1]) || needed(b, f->in[2]);
    shape before = b->plan->tensors[f->out[0]].shape, products;
    op o = op_new(OP_RECURRENT_BACKWARD);
    o.in[0] = f->in[1];
    o.in[1] = f->out[0];
    o.in[2] = f->out[1];
    o.in[3] = dy;
    o.in[4] = f->in[3];
    o.in[5] = f->in[4];
    if (f->out[2] != NO_TENSOR)
        TRY(gradient_of(b, f->out[2], &o.in[6]));
    o.a = f->a;
    TRY(builder_gradient(b, f->in[0], &o.out[0]));
    before.dim[2] *= recurrent_products(cell);
    products = before;
    products.dim[2] *= recurrent_gates(cell);
    if (cell == CELL_GRU_AFTER || cell == CELL_GRU_BEFORE)
        TRY(builder_buffer(b, &products, &o.out[1], "d %s/products", f->name));
    if (trained)
        TRY(builder_buffer(b, &before, &o.out[2], "%s/before", f->name));
    for (int i = 3; i <= 4; i++)
        if (needed(b, f->in[i]))
            TRY(builder_gradient(b, f->in[i], &o.out[i]));
    TRY(builder_add(b, &o, f->name));
    return trained ? back_state_weights(b, f, o.out[2], o.out[1] == NO_TENSOR ? o.out[0] : o.out[1])
                   : CORNU_OK;
}

/* ---- by names (BACKWARD in ops.def) ------------------------------------------------------ */

static const op_kind partners[OP_COUNT] = {
#define BACKWARD(forward, backward) [OP_##forward] = OP_##backward,
#include "step/ops.def"
};

static tensor_ref tensor_by_name(const op *o, const char *name)
{
    op_word w;
    for (int i = 0; op_word_at(op_infos[o->kind].inputs, i, &w); i++)
        if (strcmp(w.name, name) == 0)
            return o->in[i];
    for (int i = 0; op_word_at(op_infos[o->kind].outputs, i, &w); i++)
        if (strcmp(w.name, name) == 0)
            return o->out[i];
    return NO_TENSOR;
}

static cornu_status back_by_names(step_builder *b, const op *f, tensor_ref dy)
{
    op o = op_new(partners[f->kind]);
    op_word w;
    o.a = f->a;
    for (int i = 0; op_word_at(op_infos[o.kind].inputs, i, &w); i++)
        o.in[i] = strcmp(w.name, "dy") == 0 ? dy : tensor_by_name(f, w.name);
    for (int i = 0; op_word_at(op_infos[o.kind].outputs, i, &w); i++) {
        tensor_ref of = tensor_by_name(f, w.name + 1); /* "dx" is x's gradient */
        if (!w.optional || needed(b, of))
            TRY(builder_gradient(b, of, &o.out[i]));
    }
    return builder_add(b, &o, f->name);
}

/* Kinds without a rule end the backward pass (GATHER), or never occur in a trained forward pass. */
static backward_rule *const rules[OP_COUNT] = {
    [OP_DENSE_FORWARD] = back_dense,
    [OP_CONV2D_FORWARD] = back_conv2d,
    [OP_CONV2D_BACKWARD_DATA] = back_conv2d_transpose,
    [OP_ACTIVATION_FORWARD] = back_activation,
    [OP_DROPOUT] = back_dropout,
    [OP_SCALE] = back_scale,
    [OP_BATCH_NORM_INFERENCE] = back_batch_norm_inference,
    [OP_ADD] = back_add,
    [OP_BINARY_FORWARD] = back_binary,
    [OP_SLICE] = back_slice,
    [OP_INSERT] = back_slice,
    [OP_MATMUL] = back_matmul,
    [OP_TRANSPOSE] = back_transpose,
    [OP_RECURRENT_FORWARD] = back_recurrent,
#define BACKWARD(forward, backward) [OP_##forward] = back_by_names,
#include "step/ops.def"
};

/* Does the loss depend on the state after a recurrent layer's last step? */
static bool has_state_gradient(const step_builder *b, const op *f)
{
    return f->kind == OP_RECURRENT_FORWARD && needed(b, f->out[2]) &&
           b->notes[f->out[2]].gradient != NO_TENSOR;
}

/* Append the gradients of one forward operation's inputs, if its output has one. */
static cornu_status back(step_builder *b, const op *f)
{
    tensor_ref dy;
    if (!needed(b, f->out[0]))
        return CORNU_OK;
    TRY(gradient_of(b, f->out[0], &dy));
    if (dy == NO_TENSOR && !has_state_gradient(b, f))
        return CORNU_OK;
    if (!rules[f->kind])
        return status_fail(CORNU_INTERNAL, "%s: %s has no backward rule", f->name,
                           op_infos[f->kind].name);
    return rules[f->kind](b, f, dy);
}

/* ---- updates ----------------------------------------------------------------------------- */

/* One UPDATE per trained variable. It follows immediately after the last use of its variable and
   gradient, in the backward pass of the variable's first reader, which keeps both in cache and
   frees the gradient's memory early. It waits for the plan's end where a norm needs whole gradients
   first, or where gradients of several steps are added. */

static bool updates_wait(const cornu_model *m)
{
    return optimizer_clips_by_norm(&m->optimizer) || m->optimizer.gradient_accumulation_steps > 0;
}

/* The norms by which a step's updates clip. */
typedef struct norms {
    tensor_ref sums; /* sums of squares, one per variable with a gradient; or NO_TENSOR */
    int count;
} norms;

/* A weight of Keras's shape as [outer][rows][columns]; a vector has 0 rows. */
static void set_extents(const shape *s, int64_t extents[3])
{
    extents[0] = 1;
    extents[1] = s->rank > 1 ? s->dim[s->rank - 2] : 0;
    extents[2] = s->rank > 0 ? s->dim[s->rank - 1] : 1;
    for (int i = 0; i + 2 < s->rank; i++)
        extents[0] *= s->dim[i];
}

/* Make the operation that updates a variable; the caller sets its input 1, the gradient. */
static op update_of(const step_builder *b, int number)
{
    const cornu_model *m = b->plan->model;
    op o = op_new(OP_UPDATE);
    o.in[0] = o.out[0] = number;
    for (int i = 0; i < OPTIMIZER_SLOTS_MAX; i++) {
        const int slot = model_slot(m, number, i);
        if (slot >= 0)
            o.in[2 + i] = o.out[1 + i] = slot;
    }
    o.a.update.optimizer = m->optimizer;
    o.a.update.norm_slot = -1;
    o.a.update.penalty = builder_penalty(b, number);
    if (m->optimizer.id == OPTIMIZER_MUON && !model_has_matrix_step(m, number)) {
        o.a.update.optimizer.weight_decay = m->optimizer.adam_weight_decay;
        o.a.update.optimizer.nesterov = false;
    }
    if (model_excludes_from_decay(m, m->variables[number].name))
        o.a.update.optimizer.weight_decay = 0;
    if (model_has_matrix_step(m, number)) {
        o.kind = OP_MATRIX_UPDATE;
        set_extents(&m->variables[number].shape, o.a.update.extents);
    }
    if (m->optimizer.id == OPTIMIZER_ADAFACTOR) {
        o.kind = OP_FACTORED_UPDATE;
        set_extents(&m->variables[number].shape, o.a.update.extents);
    }
    return o;
}

static cornu_status add_update(step_builder *b, int number, const norms *n)
{
    const cornu_model *m = b->plan->model;
    int slot = 0;
    op o = update_of(b, number);
    for (int i = 0; i < number; i++)
        slot += b->notes[i].gradient != NO_TENSOR;
    o.in[1] = b->notes[number].gradient;
    o.in[5] = n->sums;
    o.a.update.norm_slot = m->optimizer.clipnorm > 0 ? slot : -1;
    o.a.update.norm_count = n->count;
    return builder_add(b, &o, m->variables[number].name);
}

static cornu_status add_all(step_builder *b, const norms *n)
{
    for (int i = 0; i < b->plan->model->weight_count; i++)
        if (b->notes[i].gradient != NO_TENSOR)
            TRY(add_update(b, i, n));
    return CORNU_OK;
}

static const norms no_norms = {.sums = NO_TENSOR};

/* Append the updates of the variables of which operation `f`, number `number`, is the first reader;
   nothing where build_waiting_updates does it at the end. */
static cornu_status build_updates(step_builder *b, const op *f, int number)
{
    const cornu_model *m = b->plan->model;
    if (b->plan->scope == SCOPE_GRADIENTS || updates_wait(m))
        return CORNU_OK;
    for (int i = 0; i < OP_INPUTS_MAX; i++) {
        tensor_ref w = f->in[i];
        if (w != NO_TENSOR && w < m->weight_count && b->notes[w].gradient != NO_TENSOR &&
            b->notes[w].first_reader == number)
            TRY(add_update(b, w, &no_norms));
    }
    return CORNU_OK;
}

static cornu_status build_clipped_updates(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    shape s = {.rank = 1};
    for (int i = 0; i < m->weight_count; i++)
        s.dim[0] += b->notes[i].gradient != NO_TENSOR;
    if (s.dim[0] == 0)
        return CORNU_OK;
    norms n = {.count = (int)s.dim[0]};
    int slot = 0;
    TRY(builder_buffer(b, &s, &n.sums, "square sums"));
    for (int i = 0; i < m->weight_count; i++) {
        if (b->notes[i].gradient == NO_TENSOR)
            continue;
        op o = op_new(OP_SQUARE_SUM);
        o.in[0] = b->notes[i].gradient;
        o.out[0] = n.sums;
        o.a.norm.slot = slot++;
        o.a.norm.penalty = builder_penalty(b, i);
        if (penalty_any(o.a.norm.penalty))
            o.in[1] = i;
        TRY(builder_add(b, &o, m->variables[i].name));
    }
    return add_all(b, &n);
}

/* Append what adds the gradients of several steps. */
static cornu_status build_accumulation(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    for (int i = 0; i < m->weight_count && m->optimizer.gradient_accumulation_steps > 0; i++) {
        if (b->notes[i].gradient == NO_TENSOR)
            continue;
        op o = op_new(OP_ACCUMULATE);
        o.in[0] = o.out[0] = b->notes[i].gradient;
        o.in[1] = o.out[1] = model_slot(m, i, OPTIMIZER_ACCUMULATOR);
        o.a.accumulate = m->optimizer.gradient_accumulation_steps;
        TRY(builder_add(b, &o, m->variables[i].name));
    }
    return CORNU_OK;
}

static cornu_status build_waiting_updates(step_builder *b)
{
    TRY(build_accumulation(b));
    if (optimizer_clips_by_norm(&b->plan->model->optimizer))
        return build_clipped_updates(b);
    return add_all(b, &no_norms);
}

/* ---- after the updates -------------------------------------------------------------------- */

/* Append Lamb's steps, which need whole moments. */
static cornu_status build_layerwise(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    if (m->optimizer.id != OPTIMIZER_LAMB || b->plan->scope == SCOPE_GRADIENTS)
        return CORNU_OK;
    for (int i = 0; i < m->weight_count; i++) {
        if (b->notes[i].gradient == NO_TENSOR)
            continue;
        op o = op_new(OP_LAYERWISE);
        o.in[0] = o.out[0] = i;
        o.in[1] = model_slot(m, i, 0);
        o.in[2] = model_slot(m, i, 1);
        o.a.update.optimizer = m->optimizer;
        TRY(builder_add(b, &o, m->variables[i].name));
    }
    return CORNU_OK;
}

/* Append what keeps the variables' averages: of all that have one, as in Keras, also of those that
   no loss depends on. */
static cornu_status build_averages(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    for (int i = 0; i < m->weight_count && b->plan->scope != SCOPE_GRADIENTS; i++) {
        const int average = model_slot(m, i, OPTIMIZER_AVERAGE);
        if (average < 0)
            continue;
        op o = op_new(OP_AVERAGE);
        o.in[0] = o.out[0] = i;
        o.in[1] = o.out[1] = average;
        o.a.average.momentum = (float)m->optimizer.ema_momentum;
        o.a.average.accumulate = m->optimizer.gradient_accumulation_steps;
        o.a.average.overwrite = m->optimizer.ema_overwrite_frequency;
        TRY(builder_add(b, &o, m->variables[i].name));
    }
    return CORNU_OK;
}

/* Append what keeps the updated variables to their constraints. */
static cornu_status build_constraints(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    for (int i = 0; i < m->weight_count && b->plan->scope != SCOPE_GRADIENTS; i++) {
        const variable *v = &m->variables[i];
        const constraint *c = &v->constraint;
        if (c->kind == CONSTRAINT_NONE || b->notes[i].gradient == NO_TENSOR)
            continue;
        op o = op_new(OP_CONSTRAIN);
        o.in[0] = o.out[0] = i;
        o.a.constrain.non_neg = c->kind == CONSTRAINT_NON_NEG;
        o.a.constrain.least = (float)c->min_value;
        o.a.constrain.most = (float)c->max_value;
        o.a.constrain.rate = (float)c->rate;
        TRY(constraint_extents(c, v->name, &v->shape, o.a.constrain.extents));
        TRY(builder_add(b, &o, v->name));
    }
    return CORNU_OK;
}

/* ---- all together ------------------------------------------------------------------------ */

/* Nothing changes a weight that the losses do not depend on, whatever the graph looks like: numbers
   of rows and comparisons have no slope. Its penalty alone would not be trained as Keras does, and
   shards would add up what nobody computes. */
static cornu_status check_reached(const step_builder *b)
{
    const cornu_model *m = b->plan->model;
    for (int i = 0; i < m->weight_count; i++)
        if (b->notes[i].needs_gradient && b->notes[i].gradient == NO_TENSOR &&
            (b->plan->scope == SCOPE_GRADIENTS || penalty_any(builder_penalty(b, i))))
            return status_fail(
                CORNU_UNSUPPORTED,
                "%s: found no gradient of it; expected a loss that depends on it, or "
                "the layer with trainable: false",
                m->variables[i].name);
    return CORNU_OK;
}

cornu_status build_backward(step_builder *b, int forward_count)
{
    if (b->sum_count > 0) /* two losses read one tensor */
        TRY(build_sums(b, b->plan->ops[forward_count - 1].name, false));
    for (int i = forward_count - 1; i > 0; i--) {
        const op f = b->plan->ops[i]; /* a copy: appending reallocates the list */
        TRY(back(b, &f));
        TRY(build_sums(b, f.name, true));
        TRY(build_updates(b, &f, i));
        TRY(build_sums(b, f.name, false));
    }
    if (b->options->keep_input_gradient)
        TRY(gradient_of(b, b->plan->input, &b->plan->input_gradient));
    TRY(check_reached(b));
    if (b->plan->scope != SCOPE_GRADIENTS && updates_wait(b->plan->model))
        TRY(build_waiting_updates(b));
    TRY(build_layerwise(b));
    TRY(build_averages(b));
    return build_constraints(b);
}

cornu_status build_only_updates(step_builder *b)
{
    const cornu_model *m = b->plan->model;
    for (int i = 0; i < m->weight_count; i++) {
        tensor_ref gradient;
        if (b->notes[i].needs_gradient)
            TRY(builder_gradient(b, i, &gradient));
    }
    TRY(build_waiting_updates(b));
    TRY(build_layerwise(b));
    TRY(build_averages(b));
    return build_constraints(b);
}
