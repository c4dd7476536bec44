#include "base/files.h"
#include "base/memory.h"
#include "data/sets/datasets.h"
#include "data/stream.h"
#include "exchange/checkpoint.h"
#include "train/features.h"
#include "train/fit_run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---------------------------------------------------------------------------- */

static cornu_status check_number(const char *name, int64_t value)
{
    if (value < 0 || value > INT32_MAX)
        return status_fail(CORNU_INVALID, "%s: found %jd; expected a number from 1 to %d", name,
                           (intmax_t)value, INT32_MAX);
    return CORNU_OK;
}

static cornu_status check_options(const cornu_fit_options *o)
{
    TRY(check_number("epochs", o->epochs));
    TRY(check_number("batch", o->batch));
    TRY(check_number("steps_per_epoch", o->steps_per_epoch));
    TRY(check_number("threads", o->threads));
    if (o->log_steps && !o->log)
        return status_fail(CORNU_INVALID,
                           "log_steps: found no log; expected the path of a CSV file");
    return CORNU_OK;
}

/* ---- data ------------------------------------------------------------------------------- */

/* By names that the model has, or will have: those of the training data. */
static cornu_status check_validation_classes(const fit_run *run)
{
    const cornu_data *data = run->options->validation_data;
    const cornu_model *m = run->model;
    class_numbers numbers;
    cornu_status status;
    if (m->class_names || !run->data->class_names || !data->class_names)
        status = classes_match(m, data, CLASSES_TO_EVALUATE, &numbers);
    else
        status = classes_match_list(
            &(class_list){run->data->class_names, run->data->class_count, "the training data"},
            data, true, CLASSES_TO_EVALUATE, &numbers);
    classes_free(&numbers);
    return status;
}

/* The last fraction of the training samples, as Keras: 0..floor(n (1 - fraction))-1 stay. */
static cornu_status split_training(fit_run *run)
{
    int64_t all = run->train.count;
    if (run->data->stream)
        return status_fail(CORNU_UNSUPPORTED, "validation_split: found a stream of batches; "
                                              "expected data that can be divided");
    int64_t kept = (int64_t)floor((double)all * (1.0 - run->spec.validation_split));
    if (kept <= 0 || kept >= all)
        return status_fail(
            CORNU_INVALID,
            "validation_split: found %g of %jd %s; expected a share that leaves at least one on "
            "each side",
            run->spec.validation_split, (intmax_t)all, PLURAL(all, "sample", "samples"));
    run->validation.split = CORNU_TRAIN;
    run->validation.first = kept;
    run->validation.count = all - kept;
    run->train.count = kept;
    run->validates = true;
    return CORNU_OK;
}

static cornu_status use_test_split(fit_run *run)
{
    const sample_block *test = &run->data->block[CORNU_TEST];
    if (test->count == 0) {
        fit_notice(&run->state, "there are no test samples: training goes without validation");
        return CORNU_OK;
    }
    TRY(data_check_samples(run->model, test, "test samples"));
    int64_t most = run->spec.validation_samples;
    run->validation.split = CORNU_TEST;
    run->validation.count = most > 0 && most < test->count ? most : test->count;
    run->validates = true;
    return CORNU_OK;
}

/* Another data set, all of it. */
static cornu_status use_validation_data(fit_run *run)
{
    const cornu_data *data = run->options->validation_data;
    const sample_block *block = &data->block[CORNU_TRAIN];
    TRY(check_validation_classes(run));
    if (!data->stream)
        TRY(data_check_samples(run->model, block, "validation samples"));
    run->validation.data = data;
    run->validation.split = CORNU_TRAIN;
    run->validation.count = block->count;
    run->validates = true;
    return CORNU_OK;
}

/* What validates: the caller's data, a part of the training samples, or the test split. */
static cornu_status choose_validation(fit_run *run)
{
    if (run->options->validation_data && !run->options->no_validation)
        return use_validation_data(run);
    if (run->spec.validation_split > 0)
        TRY(split_training(run));
    else if (run->spec.validate && !run->options->no_validation)
        TRY(use_test_split(run));
    if (run->options->no_validation)
        run->validates = false; /* a split stays apart: the training samples are the same */
    return CORNU_OK;
}

/* Where a layer scales the pixels and the recipe does not say what goes into it. */
static cornu_status notice_pixels(fit_run *run)
{
    const layer *by = model_rescaling(run->model);
    data_spec spec;
    TRY(data_spec_read(run->model->data, &spec));
    if (!by || run->train.x_type != SAMPLE_U8 || run->data->scaled || spec.scale > 0)
        return CORNU_OK;
    if (run->train.x_scale >= 1)
        fit_notice(&run->state,
                   "pixels go in as they are, 0 to 255: the model scales them itself, in %s (%s)",
                   by->name, by->kind->name);
    else
        fit_notice(&run->state,
                   "pixels go into %s (%s) as 0 to %g, as in the training that the model file "
                   "keeps; a new run passes them as they are, 0 to 255",
                   by->name, by->kind->name, 255.0 * (double)run->train.x_scale);
    return CORNU_OK;
}

static cornu_status read_class_weights(fit_run *run)
{
    const cornu_model *m = run->model;
    const class_list classes =
        m->class_names
            ? (class_list){m->class_names, m->class_count, "the model"}
            : (class_list){run->data->class_names,
                           run->data->class_names ? run->data->class_count : 0, "the data"};
    TRY(class_weights_read(run->spec.class_weight, &classes, &run->class_weights));
    if (run->class_weights.clash)
        fit_notice(&run->state,
                   "class_weight: %s is taken as the number of a class, not as the name of another",
                   run->class_weights.clash);
    return CORNU_OK;
}

static cornu_status open_data(fit_run *run)
{
    TRY(data_samples_for(run->data, CORNU_TRAIN, run->model, &run->train));
    run->validation.data = run->data;
    TRY(fit_open_files(run));
    if (run->data->stream && run->options->ranks)
        return status_fail(CORNU_UNSUPPORTED, "ranks: found a stream of batches, which may be "
                                              "another one on each; expected other data");
    if (run->data->stream && run->options->resume)
        return status_fail(CORNU_UNSUPPORTED, "resume: found a stream of batches, which cannot go "
                                              "on where it was; expected other data");
    TRY(classes_match(run->model, run->data, CLASSES_TO_TRAIN, &run->classes));
    TRY(classes_renumber(&run->classes, &run->train));
    if (!run->data->stream)
        TRY(data_check_samples(run->model, &run->train, "training samples"));
    TRY(notice_pixels(run));
    shape_picture(&run->data->block[CORNU_TRAIN].x_shape,
                  &run->train.x_shape); /* to be augmented */
    TRY(choose_validation(run));
    TRY(read_class_weights(run));
    if (!run->data->stream)
        TRY(class_weights_weigh(&run->class_weights, &run->train));
    const position *p = &run->model->training.position;
    if (run->options->resume && p->train_samples != run->train.count)
        return fit_fail_resume("training samples:", (uint64_t)p->train_samples,
                               (uint64_t)run->train.count);
    return feed_open(run->data, CORNU_TRAIN, &run->train, 0, run->train.count, &run->feed);
}

/* The batches are as the stream has them. */
static void plan_streamed(fit_run *run)
{
    int64_t batches = run->data->stream->source.batches;
    run->batch = run->train.count;
    run->per_pass = batches ? batches : STEPS_UNKNOWN;
    run->steps = run->spec.steps_per_epoch ? run->spec.steps_per_epoch : run->per_pass;
}

static cornu_status plan_batches(fit_run *run)
{
    int64_t n = feed_samples(&run->feed);
    TRY(fit_check_samples(run, n)); /* the workers may know already */
    run->batch = run->spec.batch;
    if (run->batch > n) {
        fit_notice(&run->state,
                   "batch %jd is larger than the %jd training %s: each step takes all of them",
                   (intmax_t)run->batch, (intmax_t)n, PLURAL(n, "sample", "samples"));
        run->batch = n;
    }
    run->per_pass = (n + run->batch - 1) / run->batch;
    run->steps = run->spec.steps_per_epoch ? run->spec.steps_per_epoch : run->per_pass;
    return CORNU_OK;
}

static cornu_status plan_epochs(fit_run *run)
{
    if (run->data->stream)
        plan_streamed(run);
    else
        TRY(plan_batches(run));
    TRY(shards_check(run->spec.shards, run->batch, run->options->ranks));
    run->epochs = run->spec.epochs;
    evaluation *v = &run->validation;
    int64_t batch = run->spec.validation_batch ? run->spec.validation_batch : run->spec.batch;
    v->batch = batch < v->count && !v->data->stream ? batch : v->count;
    v->steps = run->spec.validation_steps;
    v->on_step = run->options->on_validation_step;
    v->each_step = run->options->each_step;
    v->announced = true;
    v->ranks = run->options->ranks;
    v->should_stop = run->options->ranks ? NULL : run->options->should_stop; /* all, or none */
    v->user = run->options->user;
    return CORNU_OK;
}

/* ---- making ready ----------------------------------------------------------------------- */

static void name_logs(fit_run *run)
{
    fit_logs *logs = &run->state.logs;
    scores_open(run->model, &run->scores);
    scores_open(run->model, &run->validation_scores);
    run->state.step_logs = run->scores.count;
    for (int i = 0; i < run->scores.count; i++)
        logs->name[logs->count++] = run->scores.name[i];
    for (int i = 0; run->validates && i < run->scores.count; i++) {
        snprintf(run->val_names[i], sizeof run->val_names[i], "val_%s", run->scores.name[i]);
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

/* Everything that can be wrong before a weight changes: options, data, callbacks, files. */
static cornu_status check_all(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    TRY(check_options(o));
    if (o->section)
        TRY(doc_parse(o->section, strlen(o->section), "fit", &run->section));
    TRY(fit_spec_read(o->section ? run->section : run->model->fit, &run->spec));
    TRY(fit_settle(run));
    run->state.more_epochs = o->resume && run->spec.epochs > run->model->training.position.epochs;
    TRY(open_data(run));
    TRY(plan_epochs(run));
    if (o->resume && run->model->training.position.step > run->steps)
        return status_fail(CORNU_INVALID,
                           "resume: found step %jd in the model file; expected at most "
                           "the %jd of an epoch",
                           (intmax_t)run->model->training.position.step, (intmax_t)run->steps);
    name_logs(run);
    TRY(callbacks_open(run->spec.callbacks, &run->callbacks));
    run->state.mute = run->callbacks->mute = cornu_ranks_number(o->ranks) > 0;
    if (o->tensorboard)
        TRY(callbacks_add_tensorboard(run->callbacks, o->tensorboard));
    run->state.callbacks = run->callbacks;
    run->state.validation = run->validates ? &run->validation : NULL;
    run->state.sharded = run->spec.shards > 1;
    if (o->resume)
        TRY(fit_restore_callbacks(run));
    if (!o->resume && o->callback_state)
        TRY(callbacks_from_text(run->callbacks, o->callback_state));
    if (o->output && *o->output)
        TRY(folder_make(o->output));
    TRY(callbacks_run(run->callbacks, CALLBACK_FIT_BEGIN, &run->state));
    run->each_step = o->log_steps || o->each_step || callbacks_every_step(run->callbacks);
    if (o->save) {
        TRY(checkpoint_check(o->save, "save"));
        TRY(checkpoint_check_model(run->model));
    }
    return o->log ? csv_check(&(csv_location){.path = o->log}) : CORNU_OK;
}

static void set_position(fit_run *run)
{
    position *p = &run->model->training.position;
    if (!run->options->resume) {
        double factor = run->model->initialized ? p->learning_rate_factor : 1;
        *p = (position){.iterations = p->iterations,
                        .epoch = run->spec.initial_epoch,
                        .learning_rate_factor = factor};
    }
    p->seed = run->spec.seed;
    p->batch = run->spec.batch;
    p->steps_per_epoch = run->spec.steps_per_epoch;
    p->shards = run->spec.shards;
    p->wire_bf16 = run->wire_bf16;
    p->train_samples = run->train.count;
    p->epochs = run->epochs;
}

static cornu_status open_session(fit_run *run)
{
    data_spec data;
    TRY(data_spec_read(run->model->data, &data));
    session_options options = {.device = run->options->device,
                               .precision = run->options->precision,
                               .exact_convolution = run->options->exact_convolution,
                               .threads = run->options->threads,
                               .augment = data.augment};
    if (!run->options->resume)
        TRY(features_learn(run->model, &run->feed));
    TRY(session_open(run->model, &options, &run->session));
    run->state.session = run->session;
    const device *d = session_device(run->session);
    if (d->ops->notice && *d->ops->notice(d))
        fit_notice(&run->state, "%s", d->ops->notice(d));
    TRY(fit_upload(run));
    shards_options of_shards = {.count = run->spec.shards,
                                .ranks = run->options->ranks,
                                .threads = run->options->threads,
                                .bf16 = run->wire_bf16,
                                .divides = run->options->shard_optimizer};
    TRY(shards_open(run->session, &of_shards, &run->shards));
    run->state.shards = run->shards;
    TRY(fit_open_share(run));
    TRY(fit_prepare_plans(run));
    TRY(fit_check_ranks(run));
    fit_forecast_open(run);
    TRY(open_history(run));
    return fit_log_open(run);
}

/* The model remembers by which tuning it is trained. A resumed run that goes on by another gets
   other roundings than it would have had, which is allowed, and told. */
static cornu_status note_tuning(fit_run *run)
{
    training_state *t = &run->model->training;
    device_tuning now;
    TRY(session_tuning(run->session, &now));
    if (run->options->resume && t->tuning && *now.text && strcmp(t->tuning, now.text) != 0)
        fit_notice(&run->state,
                   "resume: found the tuning \"%s\" in the model file; the device's is \"%s\" "
                   "(%s): the run goes on, but not with the bits that it would have had",
                   t->tuning, now.text, now.source);
    return memory_replace_string(*now.text ? now.text : NULL, &t->tuning);
}

/* A new run forgets what callbacks of an earlier one remember; names of classes come with the
   data, and where it lies is kept as a hint. */
static cornu_status begin(fit_run *run)
{
    cornu_model *m = run->model;
    if (!run->options->resume)
        training_state_forget_callbacks(&m->training);
    TRY(classes_name(m, run->data));
    TRY(note_tuning(run));
    return training_state_set_data(&m->training, run->data->set ? run->data->set->name : NULL,
                                   run->data->origin);
}

static void close_run(fit_run *run)
{
    shards_close(run->shards);
    session_close(run->session);
    callbacks_close(run->callbacks);
    doc_free(run->section);
    class_weights_free(&run->class_weights);
    classes_free(&run->classes);
    feed_close(&run->feed);
    fit_close_share(run);
    (void)csv_close(run->log); /* each row was flushed when it was written */
}

/* The device has them; here they would take as much memory again. */
static void discard_slots(cornu_model *m)
{
    for (int i = m->weight_count; i < m->variable_count; i++)
        memory_discard(m->variables[i].value, (size_t)m->variables[i].count * sizeof(float));
}

/* The model shows what there is. Its slots were on the device alone: their memory is taken only
   now, in place of the plans'. The message stays that of what failed first; behind a device's
   failure it says where training can go on. */
static cornu_status finish(fit_run *run, cornu_status status)
{
    const cornu_model *m = run->model;
    char why[PRINTABLE_MOST];
    snprintf(why, sizeof why, "%s", cornu_last_error());
    if (status == CORNU_NOT_A_NUMBER) /* of all ranks */
        (void)fit_gather(&run->state);
    session_release_plans(run->session);
    cornu_status pulled =
        session_pull(run->session, run->state.pulled ? m->weight_count : 0,
                     m->training.position.slots_divided ? m->weight_count : m->variable_count);
    if (status == CORNU_OK && pulled != CORNU_OK)
        snprintf(why, sizeof why, "%s", cornu_last_error());
    status = status == CORNU_OK ? pulled : status;
    bool of_device = status == CORNU_DEVICE || status == CORNU_OUT_OF_MEMORY;
    if (of_device && run->saved && run->options->save)
        return status_fail(status, "%s; %s, saved before, holds epoch %jd of %jd", why,
                           run->options->save, (intmax_t)run->saved_epoch, (intmax_t)run->epochs);
    return status == CORNU_OK ? CORNU_OK : status_fail(status, "%s", why);
}

static cornu_status fit(fit_run *run)
{
    cornu_model *m = run->model;
    position before = m->training.position;
    bool initialized = m->initialized;
    TRY(check_all(run));
    set_position(run);
    cornu_status status = open_session(run);
    if (status == CORNU_OK)
        status = begin(run);
    if (status != CORNU_OK) {
        m->training.position = before;
        m->initialized = initialized;
        return status;
    }
    discard_slots(m);
    session_own_weights(run->session);
    return finish(run, fit_loop(run));
}

/* Rank 0 alone writes files. */
static const cornu_fit_options *options_of_rank(const cornu_fit_options *o, cornu_fit_options *own)
{
    if (cornu_ranks_number(o->ranks) == 0)
        return o;
    *own = *o;
    own->save = own->save_stopped = own->log = own->output = own->tensorboard = NULL;
    own->log_steps = false;
    return own;
}

cornu_status cornu_fit(cornu_model *model, const cornu_data *data, const cornu_fit_options *options,
                       cornu_history **history)
{
    static const cornu_fit_options defaults;
    if (history)
        *history = NULL;
    if (!model || !data)
        return status_fail(CORNU_INVALID, "cornu_fit: found NULL; expected a model and data");
    cornu_fit_options own;
    const cornu_fit_options *o = options_of_rank(options ? options : &defaults, &own);
    TRY(cornu_ranks_end(o->ranks, CHECK_RESERVE("cornu_fit_options", o)));
    TRY(cornu_ranks_end(o->ranks, session_check_free(model)));
    fit_run run = {.options = o, .model = model, .data = data, .pass = -1};
    run.state = (fit_state){.model = model,
                            .data = data,
                            .resumed = o->resume,
                            .output = o->output,
                            .confined = !o->section,
                            .saving = {.on_write = o->on_save, .user = o->user},
                            .on_notice = o->on_notice,
                            .user = o->user};
    double began = clock_seconds();
    cornu_status status = fit(&run);
    bool together = status == CORNU_STOPPED && run.agreed != VOTE_GO; /* the others stop, too */
    if (!together)
        status = cornu_ranks_end(o->ranks, status);
    bool trained = status == CORNU_OK || status == CORNU_STOPPED || status == CORNU_NOT_A_NUMBER;
    if (history && trained && run.history)
        (void)callbacks_to_text(run.callbacks, history_callbacks(run.history));
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
