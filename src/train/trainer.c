/* Training, testing and predicting batch by batch, by the caller's loop. */
#include "base/memory.h"
#include "data/data.h"
#include "train/evaluate.h"
#include "train/fit_spec.h"
#include <cornu/trainer.h>
#include <stdlib.h>

struct cornu_trainer {
    cornu_model *model;
    session *session;
    int64_t *index; /* 0, 1, ... */
    int64_t capacity;
};

cornu_status cornu_trainer_open(cornu_model *model, const cornu_where *where,
                                cornu_trainer **trainer)
{
    if (!model || !trainer)
        return status_fail(CORNU_INVALID, "cornu_trainer_open: found NULL; expected a model and a "
                                          "place for the trainer");
    *trainer = NULL;
    TRY(session_check_free(model));
    cornu_trainer *t;
    TRY(memory_new(1, sizeof *t, "trainer", &t));
    t->model = model;
    cornu_status status = CORNU_OK;
    if (!model->initialized && model->training.position.seed == 0)
        status = model_default_seed(model, &model->training.position.seed);
    session_options opened = {.where = where ? *where : (cornu_where){.device = NULL}};
    if (status == CORNU_OK)
        status = model_recomputes(model, false, &opened.recompute);
    if (status == CORNU_OK)
        status = session_open(model, &opened, &t->session);
    if (status != CORNU_OK) {
        cornu_trainer_close(t);
        return status;
    }
    session_own_weights(t->session);
    *trainer = t;
    return CORNU_OK;
}

void cornu_trainer_close(cornu_trainer *t)
{
    if (!t)
        return;
    session_close(t->session); /* before index: a device may still read it */
    free(t->index);
    free(t);
}

static cornu_status ensure_index(cornu_trainer *t, int64_t count)
{
    if (count <= t->capacity)
        return CORNU_OK;
    free(t->index);
    t->index = NULL;
    t->capacity = 0;
    TRY(memory_new((size_t)count, sizeof *t->index, "order of the samples", &t->index));
    input_order(0, 0, false, count, t->index);
    t->capacity = count;
    return CORNU_OK;
}

/* The batch as the model sees it. */
static cornu_status block_for(cornu_trainer *t, const cornu_arrays *batch, sample_block *block)
{
    cornu_arrays own;
    TRY(STRUCT_READ("batch", batch, &own));
    cornu_data data = {.scaled = own.scale > 0};
    TRY(data_block_of(&own, "batch", &data.block[CORNU_TRAIN]));
    TRY(data_samples_for(&data, CORNU_TRAIN, t->model, block));
    return data_check_samples(t->model, block, "batch");
}

static cornu_status run(cornu_trainer *t, plan_mode mode, const cornu_arrays *batch,
                        cornu_scores *scores)
{
    sample_block block;
    session_plan *ready;
    step_results results;
    double sums[MODEL_METRICS_MAX + 1];
    if (!t || !batch)
        return status_fail(CORNU_INVALID, "found NULL; expected a trainer and a batch");
    if (scores)
        TRY(STRUCT_CHECK("cornu_scores", scores));
    TRY(block_for(t, batch, &block));
    TRY(session_plan_for(t->session, mode, block.count, samples_weighting(&block), &ready));
    TRY(ensure_index(t, block.count));
    TRY(session_step(t->session, ready, &block, t->index));
    TRY(session_results(t->session, &results, false)); /* and wait: the batch is the caller's */
    if (!scores)
        return CORNU_OK;
    cornu_scores own;
    scores_open(t->model, &own);
    results_sums(t->model, &results, sums);
    scores_from_sums(t->model, sums, results.tables, results.samples, &own);
    return STRUCT_WRITE("cornu_scores", scores, &own);
}

cornu_status cornu_trainer_train(cornu_trainer *trainer, const cornu_arrays *batch,
                                 cornu_scores *scores)
{
    return run(trainer, PLAN_TRAIN, batch, scores);
}

cornu_status cornu_trainer_test(cornu_trainer *trainer, const cornu_arrays *batch,
                                cornu_scores *scores)
{
    return run(trainer, PLAN_EVALUATE, batch, scores);
}

cornu_status cornu_trainer_predict(cornu_trainer *trainer, const float *inputs, int64_t count,
                                   float *outputs)
{
    static const cornu_run_options none = {.size = sizeof none};
    if (!trainer || !inputs || !outputs || count < 1)
        return status_fail(CORNU_INVALID, "cornu_trainer_predict: found NULL or no samples; "
                                          "expected a trainer, inputs and outputs");
    return session_predict(trainer->session, &none, inputs, count, count, outputs);
}

void cornu_trainer_on_outputs(cornu_trainer *trainer,
                              void (*on_outputs)(void *user, const cornu_batch_outputs *batch),
                              void *user)
{
    if (trainer)
        session_call_metrics(trainer->session,
                             (called_metrics){.on_outputs = on_outputs, .user = user});
}

cornu_status cornu_trainer_reset(cornu_trainer *trainer)
{
    step_results results;
    if (!trainer)
        return status_fail(CORNU_INVALID, "cornu_trainer_reset: found NULL; expected a trainer");
    return session_results(trainer->session, &results, true);
}

cornu_status cornu_trainer_pull(cornu_trainer *trainer)
{
    if (!trainer)
        return status_fail(CORNU_INVALID, "cornu_trainer_pull: found NULL; expected a trainer");
    return session_pull(trainer->session, 0, trainer->model->variable_count);
}
