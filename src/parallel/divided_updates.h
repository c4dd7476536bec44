/* The optimizer's work divided among ranks, as in the first stage of ZeRO (Rajbhandari, Rasley,
   Ruwase, He 2020): after the REDUCE_SCATTER each rank has its slices of the summed gradients; it
   runs the updates of these slices (distribution.h), and the ALL_GATHER sends the new weights to
   the others meanwhile. The traffic and the bits are those of an all-reduce. After
   divided_updates_gather every rank has complete slots again. */
#ifndef PARALLEL_DIVIDED_UPDATES_H
#define PARALLEL_DIVIDED_UPDATES_H

#include "base/threads.h"
#include "device/device.h"
#include "parallel/distribution.h"

typedef struct divided_updates divided_updates;

/* CORNU_UNSUPPORTED for a device that keeps the variables in its own memory. */
cornu_status divided_updates_accept(const device *d);
/* The model, the device, which has the model's variables, and the distribution must outlive it. */
cornu_status divided_updates_open(cornu_model *m, device *d, cornu_ranks *ranks,
                                  const distribution *how, divided_updates **out);
void divided_updates_close(divided_updates *d);
/* Join the weights and each slot into blocks; call when the layout is known, before the plan of
   SCOPE_UPDATES is built. Later calls do nothing further. */
cornu_status divided_updates_prepare(divided_updates *d);
/* The gradients of a step. */
typedef struct summed_gradients {
    float *values;     /* the block */
    const float *rest; /* in the same layout: added first (ranks_rest); may be NULL */
    float factor;      /* the sum is multiplied by this */
    threads *pool;
} summed_gradients;
/* A collective call. True: this rank has slices, and this plan, of SCOPE_UPDATES, runs next;
   weights are sent as soon as they are updated. The gradients must stay valid until
   divided_updates_end returns. */
bool divided_updates_begin(divided_updates *d, const plan *p, prepared *update,
                           const summed_gradients *gradients);
/* Waits for the rest of the all-gather. `status`: that of the run. */
cornu_status divided_updates_end(divided_updates *d, cornu_status status);
/* A collective call: all-gathers the slots, unless they are complete. */
cornu_status divided_updates_gather(divided_updates *d);

#endif
