#include "train/evaluate.h"
#include "base/memory.h"
#include "data/data.h"
#include "parallel/agree.h"
#include "report/report.h"
#include "train/classes.h"
#include "train/fit_spec.h"
#include <cornu/parallel.h>
#include <cornu/report.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the tables of all steps: more would be out of proportion to the time that ranks save. */
#define TABLES_MOST 64e6

/* ---- scores ------------------------------------------------------------------------------ */

void scores_open(const cornu_model *model, cornu_scores *scores)
{
    const int count = model->metric_count + 1;
    *scores = (cornu_scores){.size = sizeof *scores, .all_count = count, .all_name[0] = "loss"};
    scores->count = count < CORNU_METRICS_MAX + 1 ? count : CORNU_METRICS_MAX + 1;
    for (int i = 0; i < model->metric_count; i++)
        scores->all_name[i + 1] = metric_name(&model->metrics[i]);
    memcpy(scores->name, scores->all_name, sizeof scores->name);
    scores_from_sums(model, NULL, NULL, 0, scores);
}

void scores_from_sums(const cornu_model *model, const double *sums, const double *tables,
                      int64_t samples, cornu_scores *scores)
{
    scores->all_value[0] = samples > 0 ? sums[0] / (double)samples : NAN;
    for (int i = 0; i < model->metric_count; i++) {
        const metric *m = &model->metrics[i];
        scores->all_value[i + 1] = samples > 0 ? metric_value(m, sums + 1, tables, samples) : NAN;
    }
    memcpy(scores->value, scores->all_value, sizeof scores->value);
}

void results_sums(const cornu_model *model, const step_results *results, double *sums)
{
    sums[0] = results->loss;
    for (int i = 0; i < model->sum_count; i++)
        sums[i + 1] = results->metrics[i];
}

/* ---- evaluation -------------------------------------------------------------------------- */

typedef struct evaluating {
    session *session;
    const evaluation *e;
    cornu_scores *scores;
    int64_t steps;
    double began, shown;
    /* with several ranks: 0 for the other ranks' steps */
    step_results *each;  /* [steps] */
    double *each_tables; /* [steps][model->table_count] */
    int64_t capacity;
    float *outputs; /* [batch][outputs] of a step, for the report */
    size_t output_capacity;
} evaluating;

static cornu_status read_scores(evaluating *run, bool reset, step_results *results)
{
    double sums[MODEL_METRICS_MAX + 1];
    TRY(session_results(run->session, results, reset));
    const cornu_model *model = session_model(run->session);
    results_sums(model, results, sums);
    scores_from_sums(model, sums, results->tables, results->samples, run->scores);
    return CORNU_OK;
}

static cornu_status show_progress(evaluating *run, int64_t step)
{
    double now = clock_seconds();
    bool last = step == run->steps;
    bool due = last || run->e->each_step || now - run->shown >= PROGRESS_SECONDS;
    if (!run->e->on_step || !due)
        return CORNU_OK;
    step_results results;
    TRY(read_scores(run, false, &results));
    run->shown = now;
    cornu_progress progress = {.epochs = 1,
                               .step = step,
                               .steps = run->steps == STEPS_UNKNOWN ? 0 : run->steps,
                               .seconds = now - run->began,
                               .step_loss = results.last_loss,
                               .scores = run->scores,
                               .left_seconds = NAN,
                               .left_error = NAN};
    run->e->on_step(run->e->user, &progress);
    return CORNU_OK;
}

/* ---- by several ranks ------------------------------------------------------------------- */

bool evaluation_is_own(const evaluation *e, int64_t step)
{
    return step % cornu_ranks_count(e->ranks) == cornu_ranks_number(e->ranks);
}

/* input_share: all samples of a step, or none. */
static void own_step(const void *context, int64_t step, int64_t samples, int64_t *begin,
                     int64_t *end)
{
    *begin = 0;
    *end = evaluation_is_own(context, step) ? samples : 0;
}

/* Whoever wants to see every batch must run every batch. */
static cornu_status open_division(evaluating *run, input_pipeline *f)
{
    cornu_ranks *ranks = run->e->ranks;
    int count = cornu_ranks_count(ranks);
    bool whole = run->e->report || run->e->each_step || run->e->data->stream ||
                 model_calls_metrics(session_model(run->session)),
         *all;
    whole |= (double)run->steps * session_model(run->session)->table_count * sizeof(double) >
             TABLES_MOST;
    if (!ranks)
        return CORNU_OK;
    TRY(memory_new((size_t)count, sizeof *all, "ranks", &all));
    cornu_status status = ranks_share(ranks, &whole, all, sizeof whole);
    for (int i = 0; i < count; i++)
        whole |= all[i];
    free(all);
    if (status != CORNU_OK || whole)
        return status;
    run->capacity = run->steps;
    const size_t tables = (size_t)session_model(run->session)->table_count;
    TRY(memory_new((size_t)run->steps, sizeof *run->each, "results of steps", &run->each));
    if (tables > 0)
        TRY(memory_new((size_t)run->steps, tables * sizeof *run->each_tables, "tables of steps",
                       &run->each_tables));
    return input_divide(
        &f->pass,
        &(input_share){.ranks = ranks, .own = own_step, .context = run->e, .round = count});
}

static bool is_own(const evaluating *run, int64_t step)
{
    return !run->each || evaluation_is_own(run->e, step);
}

/* One step's results, which the device is to forget. */
static cornu_status keep_step(evaluating *run, int64_t step)
{
    const int count = session_model(run->session)->table_count;
    step_results *to = &run->each[step];
    TRY(session_results(run->session, to, true));
    if (count > 0)
        memcpy(run->each_tables + step * count, to->tables, (size_t)count * sizeof *to->tables);
    to->tables = NULL;
    return CORNU_OK;
}

/* Each step's sums, in the order in which one device would have added them. */
static cornu_status add_sums(evaluating *run, double *sums, int64_t *samples)
{
    cornu_ranks *ranks = run->e->ranks;
    const cornu_model *model = session_model(run->session);
    const int count = cornu_ranks_count(ranks);
    const size_t size = (size_t)run->capacity * sizeof *run->each;
    double of_step[MODEL_METRICS_MAX + 1];
    step_results *all;
    TRY(memory_new((size_t)count, size, "results of ranks", &all));
    cornu_status status = ranks_share(ranks, run->each, all, size);
    for (int64_t step = 0; status == CORNU_OK && step < run->steps; step++) {
        const step_results *r = &all[step % count * run->capacity + step];
        results_sums(model, r, of_step);
        for (int i = 0; i <= model->sum_count; i++)
            sums[i] += of_step[i];
        *samples += r->samples;
    }
    free(all);
    return status;
}

/* The same for tables[model->table_count]. */
static cornu_status add_tables(evaluating *run, double *tables)
{
    cornu_ranks *ranks = run->e->ranks;
    const int count = cornu_ranks_count(ranks), numbers = session_model(run->session)->table_count;
    const size_t size = (size_t)run->capacity * (size_t)numbers * sizeof *tables;
    double *all;
    if (numbers == 0)
        return CORNU_OK;
    TRY(memory_new((size_t)count, size, "tables of ranks", &all));
    cornu_status status = ranks_share(ranks, run->each_tables, all, size);
    for (int64_t step = 0; status == CORNU_OK && step < run->steps; step++) {
        const double *of_step = all + (step % count * run->capacity + step) * numbers;
        for (int i = 0; i < numbers; i++)
            tables[i] += of_step[i];
    }
    free(all);
    return status;
}

static cornu_status add_all(evaluating *run)
{
    const cornu_model *model = session_model(run->session);
    double sums[MODEL_METRICS_MAX + 1] = {0};
    step_results tables;
    int64_t samples = 0;
    TRY(results_new(model, &tables));
    cornu_status status = add_sums(run, sums, &samples);
    if (status == CORNU_OK)
        status = add_tables(run, tables.tables);
    scores_from_sums(model, sums, tables.tables, samples, run->scores);
    results_free(&tables);
    return status;
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Count all batches, or the requested number. */
static void count_steps(evaluating *run, const input_pipeline *f)
{
    const evaluation *e = run->e;
    const struct stream *stream = e->data->stream;
    if (stream)
        run->steps = stream->source.batches ? stream->source.batches : STEPS_UNKNOWN;
    else
        run->steps = (input_samples(f) + e->batch - 1) / e->batch;
    if (e->steps > 0 && e->steps < run->steps)
        run->steps = e->steps;
}

static cornu_status fail_empty(const evaluation *e)
{
    if (e->data->stream)
        return status_fail(CORNU_INVALID, "evaluate: found a stream without batches; expected at "
                                          "least one");
    return status_fail(CORNU_BAD_FILE, "%s: found no readable images in %jd %s", e->data->folder,
                       (intmax_t)e->count, PLURAL(e->count, "file", "files"));
}

static cornu_status report_step(evaluating *run, const session_plan *ready,
                                const sample_block *samples, const int64_t *index)
{
    device *d = session_device(run->session);
    const plan *p = ready->plan;
    const int64_t count = p->batch * shape_elements(&p->model->output);
    TRY(memory_grow(&run->outputs, &run->output_capacity, (size_t)count, sizeof *run->outputs));
    TRY(d->ops->read(d, ready->prepared, p->output, run->outputs, count));
    return report_add_batch(run->e->report, p->model, run->outputs, samples, index, p->batch);
}

static cornu_status evaluate_step(evaluating *run, input_pipeline *f, int64_t step)
{
    const evaluation *e = run->e;
    const int64_t *index;
    int64_t batch;
    session_plan *ready;
    TRY(input_take_checked(run->session, f, step * e->batch, e->batch, &index, &batch));
    if (batch == 0 && step == 0 && e->data->stream) /* the end of the pass before */
        TRY(input_take_checked(run->session, f, 0, e->batch, &index, &batch));
    if (!e->data->stream && f->seen == f->count)
        count_steps(run, f);
    if (batch == 0 && step > 0) { /* the stream's end */
        run->steps = step;
        return CORNU_OK;
    }
    if (batch == 0)
        return fail_empty(e);
    if (!is_own(run, step))
        return CORNU_OK;
    TRY(session_plan_for(run->session, PLAN_EVALUATE, batch, samples_weighting(&f->samples),
                         &ready));
    TRY(session_step(run->session, ready, &f->samples, index));
    if (run->each)
        return keep_step(run, step);
    if (e->report)
        TRY(report_step(run, ready, &f->samples, index));
    return show_progress(run, step + 1);
}

static cornu_status evaluate_steps(evaluating *run, input_pipeline *f)
{
    const evaluation *e = run->e;
    step_results results;
    TRY(session_results(run->session, &results, true));
    TRY(open_division(run, f));
    if (e->on_step && e->announced)
        e->on_step(e->user, &(cornu_progress){.epochs = 1,
                                              .step_loss = NAN,
                                              .scores = run->scores,
                                              .left_seconds = NAN,
                                              .left_error = NAN});
    for (int64_t step = 0; step < run->steps; step++) {
        TRY(evaluate_step(run, f, step));
        if (step + 1 < run->steps && e->should_stop && e->should_stop(e->user))
            return status_fail(CORNU_STOPPED, "evaluate: stopped after step %jd of %jd",
                               (intmax_t)(step + 1), (intmax_t)run->steps);
    }
    if (run->each)
        return add_all(run);
    TRY(read_scores(run, true, &results));
    return e->report ? report_finish(e->report, e->data, run->scores) : CORNU_OK;
}

/* Its samples, by the model's class numbers. */
static cornu_status evaluate_samples(session *s, const evaluation *e, const sample_block *block,
                                     cornu_scores *scores)
{
    evaluating run = {.session = s, .e = e, .scores = scores, .began = clock_seconds()};
    input_pipeline f;
    session_plan *ready; /* before any sample is decoded, so that a lack of memory is found first */
    TRY(session_plan_for(s, PLAN_EVALUATE, e->batch < e->count ? e->batch : e->count,
                         samples_weighting(block), &ready));
    TRY(input_open(e->data, e->split, block, e->first, e->count, &f));
    f.pass.patient = e->ranks != NULL; /* ranks stop together, between evaluations */
    count_steps(&run, &f);
    cornu_status status = evaluate_steps(&run, &f);
    free(run.each);
    free(run.each_tables);
    free(run.outputs);
    step_results rest;
    if (status !=
        CORNU_OK) /* leave nothing to the next reader, and wait before closing the input pipeline */
        (void)session_results(s, &rest, true);
    input_close(&f);
    return status;
}

cornu_status session_evaluate(session *s, const evaluation *e, cornu_scores *scores)
{
    class_numbers numbers;
    sample_block samples;
    TRY(data_samples_for(e->data, e->split, session_model(s), &samples));
    TRY(classes_match(session_model(s), e->data, CLASSES_TO_EVALUATE, &numbers));
    cornu_status status = classes_renumber(&numbers, &samples);
    if (status == CORNU_OK)
        status = evaluate_samples(s, e, &samples, scores);
    classes_free(&numbers);
    return status;
}

/* ---- evaluation for callers -------------------------------------------------------------- */

static cornu_status check_options(const cornu_run_options *o)
{
    if (o->batch < 0 || o->batch > INT32_MAX)
        return status_fail(CORNU_INVALID, "batch: found %jd; expected at least 1",
                           (intmax_t)o->batch);
    if (o->steps < 0)
        return status_fail(CORNU_INVALID, "steps: found %jd; expected at least 0",
                           (intmax_t)o->steps);
    if (o->top_k < 0)
        return status_fail(CORNU_INVALID, "top_k: found %jd; expected at least 1",
                           (intmax_t)o->top_k);
    if (o->split != CORNU_TRAIN && o->split != CORNU_TEST)
        return status_fail(CORNU_INVALID, "split: found %d; expected CORNU_TRAIN or CORNU_TEST",
                           (int)o->split);
    if (o->draws != CORNU_DRAW_NONE)
        return status_fail(CORNU_INVALID, "draws: found %d; evaluate takes none", (int)o->draws);
    return CORNU_OK;
}

/* Check that data and model have the same class names; a notice lists the classes without
   pictures. */
static cornu_status check_classes(const cornu_model *model, const cornu_data *data,
                                  const cornu_run_options *o)
{
    class_numbers numbers;
    char *missing = NULL;
    TRY(classes_match(model, data, CLASSES_TO_EVALUATE, &numbers));
    cornu_status status = classes_without_samples(model, data, o->split, &numbers, &missing);
    if (status == CORNU_OK && *missing)
        data_notice(&(cornu_data_options){.size = sizeof(cornu_data_options),
                                          .on_notice = o->on_notice,
                                          .user = o->user},
                    "%s: no pictures of %s", data->name, missing);
    free(missing);
    classes_free(&numbers);
    return status;
}

/* Evaluate in a separate session. */
static cornu_status evaluate(cornu_model *model, const cornu_run_options *o, const evaluation *e,
                             cornu_scores *scores)
{
    session *s;
    TRY(session_open(model, &(session_options){.where = o->where}, &s));
    scores_open(model, scores);
    session_call_metrics(s, (called_metrics){.on_outputs = o->on_outputs, .user = o->user});
    cornu_status status = session_evaluate(s, e, scores);
    session_close(s);
    return status;
}

/* `report` may be NULL. */
static cornu_status evaluate_data(cornu_model *model, const cornu_data *data,
                                  const cornu_run_options *o, cornu_scores *scores,
                                  cornu_report **report)
{
    TRY(check_options(o));
    TRY(check_classes(model, data, o));
    const sample_block *block = &data->block[o->split];
    const char *what = o->split == CORNU_TEST ? "test samples" : "training samples";
    if (!data->stream)
        TRY(data_check_samples(model, block, what));
    if (report)
        TRY(report_open(model, data, o->split, o->top_k, report));
    if (!model->initialized && model->training.position.seed == 0)
        TRY(model_default_seed(model, &model->training.position.seed));
    int64_t batch = o->batch ? o->batch : model->batch ? model->batch : 32;
    if (data->stream)
        batch = block->count;
    evaluation e = {.data = data,
                    .split = o->split,
                    .count = block->count,
                    .batch = batch < block->count ? batch : block->count,
                    .steps = o->steps,
                    .each_step = o->each_step,
                    .on_step = o->on_step,
                    .should_stop = o->should_stop,
                    .user = o->user,
                    .report = report ? *report : NULL};
    return evaluate(model, o, &e, scores);
}

cornu_status cornu_evaluate(cornu_model *model, const cornu_data *data,
                            const cornu_run_options *options, cornu_scores *scores)
{
    cornu_run_options o;
    cornu_scores own = {.size = sizeof own};
    if (!model || !data || !scores)
        return status_fail(CORNU_INVALID, "cornu_evaluate: found NULL; expected model, data and "
                                          "a place for the scores");
    TRY(STRUCT_CHECK("cornu_scores", scores));
    TRY(STRUCT_READ("cornu_run_options", options, &o));
    TRY(evaluate_data(model, data, &o, &own, NULL));
    return STRUCT_WRITE("cornu_scores", scores, &own);
}

cornu_status cornu_evaluate_report(cornu_model *model, const cornu_data *data,
                                   const cornu_run_options *options, cornu_scores *scores,
                                   cornu_report **report)
{
    cornu_run_options o;
    cornu_scores own = {.size = sizeof own};
    if (!model || !data || !report)
        return status_fail(CORNU_INVALID, "cornu_evaluate_report: found NULL; expected model, data "
                                          "and a place for the report");
    *report = NULL;
    if (scores)
        TRY(STRUCT_CHECK("cornu_scores", scores));
    TRY(STRUCT_READ("cornu_run_options", options, &o));
    cornu_status status = evaluate_data(model, data, &o, &own, report);
    if (status == CORNU_OK && scores)
        status = STRUCT_WRITE("cornu_scores", scores, &own);
    if (status != CORNU_OK) {
        cornu_report_close(*report);
        *report = NULL;
    }
    return status;
}

/* ---- prediction -------------------------------------------------------------------------- */

/* A batch of inputs one after another, from number `first` on: its own block, so that the index
   never changes. */
static cornu_status predict_batch(session *s, const float *inputs, int64_t first, int64_t batch,
                                  const int64_t *index, float *outputs, int64_t output_size)
{
    session_plan *ready;
    TRY(session_plan_for(s, PLAN_PREDICT, batch, WEIGHTS_NONE, &ready));
    const cornu_model *model = ready->plan->model;
    sample_block block = {
        .count = batch, .x_shape = model->input, .x_type = SAMPLE_F32, .x = inputs, .x_scale = 1};
    TRY(session_run(s, ready, &block, index, first));
    device *d = session_device(s);
    return d->ops->read(d, ready->prepared, ready->plan->output, outputs, batch * output_size);
}

static cornu_status predict_steps(session *s, const cornu_run_options *o, const float *inputs,
                                  int64_t count, int64_t batch, const int64_t *index,
                                  float *outputs)
{
    const cornu_model *model = session_model(s);
    int64_t input_size = shape_elements(&model->input),
            output_size = shape_elements(&model->output);
    int64_t steps = (count - 1) / batch + 1;
    double began = clock_seconds(), shown = began - 1;
    for (int64_t step = 0; step < steps; step++) {
        int64_t first = step * batch, left = count - first;
        TRY(predict_batch(s, inputs + first * input_size, first, left < batch ? left : batch, index,
                          outputs + first * output_size, output_size));
        double now = clock_seconds();
        if (o->on_step && (step + 1 == steps || now - shown >= PROGRESS_SECONDS)) {
            cornu_progress progress = {.epochs = 1,
                                       .step = step + 1,
                                       .steps = steps,
                                       .seconds = now - began,
                                       .step_loss = NAN};
            shown = now;
            o->on_step(o->user, &progress);
        }
        if (step + 1 < steps && o->should_stop && o->should_stop(o->user))
            return status_fail(CORNU_STOPPED, "predict: stopped after step %jd of %jd",
                               (intmax_t)(step + 1), (intmax_t)steps);
    }
    return CORNU_OK;
}

cornu_status session_predict(session *s, const cornu_run_options *o, const float *inputs,
                             int64_t count, int64_t batch, float *outputs)
{
    int64_t *index;
    if (batch > INT32_MAX)
        return status_fail(CORNU_INVALID, "batch: found %jd; expected 1 to %d", (intmax_t)batch,
                           INT32_MAX);
    TRY(memory_new((size_t)batch, sizeof *index, "order of the samples", &index));
    input_order(0, 0, false, batch, index);
    cornu_status status = predict_steps(s, o, inputs, count, batch, index, outputs);
    device *d = session_device(s);
    cornu_status done = d->ops->synchronize(d); /* it may still read the index */
    free(index);
    return status == CORNU_OK ? done : status;
}

cornu_status cornu_predict(cornu_model *model, const float *inputs, int64_t count,
                           const cornu_run_options *options, float *outputs)
{
    cornu_run_options own, *const o = &own;
    if (!model || !inputs || !outputs)
        return status_fail(CORNU_INVALID,
                           "cornu_predict: found NULL; expected model, inputs and outputs");
    if (count <= 0)
        return status_fail(CORNU_INVALID, "count: found %jd samples; expected at least one",
                           (intmax_t)count);
    TRY(STRUCT_READ("cornu_run_options", options, &own));
    if (o->batch < 0 || o->batch > INT32_MAX)
        return status_fail(CORNU_INVALID, "batch: found %jd; expected at least 1",
                           (intmax_t)o->batch);
    if ((int)o->draws < CORNU_DRAW_NONE || (int)o->draws > CORNU_DRAW_ALL)
        return status_fail(CORNU_INVALID, "draws: found %d; expected a cornu_draws", (int)o->draws);
    if (!model->initialized && model->training.position.seed == 0)
        TRY(model_default_seed(model, &model->training.position.seed));
    int64_t batch = o->batch ? o->batch : model->batch ? model->batch : 32;
    batch = batch < count ? batch : count;
    session *s;
    const session_options opened = {
        .where = o->where, .draws = o->draws, .seed = o->seed, .draw = o->draw};
    TRY(session_open(model, &opened, &s));
    cornu_status status = session_predict(s, o, inputs, count, batch, outputs);
    session_close(s);
    return status;
}
