#include "base/memory.h"
#include "base/number.h"
#include "base/show.h"
#include "data/data.h"
#include "exchange/checkpoint.h"
#include "train/fit_run.h"
#include "train/op_times.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table of --log ------------------------------------------------------------------ */

/* The logs without learning_rate: loss, METRIC..., val_loss, val_METRIC... */
static int logged(const fit_run *run)
{
    return run->state.logs.count - 1;
}

cornu_status fit_log_open(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    const position *p = &run->state.model->training.position;
    text header = {0};
    char *line;
    if (!o->log)
        return CORNU_OK;
    text_add(&header, o->log_steps ? "step,loss" : "epoch");
    for (int i = 0; !o->log_steps && i < logged(run); i++)
        csv_add_name(&header, run->state.logs.name[i]);
    text_add(&header, o->log_steps ? "" : ",seconds");
    TRY(text_take(&header, &line));
    double last = (double)(o->log_steps ? p->iterations : p->epoch);
    cornu_status status =
        csv_open(&(csv_location){.path = o->log}, line, o->resume, last, &run->log);
    free(line);
    return status;
}

static cornu_status log_step(fit_run *run, double value)
{
    char row[64 + NUMBER_SIZE], number[NUMBER_SIZE];
    if (!run->log || !run->options->log_steps)
        return CORNU_OK;
    snprintf(row, sizeof row, "%jd,%s", (intmax_t)run->state.model->training.position.iterations,
             number_print(number, "%.9g", value));
    return csv_add(run->log, row);
}

static cornu_status log_epoch(fit_run *run, double seconds)
{
    text row = {0};
    char *line, number[NUMBER_SIZE];
    if (!run->log || run->options->log_steps)
        return CORNU_OK;
    text_add(&row, "%jd", (intmax_t)run->state.epoch + 1);
    for (int i = 0; i < logged(run); i++)
        text_add(&row, ",%s", number_print(number, "%.9g", run->state.logs.value[i]));
    text_add(&row, ",%s", number_print(number, "%.3f", seconds));
    TRY(text_take(&row, &line));
    cornu_status status = csv_add(run->log, line);
    free(line);
    return status;
}

/* ---- results ---------------------------------------------------------------------------- */

static cornu_status take_results(fit_run *run, step_results *results, bool reset)
{
    return run->state.shards ? shards_results(run->state.shards, results, reset)
                             : session_results(run->state.session, results, reset);
}

/* The tables so far, or what `results` has more of them. */
static void take_tables(training_state *t, const step_results *results, bool more)
{
    if (!more)
        training_state_clear_tables(t);
    for (int i = 0; i < t->table_count; i++)
        t->tables[i] += results->tables[i];
}

static cornu_status read_results(fit_run *run, step_results *results)
{
    training_state *training = &run->state.model->training;
    position *p = &training->position;
    double sums[MODEL_METRICS_MAX + 1] = {0};
    TRY(take_results(run, results, run->carry));
    if (run->carry && p->step < run->steps)
        session_continue_metrics(run->state.session);
    run->gathered = results->gather_seconds + (run->carry ? run->gathered : 0);
    results_sums(run->state.model, results, sums);
    if (run->carry) {
        for (int i = 0; i <= run->state.model->sum_count; i++)
            p->totals[i] += sums[i];
        p->samples += results->samples;
    } else {
        memcpy(p->totals, sums, sizeof sums);
        p->samples = results->samples;
    }
    take_tables(training, results, run->carry);
    scores_from_sums(run->state.model, p->totals, training->tables, p->samples, &run->scores);
    fit_forecast_steps(run);
    if (results->not_finite && !run->nan_noticed) {
        run->nan_noticed = true;
        fit_notice(&run->state,
                   "the loss is no longer a finite number (by step %jd of epoch %jd): a smaller "
                   "learning_rate may help; the callback terminate_on_nan would stop here",
                   (intmax_t)p->step, (intmax_t)(p->epoch + 1));
    }
    return CORNU_OK;
}

/* Seconds spent in the current epoch, by all runs. */
static double epoch_seconds(const fit_run *run)
{
    return run->resumed_seconds + (clock_seconds() - run->began);
}

/* `ended`: the epoch has. */
static cornu_progress progress_now(const fit_run *run, int64_t epoch, int64_t step, bool ended)
{
    cornu_progress now = {.epoch = epoch,
                          .epochs = run->epochs,
                          .step = step,
                          .steps = run->steps == STEPS_UNKNOWN ? run->steps_shown : run->steps,
                          .seconds = epoch_seconds(run),
                          .step_loss = NAN,
                          .scores = &run->scores,
                          .learning_rate = run->learning_rate,
                          .gather_seconds = run->gathered,
                          .resumed_step = run->resumed_step,
                          .resumed_seconds = run->resumed_seconds};
    fit_forecast_tell(run, ended, &now);
    return now;
}

/* After a step: read the results if a callback needs them, and pass them on. */
static cornu_status report_step(fit_run *run)
{
    const position *p = &run->state.model->training.position;
    const cornu_fit_options *o = run->options;
    bool last = p->step == run->steps;
    bool show =
        o->on_step && (last || run->each_step || clock_seconds() - run->shown >= PROGRESS_SECONDS);
    if (!show && !last && !run->each_step && !run->carry)
        return CORNU_OK;
    step_results results;
    TRY(read_results(run, &results));
    TRY(log_step(run, results.last_loss));
    if (show) {
        cornu_progress progress = progress_now(run, p->epoch, p->step, false);
        progress.step_loss = results.last_loss;
        run->shown = clock_seconds();
        o->on_step(o->user, &progress);
    }
    run->state.step_loss = results.last_loss;
    memcpy(run->state.logs.value, run->scores.all_value,
           (size_t)run->scores.all_count * sizeof *run->scores.all_value);
    run->state.model->training.position.seconds =
        epoch_seconds(run); /* a callback may save the model */
    return callbacks_run(run->state.callbacks, CALLBACK_STEP_END, &run->state);
}

/* ---- steps ------------------------------------------------------------------------------ */

cornu_status fit_upload(fit_run *run)
{
    device *d = session_device(run->state.session);
    const cornu_data *validation = run->validation.data;
    if (!d->ops->upload || run->uploaded || run->state.data->stream ||
        !data_is_whole(run->state.data))
        return CORNU_OK;
    run->uploaded = true;
    TRY(d->ops->upload(d, &run->train));
    if (run->validates && !validation->stream && data_is_whole(validation))
        TRY(d->ops->upload(d, &validation->block[run->validation.split]));
    return CORNU_OK;
}

static cornu_status set_pass(fit_run *run, int64_t pass)
{
    if (run->pass == pass)
        return CORNU_OK;
    device *d = session_device(run->state.session);
    TRY(d->ops->synchronize(d)); /* steps under way still read the old order */
    TRY(fit_upload(run));
    input_begin(&run->input, run->state.model->training.position.seed, pass, run->spec.shuffle);
    session_set_pass(run->state.session, pass);
    run->pass = pass;
    return CORNU_OK;
}

/* The end of a pass gives the number of batches per pass. */
static cornu_status end_pass(fit_run *run)
{
    int64_t samples = input_samples(&run->input);
    TRY(fit_check_samples(run, samples));
    run->per_pass = (samples + run->batch - 1) / run->batch;
    if (!run->spec.steps_per_epoch)
        run->steps = run->per_pass;
    return CORNU_OK;
}

/* The next batch of a pass over a data set. */
static cornu_status take_batch(fit_run *run, const int64_t **index, int64_t *batch)
{
    const position *p = &run->state.model->training.position;
    int64_t number = p->epoch * run->steps + p->step; /* number of the batch, over all epochs */
    TRY(set_pass(run, number / run->per_pass));
    TRY(input_take(&run->input, number % run->per_pass * run->batch, run->batch, index, batch));
    return run->input.seen == run->input.count ? end_pass(run) : CORNU_OK;
}

/* The next batch of a stream: *batch is 0 if the epoch ends with the pass, or with the data. */
static cornu_status take_streamed(fit_run *run, const int64_t **index, int64_t *batch)
{
    const position *p = &run->state.model->training.position;
    session_set_pass(run->state.session, p->epoch);
    TRY(input_take_checked(run->state.session, &run->input, 0, run->batch, index, batch));
    if (*batch == 0 && (run->steps != STEPS_UNKNOWN || p->step == 0))
        TRY(input_take_checked(run->state.session, &run->input, 0, run->batch, index, batch));
    else if (*batch == 0)
        return CORNU_OK;
    if (*batch > 0)
        return class_weights_weigh(&run->class_weights, &run->input.samples);
    run->state.stop = true;
    if (run->steps == STEPS_UNKNOWN)
        fit_notice(&run->state, "the stream of batches has ended: training ends after %jd %s",
                   (intmax_t)p->epoch, PLURAL(p->epoch, "epoch", "epochs"));
    else
        fit_notice(&run->state,
                   "the stream of batches has ended: training ends after step %jd of %jd in epoch "
                   "%jd; steps_per_epoch times epochs is more than it has",
                   (intmax_t)p->step, (intmax_t)run->steps, (intmax_t)(p->epoch + 1));
    return CORNU_OK;
}

/* With ranks: vote whether to stop, and get the decision. `before`: this rank must stop before
   the current step. */
static cornu_status vote(fit_run *run, bool before)
{
    const cornu_fit_options *o = run->options;
    shards_vote own = before ? VOTE_NOT : VOTE_GO;
    if (!before && o->ranks && o->should_stop && o->should_stop(o->user))
        own = VOTE_LAST;
    return shards_agree(run->state.shards, own, &run->agreed);
}

static cornu_status train_batch(fit_run *run, const int64_t *index, int64_t batch)
{
    const sample_block *samples = &run->input.samples;
    session_plan *ready;
    if (run->state.shards) {
        TRY(shards_begin(run->state.shards, samples, index, batch));
        TRY(vote(run, false));
        return run->agreed == VOTE_NOT ? CORNU_STOPPED : shards_end(run->state.shards, batch);
    }
    TRY(session_plan_for(run->state.session, PLAN_TRAIN, batch, samples_weighting(samples),
                         &ready));
    if (!model_calls_metrics(run->state.model) &&
        op_profile_wants(run->state.profile, run->state.session, ready))
        return op_profile_step(run->state.profile, run->state.session, ready, samples, index);
    return session_step(run->state.session, ready, samples, index);
}

/* *taken: false if no batch is left for the epoch. */
static cornu_status run_step(fit_run *run, bool *taken)
{
    position *p = &run->state.model->training.position;
    const int64_t *index;
    int64_t batch;
    cornu_status status = run->state.data->stream ? take_streamed(run, &index, &batch)
                                                  : take_batch(run, &index, &batch);
    if (status == CORNU_STOPPED && run->options->ranks) {
        TRY(vote(run, true));
        return CORNU_STOPPED;
    }
    TRY(status);
    *taken = batch > 0;
    if (batch == 0)
        return CORNU_OK;
    run->learning_rate = learning_rate_at(run->state.model, p->iterations);
    TRY(train_batch(run, index, batch));
    p->step++;
    run->stepped = true;
    run->state.pulled = false;
    return report_step(run);
}

/* The model as it is now, for a file or the caller; `path` may be NULL. */
static cornu_status save(fit_run *run, const char *path)
{
    TRY(fit_pull(&run->state));
    TRY(callbacks_save(run->state.callbacks, run->state.model));
    TRY(csv_sync(run->log)); /* no row is lost that the model file would not write again */
    if (!path)
        return CORNU_OK;
    TRY(checkpoint_write(run->state.model, path, &run->state.saving));
    run->saved = true;
    run->saved_epoch = run->state.model->training.position.epoch;
    return CORNU_OK;
}

/* The model file of a stopped run: none before its first step, as nothing would be lost. */
static const char *path_when_stopped(const fit_run *run)
{
    const cornu_fit_options *o = run->options;
    const char *path = o->save ? o->save : o->save_stopped;
    return run->stepped && path && *path ? path : NULL;
}

static cornu_status fail_stopped(const fit_run *run, const char *saved)
{
    const position *p = &run->state.model->training.position;
    if (!run->stepped)
        return status_fail(CORNU_STOPPED, "stopped before the first step");
    bool between = p->step == 0 && p->epoch > 0;
    char of[32] = "";
    if (run->steps != STEPS_UNKNOWN)
        snprintf(of, sizeof of, " of %jd", (intmax_t)run->steps);
    return status_fail(CORNU_STOPPED, "stopped after step %jd%s in epoch %jd of %jd%s%s",
                       (intmax_t)(between ? run->steps_shown : p->step), of,
                       (intmax_t)(p->epoch + !between), (intmax_t)run->epochs,
                       saved ? "; saved " : "", saved ? saved : "");
}

/* The position is complete: also within an epoch, also between its last step and its validation. */
static cornu_status stop(fit_run *run)
{
    const char *path = path_when_stopped(run);
    run->state.model->training.position.seconds = epoch_seconds(run);
    TRY(fit_gather(&run->state));
    TRY(save(run, path));
    return fail_stopped(run, path);
}

/* `votes`: ranks do so now; else they have, within the step. */
static cornu_status ask_to_stop(fit_run *run, bool votes, bool *stops)
{
    const cornu_fit_options *o = run->options;
    if (!o->ranks) {
        *stops = o->should_stop && o->should_stop(o->user);
        return CORNU_OK;
    }
    if (run->agreed == VOTE_GO && votes)
        TRY(vote(run, false));
    *stops = run->agreed != VOTE_GO;
    return CORNU_OK;
}

static cornu_status run_steps(fit_run *run)
{
    const position *p = &run->state.model->training.position;
    step_results results;
    run->carry = p->step > 0;
    scores_from_sums(run->state.model, p->totals, run->state.model->training.tables, p->samples,
                     &run->scores);
    TRY(take_results(run, &results, true));
    fit_forecast_begin(run);
    bool taken = true;
    while (taken && p->step < run->steps) {
        cornu_status status = run_step(run, &taken);
        if (status != CORNU_STOPPED) /* stopped while waiting for samples: the step has not begun */
            TRY(status);
        bool stops = status == CORNU_STOPPED;
        if (!stops)
            TRY(ask_to_stop(run, p->step == run->steps, &stops));
        if (stops) {
            if (p->step < run->steps && !run->each_step && !run->carry)
                TRY(read_results(run, &results));
            return stop(run);
        }
    }
    if (!taken && p->step > 0) /* the last step did not know that it was */
        TRY(read_results(run, &results));
    run->steps_shown = p->step;
    return CORNU_OK;
}

/* ---- epochs ----------------------------------------------------------------------------- */

static void fill_logs(fit_run *run)
{
    fit_logs *logs = &run->state.logs;
    int n = run->scores.all_count;
    memcpy(logs->value, run->scores.all_value, (size_t)n * sizeof *logs->value);
    for (int i = 0; run->validates && i < n; i++)
        logs->value[n + i] = run->validates_now ? run->validation_scores.all_value[i] : NAN;
    logs->value[logs->count - 1] = run->learning_rate;
}

static cornu_status add_history(fit_run *run, double seconds)
{
    double row[HISTORY_COLUMNS_MAX];
    const fit_logs *logs = &run->state.logs;
    memcpy(row, logs->value, (size_t)logs->count * sizeof *row);
    row[logs->count] = seconds;
    TRY(log_epoch(run, seconds));
    return history_add(run->history, row);
}

static void tell_held(fit_run *run, text *held)
{
    const cornu_fit_options *o = run->options;
    run->state.held = NULL;
    char *rest = held->data;
    for (char *line; o->on_notice && rest && (line = strsep(&rest, "\n")) && *line;)
        o->on_notice(o->user, line);
    text_free(held);
}

/* Compute the values, run callbacks, write rows; then move the position on, and run the
   callbacks that write the model. */
static cornu_status end_epoch(fit_run *run)
{
    position *p = &run->state.model->training.position;
    const cornu_fit_options *o = run->options;
    fit_state *state = &run->state;
    double seconds = epoch_seconds(run);
    TRY(fit_gather(state));
    fill_logs(run);
    TRY(callbacks_run(run->state.callbacks, CALLBACK_EPOCH_END, state));
    TRY(add_history(run, seconds));
    p->epoch++;
    p->step = 0;
    p->samples = 0;
    p->seconds = 0;
    memset(p->totals, 0, sizeof p->totals);
    training_state_clear_tables(&state->model->training);
    TRY(callbacks_run(run->state.callbacks, CALLBACK_AFTER_EPOCH, state));
    if (o->save)
        TRY(save(run, o->save));
    if (o->on_epoch) {
        cornu_progress progress = progress_now(run, state->epoch, run->steps_shown, true);
        progress.seconds = seconds;
        progress.validation = run->validates_now ? &run->validation_scores : NULL;
        o->on_epoch(o->user, &progress);
    }
    return CORNU_OK;
}

/* The callbacks' notices of an epoch stand after its line. */
static cornu_status finish_epoch(fit_run *run)
{
    text held = {0};
    run->state.held = &held;
    cornu_status status = end_epoch(run);
    tell_held(run, &held);
    return status;
}

static void begin_progress(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    const position *p = &run->state.model->training.position;
    if (!o->on_epoch_begin || p->step > 0)
        return;
    cornu_progress progress = progress_now(run, p->epoch, 0, false);
    progress.learning_rate = learning_rate_at(run->state.model, p->iterations);
    o->on_epoch_begin(o->user, &progress);
}

/* What callbacks did for the validation is undone also where it was stopped, or failed. */
static cornu_status validate(fit_run *run)
{
    TRY(callbacks_run(run->state.callbacks, CALLBACK_EVALUATION_BEGIN, &run->state));
    cornu_status status =
        session_evaluate(run->state.session, &run->validation, &run->validation_scores);
    char why[PRINTABLE_MOST]; /* the message remains that of the first failure */
    snprintf(why, sizeof why, "%s", cornu_last_error());
    cornu_status undone = callbacks_run(run->state.callbacks, CALLBACK_EVALUATION_END, &run->state);
    if (status == CORNU_OK || status == CORNU_STOPPED)
        return undone == CORNU_OK ? status : undone;
    return status_fail(status, "%s", why);
}

static cornu_status run_epoch(fit_run *run)
{
    run->state.epoch = run->state.model->training.position.epoch;
    run->began = clock_seconds();
    run->shown = run->gathered = 0;
    run->resumed_step = run->state.model->training.position.step;
    run->resumed_seconds = run->state.model->training.position.seconds;
    TRY(callbacks_run(run->state.callbacks, CALLBACK_EPOCH_BEGIN, &run->state));
    begin_progress(run);
    if (run->state.model->training.position.step >
        0) /* the learning rate of the last step before the stop */
        run->learning_rate =
            learning_rate_at(run->state.model, run->state.model->training.position.iterations - 1);
    TRY(run_steps(run));
    if (run->state.stop && run->state.model->training.position.step == 0)
        return CORNU_OK; /* the data had ended with the epoch before */
    run->validates_now = run->validates && fit_spec_validates(&run->spec, run->state.epoch);
    run->state.not_validated = !run->validates_now;
    if (run->validates_now) {
        double begin = clock_seconds();
        cornu_status status = validate(run);
        if (status == CORNU_STOPPED)
            return stop(run);
        TRY(status);
        bool stops = false;
        if (run->options->ranks)
            TRY(ask_to_stop(run, true, &stops));
        if (stops)
            return stop(run);
        fit_forecast_validated(run, clock_seconds() - begin);
    }
    return finish_epoch(run);
}

/* Stop between two epochs: all requested files have been written. */
static cornu_status stop_between(fit_run *run)
{
    const char *path = path_when_stopped(run);
    if (!run->options->save)
        TRY(save(run, path));
    return fail_stopped(run, path);
}

/* A fit that ends leaves the averages of an optimizer with use_ema as the weights. */
static cornu_status take_averages(fit_run *run)
{
    cornu_model *m = run->state.model;
    if (!m->optimizer.use_ema || m->training.position.iterations == 0)
        return CORNU_OK;
    run->state.changed = true;
    run->state.pulled = false;
    return cornu_model_take_averages(m);
}

cornu_status fit_loop(fit_run *run)
{
    const position *p = &run->state.model->training.position;
    const cornu_fit_options *o = run->options;
    if (p->epoch >= run->epochs)
        fit_notice(&run->state, "nothing left to do: %jd of %jd %s done", (intmax_t)p->epoch,
                   (intmax_t)run->epochs, PLURAL(run->epochs, "epoch is", "epochs are"));
    bool went_on = false, stops = false;
    while (p->epoch < run->epochs && !run->state.stop) {
        if (went_on)
            TRY(ask_to_stop(run, true, &stops));
        if (stops)
            return stop_between(run);
        TRY(run_epoch(run));
        went_on = true;
    }
    run->state.changed = false;
    if (went_on) {
        TRY(take_averages(run));
        TRY(callbacks_run(run->state.callbacks, CALLBACK_FIT_END, &run->state));
    }
    if (!run->saved || run->state.changed)
        TRY(save(run, o->save));
    return CORNU_OK;
}
