/* Where a plan's tensors lie, and in which layout. */
#include "device/cuda/plugin/core.h"
#include <stdlib.h>

static void mark(const plan *p, tensor_ref t, bool value, bool *marks)
{
    if (t != NO_TENSOR)
        marks[plan_root(p, t)] = value;
}

/* The updates run at the step's end, all together: what they read must not give its memory away
   before, as the plan would have it. Such tensors lie behind the plan's arena. */
static void mark_outliving(const gpu *g, const plan *p, bool *outlives)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_UPDATE) {
            mark(p, p->ops[i].in[1], true, outlives);
            mark(p, p->ops[i].in[5], true, outlives);
        }
    for (int i = 0; i < p->op_count; i++)
        if (gpu_updates_take(g, p, &p->ops[i]))
            for (int k = 0; k < 2; k++) {
                mark(p, p->ops[i].out[k], false, outlives); /* never written */
                mark(p, p->ops[i].in[k], true, outlives);
            }
}

cornu_status gpu_place_buffers(const gpu *g, const plan *p, size_t *places, size_t *bytes)
{
    bool *outlives;
    size_t end = gpu_aligned(p->arena_bytes);
    TRY(memory_new((size_t)p->tensor_count, sizeof *outlives, "prepared plan", &outlives));
    mark_outliving(g, p, outlives);
    for (int i = 0; i < p->tensor_count; i++) {
        const tensor *t = &p->tensors[i];
        bool own = outlives[i] && t->role == TENSOR_BUFFER;
        if (places)
            places[i] = own ? end : t->offset;
        if (own)
            end += gpu_aligned((size_t)t->count * sizeof(float));
    }
    for (int i = 0; places && i < p->tensor_count; i++)
        places[i] = places[plan_root(p, i)];
    *bytes = end;
    free(outlives);
    return CORNU_OK;
}

static bool is_convolution_kernel(const op *o, tensor_ref t)
{
    switch (o->kind) {
    case OP_CONV2D_FORWARD:
    case OP_CONV2D_BACKWARD_DATA:
        return o->in[1] == t;
    case OP_CONV2D_BACKWARD_WEIGHTS:
        return o->out[0] == t;
    default:
        return false;
    }
}

void gpu_place_layouts(const gpu *g, const plan *p, gpu_layout *layouts)
{
    const gpu_state *s = g->state;
    for (int t = 0; t < p->tensor_count; t++) {
        layouts[t] = GPU_PLAIN;
        if (p->tensors[t].role == TENSOR_VARIABLE && p->tensors[t].variable < s->variable_count)
            layouts[t] = s->variable_layouts[p->tensors[t].variable];
        for (int i = 0; i < p->op_count; i++)
            if (is_convolution_kernel(&p->ops[i], t))
                layouts[t] = GPU_CONVOLUTION_KERNEL;
    }
}
