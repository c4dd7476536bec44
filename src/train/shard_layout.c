#include "train/shard_layout.h"
#include "base/memory.h"

enum { ALIGNMENT = 16 }; /* floats: each part begins with a cache line */

static bool writes(const plan *p, int number)
{
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            if (p->ops[i].out[k] == number)
                return true;
    return false;
}

static void add_part(shard_layout *l, const cornu_model *m, int number, bool gradient)
{
    int64_t count = m->variables[number].count;
    l->parts[l->count++] =
        (shard_part){.variable = number, .gradient = gradient, .count = count, .at = l->values};
    l->values += (count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* How many of a plan's operations, from the first, make a variable's gradient. */
static int operations_to(const plan *gradients, int number)
{
    tensor_ref wanted = plan_root(gradients, gradients->gradients[number]);
    for (int i = gradients->op_count; i > 0; i--)
        for (int k = 0; k < OP_OUTPUTS_MAX; k++) {
            tensor_ref out = gradients->ops[i - 1].out[k];
            if (out != NO_TENSOR && plan_root(gradients, out) == wanted)
                return i;
        }
    return gradients->op_count;
}

/* A plan's first tensors are the model's variables. */
cornu_status shard_layout_find(shard_layout *l, const cornu_model *m, const plan *gradients)
{
    if (l->parts)
        return CORNU_OK;
    TRY(memory_new((size_t)m->weight_count, sizeof *l->parts, "shards", &l->parts));
    for (int made = 1; made <= gradients->op_count; made++)
        for (int i = 0; i < m->weight_count; i++)
            if (gradients->gradients[i] != NO_TENSOR && operations_to(gradients, i) == made)
                add_part(l, m, i, true);
    l->gradients = l->count;
    l->gradient_values = l->values;
    for (int i = 0; i < m->weight_count; i++)
        if (writes(gradients, i))
            add_part(l, m, i, false);
    return CORNU_OK;
}

void shard_layout_follow(shard_layout *l, const plan *gradients)
{
    for (int i = 0; i < l->gradients; i++)
        l->parts[i].made = operations_to(gradients, l->parts[i].variable);
}
