/* cornu_fit: options, data, callbacks, session, loop. */
#include "base/files.h"
#include "base/memory.h"
#include "data/sets/datasets.h"
#include "exchange/checkpoint.h"
#include "train/fit_run.h"
#include "train/input_pipeline.h"
#include <cornu/parallel.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---------------------------------------------------------------------------- */

static cornu_status read_options(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    TRY(fit_check_options(o));
    if (o->section)
        TRY(doc_parse(o->section, strlen(o->section), "fit", &run->section));
    TRY(fit_spec_read(o->section ? run->section : run->state.model->fit, &run->spec));
    TRY(fit_settle(run));
    run->state.more_epochs =
        o->resume && run->spec.epochs > run->state.model->training.position.epochs;
    return CORNU_OK;
}

/* ---- callbacks and files ----------------------------------------------------------------- */

static void name_logs(fit_run *run)
{
    fit_logs *logs = &run->state.logs;
    scores_open(run->state.model, &run->scores);
    scores_open(run->state.model, &run->validation_scores);
    run->state.step_logs = run->scores.all_count;
    for (int i = 0; i < run->scores.all_count; i++)
        logs->name[logs->count++] = run->scores.all_name[i];
    for (int i = 0; run->validates && i < run->scores.all_count; i++) {
        snprintf(run->val_names[i], sizeof run->val_names[i], "val_%s", run->scores.all_name[i]);
        logs->name[logs->count++] = run->val_names[i];
    }
    logs->name[logs->count++] = "learning_rate";
}

static cornu_status open_history(fit_run *run)
{
    const char *names[HISTORY_COLUMNS_MAX];
    int count = run->state.logs.count;
    memcpy(names, run->state.logs.name, (size_t)count * sizeof *names);
    names[count] = "seconds";
    return history_open(names, count + 1, &run->history);
}

static cornu_status open_callbacks(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    name_logs(run);
    TRY(callbacks_open(run->spec.callbacks, &run->state.callbacks));
    if (o->output && !callbacks_write_files(run->state.callbacks))
        fit_notice(&run->state, "output changes nothing: the recipe itself names no files");
    run->state.mute = run->state.callbacks->mute = cornu_ranks_number(o->ranks) > 0;
    if (o->tensorboard)
        TRY(callbacks_add_tensorboard(run->state.callbacks, o->tensorboard));
    run->state.validation = run->validates ? &run->validation : NULL;
    run->state.sharded = run->spec.shards > 1;
    if (o->resume)
        TRY(fit_restore_callbacks(run));
    if (!o->resume && o->callback_state)
        TRY(callbacks_from_text(run->state.callbacks, o->callback_state));
    if (o->output && *o->output)
        TRY(folder_make(o->output));
    TRY(callbacks_run(run->state.callbacks, CALLBACK_FIT_BEGIN, &run->state));
    run->each_step = o->log_steps || o->each_step || callbacks_every_step(run->state.callbacks);
    return CORNU_OK;
}

/* Check that the run's files can be written. */
static cornu_status check_files(const fit_run *run)
{
    const cornu_fit_options *o = run->options;
    if (o->save) {
        TRY(checkpoint_check(o->save, "save"));
        TRY(checkpoint_check_model(run->state.model));
    }
    return o->log ? csv_check(&(csv_location){.path = o->log}) : CORNU_OK;
}

/* ---- plans ------------------------------------------------------------------------------- */

static cornu_status prepare_step(fit_run *run, int64_t batch)
{
    session_plan *ready;
    if (run->state.shards)
        return shards_prepare(run->state.shards, batch, fit_weighting(run));
    return session_plan_for(run->state.session, PLAN_TRAIN, batch, fit_weighting(run), &ready);
}

static bool recomputes(const plan *p)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].recomputed)
            return true;
    return false;
}

/* Shards have plans of several sizes: nothing is said of these. */
static cornu_status notice_recomputation(fit_run *run)
{
    session_plan *ready;
    if (!run->spec.recompute || run->state.shards)
        return CORNU_OK;
    TRY(session_plan_for(run->state.session, PLAN_TRAIN, run->batch, fit_weighting(run), &ready));
    if (!recomputes(ready->plan))
        fit_notice(&run->state, "recompute: found no activations that are worth computing again: "
                                "the steps are as without it");
    return CORNU_OK;
}

/* Prepare all plans of the run, so that a lack of memory is found now. */
static cornu_status prepare_plans(fit_run *run)
{
    session_plan *ready;
    const evaluation *v = &run->validation;
    TRY(prepare_step(run, run->batch));
    TRY(notice_recomputation(run));
    int64_t rest = run->state.data->stream ? 0 : input_samples(&run->input) % run->batch;
    if (rest)
        TRY(prepare_step(run, rest));
    if (!run->validates)
        return CORNU_OK;
    const weighting weighs = samples_weighting(&v->data->block[v->split]);
    TRY(session_plan_for(run->state.session, PLAN_EVALUATE, v->batch, weighs, &ready));
    if (v->count % v->batch)
        TRY(session_plan_for(run->state.session, PLAN_EVALUATE, v->count % v->batch, weighs,
                             &ready));
    return CORNU_OK;
}

/* ---- the session ------------------------------------------------------------------------- */

static void set_position(fit_run *run)
{
    position *p = &run->state.model->training.position;
    if (!run->options->resume) {
        double factor = run->state.model->initialized ? p->learning_rate_factor : 1;
        *p = (position){.iterations = p->iterations,
                        .epoch = run->spec.initial_epoch,
                        .learning_rate_factor = factor};
    }
    p->seed = (uint64_t)run->spec.seed;
    p->batch = run->spec.batch;
    p->steps_per_epoch = run->spec.steps_per_epoch;
    p->shards = run->spec.shards;
    p->gradients_bf16 = run->gradients_bf16;
    p->train_samples = run->train.count;
    p->epochs = run->epochs;
}

/* As Keras trains both without a word or with a warning alone. */
static void notice_trainable(const fit_run *run)
{
    const cornu_model *m = run->state.model;
    if (model_trained_count(m) == 0)
        fit_notice(&run->state,
                   "%s: the model does not have any trainable weights: none of them changes",
                   m->name);
    if (model_trainable_waits(m))
        fit_notice(&run->state,
                   "%s: trainable: found layers that were frozen, or are to be trained, since the "
                   "model was compiled; the next compile counts",
                   m->name);
}

static cornu_status start_session(fit_run *run)
{
    data_spec data;
    TRY(data_spec_read(run->state.model->data, &data));
    session_options options = {.where = run->options->where, .recompute = run->spec.recompute};
    options.augment = data.augment;
    if (!run->options->resume)
        TRY(features_learn(run->state.model, &run->input));
    notice_trainable(run);
    TRY(session_open(run->state.model, &options, &run->state.session));
    session_call_metrics(
        run->state.session,
        (called_metrics){.on_outputs = run->options->on_outputs, .user = run->options->user});
    const device *d = session_device(run->state.session);
    if (d->ops->notice && *d->ops->notice(d))
        fit_notice(&run->state, "%s", d->ops->notice(d));
    TRY(fit_upload(run));
    shards_options of_shards = {.count = run->spec.shards,
                                .ranks = run->options->ranks,
                                .threads = run->options->where.threads,
                                .bf16 = run->gradients_bf16,
                                .divides = run->spec.shard_optimizer};
    TRY(shards_open(run->state.session, &of_shards, &run->state.shards));
    TRY(fit_open_share(run));
    TRY(prepare_plans(run));
    TRY(fit_check_ranks(run));
    fit_forecast_open(run);
    TRY(open_history(run));
    return fit_log_open(run);
}

/* The model records the tuning that it is trained with. If a resumed run uses another tuning,
   its roundings differ; that is allowed, with a notice. */
static cornu_status note_tuning(fit_run *run)
{
    training_state *t = &run->state.model->training;
    device_tuning now;
    TRY(session_tuning(run->state.session, &now));
    if (run->options->resume && t->tuning && *now.text && strcmp(t->tuning, now.text) != 0)
        fit_notice(&run->state,
                   "resume: found the tuning \"%s\" in the model file; the device's is \"%s\" "
                   "(%s): the run goes on, but not with the bits that it would have had",
                   t->tuning, now.text, now.source);
    return memory_replace_string(*now.text ? now.text : NULL, &t->tuning);
}

/* A new run clears the state of an earlier run's callbacks. The class names come from the data,
   and the data's location is recorded as a hint. */
static cornu_status begin(fit_run *run)
{
    cornu_model *m = run->state.model;
    if (!run->options->resume)
        training_state_forget_callbacks(&m->training);
    TRY(classes_name(m, run->state.data));
    TRY(note_tuning(run));
    return training_state_set_data(&m->training,
                                   run->state.data->set ? run->state.data->set->name : NULL,
                                   run->state.data->origin);
}

/* The device has the slots; a copy on the host would only use memory. */
static void discard_slots(cornu_model *m)
{
    for (int i = m->weight_count; i < m->variable_count; i++)
        memory_discard(m->variables[i].value, (size_t)m->variables[i].count * sizeof(float));
}

/* From now on the session owns the weights. If this fails, the model is unchanged. */
static cornu_status open_session(fit_run *run)
{
    cornu_model *m = run->state.model;
    const position before = m->training.position;
    const bool initialized = m->initialized;
    set_position(run);
    cornu_status status = start_session(run);
    if (status == CORNU_OK)
        status = begin(run);
    if (status != CORNU_OK) {
        m->training.position = before;
        m->initialized = initialized;
        return status;
    }
    discard_slots(m);
    session_own_weights(run->state.session);
    return CORNU_OK;
}

/* ---- the run ----------------------------------------------------------------------------- */

static void close_run(fit_run *run)
{
    shards_close(run->state.shards);
    session_close(run->state.session);
    callbacks_close(run->state.callbacks);
    doc_free(run->section);
    class_weights_free(&run->class_weights);
    classes_free(&run->classes);
    input_close(&run->input);
    fit_close_share(run);
    (void)csv_close(run->log); /* each row was flushed when it was written */
}

/* Copy the state into the model. Its slots were only on the device: they are allocated only now,
   after the plans are freed. The message remains that of the first failure; after a device's
   failure it also says where training can continue. */
static cornu_status finish(fit_run *run, cornu_status status)
{
    const cornu_model *m = run->state.model;
    char why[PRINTABLE_MOST];
    snprintf(why, sizeof why, "%s", cornu_last_error());
    if (status == CORNU_NOT_A_NUMBER) /* on all ranks */
        (void)fit_gather(&run->state);
    session_release_plans(run->state.session);
    cornu_status pulled =
        session_pull(run->state.session, run->state.pulled ? m->weight_count : 0,
                     m->training.position.slots_incomplete ? m->weight_count : m->variable_count);
    if (status == CORNU_OK && pulled != CORNU_OK)
        snprintf(why, sizeof why, "%s", cornu_last_error());
    status = status == CORNU_OK ? pulled : status;
    bool of_device = status == CORNU_DEVICE || status == CORNU_OUT_OF_MEMORY;
    if (of_device && run->saved && run->options->save)
        return status_fail(status, "%s; %s, saved before, holds epoch %jd of %jd", why,
                           run->options->save, (intmax_t)run->saved_epoch, (intmax_t)run->epochs);
    return status == CORNU_OK ? CORNU_OK : status_fail(status, "%s", why);
}

/* All that can be wrong is found before a weight changes. */
static cornu_status fit(fit_run *run)
{
    TRY(read_options(run));
    TRY(fit_open_data(run));
    TRY(open_callbacks(run));
    TRY(check_files(run));
    TRY(open_session(run));
    return finish(run, fit_loop(run));
}

/* Only rank 0 writes files. */
static void leave_files_to_rank_0(cornu_fit_options *own)
{
    if (cornu_ranks_number(own->ranks) == 0)
        return;
#define LEAVE(options, type, field, ...) (options)->field = 0;
    CORNU_FILE_OPTIONS(LEAVE, own)
#undef LEAVE
    own->save_stopped = NULL;
}

cornu_status cornu_fit(cornu_model *model, const cornu_data *data, const cornu_fit_options *options,
                       cornu_history **history)
{
    if (history)
        *history = NULL;
    if (!model || !data)
        return status_fail(CORNU_INVALID, "cornu_fit: found NULL; expected a model and data");
    cornu_fit_options own, *const o = &own;
    cornu_status read = STRUCT_READ("cornu_fit_options", options, &own);
    TRY(cornu_ranks_end(o->ranks, read));
    leave_files_to_rank_0(&own);
    TRY(cornu_ranks_end(o->ranks, session_check_free(model)));
    fit_run run = {.options = o,
                   .pass = -1,
                   .state = {.model = model,
                             .data = data,
                             .resumed = o->resume,
                             .output = o->output,
                             .confined = !o->section,
                             .saving = {.on_write = o->on_save, .user = o->user},
                             .on_notice = o->on_notice,
                             .user = o->user}};
    double began = clock_seconds();
    cornu_status status = fit(&run);
    bool together =
        status == CORNU_STOPPED && run.agreed != VOTE_GO; /* the other ranks stop, too */
    if (!together)
        status = cornu_ranks_end(o->ranks, status);
    bool trained = status == CORNU_OK || status == CORNU_STOPPED || status == CORNU_NOT_A_NUMBER;
    if (history && trained && run.history)
        (void)callbacks_to_text(run.state.callbacks, history_callbacks(run.history));
    close_run(&run);
    if (run.history)
        history_took(run.history, clock_seconds() - began);
    if (history && trained)
        *history = run.history;
    else
        cornu_history_close(run.history);
    return status;
}

cornu_status cornu_fit_check(const cornu_model *model, const cornu_data *data)
{
    sample_block block;
    class_numbers numbers;
    if (!model || !data)
        return status_fail(CORNU_INVALID, "cornu_fit_check: found NULL; expected a model and data");
    TRY(data_samples_for(data, CORNU_TRAIN, model, &block));
    TRY(classes_match(model, data, CLASSES_TO_TRAIN, &numbers));
    cornu_status status = classes_renumber(&numbers, &block);
    if (status == CORNU_OK && !data->stream)
        status = data_check_samples(model, &block, "training samples");
    classes_free(&numbers);
    return status;
}
