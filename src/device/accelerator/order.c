/* The operations of a prepared plan in the order in which they are enqueued. */
#include "device/accelerator/core.h"
#include <string.h>

int gpu_next_op(const prepared *p, int i)
{
    int count = p->plan->op_count;
    if (i >= 0 && i == p->first_update)
        return count; /* the updates are last, wherever the plan has them */
    int next = i < 0 ? 0 : selection_next(&p->chosen, i);
    while (next < count && !p->chosen.kernels[next])
        next++;
    return next < count || p->first_update < 0 ? next : p->first_update;
}

cornu_status gpu_enqueue_op(gpu *g, const prepared *p, int i)
{
    const op *o = &p->plan->ops[i];
    gpu_op r = {.g = g,
                .plan = p->plan,
                .op = o,
                .group = p->chosen.groups[i],
                .tensors = p->tensors,
                .state = p->chosen.states[i],
                .scratch = g->state->scratch.at};
    for (int k = 0; k < OP_INPUTS_MAX; k++)
        r.in[k] = o->in[k] == NO_TENSOR ? 0 : p->tensors[o->in[k]];
    for (int k = 0; k < OP_OUTPUTS_MAX; k++)
        r.out[k] = o->out[k] == NO_TENSOR ? 0 : p->tensors[o->out[k]];
    cornu_status status = gpu_kernel_at(p, i)->enqueue(&r);
    return status == CORNU_OK ? CORNU_OK
                              : status_prefix(status, "%s of %s", op_infos[o->kind].name, o->name);
}

cornu_status gpu_count_launches(gpu *g, prepared *p)
{
    int count = p->plan->op_count;
    TRY(gpu_flush(g));
    TRY(gpu_resolve(g, p));
    for (int i = gpu_next_op(p, -1); i < count; i = gpu_next_op(p, i))
        if (p->chosen.choices[i].launches == 0)
            TRY(g->driver->count_launches(g, p, i, &p->chosen.choices[i].launches));
    return CORNU_OK;
}

cornu_status gpu_choices(gpu *g, prepared *p, kernel_choice *out)
{
    TRY(gpu_count_launches(g, p));
    memcpy(out, p->chosen.choices, (size_t)p->plan->op_count * sizeof *out);
    return CORNU_OK;
}
