/* Fuses an activation into the dense or convolution before it: one operation writes the
   activation's output. The backward pass is unchanged: it reads that output. Softmax and its
   kin stay separate, because they need whole rows, and so do functions that are no activations. */
#include "step/builder.h"
#include <stdlib.h>
#include <string.h>

/* The operation's fused activation, or NULL where its kind has none. */
static activation *fused_activation(op *o)
{
    if (o->kind == OP_DENSE_FORWARD)
        return &o->a.dense.act;
    return o->kind == OP_CONV2D_FORWARD ? &o->a.conv.act : NULL;
}

/* Count reads of `t` by operations and by tensors that share its memory. */
static int count_uses(const plan *p, tensor_ref t)
{
    int uses = t == p->output;
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            uses += p->ops[i].in[k] == t;
    for (int i = 0; i < p->tensor_count; i++)
        uses += p->tensors[i].alias == t;
    return uses;
}

static op *producer(const plan *p, tensor_ref t)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].out[0] == t)
            return &p->ops[i];
    return NULL;
}

static void remove_op(plan *p, int number)
{
    free(p->ops[number].name);
    memmove(&p->ops[number], &p->ops[number + 1],
            (size_t)(p->op_count - number - 1) * sizeof *p->ops);
    p->op_count--;
}

cornu_status pass_fuse_activation(plan *p)
{
    for (int i = p->op_count - 1; i >= 0; i--) {
        const op *o = &p->ops[i];
        if (o->kind != OP_ACTIVATION_FORWARD || activation_is_of_rows(o->a.act.kind) ||
            !activation_from_output(o->a.act.kind) || activation_is_alone(o->a.act.kind) ||
            count_uses(p, o->in[0]) != 1)
            continue;
        op *before = producer(p, o->in[0]);
        activation *act = before ? fused_activation(before) : NULL;
        if (!act || act->kind != ACTIVATION_LINEAR)
            continue;
        *act = o->a.act;
        before->out[0] = o->out[0];
        remove_op(p, i);
    }
    return CORNU_OK;
}
