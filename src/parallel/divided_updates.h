/* The optimizer's work divided among ranks, as in the first stage of ZeRO (Rajbhandari, Rasley,
   Ruwase, He 2020): a reduce-scatter gives each rank its slices of the summed gradients; the
   rank updates these slices with its slices of the slots, and an all-gather sends the new
   weights to the others. The traffic and the bits are those of an all-reduce. After
   divided_updates_gather every rank has complete slots again. */
#ifndef PARALLEL_DIVIDED_UPDATES_H
#define PARALLEL_DIVIDED_UPDATES_H

#include "base/threads.h"
#include "device/device.h"
#include "parallel/ranks.h"
#include "parallel/shard_layout.h"

typedef struct divided_updates divided_updates;

/* CORNU_UNSUPPORTED on a device that keeps the variables in its own memory. The model and the
   device, which has the model's variables, must outlive it. */
cornu_status divided_updates_open(cornu_model *m, device *d, cornu_ranks *ranks,
                                  divided_updates **out);
void divided_updates_close(divided_updates *d);
/* Call before the plan of SCOPE_UPDATES is built. `sum` is the sum of the layout's numbers; its
   field `divided` is set. Later calls do nothing further. */
cornu_status divided_updates_prepare(divided_updates *d, const shard_layout *layout,
                                     ranks_numbers *sum);
/* This rank's slices, for plan_options.updates. */
const update_span *divided_updates_own(const divided_updates *d, int *count);
/* The gradients of a step. */
typedef struct summed_gradients {
    float *values;     /* in the prepared layout */
    const float *rest; /* in the same layout: added first (ranks_rest); may be NULL */
    float factor;      /* the sum is multiplied by this */
    threads *pool;
} summed_gradients;
/* A collective call: this plan runs next, if this rank has slices (divided_updates_own); weights
   are sent as soon as they are updated. The gradients must stay valid until divided_updates_end
   returns. */
void divided_updates_begin(divided_updates *d, const plan *p, prepared *update,
                           const summed_gradients *gradients);
/* Waits for the rest of the all-gather. `status`: that of the run. */
cornu_status divided_updates_end(divided_updates *d, cornu_status status);
/* A collective call: all-gathers the slots, unless they are complete. */
cornu_status divided_updates_gather(divided_updates *d);

#endif
