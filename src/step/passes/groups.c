/* Finds the operations that may run as one. Each kind has a function that finds its members from an
   operation on. Device-specific limits (sizes, instruction sets, windows) are left to the device's
   kernels. */
#include "base/memory.h"
#include "step/builder.h"
#include <stdlib.h>
#include <string.h>

/* ---- queries ----------------------------------------------------------------------------- */

/* Is there an operation `i`, of this kind, that reads `t` as its input number `input`? */
static bool reads(const plan *p, int i, op_kind kind, int input, tensor_ref t)
{
    return i < p->op_count && p->ops[i].kind == kind && t != NO_TENSOR && p->ops[i].in[input] == t;
}

/* Can kernels of other operations apply it to what they compute? */
static bool joins_others(activation_kind kind)
{
    return !activation_is_of_rows(kind) && !activation_is_alone(kind);
}

static bool is_elementwise(const op *o)
{
    return o->kind == OP_ACTIVATION_BACKWARD && joins_others(o->a.act.kind);
}

/* Does operation `i` pass `dy`, which nothing reads after it, back through an activation? */
static bool passes_back(const plan *p, int i, tensor_ref dy)
{
    return reads(p, i, OP_ACTIVATION_BACKWARD, 1, dy) && is_elementwise(&p->ops[i]) &&
           p->tensors[dy].last <= i;
}

/* Does operation `i` update a variable by `gradient`, which nothing reads after it, without
   clipping by norm? */
static bool updates_by(const plan *p, int i, tensor_ref gradient)
{
    return reads(p, i, OP_UPDATE, 1, gradient) && p->ops[i].in[5] == NO_TENSOR &&
           p->tensors[gradient].last <= i;
}

/* Operation `i` becomes the group's next member. */
static void take(op_group *g, group_role role, int i)
{
    g->member[role] = i;
    g->count = i - g->first + 1;
}

/* ---- each kind: is there a group from operation g->first on? ----------------------------- */

static bool find_conv_pool(const plan *p, op_group *g)
{
    int i = g->first;
    if (p->ops[i].kind != OP_CONV2D_FORWARD ||
        !reads(p, i + 1, OP_MAX_POOL_FORWARD, 0, p->ops[i].out[0]))
        return false;
    take(g, ROLE_FPROP, i);
    take(g, ROLE_POOL, i + 1);
    return true;
}

/* Metrics join a loss if they have the same targets and rows. */
static bool judges_with(const plan *p, int i, const op *other)
{
    return reads(p, i, OP_METRIC, 1, other->in[1]) &&
           p->tensors[p->ops[i].in[0]].count == p->tensors[other->in[0]].count;
}

static bool find_head(const plan *p, op_group *g)
{
    int i = g->first;
    if (p->ops[i].kind == OP_ACTIVATION_FORWARD) {
        if (!reads(p, i + 1, OP_LOSS, 0, p->ops[i].in[0]) || !p->ops[i + 1].a.loss.logits)
            return false;
        take(g, ROLE_ACTIVATION, i++);
    }
    const int first = i;
    if (p->ops[i].kind == OP_LOSS)
        take(g, ROLE_LOSS, i++);
    else if (p->ops[i].kind != OP_METRIC)
        return false;
    const int metrics = i;
    while (g->count < HEAD_OPS_MAX && judges_with(p, i, &p->ops[first]) &&
           p->ops[i].in[0] == p->ops[metrics].in[0])
        take(g, ROLE_METRICS, i++);
    if (i > metrics)
        g->member[ROLE_METRICS] = metrics;
    return true;
}

static bool find_conv_backward(const plan *p, op_group *g)
{
    int i = g->first;
    const op *o = &p->ops[i];
    const bool alone = o->kind == OP_CONV2D_BACKWARD_WEIGHTS;
    tensor_ref dy = alone ? o->in[1] : o->out[0]; /* of the convolution's output */
    if (o->kind == OP_MAX_POOL_BACKWARD) {
        take(g, ROLE_POOL, i++);
        if (passes_back(p, i, dy)) {
            dy = p->ops[i].out[0];
            take(g, ROLE_ACTIVATION, i++);
        }
    } else if (is_elementwise(o)) {
        take(g, ROLE_ACTIVATION, i++);
    }
    if (!reads(p, i, OP_CONV2D_BACKWARD_WEIGHTS, 1, dy))
        return false;
    take(g, ROLE_WGRAD, i++);
    if (reads(p, i, OP_CONV2D_BACKWARD_DATA, 0, dy))
        take(g, ROLE_DGRAD, i++);
    return alone || p->tensors[dy].last < i;
}

static bool find_dense_backward(const plan *p, op_group *g)
{
    int i = g->first;
    const op *o = &p->ops[i];
    if (o->kind != OP_DENSE_BACKWARD_WEIGHTS)
        return false;
    take(g, ROLE_WGRAD, i++);
    if (reads(p, i, OP_DENSE_BACKWARD_DATA, 0, o->in[1]))
        take(g, ROLE_DGRAD, i++);
    const op *data = group_op(p, g, ROLE_DGRAD);
    if (!updates_by(p, i, o->out[0]) || (data && data->in[1] != p->ops[i].out[0]))
        return false;
    take(g, ROLE_UPDATE_KERNEL, i++);
    if (updates_by(p, i, o->out[1]))
        take(g, ROLE_UPDATE_BIAS, i++);
    if (data && passes_back(p, i, data->out[0]) && p->ops[i].in[0] == o->in[0])
        take(g, ROLE_ACTIVATION, i++);
    return true;
}

/* The activation whose output was pooled, or any activation followed by a dropout, or one whose
   gradient is a sum. */
static bool find_activation_backward(const plan *p, op_group *g)
{
    int i = g->first;
    const op *o = &p->ops[i];
    const bool pool = o->kind == OP_MAX_POOL_BACKWARD;
    if ((!pool && o->kind != OP_DROPOUT && o->kind != OP_ADD) ||
        !passes_back(p, i + 1, o->out[0]) || (pool && p->ops[i + 1].in[0] != o->in[0]))
        return false;
    take(g, ROLE_ACTIVATION, i + 1);
    return true;
}

/* Does operation `i`, of this kind, read `t`, and nothing else does, also not in another shape? */
static bool alone_reads(const plan *p, int i, op_kind kind, tensor_ref t)
{
    return (reads(p, i, kind, 0, t) || (kind == OP_ADD && reads(p, i, kind, 1, t))) &&
           p->tensors[t].last <= i &&
           plan_root(p, p->ops[i].in[0]) != plan_root(p, p->ops[i].in[1]);
}

/* Is operation `i` the addition of `t` alone to another tensor, into a third one? A sum in place
   would lose the other's elements when the normalized ones are written. */
static bool adds(const plan *p, int i, tensor_ref t)
{
    return alone_reads(p, i, OP_ADD, t) && p->ops[i].out[0] != p->ops[i].in[0] &&
           p->ops[i].out[0] != p->ops[i].in[1];
}

static bool find_residual(const plan *p, op_group *g)
{
    int i = g->first;
    const op *o = &p->ops[i];
    if (o->kind == OP_BATCH_NORM_FORWARD || o->kind == OP_BATCH_NORM_INFERENCE)
        take(g, ROLE_NORM, i++);
    if (g->count == 0 ? o->kind == OP_ADD : adds(p, i, o->out[0]))
        take(g, ROLE_ADD, i++);
    if (g->count > 0 && alone_reads(p, i, OP_ACTIVATION_FORWARD, p->ops[i - 1].out[0]) &&
        joins_others(p->ops[i].a.act.kind))
        take(g, ROLE_ACTIVATION, i);
    return g->count > 0;
}

/* Is operation `i` a product of `t`, as its first or second factor? */
static bool multiplies(const plan *p, int i, tensor_ref t)
{
    return reads(p, i, OP_MATMUL, 0, t) || reads(p, i, OP_MATMUL, 1, t);
}

static bool is_softmax(const op *o)
{
    return o->a.act.kind == ACTIVATION_SOFTMAX;
}

static bool find_attention(const plan *p, op_group *g)
{
    int i = g->first;
    if (p->ops[i].kind == OP_SCALE && multiplies(p, i + 1, p->ops[i].out[0]))
        i++;
    const tensor_ref scores = p->ops[i].out[0];
    if (p->ops[i].kind != OP_MATMUL || !reads(p, i + 1, OP_ACTIVATION_FORWARD, 0, scores) ||
        !is_softmax(&p->ops[i + 1]) || p->tensors[scores].last > i + 1 ||
        !multiplies(p, i + 2, p->ops[i + 1].out[0]))
        return false;
    take(g, ROLE_ACTIVATION, i + 1);
    take(g, ROLE_VALUES, i + 2);
    return true;
}

static bool find_attention_backward(const plan *p, op_group *g)
{
    int i = g->first;
    if (i + 4 >= p->op_count || p->ops[i].kind != OP_MATMUL)
        return false;
    const op *softmax = &p->ops[i + 2];
    const tensor_ref gradient = softmax->out[0];
    if (!reads(p, i + 2, OP_ACTIVATION_BACKWARD, 1, p->ops[i].out[0]) || !is_softmax(softmax) ||
        p->tensors[p->ops[i].out[0]].last > i + 2 || !multiplies(p, i + 1, softmax->in[0]) ||
        !multiplies(p, i + 3, gradient) || !multiplies(p, i + 4, gradient) ||
        p->tensors[gradient].last > i + 4)
        return false;
    take(g, ROLE_ACTIVATION, i + 2);
    take(g, ROLE_VALUES, i + 4);
    const tensor_ref query = p->ops[i + 3].out[0];
    if (reads(p, i + 5, OP_SCALE, 0, query) && p->tensors[query].last <= i + 5)
        take(g, ROLE_SCALE, i + 5);
    return true;
}

typedef bool find(const plan *p, op_group *g);
static find *const finds[GROUP_COUNT] = {
    [GROUP_CONV_POOL] = find_conv_pool,
    [GROUP_HEAD] = find_head,
    [GROUP_CONV_BACKWARD] = find_conv_backward,
    [GROUP_DENSE_BACKWARD] = find_dense_backward,
    [GROUP_ACTIVATION_BACKWARD] = find_activation_backward,
    [GROUP_RESIDUAL] = find_residual,
    [GROUP_ATTENTION] = find_attention,
    [GROUP_ATTENTION_BACKWARD] = find_attention_backward,
};

static bool find_group(const plan *p, group_kind kind, int first, op_group *g)
{
    *g = (op_group){.kind = kind, .first = first, .partner = -1, .absorber = -1};
    for (int i = 0; i < ROLE_COUNT; i++)
        g->member[i] = -1;
    return finds[kind](p, g) && g->count > 1;
}

/* ---- links between groups ---------------------------------------------------------------- */

/* The next operation from number `i` on that reads `t`; -1: none. */
static int next_reader(const plan *p, int i, tensor_ref t)
{
    for (; i < p->op_count; i++)
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            if (p->ops[i].in[k] == t)
                return i;
    return -1;
}

static bool has_alias(const plan *p, tensor_ref t)
{
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensors[i].alias == t)
            return true;
    return false;
}

/* Find the backward group of this CONV_POOL, if it is the only other reader of the convolution's
   output. */
static void find_partner(plan *p, int number)
{
    op_group *g = &p->groups[number];
    tensor_ref y = p->ops[g->first].out[0];
    int reader = next_reader(p, g->first + g->count, y);
    if (reader < 0 || p->ops[reader].kind != OP_MAX_POOL_BACKWARD || has_alias(p, y))
        return;
    for (int i = 0; i < p->group_count; i++) {
        op_group *back = &p->groups[i];
        if (back->kind != GROUP_CONV_BACKWARD || back->first != reader ||
            p->tensors[y].last >= back->first + back->count)
            continue;
        g->partner = i;
        back->partner = number;
    }
}

/* Find the forward operation that is the only reader of this DENSE_BACKWARD's kernel, but for a
   PENALTY after it. A DGRAD also reads the kernel in the backward pass, and so it is in the caches
   anyway. */
static void find_absorber(const plan *p, op_group *g)
{
    const int update = g->member[ROLE_UPDATE_KERNEL];
    int found = -1;
    if (g->member[ROLE_DGRAD] >= 0)
        return;
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0; k < OP_INPUTS_MAX; k++) {
            if (i == update || p->ops[i].in[k] != p->ops[update].out[0])
                continue;
            if (found >= 0 && p->ops[i].kind == OP_PENALTY && i < g->first)
                continue;
            if (found >= 0 || p->ops[i].kind != OP_DENSE_FORWARD || i > g->first)
                return;
            found = i;
        }
    g->absorber = found;
}

cornu_status pass_groups(plan *p)
{
    op_group found;
    size_t capacity = 0;
    for (int i = 0; i < p->op_count; i++)
        for (int kind = GROUP_NONE + 1; kind < GROUP_COUNT; kind++)
            if (find_group(p, (group_kind)kind, i, &found)) {
                TRY(memory_grow(&p->groups, &capacity, (size_t)p->group_count + 1,
                                sizeof *p->groups));
                p->groups[p->group_count++] = found;
            }
    for (int i = 0; i < p->group_count; i++) {
        if (p->groups[i].kind == GROUP_CONV_POOL)
            find_partner(p, i);
        if (p->groups[i].kind == GROUP_DENSE_BACKWARD)
            find_absorber(p, &p->groups[i]);
    }
    return CORNU_OK;
}
