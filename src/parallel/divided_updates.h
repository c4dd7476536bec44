/* The optimizer's work divided among ranks, as the first stage of ZeRO has it (Rajbhandari, Rasley,
   Ruwase, He 2020): of the gradients' sum a rank gets its parts alone, applies the optimizer to
   those, with its parts of the slots, and sends the weights that it made to the others. What is
   sent is as much as without, and bits are the same. Slots are whole on every rank again after
   divided_updates_gather. */
#ifndef PARALLEL_DIVIDED_UPDATES_H
#define PARALLEL_DIVIDED_UPDATES_H

#include "base/threads.h"
#include "device/device.h"
#include "parallel/ranks.h"
#include "parallel/shard_layout.h"

typedef struct divided_updates divided_updates;

/* CORNU_UNSUPPORTED on a device that keeps the variables in memory of its own. Model and device,
   which has the model's variables, outlive it. */
cornu_status divided_updates_open(cornu_model *m, device *d, cornu_ranks *ranks,
                                  divided_updates **out);
void divided_updates_close(divided_updates *d);
/* Before the plan of SCOPE_UPDATES is built. `sum`: of the numbers of that layout; it is told what
   of them stays divided. Does nothing further where it was called before. */
cornu_status divided_updates_prepare(divided_updates *d, const shard_layout *layout,
                                     const plan_factors *factors, ranks_numbers *sum);
/* This rank's parts, for plan_options.updates. */
const update_span *divided_updates_own(const divided_updates *d, int *count);
/* The gradients of a step. */
typedef struct summed_gradients {
    float *values;     /* in the layout that was prepared */
    const float *rest; /* in the same layout: to be added first (ranks_rest); NULL: nothing */
    float factor;      /* and then multiplied by this */
    threads *pool;
} summed_gradients;
/* All ranks: that plan runs next, where this rank has parts at all (divided_updates_own); weights
   are sent as soon as they are made. The gradients outlive the call of divided_updates_end. */
void divided_updates_begin(divided_updates *d, const plan *p, prepared *update,
                           const summed_gradients *gradients);
/* `status`: the run's. Waits for the rest of the exchange. */
cornu_status divided_updates_end(divided_updates *d, cornu_status status);
/* All ranks: exchange the slots, unless they are whole. */
cornu_status divided_updates_gather(divided_updates *d);

#endif
