/* The plans of a run: those of its batches, or of their shards, and of its validation. */
#include "train/fit_run.h"

static bool is_weighted(const fit_run *run)
{
    return run->train.weight || run->class_weights.of;
}

static cornu_status prepare_step(fit_run *run, int64_t batch)
{
    session_plan *ready;
    if (run->shards)
        return shards_prepare(run->shards, batch, is_weighted(run));
    return session_plan_for(run->session, PLAN_TRAIN, batch, is_weighted(run), &ready);
}

cornu_status fit_prepare_plans(fit_run *run)
{
    session_plan *ready;
    const evaluation *v = &run->validation;
    TRY(prepare_step(run, run->batch));
    int64_t rest = run->data->stream ? 0 : feed_samples(&run->feed) % run->batch;
    if (rest)
        TRY(prepare_step(run, rest));
    if (!run->validates)
        return CORNU_OK;
    const bool weighs = v->data->block[v->split].weight != NULL;
    TRY(session_plan_for(run->session, PLAN_EVALUATE, v->batch, weighs, &ready));
    if (v->count % v->batch)
        TRY(session_plan_for(run->session, PLAN_EVALUATE, v->count % v->batch, weighs, &ready));
    return CORNU_OK;
}

cornu_status fit_train_plan(const fit_run *run, session_plan **out)
{
    if (!run->shards)
        return session_plan_for(run->session, PLAN_TRAIN, run->batch, is_weighted(run), out);
    int64_t largest = (run->batch + run->spec.shards - 1) / run->spec.shards;
    return session_plan_scope(run->session, SCOPE_GRADIENTS, largest, is_weighted(run), out);
}
