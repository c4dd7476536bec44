#include "parallel/divided_updates.h"
#include "base/memory.h"
#include "parallel/floats.h"
#include <stdlib.h>

struct divided_updates {
    cornu_model *model;
    device *device;
    cornu_ranks *ranks;
    const distribution *how;
    float *weights; /* blocks on the device, in the gradients' layout */
    float *slots[OPTIMIZER_SLOTS_MAX];
    int slot_count;
    /* The current step. */
    const plan *plan;
    const summed_gradients *gradients;
    prepared *running; /* NULL: this rank updates nothing */
};

cornu_status divided_updates_accept(const device *d)
{
    if (d->ops->join)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "shard-optimizer: found device %s, which keeps the weights in memory of "
                       "its own; expected cpu or reference",
                       d->ops->name);
}

cornu_status divided_updates_open(cornu_model *m, device *d, cornu_ranks *ranks,
                                  const distribution *how, divided_updates **out)
{
    *out = NULL;
    divided_updates *made;
    TRY(divided_updates_accept(d));
    TRY(memory_new(1, sizeof *made, "updates", &made));
    made->model = m;
    made->device = d;
    made->ranks = ranks;
    made->how = how;
    *out = made;
    return CORNU_OK;
}

void divided_updates_close(divided_updates *d)
{
    free(d);
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* The number of the variable's slot, or (slot < 0) its own; -1: it has no such slot. */
static int find_slot(const cornu_model *m, int number, int slot)
{
    return slot < 0 ? number : model_slot(m, number, slot);
}

/* Join the optimizer's slots of this number (or the weights) into one block; *block stays NULL
   if there are none. */
static cornu_status join(const divided_updates *u, int slot, float **block)
{
    device *d = u->device;
    const shard_layout *l = &u->how->layout;
    int *variables, count = 0;
    int64_t *at;
    cornu_status status;
    TRY(memory_new((size_t)l->gradients + 1, sizeof *variables, "updates", &variables));
    TRY_GOTO(memory_new((size_t)l->gradients + 1, sizeof *at, "updates", &at));
    for (int i = 0; i < l->gradients; i++) {
        int number = find_slot(u->model, l->parts[i].variable, slot);
        if (number < 0)
            continue;
        variables[count] = number;
        at[count++] = l->parts[i].at;
    }
    if (count > 0)
        status = d->ops->join(d, variables, at, count, l->gradient_values, block);
    free(at);
done:
    free(variables);
    return status;
}

cornu_status divided_updates_prepare(divided_updates *u)
{
    if (u->weights || u->how->layout.gradients == 0)
        return CORNU_OK;
    TRY(join(u, -1, &u->weights));
    for (int slot = 0; slot < OPTIMIZER_SLOTS_MAX; slot++) {
        float *block = NULL;
        TRY(join(u, slot, &block));
        if (block)
            u->slots[u->slot_count++] = block;
    }
    return CORNU_OK;
}

/* ---- a step ------------------------------------------------------------------------------ */

/* Complete the sum of the gradient's elements that this operation reads next, from the cache. */
static void complete(const divided_updates *u, int operation)
{
    const summed_gradients *g = u->gradients;
    const op *o = &u->plan->ops[operation];
    const shard_part *part = u->how->layout.parts;
    if (operation >= u->plan->op_count || o->kind != OP_UPDATE)
        return;
    while (part->variable != o->out[0])
        part++;
    int64_t at = part->at + o->a.update.before;
    floats_add_scaled(g->pool, g->values + at, g->rest ? g->rest + at : NULL,
                      part->count - o->a.update.before - o->a.update.after, g->factor);
}

static void go_on(void *context, int operations)
{
    const divided_updates *u = context;
    ranks_sum_ready(u->ranks, plan_ready(u->plan, operations));
    complete(u, operations);
}

static void begin_gather(const divided_updates *u, float *block)
{
    const ranks_numbers n = distribution_weights(u->how);
    ranks_gather_begin(u->ranks, block, &n);
}

static cornu_status end_gather(const divided_updates *u, cornu_status status)
{
    bool all;
    if (status == CORNU_OK)
        ranks_sum_ready(u->ranks, u->how->layout.gradient_values);
    return ranks_sum_end(u->ranks, status, &all);
}

bool divided_updates_begin(divided_updates *u, const plan *p, prepared *update,
                           const summed_gradients *gradients)
{
    device *d = u->device;
    bool updates = p->op_count > 0 && p->ops[p->op_count - 1].kind == OP_UPDATE;
    u->model->training.position.slots_incomplete = u->slot_count > 0;
    u->plan = p;
    u->gradients = gradients;
    u->running = updates ? update : NULL;
    begin_gather(u, u->weights);
    if (!updates)
        return false;
    complete(u, 0);
    d->ops->watch(d, update, go_on, u);
    return true;
}

cornu_status divided_updates_end(divided_updates *u, cornu_status status)
{
    device *d = u->device;
    if (u->running)
        d->ops->watch(d, u->running, NULL, NULL);
    return end_gather(u, status);
}

cornu_status divided_updates_gather(divided_updates *u)
{
    if (!u->model->training.position.slots_incomplete)
        return CORNU_OK;
    for (int i = 0; i < u->slot_count; i++) {
        begin_gather(u, u->slots[i]);
        TRY(end_gather(u, CORNU_OK));
    }
    u->model->training.position.slots_incomplete = false;
    return CORNU_OK;
}
