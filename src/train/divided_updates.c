#include "train/divided_updates.h"
#include "base/clock.h"
#include "base/memory.h"
#include "train/floats.h"
#include <stdlib.h>

struct divided_updates {
    session *session;
    cornu_ranks *ranks;
    ranks_numbers numbers; /* of weights and slots, divided as gradients are */
    float *weights;        /* blocks of the device, in the gradients' layout */
    float *slots[OPTIMIZER_SLOTS_MAX];
    int slot_count;
    /* This rank's, in the order of the layout; and when the one before each is done, or (the last,
       which is one more) all are, so many of the weights can be sent. */
    update_span *updates;
    int64_t *places; /* where each begins in the layout */
    int64_t *ready;
    int update_count, update_capacity;
};

cornu_status divided_updates_open(session *s, cornu_ranks *ranks, divided_updates **out)
{
    *out = NULL;
    const device *d = session_device(s);
    if (!d->ops->join)
        return status_fail(CORNU_UNSUPPORTED,
                           "shard-optimizer: found device %s, which keeps the weights in memory of "
                           "its own; expected cpu or reference",
                           d->ops->name);
    divided_updates *made;
    TRY(memory_new(1, sizeof *made, "updates", &made));
    made->session = s;
    made->ranks = ranks;
    *out = made;
    return CORNU_OK;
}

void divided_updates_close(divided_updates *d)
{
    if (!d)
        return;
    free(d->updates);
    free(d->places);
    free(d->ready);
    free(d);
}

/* ---- blocks ------------------------------------------------------------------------------- */

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

/* What the optimizer keeps under this number (or the weights) into one block; *block stays NULL
   where there is nothing. */
static cornu_status join(const divided_updates *u, const shard_layout *l, int slot, float **block)
{
    device *d = session_device(u->session);
    int *variables, count = 0;
    int64_t *at;
    cornu_status status;
    TRY(memory_new((size_t)l->gradients + 1, sizeof *variables, "updates", &variables));
    TRY_GOTO(memory_new((size_t)l->gradients + 1, sizeof *at, "updates", &at));
    for (int i = 0; i < l->gradients; i++) {
        int number = find_slot(session_model(u->session), l->parts[i].variable, slot);
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

static cornu_status join_all(divided_updates *u, const shard_layout *l)
{
    TRY(join(u, l, -1, &u->weights));
    for (int slot = 0; slot < OPTIMIZER_SLOTS_MAX; slot++) {
        float *block = NULL;
        TRY(join(u, l, slot, &block));
        if (block)
            u->slots[u->slot_count++] = block;
    }
    return CORNU_OK;
}

/* ---- parts -------------------------------------------------------------------------------- */

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

/* Of a rank's part of a bucket what lies in variables; `ready`: the numbers before that bucket. */
static cornu_status add_part(divided_updates *u, const shard_layout *l, const ranks_part *part,
                             int64_t ready)
{
    for (int i = 0; i < l->gradients; i++) {
        const shard_part *p = &l->parts[i];
        int64_t begin = part->begin > p->at ? part->begin : p->at,
                end = part->end < p->at + p->count ? part->end : p->at + p->count;
        if (begin < end)
            TRY(add_update(u, &(update_span){p->variable, begin - p->at, end - begin}, begin,
                           ready));
    }
    return CORNU_OK;
}

static cornu_status find_parts(divided_updates *u, const shard_layout *l)
{
    int count = ranks_parts(u->ranks, &u->numbers, NULL);
    ranks_part *parts;
    TRY(memory_new((size_t)count + 1, sizeof *parts, "updates", &parts));
    ranks_parts(u->ranks, &u->numbers, parts);
    cornu_status status = CORNU_OK;
    for (int i = 0; i < count && status == CORNU_OK; i++)
        status = add_part(u, l, &parts[i], i > 0 ? parts[i - 1].bucket_end : 0);
    free(parts);
    if (status == CORNU_OK && u->update_count > 0)
        u->ready[u->update_count] = l->gradient_values;
    return status;
}

cornu_status divided_updates_prepare(divided_updates *u, const shard_layout *l, ranks_numbers *sum)
{
    static const update_span none[1];
    const cornu_model *m = session_model(u->session);
    u->numbers = (ranks_numbers){.count = l->values, .divided = l->gradient_values};
    sum->divided = optimizer_clips_by_norm(&m->optimizer) ? 0 : l->gradient_values;
    if (u->weights || l->gradients == 0)
        return CORNU_OK;
    TRY(find_parts(u, l));
    TRY(join_all(u, l));
    session_divide_updates(u->session, u->updates ? u->updates : none, u->update_count);
    return CORNU_OK;
}

/* ---- a step ------------------------------------------------------------------------------- */

typedef struct progress {
    const divided_updates *updates;
    const summed_gradients *gradients;
    int before; /* operations of the plan that update nothing, which come first */
} progress;

/* While it is in the caches the update takes it from there. */
static void complete(const progress *p, int update)
{
    const summed_gradients *g = p->gradients;
    if (update == p->updates->update_count)
        return;
    int64_t at = p->updates->places[update];
    floats_add_scaled(g->pool, g->values + at, g->rest ? g->rest + at : NULL,
                      p->updates->updates[update].count, g->factor);
}

static void go_on(void *context, int operations)
{
    const progress *p = context;
    int done = operations - p->before;
    if (done < 0)
        return;
    ranks_sum_ready(p->updates->ranks, p->updates->ready[done]);
    complete(p, done);
}

static cornu_status run_watched(const divided_updates *u, session_plan *update,
                                const summed_gradients *gradients)
{
    device *d = session_device(u->session);
    progress p = {u, gradients, update->plan->op_count - u->update_count};
    if (p.before == 0)
        complete(&p, 0);
    d->ops->watch(d, update->prepared, go_on, &p);
    cornu_status status = session_run(u->session, update, NULL, NULL, 0);
    d->ops->watch(d, update->prepared, NULL, NULL);
    return status;
}

static cornu_status end_gather(const divided_updates *u, cornu_status status)
{
    bool all;
    if (status == CORNU_OK)
        ranks_sum_ready(u->ranks, u->numbers.divided);
    return ranks_sum_end(u->ranks, status, &all);
}

cornu_status divided_updates_run(divided_updates *u, session_plan *update,
                                 const summed_gradients *gradients, double *seconds)
{
    double begin = clock_seconds();
    session_mark_slots(u->session, u->slot_count > 0);
    ranks_gather_begin(u->ranks, u->weights, &u->numbers);
    cornu_status status = u->update_count > 0 ? run_watched(u, update, gradients) : CORNU_OK;
    *seconds = clock_seconds() - begin;
    return end_gather(u, status);
}

cornu_status divided_updates_gather(divided_updates *u)
{
    if (!session_model(u->session)->training.position.slots_divided)
        return CORNU_OK;
    for (int i = 0; i < u->slot_count; i++) {
        ranks_gather_begin(u->ranks, u->slots[i], &u->numbers);
        TRY(end_gather(u, CORNU_OK));
    }
    session_mark_slots(u->session, false);
    return CORNU_OK;
}
