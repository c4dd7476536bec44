/* Places a plan's tensors in the arena. */
#include "device/accelerator/core.h"
#include <stdlib.h>

static void mark(const plan *p, tensor_ref t, bool value, bool *marks)
{
    if (t != NO_TENSOR)
        marks[plan_root(p, t)] = value;
}

/* If all updates run together at the end of the step, the tensors that they read must not be
   overwritten earlier, as the plan would allow. Such tensors are placed after the plan's arena. */
static void mark_outliving(const gpu *g, const plan *p, bool *outlives)
{
    if (!gpu_updates_together(g))
        return;
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_UPDATE) {
            mark(p, p->ops[i].in[1], true, outlives);
            mark(p, p->ops[i].in[5], true, outlives);
        }
    for (int i = 0; i < p->op_count; i++)
        if (gpu_absorbs(g, p, &p->ops[i]))
            for (int k = 0; k < 2; k++) {
                mark(p, p->ops[i].out[k], false, outlives); /* never written */
                mark(p, p->ops[i].in[k], true, outlives);
            }
}

cornu_status gpu_buffer_offsets(const gpu *g, const plan *p, size_t *offsets, size_t *bytes)
{
    bool *outlives;
    size_t end = gpu_aligned(p->arena_bytes);
    TRY(memory_new((size_t)p->tensor_count, sizeof *outlives, "prepared plan", &outlives));
    mark_outliving(g, p, outlives);
    for (int i = 0; i < p->tensor_count; i++) {
        const tensor *t = &p->tensors[i];
        bool own = outlives[i] && t->role == TENSOR_BUFFER;
        if (offsets)
            offsets[i] = own ? end : t->offset;
        if (own)
            end += gpu_aligned((size_t)t->count * sizeof(float));
    }
    for (int i = 0; offsets && i < p->tensor_count; i++)
        offsets[i] = offsets[plan_root(p, i)];
    *bytes = end;
    free(outlives);
    return CORNU_OK;
}
