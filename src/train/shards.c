#include "train/shards.h"
#include "base/clock.h"
#include "base/memory.h"
#include "model/traced_loss.h"
#include "parallel/divided_updates.h"
#include "parallel/floats.h"
#include <cornu/parallel.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS_MOST = 10 };

/* A node of the tree: numbers that were added, and sums of the losses and metrics. */
typedef struct node {
    float *values; /* in how.layout */
    step_results results;
} node;

struct shards {
    session *session;
    cornu_ranks *ranks; /* or NULL */
    distribution how;
    int64_t first, own; /* this rank's */
    int levels;         /* own is 1 << levels */
    threads *pool;
    session_plan *update;
    divided_updates *divided;    /* NULL: each rank updates all */
    ranks_numbers numbers;       /* numbers that the ranks all-reduce in a step */
    float *states;               /* the changed variables before the step, in that layout */
    node nodes[LEVELS_MOST + 1]; /* the first is the first leaf's, and then the sum's */
    node *waiting[LEVELS_MOST];  /* [levels] sums that wait for their right sibling */
    node *shard;                 /* current leaf */
    node *root;                  /* after the last leaf: the sum over this rank */
    bool joined;                 /* all other ranks have joined, too */
    int taken;                   /* number of the leaf's parts taken */
    float share;                 /* the leaf's, of the batch, by which its numbers are multiplied */
    float last_share;            /* the sum is, where all leaves have the same; else 1 */
    step_results results, shown; /* since the last reset; as they were read last */
    double began;
    shards_times times;
};

/* ---- memory ------------------------------------------------------------------------------ */

/* The ranks that read the numbers in shared memory: NULL if they are sent as bfloat16. */
static cornu_ranks *readers(const shards *h)
{
    return h->how.bf16 ? NULL : h->ranks;
}

/* Each node has its numbers; none is touched before it is used. */
static cornu_status make_nodes(shards *h)
{
    char need[16], left[16];
    double bytes = (double)h->how.layout.values * sizeof(float);
    double needed = bytes * (h->levels + 2);
    int64_t available = memory_available();
    if (h->states)
        return CORNU_OK;
    if (available >= 0 && needed > (double)available)
        return status_fail(CORNU_OUT_OF_MEMORY,
                           "shards: adding the gradients of %jd needs %s of memory; %s is free",
                           (intmax_t)h->how.shards, memory_human(needed, need),
                           memory_human((double)available, left));
    TRY(ranks_block_new(readers(h), (size_t)bytes + 1, "gradients of shards", &h->nodes->values));
    for (int i = 1; i <= h->levels; i++)
        TRY(memory_new_aligned((size_t)bytes + 1, "gradients of shards", &h->nodes[i].values));
    return memory_new_aligned((size_t)bytes + 1, "statistics before a step", &h->states);
}

/* ---- opening ----------------------------------------------------------------------------- */

/* Means of shards make that of the batch; sums over a shard's rows would need the batch's size. */
static cornu_status check_reductions(const cornu_model *m)
{
    for (int i = 0; i < m->output_count; i++)
        if (m->outputs[i].has_loss && m->outputs[i].loss.reduction == LOSS_REDUCTION_SUM)
            return status_fail(CORNU_UNSUPPORTED,
                               "shards: found a loss with the reduction sum; expected "
                               "sum_over_batch_size, or batches that are not divided");
    for (int i = 0; i < m->metric_count; i++)
        if (m->metrics[i].called)
            return status_fail(CORNU_UNSUPPORTED,
                               "shards: found the metric %s, which the caller computes from whole "
                               "batches; expected batches that are not divided",
                               metric_name(&m->metrics[i]));
    for (int i = 0; i < m->output_count; i++)
        if (m->outputs[i].traced && traced_loss_is_of_batch(m->outputs[i].traced))
            return status_fail(CORNU_UNSUPPORTED,
                               "shards: found the loss %s, which is of all samples of a batch "
                               "together; expected a loss of each sample, or batches that are not "
                               "divided",
                               traced_loss_name(m->outputs[i].traced));
    for (int i = 0; i < m->layer_count; i++)
        if (m->layers[i]->kind->changes_weights)
            return status_fail(CORNU_UNSUPPORTED,
                               "shards: found %s (%s), which changes a weight before it computes; "
                               "expected batches that are not divided",
                               m->layers[i]->name, m->layers[i]->kind->name);
    return CORNU_OK;
}

static cornu_status new_results(shards *h)
{
    const cornu_model *m = session_model(h->session);
    for (int i = 0; i <= h->levels; i++)
        TRY(results_new(m, &h->nodes[i].results));
    TRY(results_new(m, &h->results));
    return results_new(m, &h->shown);
}

/* Norms need whole weights, of which a rank then has a slice; sums and averages would have to be
   gathered, too. */
static cornu_status check_slices(const cornu_model *m, const shards_options *o)
{
    const optimizer *by = &m->optimizer;
    if (o->divides &&
        (by->id == OPTIMIZER_LAMB || by->id == OPTIMIZER_ADAFACTOR || by->id == OPTIMIZER_MUON))
        return status_fail(CORNU_UNSUPPORTED,
                           "shard-optimizer: found the optimizer %s, which needs whole weights; "
                           "expected another, or ranks that each update all weights",
                           optimizer_name(by));
    if (o->divides && (by->use_ema || by->gradient_accumulation_steps > 0))
        return status_fail(
            CORNU_UNSUPPORTED,
            "shard-optimizer: found %s; expected none, or ranks that each update all "
            "weights",
            by->use_ema ? "use_ema" : "gradient_accumulation_steps");
    for (int i = 0; o->divides && i < m->weight_count; i++)
        if (m->variables[i].constraint.kind != CONSTRAINT_NONE)
            return status_fail(CORNU_UNSUPPORTED,
                               "shard-optimizer: found a constraint of %s; expected none, or ranks "
                               "that each update all weights",
                               m->variables[i].name);
    return CORNU_OK;
}

cornu_status shards_open(session *s, const shards_options *o, shards **out)
{
    *out = NULL;
    if (o->count <= 1)
        return CORNU_OK;
    TRY(check_reductions(session_model(s)));
    TRY(check_slices(session_model(s), o));
    TRY(shards_check(o->count, o->count, o->ranks));
    shards *h;
    TRY(memory_new(1, sizeof *h, "shards", &h));
    h->session = s;
    h->ranks = o->ranks;
    h->how = (distribution){.shards = o->count,
                            .rank = cornu_ranks_number(o->ranks),
                            .ranks = cornu_ranks_count(o->ranks),
                            .bf16 = o->bf16,
                            .divides = o->divides && o->ranks};
    h->own = o->count / cornu_ranks_count(o->ranks);
    h->first = h->own * cornu_ranks_number(o->ranks);
    while (INT64_C(1) << h->levels < h->own)
        h->levels++;
    cornu_status status = threads_open(o->threads, &h->pool);
    if (status == CORNU_OK)
        status = new_results(h);
    if (status == CORNU_OK && h->how.divides)
        status = divided_updates_open(session_model(s), session_device(s), o->ranks, &h->how,
                                      &h->divided);
    session_distribute(s, &h->how);
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
    ranks_block_free(readers(h), h->nodes->values);
    for (int i = 1; i <= h->levels; i++)
        memory_free_aligned(h->nodes[i].values);
    for (int i = 0; i <= h->levels; i++)
        results_free(&h->nodes[i].results);
    results_free(&h->results);
    results_free(&h->shown);
    memory_free_aligned(h->states);
    divided_updates_close(h->divided);
    session_distribute(h->session, NULL);
    distribution_free(&h->how);
    threads_close(h->pool);
    free(h);
}

void shards_own(const shards *h, int64_t batch, int64_t *begin, int64_t *end)
{
    *begin = shard_begin(batch, h->how.shards, h->first);
    *end = shard_begin(batch, h->how.shards, h->first + h->own);
}

cornu_status shards_prepare(shards *h, int64_t batch, weighting weighted)
{
    for (int64_t i = h->first; i < h->first + h->own; i++) {
        int64_t samples = shard_samples(batch, h->how.shards, i);
        session_plan *ready;
        if (samples > 0)
            TRY(session_plan_scope(h->session, SCOPE_GRADIENTS, samples, weighted, &ready));
    }
    h->numbers = distribution_sums(&h->how, session_model(h->session));
    if (h->divided)
        TRY(divided_updates_prepare(h->divided));
    TRY(session_plan_scope(h->session, SCOPE_UPDATES, 0, WEIGHTS_NONE, &h->update));
    return make_nodes(h);
}

/* ---- between tree and device ------------------------------------------------------------- */

/* Variables that the forward pass changes: saved before the first shard, and restored before the
   others.
 */
static cornu_status keep_states(shards *h, bool first)
{
    device *d = session_device(h->session);
    for (int i = 0; i < h->how.layout.count; i++) {
        const shard_part *p = &h->how.layout.parts[i];
        if (p->gradient)
            continue;
        if (first)
            TRY(d->ops->read_variable(d, p->variable, h->states + p->at, p->count));
        else
            TRY(d->ops->write_variable(d, p->variable, h->states + p->at, p->count));
    }
    return CORNU_OK;
}

/* On a device that uses the host's memory, gradients are written directly to the shard's
   numbers. */
static cornu_status place_gradients(const shards *h, session_plan *in, float *values)
{
    device *d = session_device(h->session);
    for (int i = 0; d->ops->place && i < h->how.layout.count; i++) {
        const shard_part *p = &h->how.layout.parts[i];
        if (p->gradient)
            TRY(d->ops->place(d, in->prepared, in->plan->gradients[p->variable], values + p->at));
    }
    return CORNU_OK;
}

/* ---- the tree ---------------------------------------------------------------------------- */

static bool is_last(const shards *h, int64_t number)
{
    return number == h->own - 1;
}

static void start_tree(shards *h)
{
    h->shard = h->nodes;
    for (int i = 0; i < h->levels; i++)
        h->waiting[i] = &h->nodes[i + 1];
}

/* Leaf `number` is complete in h->shard up to value end-1: add all nodes of the tree that are
   now complete, from value `begin` on. The sum of the last leaf goes to the other ranks. */
static void add_values(const shards *h, int64_t number, int64_t begin, int64_t end)
{
    bool rounds = h->how.bf16 && end <= h->how.layout.gradient_values;
    float *sum = h->shard->values;
    for (int level = 0; number >> level & 1; level++) {
        float *left = h->waiting[level]->values;
        floats_add(h->pool, left + begin, sum + begin, end - begin, rounds);
        sum = left;
    }
    if (rounds && cornu_ranks_count(h->ranks) == 1 && is_last(h, number)) /* else ranks do so */
        floats_round(h->pool, sum + begin, end - begin);
    if (h->ranks && is_last(h, number))
        ranks_sum_ready(h->ranks, end);
}

/* The same for the sums of losses; then the node with the leaf's sum waits for its right
   sibling. The leaf's numbers have been added. */
static void add_leaf(shards *h, int64_t number)
{
    node *sum = h->shard;
    int level = 0;
    for (; number >> level & 1; level++) {
        results_add(&h->waiting[level]->results, &sum->results);
        sum = h->waiting[level];
    }
    if (level == h->levels) {
        h->root = sum;
        return;
    }
    node *free_now = h->waiting[level];
    h->waiting[level] = sum;
    if (sum == h->shard)
        h->shard = free_now;
    else
        h->waiting[level - 1] = free_now;
}

/* ---- one shard --------------------------------------------------------------------------- */

/* Take a part of the results of leaf `number`'s plan from the device, times the leaf's share of
   the batch. */
static cornu_status take_part(shards *h, session_plan *ready, int64_t number)
{
    device *d = session_device(h->session);
    shard_part *p = &h->how.layout.parts[h->taken++];
    float *to = h->shard->values + p->at;
    int64_t end =
        h->taken < h->how.layout.count ? h->how.layout.parts[h->taken].at : h->how.layout.values;
    if (!p->gradient)
        TRY(d->ops->read_variable(d, p->variable, to, p->count));
    else if (!d->ops->place)
        TRY(d->ops->read(d, ready->prepared, ready->plan->gradients[p->variable], to, p->count));
    floats_scale(h->pool, to, p->count, h->share);
    add_values(h, number, p->at, end);
    p->seconds = clock_seconds() - h->began;
    return CORNU_OK;
}

/* Progress of the last leaf while it runs. */
typedef struct progress {
    shards *shards;
    session_plan *plan;
    cornu_status status;
} progress;

static void take_made(void *context, int operations)
{
    progress *p = context;
    shards *h = p->shards;
    while (p->status == CORNU_OK && h->taken < h->how.layout.gradients &&
           p->plan->plan->collectives[h->taken].after <= operations)
        p->status = take_part(h, p->plan, h->own - 1);
}

/* Each gradient of the last leaf is read as soon as it is complete. */
static cornu_status run_watched(shards *h, session_plan *ready, const sample_block *samples,
                                const int64_t *index, int64_t first)
{
    device *d = session_device(h->session);
    progress p = {.shards = h, .plan = ready};
    d->ops->watch(d, ready->prepared, take_made, &p);
    cornu_status status = session_run(h->session, ready, samples, index, first);
    d->ops->watch(d, ready->prepared, NULL, NULL);
    return status == CORNU_OK ? p.status : status;
}

/* A shard without samples. */
static void take_nothing(shards *h, int64_t number)
{
    memset(h->shard->values, 0, (size_t)h->how.layout.values * sizeof(float));
    add_values(h, number, 0, h->how.layout.gradient_values);
    add_values(h, number, h->how.layout.gradient_values, h->how.layout.values);
}

/* Compute leaf `number` of this rank's tree into h->shard, and add the nodes that it completes. */
static cornu_status run_shard(shards *h, const sample_block *samples, const int64_t *index,
                              int64_t batch, int64_t number)
{
    const device *d = session_device(h->session);
    int64_t begin = shard_begin(batch, h->how.shards, h->first + number),
            count = shard_samples(batch, h->how.shards, h->first + number);
    session_plan *ready;
    results_clear(&h->shard->results);
    h->taken = 0;
    h->share = shard_scale(batch, h->how.shards, h->first + number);
    if (count == 0) {
        take_nothing(h, number);
        return CORNU_OK;
    }
    TRY(session_plan_scope(h->session, SCOPE_GRADIENTS, count, samples_weighting(samples), &ready));
    TRY(place_gradients(h, ready, h->shard->values));
    if (d->ops->watch && is_last(h, number))
        TRY(run_watched(h, ready, samples, index + begin, begin));
    else
        TRY(session_run(h->session, ready, samples, index + begin, begin));
    while (h->taken < h->how.layout.count)
        TRY(take_part(h, ready, number));
    step_results results;
    TRY(session_results(h->session, &results, true));
    results_copy(&h->shard->results, &results);
    return CORNU_OK;
}

/* ---- the step ---------------------------------------------------------------------------- */

static cornu_status give_part(shards *h, const shard_part *p, const float *values)
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
    cornu_status status = shards_prepare(h, batch, samples_weighting(samples));
    h->last_share = shard_sum_scale(batch, h->how.shards);
    h->began = clock_seconds();
    start_tree(h);
    for (int64_t i = 0; i < h->own && status == CORNU_OK; i++) {
        bool sums = h->ranks && is_last(h, i);
        TRY(keep_states(h, i == 0));
        if (sums)
            ranks_sum_begin(h->ranks, h->nodes->values, &h->numbers, true);
        status = run_shard(h, samples, index, batch, i);
        h->times.made = clock_seconds() - h->began;
        if (sums)
            status = ranks_sum_end(h->ranks, status, &h->joined);
        add_leaf(h, i);
    }
    h->times.waited = clock_seconds() - h->began - h->times.made;
    return status;
}

/* Decline an all-reduce that the other ranks have begun or will begin. */
static cornu_status decline(shards *h)
{
    bool all;
    ranks_sum_begin(h->ranks, NULL, &(ranks_numbers){.count = 0}, false);
    return ranks_sum_end(h->ranks, CORNU_OK, &all);
}

static cornu_status undo(shards *h, shards_vote *agreed)
{
    h->root = NULL;
    *agreed = VOTE_NOT;
    return keep_states(h, false);
}

cornu_status shards_agree(shards *h, shards_vote vote, shards_vote *agreed)
{
    *agreed = vote;
    if (!h->ranks)
        return CORNU_OK;
    if (vote == VOTE_NOT)
        return decline(h);
    if (h->root && !h->joined)
        return undo(h, agreed);
    double begin = clock_seconds();
    cornu_status status = vote_share(h->ranks, vote, h->results.table_count,
                                     h->root ? &h->root->results : NULL, agreed);
    h->times.waited += clock_seconds() - begin;
    return status;
}

/* Divided gradients are multiplied later, part by part. */
static void scale_sum(const shards *h, float *values)
{
    int64_t later = h->numbers.divided;
    floats_scale(h->pool, values + later, h->how.layout.values - later, h->last_share);
}

static cornu_status run_updates(shards *h, float *values)
{
    if (!h->divided)
        return session_run(h->session, h->update, NULL, NULL, 0);
    const summed_gradients gradients = {.values = values,
                                        .rest = ranks_rest(h->ranks, &h->numbers, values),
                                        .factor = h->numbers.divided ? h->last_share : 1,
                                        .pool = h->pool};
    double begin = clock_seconds();
    cornu_status status = CORNU_OK;
    if (divided_updates_begin(h->divided, h->update->plan, h->update->prepared, &gradients))
        status = session_run(h->session, h->update, NULL, NULL, 0);
    h->times.updated = clock_seconds() - begin;
    return divided_updates_end(h->divided, status);
}

cornu_status shards_end(shards *h, int64_t batch)
{
    node *root = h->root;
    double begin = clock_seconds();
    h->root = NULL;
    TRY(place_gradients(h, h->update, root->values));
    scale_sum(h, root->values);
    for (int i = 0; i < h->how.layout.count; i++)
        TRY(give_part(h, &h->how.layout.parts[i], root->values + h->how.layout.parts[i].at));
    h->times.updated = 0;
    TRY(run_updates(h, root->values));
    session_advance(h->session);
    results_add(&h->results, &root->results);
    h->results.last_loss = root->results.loss / (double)batch;
    h->times.applied = clock_seconds() - begin;
    return CORNU_OK;
}

cornu_status shards_gather(shards *h)
{
    return h->divided ? divided_updates_gather(h->divided) : CORNU_OK;
}

shards_times shards_last_times(const shards *h)
{
    return h->times;
}

const ranks_numbers *shards_numbers(const shards *h)
{
    return &h->numbers;
}

const shard_layout *shards_layout(const shards *h)
{
    return &h->how.layout;
}

cornu_status shards_results(shards *h, step_results *out, bool reset)
{
    results_copy(&h->shown, &h->results);
    *out = h->shown;
    if (reset)
        results_clear(&h->results);
    return CORNU_OK;
}
