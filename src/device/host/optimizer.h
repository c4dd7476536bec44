/* One step of an UPDATE on a device whose memory is the host's. */
#ifndef DEVICE_HOST_OPTIMIZER_H
#define DEVICE_HOST_OPTIMIZER_H

#include "device/host/host.h"
#include "device/optimizer_step.h"

/* `o`: an UPDATE of the plan of `r`, which may run a group that it belongs to. */
static inline optimizer_constants host_optimizer_step(const op_run *r, const op *o)
{
    const float *squares = o->in[5] == NO_TENSOR ? NULL : r->tensors[o->in[5]];
    int slot = o->a.update.norm_slot;
    double norm_squared = squares && slot >= 0 ? (double)squares[slot] : 0;
    for (int i = 0; squares && slot < 0 && i < o->a.update.norm_count; i++)
        norm_squared += (double)squares[i];
    return optimizer_step(o, r->input->learning_rate, r->input->iteration, norm_squared);
}

#endif
