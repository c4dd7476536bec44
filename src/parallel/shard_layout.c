#include "parallel/shard_layout.h"
#include "base/memory.h"
#include <cornu/parallel.h>
#include <string.h>

/* ---- users' options ---------------------------------------------------------------------- */

cornu_status shards_check_count(int64_t count)
{
    if (count < 1 || count > SHARDS_MOST || (count & (count - 1)) != 0)
        return status_fail(CORNU_INVALID, "shards: found %jd; expected a power of two, 1 to %d",
                           (intmax_t)count, SHARDS_MOST);
    return CORNU_OK;
}

cornu_status shards_check(int64_t count, int64_t batch, const cornu_ranks *ranks)
{
    int all = cornu_ranks_count(ranks);
    TRY(shards_check_count(count));
    if (count < all)
        return status_fail(CORNU_INVALID,
                           "shards: found %jd, and %d ranks; expected at least one for each",
                           (intmax_t)count, all);
    if (count <= batch)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "shards: found %jd, and batches of %jd; expected at least a sample for each",
                       (intmax_t)count, (intmax_t)batch);
}

cornu_status shards_wire_find(const char *name, bool *bf16)
{
    *bf16 = name && strcmp(name, "bf16") == 0;
    if (*bf16 || !name || strcmp(name, "fp32") == 0)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "wire: found %.40s; expected fp32 or bf16", name);
}

const char *shards_wire_name(bool bf16)
{
    return bf16 ? "bf16" : "fp32";
}

/* ---- the layout -------------------------------------------------------------------------- */

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
