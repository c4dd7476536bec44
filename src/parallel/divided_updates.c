#include "parallel/divided_updates.h"
#include "base/memory.h"
#include "parallel/floats.h"
#include <stdlib.h>

struct divided_updates {
    cornu_model *model;
    device *device;
    cornu_ranks *ranks;
    ranks_numbers numbers; /* of weights and slots, divided as the gradients are */
    float *weights;        /* blocks on the device, in the gradients' layout */
    float *slots[OPTIMIZER_SLOTS_MAX];
    int slot_count;
    shard_part *parts; /* parts of such a block */
    int part_count;
    /* This rank's updates, in the order of the parts. ready[i] is the number of weights that can
       be sent when the update before number i is done; the last entry, one more than the
       updates, is for the end of all. */
    update_span *updates;
    int64_t *places; /* offset of each in the block */
    int64_t *ready;
    int update_count, update_capacity;
    /* The current step. */
    const summed_gradients *gradients;
    prepared *running; /* NULL: this rank updates nothing */
    int before;        /* number of first operations of its plan that update nothing */
};

cornu_status divided_updates_open(cornu_model *m, device *d, cornu_ranks *ranks,
                                  divided_updates **out)
{
    *out = NULL;
    if (!d->ops->join)
        return status_fail(CORNU_UNSUPPORTED,
                           "shard-optimizer: found device %s, which keeps the weights in memory of "
                           "its own; expected cpu or reference",
                           d->ops->name);
    divided_updates *made;
    TRY(memory_new(1, sizeof *made, "updates", &made));
    made->model = m;
    made->device = d;
    made->ranks = ranks;
    *out = made;
    return CORNU_OK;
}

void divided_updates_close(divided_updates *d)
{
    if (!d)
        return;
    free(d->parts);
    free(d->updates);
    free(d->places);
    free(d->ready);
    free(d);
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* The number of the variable's slot, or (slot < 0) its own; -1: it has no such slot. */
static int find_slot(const cornu_model *m, int number, int slot)
{
    if (slot < 0)
        return number;
    for (int i = m->weight_count; i < m->variable_count; i++)
        if (m->variables[i].is_slot && m->variables[i].of == number && m->variables[i].slot == slot)
            return i;
    return -1;
}

/* Join the optimizer's slots of this number (or the weights) into one block; *block stays NULL
   if there are none. */
static cornu_status join(const divided_updates *u, int slot, float **block)
{
    device *d = u->device;
    int *variables, count = 0;
    int64_t *at;
    cornu_status status;
    TRY(memory_new((size_t)u->part_count + 1, sizeof *variables, "updates", &variables));
    TRY_GOTO(memory_new((size_t)u->part_count + 1, sizeof *at, "updates", &at));
    for (int i = 0; i < u->part_count; i++) {
        int number = find_slot(u->model, u->parts[i].variable, slot);
        if (number < 0)
            continue;
        variables[count] = number;
        at[count++] = u->parts[i].at;
    }
    if (count > 0)
        status = d->ops->join(d, variables, at, count, u->numbers.divided, block);
    free(at);
done:
    free(variables);
    return status;
}

static cornu_status join_all(divided_updates *u)
{
    TRY(join(u, -1, &u->weights));
    for (int slot = 0; slot < OPTIMIZER_SLOTS_MAX; slot++) {
        float *block = NULL;
        TRY(join(u, slot, &block));
        if (block)
            u->slots[u->slot_count++] = block;
    }
    return CORNU_OK;
}

/* ---- parts ------------------------------------------------------------------------------- */

static cornu_status add_update(divided_updates *u, const update_span *part, int64_t place,
                               int64_t ready)
{
    size_t capacity[3];
    size_t needed = (size_t)u->update_count + 2;
    for (int i = 0; i < 3; i++)
        capacity[i] = (size_t)u->update_capacity;
    TRY(memory_grow(&u->updates, &capacity[0], needed, sizeof *u->updates));
    TRY(memory_grow(&u->places, &capacity[1], needed, sizeof *u->places));
    TRY(memory_grow(&u->ready, &capacity[2], needed, sizeof *u->ready));
    u->update_capacity = (int)capacity[0];
    u->places[u->update_count] = place;
    u->ready[u->update_count] = ready;
    u->updates[u->update_count++] = *part;
    return CORNU_OK;
}

/* Add the variables' elements among the numbers begin to end - 1 of a block; `ready`: the number
   that can be sent before. */
static cornu_status add_range(divided_updates *u, int64_t begin, int64_t end, int64_t ready)
{
    for (int i = 0; i < u->part_count; i++) {
        const shard_part *p = &u->parts[i];
        int64_t from = begin > p->at ? begin : p->at,
                to = end < p->at + p->count ? end : p->at + p->count;
        if (from < to)
            TRY(add_update(u, &(update_span){p->variable, from - p->at, to - from}, from, ready));
    }
    return CORNU_OK;
}

/* Add this rank's parts of all buckets. */
static cornu_status find_updates(divided_updates *u)
{
    int count = ranks_parts(u->ranks, &u->numbers, NULL);
    ranks_part *parts;
    TRY(memory_new((size_t)count + 1, sizeof *parts, "updates", &parts));
    ranks_parts(u->ranks, &u->numbers, parts);
    cornu_status status = CORNU_OK;
    for (int i = 0; i < count && status == CORNU_OK; i++)
        status = add_range(u, parts[i].begin, parts[i].end, i > 0 ? parts[i - 1].bucket_end : 0);
    free(parts);
    if (u->update_count > 0)
        u->ready[u->update_count] = u->numbers.divided;
    return status;
}

cornu_status divided_updates_prepare(divided_updates *u, const shard_layout *l, ranks_numbers *sum)
{
    sum->divided = optimizer_clips_by_norm(&u->model->optimizer) ? 0 : l->gradient_values;
    if (u->weights || l->gradients == 0)
        return CORNU_OK;
    TRY(memory_new((size_t)l->gradients, sizeof *u->parts, "updates", &u->parts));
    u->numbers = (ranks_numbers){.count = l->values, .divided = l->gradient_values};
    for (int i = 0; i < l->gradients; i++)
        u->parts[u->part_count++] = l->parts[i];
    TRY(find_updates(u));
    return join_all(u);
}

const update_span *divided_updates_own(const divided_updates *u, int *count)
{
    static const update_span none[1];
    *count = u->update_count;
    return u->updates || !u->parts ? u->updates : none;
}

/* ---- a step ------------------------------------------------------------------------------ */

/* Add right before the update, which then reads the sum from the cache. */
static void complete(const divided_updates *u, int update)
{
    const summed_gradients *g = u->gradients;
    if (update >= u->update_count)
        return;
    int64_t at = u->places[update];
    floats_add_scaled(g->pool, g->values + at, g->rest ? g->rest + at : NULL,
                      u->updates[update].count, g->factor);
}

static void go_on(void *context, int operations)
{
    const divided_updates *u = context;
    int done = operations - u->before;
    if (done < 0 || done > u->update_count)
        return;
    ranks_sum_ready(u->ranks, u->ready[done]);
    complete(u, done);
}

static cornu_status end_gather(const divided_updates *u, cornu_status status)
{
    bool all;
    if (status == CORNU_OK)
        ranks_sum_ready(u->ranks, u->numbers.divided);
    return ranks_sum_end(u->ranks, status, &all);
}

void divided_updates_begin(divided_updates *u, const plan *p, prepared *update,
                           const summed_gradients *gradients)
{
    device *d = u->device;
    u->model->training.position.slots_divided = u->slot_count > 0;
    u->gradients = gradients;
    u->running = u->update_count > 0 ? update : NULL;
    ranks_gather_begin(u->ranks, u->weights, &u->numbers);
    if (!u->running)
        return;
    u->before = 0;
    while (p->ops[u->before].kind != OP_UPDATE)
        u->before++;
    if (u->before == 0)
        complete(u, 0);
    d->ops->watch(d, update, go_on, u);
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
    if (!u->model->training.position.slots_divided)
        return CORNU_OK;
    for (int i = 0; i < u->slot_count; i++) {
        ranks_gather_begin(u->ranks, u->slots[i], &u->numbers);
        TRY(end_gather(u, CORNU_OK));
    }
    u->model->training.position.slots_divided = false;
    return CORNU_OK;
}
