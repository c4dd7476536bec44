#include "train/shards.h"
#include "base/memory.h"
#include "base/threads.h"
#include <stdlib.h>
#include <string.h>

enum {
    TASK = 1 << 15, /* floats that one task copies or adds */
    ALIGNMENT = 16, /* floats: each part begins with a cache line */
    LEVELS_MOST = 10
};

/* What is added of a gradient, or of a variable that the forward pass changes: where it stands
   among the numbers of a shard. */
typedef struct part {
    int variable;
    bool gradient;
    int64_t count, at;
} part;

/* A node of the tree: numbers that were added, and sums of the losses and metrics. */
typedef struct node {
    float *values; /* [values] */
    step_results results;
} node;

struct shards {
    session *session;
    cornu_ranks *ranks; /* or NULL */
    int64_t count;      /* of all ranks */
    int64_t first, own; /* this rank's */
    int levels;         /* own is 1 << levels */
    threads *pool;
    session_plan *update;
    part *parts; /* gradients, then states */
    int part_count;
    int64_t values;
    float *states; /* what the changed variables were before the step, as the parts lie */
    node nodes[LEVELS_MOST + 1];
    node *waiting[LEVELS_MOST]; /* [levels] sums that wait for what comes at their right */
    node *shard;                /* the leaf at hand */
    node *root;                 /* behind the last leaf: the sum of this rank's */
    step_results results;
};

cornu_status shards_check(int64_t count, int64_t batch, const cornu_ranks *ranks)
{
    int all = cornu_ranks_count(ranks);
    if (count < 1 || count > SHARDS_MOST || (count & (count - 1)) != 0)
        return status_fail(CORNU_INVALID, "shards: found %jd; expected a power of two, 1 to %d",
                           (intmax_t)count, SHARDS_MOST);
    if (count < all)
        return status_fail(CORNU_INVALID,
                           "shards: found %jd, and %d ranks; expected at least one for each",
                           (intmax_t)count, all);
    if (count <= batch)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "shards: found %jd, and batches of %jd; expected at least a sample for each",
                       (intmax_t)count, (intmax_t)batch);
}

/* ---- what is added ------------------------------------------------------------------------ */

static bool writes(const plan *p, int number)
{
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            if (p->ops[i].out[k] == number)
                return true;
    return false;
}

static void add_part(shards *h, int number, bool gradient)
{
    const cornu_model *m = session_model(h->session);
    int64_t count = m->variables[number].count;
    h->parts[h->part_count++] =
        (part){.variable = number, .gradient = gradient, .count = count, .at = h->values};
    h->values += (count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* A plan's first tensors are the model's variables. */
static cornu_status find_parts(shards *h, const plan *gradients)
{
    const cornu_model *m = session_model(h->session);
    if (h->parts)
        return CORNU_OK;
    TRY(memory_new((size_t)m->weight_count, sizeof *h->parts, "shards", &h->parts));
    for (int i = 0; i < m->weight_count; i++)
        if (gradients->gradients[i] != NO_TENSOR)
            add_part(h, i, true);
    for (int i = 0; i < m->weight_count; i++)
        if (writes(gradients, i))
            add_part(h, i, false);
    return CORNU_OK;
}

/* Each node has its numbers; none is touched before it is used. */
static cornu_status make_nodes(shards *h)
{
    char need[16], left[16];
    double bytes = (double)h->values * sizeof(float), needed = bytes * (h->levels + 2);
    int64_t available = memory_available();
    if (h->shard)
        return CORNU_OK;
    if (available >= 0 && needed > (double)available)
        return status_fail(CORNU_OUT_OF_MEMORY,
                           "shards: adding the gradients of %jd needs %s of memory; %s is free",
                           (intmax_t)h->count, memory_human(needed, need),
                           memory_human((double)available, left));
    for (int i = 0; i <= h->levels; i++)
        TRY(memory_new_aligned((size_t)bytes + 1, "gradients of shards", &h->nodes[i].values));
    TRY(memory_new_aligned((size_t)bytes + 1, "statistics before a step", &h->states));
    for (int i = 0; i < h->levels; i++)
        h->waiting[i] = &h->nodes[i];
    h->shard = &h->nodes[h->levels];
    return CORNU_OK;
}

/* ---- opening ------------------------------------------------------------------------------ */

cornu_status shards_open(session *s, int64_t count, cornu_ranks *ranks, int thread_count,
                         shards **out)
{
    *out = NULL;
    if (count <= 1)
        return CORNU_OK;
    TRY(shards_check(count, count, ranks));
    shards *h;
    TRY(memory_new(1, sizeof *h, "shards", &h));
    h->session = s;
    h->ranks = ranks;
    h->count = count;
    h->own = count / cornu_ranks_count(ranks);
    h->first = h->own * cornu_ranks_number(ranks);
    while (INT64_C(1) << h->levels < h->own)
        h->levels++;
    cornu_status status = threads_open(thread_count, &h->pool);
    if (status == CORNU_OK)
        *out = h;
    else
        shards_close(h);
    return status;
}

void shards_close(shards *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < sizeof h->nodes / sizeof *h->nodes; i++)
        memory_free_aligned(h->nodes[i].values);
    memory_free_aligned(h->states);
    free(h->parts);
    threads_close(h->pool);
    free(h);
}

static int64_t shard_begin(const shards *h, int64_t batch, int64_t shard)
{
    return batch * shard / h->count;
}

void shards_own(const shards *h, int64_t batch, int64_t *begin, int64_t *end)
{
    *begin = shard_begin(h, batch, h->first);
    *end = shard_begin(h, batch, h->first + h->own);
}

cornu_status shards_prepare(shards *h, int64_t batch, bool weighted)
{
    for (int64_t i = h->first; i < h->first + h->own; i++) {
        int64_t samples = shard_begin(h, batch, i + 1) - shard_begin(h, batch, i);
        session_plan *ready;
        if (samples == 0)
            continue;
        TRY(session_plan_scope(h->session, SCOPE_GRADIENTS, samples, weighted, &ready));
        TRY(find_parts(h, ready->plan));
    }
    TRY(session_plan_scope(h->session, SCOPE_UPDATES, 0, false, &h->update));
    return make_nodes(h);
}

/* ---- numbers ------------------------------------------------------------------------------ */

typedef struct range_work {
    const float *from;
    float *to;
    int64_t count;
    float factor;
} range_work;

static void scale_task(void *context, int64_t task, int worker)
{
    const range_work *w = context;
    int64_t end = (task + 1) * TASK < w->count ? (task + 1) * TASK : w->count;
    (void)worker;
    for (int64_t i = task * TASK; i < end; i++)
        w->to[i] = w->from[i] * w->factor;
}

static void add_task(void *context, int64_t task, int worker)
{
    const range_work *w = context;
    int64_t end = (task + 1) * TASK < w->count ? (task + 1) * TASK : w->count;
    (void)worker;
    for (int64_t i = task * TASK; i < end; i++)
        w->to[i] += w->from[i];
}

static void run_range(const shards *h, threads_work *work, range_work w)
{
    threads_run(h->pool, (w.count + TASK - 1) / TASK, work, &w);
}

static void add_results(step_results *to, const step_results *from)
{
    to->samples += from->samples;
    to->loss += from->loss;
    for (int i = 0; i < MODEL_METRICS_MAX; i++)
        to->metrics[i] += from->metrics[i];
    to->gather_seconds += from->gather_seconds;
    to->not_finite = to->not_finite || from->not_finite;
}

/* ---- one shard ---------------------------------------------------------------------------- */

/* What the forward pass changes: remembered before the first shard, and put back before the others.
 */
static cornu_status keep_states(shards *h, bool first)
{
    device *d = session_device(h->session);
    for (int i = 0; i < h->part_count; i++) {
        const part *p = &h->parts[i];
        if (p->gradient)
            continue;
        if (first)
            TRY(d->ops->read_variable(d, p->variable, h->states + p->at, p->count));
        else
            TRY(d->ops->write_variable(d, p->variable, h->states + p->at, p->count));
    }
    return CORNU_OK;
}

/* Where memory is the host's, gradients are made among the shard's numbers. */
static cornu_status place_gradients(const shards *h, session_plan *in, float *values)
{
    device *d = session_device(h->session);
    for (int i = 0; d->ops->place && i < h->part_count; i++) {
        const part *p = &h->parts[i];
        if (p->gradient)
            TRY(d->ops->place(d, in->prepared, in->plan->gradients[p->variable], values + p->at));
    }
    return CORNU_OK;
}

/* A part of what the shard's plan has left on the device, times the shard's share. */
static cornu_status take_part(shards *h, session_plan *ready, const part *p, float share)
{
    device *d = session_device(h->session);
    float *to = h->shard->values + p->at;
    if (!p->gradient)
        TRY(d->ops->read_variable(d, p->variable, to, p->count));
    else if (!d->ops->place)
        TRY(d->ops->read(d, ready->prepared, ready->plan->gradients[p->variable], to, p->count));
    run_range(h, scale_task, (range_work){to, to, p->count, share});
    return CORNU_OK;
}

/* Leaf `number` of the tree into h->shard. */
static cornu_status run_shard(shards *h, const sample_block *samples, const int64_t *index,
                              int64_t batch, int64_t number)
{
    int64_t begin = shard_begin(h, batch, number),
            count = shard_begin(h, batch, number + 1) - begin;
    session_plan *ready;
    h->shard->results = (step_results){.samples = 0};
    if (count == 0) {
        memset(h->shard->values, 0, (size_t)h->values * sizeof(float));
        return CORNU_OK;
    }
    TRY(session_plan_scope(h->session, SCOPE_GRADIENTS, count, samples->weight != NULL, &ready));
    TRY(place_gradients(h, ready, h->shard->values));
    TRY(session_run(h->session, ready, samples, index + begin, begin));
    for (int i = 0; i < h->part_count; i++)
        TRY(take_part(h, ready, &h->parts[i], (float)((double)count / (double)batch)));
    return session_results(h->session, &h->shard->results, true);
}

/* ---- the tree ----------------------------------------------------------------------------- */

static node *add_nodes(const shards *h, node *left, const node *right)
{
    run_range(h, add_task, (range_work){right->values, left->values, h->values, 0});
    add_results(&left->results, &right->results);
    return left;
}

/* This rank's leaf `number` is in h->shard: add it to what stands at its left, as far as that is
   complete. The root, behind the last leaf; else NULL. */
static node *add_leaf(shards *h, int64_t number)
{
    node *sum = h->shard;
    int level = 0;
    for (; number >> level & 1; level++)
        sum = add_nodes(h, h->waiting[level], sum);
    if (level == h->levels)
        return sum;
    node *free_now = h->waiting[level];
    h->waiting[level] = sum;
    if (sum == h->shard)
        h->shard = free_now;
    else
        h->waiting[level - 1] = free_now;
    return NULL;
}

/* ---- the step ----------------------------------------------------------------------------- */

static cornu_status give_part(shards *h, const part *p, const float *values)
{
    device *d = session_device(h->session);
    if (!p->gradient)
        return d->ops->write_variable(d, p->variable, values, p->count);
    if (d->ops->place)
        return CORNU_OK;
    return d->ops->write(d, h->update->prepared, h->update->plan->gradients[p->variable], values,
                         p->count);
}

cornu_status shards_begin(shards *h, const sample_block *samples, const int64_t *index,
                          int64_t batch)
{
    TRY(shards_prepare(h, batch, samples->weight != NULL));
    for (int64_t i = 0; i < h->own; i++) {
        TRY(keep_states(h, i == 0));
        TRY(run_shard(h, samples, index, batch, h->first + i));
        h->root = add_leaf(h, i);
    }
    return CORNU_OK;
}

/* What ranks tell each other of a step. */
typedef struct ballot {
    int32_t vote;
    step_results results;
} ballot;

/* In the order of the tree: neighbours first. */
static void add_ballots(ballot *all, int count)
{
    for (int distance = 1; distance < count; distance *= 2)
        for (int i = 0; i + distance < count; i += 2 * distance) {
            add_results(&all[i].results, &all[i + distance].results);
            if (all[i + distance].vote > all[i].vote)
                all[i].vote = all[i + distance].vote;
        }
}

cornu_status shards_agree(shards *h, shards_vote vote, shards_vote *agreed)
{
    ballot own = {.vote = vote}, *all;
    int count = cornu_ranks_count(h->ranks);
    *agreed = vote;
    if (!h->ranks)
        return CORNU_OK;
    if (h->root)
        own.results = h->root->results;
    TRY(memory_new((size_t)count, sizeof *all, "results of ranks", &all));
    cornu_status status = ranks_share(h->ranks, &own, all, sizeof own);
    add_ballots(all, count);
    *agreed = (shards_vote)all->vote;
    if (h->root && *agreed != VOTE_NOT)
        h->root->results = all->results;
    else if (h->root) {
        h->root = NULL;
        status = status == CORNU_OK ? keep_states(h, false) : status;
    }
    free(all);
    return status;
}

cornu_status shards_end(shards *h, int64_t batch)
{
    node *root = h->root;
    h->root = NULL;
    if (h->ranks)
        TRY(ranks_sum(h->ranks, root->values, h->values));
    TRY(place_gradients(h, h->update, root->values));
    for (int i = 0; i < h->part_count; i++)
        TRY(give_part(h, &h->parts[i], root->values + h->parts[i].at));
    TRY(session_run(h->session, h->update, NULL, NULL, 0));
    session_advance(h->session);
    add_results(&h->results, &root->results);
    h->results.last_loss = root->results.loss / (double)batch;
    return CORNU_OK;
}

cornu_status shards_results(shards *h, step_results *out, bool reset)
{
    *out = h->results;
    if (reset)
        h->results = (step_results){.samples = 0};
    return CORNU_OK;
}
