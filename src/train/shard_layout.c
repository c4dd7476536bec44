#include "train/shard_layout.h"
#include "base/memory.h"

enum { ALIGNMENT = 16 }; /* floats: each part begins with a cache line */

int64_t shard_layout_align(int64_t floats)
{
    return (floats + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

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
    l->values += shard_layout_align(count);
}

/* A plan's first tensors are the model's variables. */
cornu_status shard_layout_find(shard_layout *l, const cornu_model *m, const plan *gradients)
{
    if (l->parts)
        return CORNU_OK;
    TRY(memory_new((size_t)m->weight_count, sizeof *l->parts, "shards", &l->parts));
    for (int made = 1; made <= gradients->op_count; made++)
        for (int i = 0; i < m->weight_count; i++)
            if (gradients->gradients[i] != NO_TENSOR &&
                plan_operations_to(gradients, gradients->gradients[i]) == made)
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
        l->parts[i].made =
            plan_operations_to(gradients, gradients->gradients[l->parts[i].variable]);
}
