/* bench --full: the recipe's schedule, from the first step to the test accuracy. */
#include "bench/contender.h"
#include <string.h>

typedef struct full_run {
    const bench_options *options;
    const bench_workload *workload;
    const char *device;
} full_run;

static bool should_stop(void *user)
{
    const bench_options *o = ((full_run *)user)->options;
    return o->should_stop && o->should_stop(o->user);
}

static void on_epoch(void *user, const cornu_progress *p)
{
    const full_run *run = user;
    if (!run->options->on_notice)
        return;
    char line[256];
    double mean = p->scores && p->scores->count > 0 ? p->scores->value[0] : 0;
    snprintf(line, sizeof line, "%s on %s: epoch %lld of %lld, %.1f s, loss %.4f",
             run->workload->name, run->device, (long long)p->epoch + 1, (long long)p->epochs,
             p->seconds, mean);
    run->options->on_notice(run->options->user, line);
}

/* The reason why the schedule makes no sense here, or NULL. */
static const char *why_not(const bench_workload *w, const char *on, const bench_data *data)
{
    if (strcmp(on, "reference") == 0)
        return "the reference device would take days for it";
    if (strcmp(w->name, "photos-cnn-ready") == 0)
        return "the workload is a timing of steps only";
    if (!data->real)
        return "its data is not on this machine";
    return NULL;
}

static cornu_status train(full_run *run, cornu_model *model, const cornu_data *data,
                          bench_result *result)
{
    const bench_options *o = run->options;
    cornu_fit_options fit = {.device = run->device,
                             .precision = result->precision,
                             .exact_convolution = o->exact_convolution,
                             .threads = o->threads,
                             .epochs = model->epochs > 0 ? model->epochs : run->workload->epochs,
                             .batch = o->batch,
                             .on_epoch = on_epoch,
                             .should_stop = should_stop,
                             .user = run};
    double begin = clock_seconds();
    TRY(cornu_fit(model, data, &fit, NULL));
    result->full_seconds = clock_seconds() - begin;
    cornu_run_options test = {.device = run->device,
                              .precision = result->precision,
                              .exact_convolution = o->exact_convolution,
                              .threads = o->threads,
                              .split = CORNU_TEST,
                              .should_stop = should_stop,
                              .user = run};
    if (data->block[CORNU_TEST].count == 0)
        return status_fail(CORNU_NOT_FOUND, "%s: found no test samples", data->name);
    cornu_scores scores;
    TRY(cornu_evaluate(model, data, &test, &scores));
    result->full_loss = scores.value[0];
    result->full_accuracy = scores.count > 1 ? scores.value[1] : 0;
    return CORNU_OK;
}

cornu_status bench_full_schedule(const bench_workload *w, const char *on,
                                 const bench_options *options, bench_report *report,
                                 bench_result *result)
{
    cornu_model *model = NULL;
    bench_data *data = NULL;
    full_run run = {.options = options, .workload = w, .device = on};
    cornu_status status;
    TRY_GOTO(cornu_model_open(w->name, &model));
    TRY_GOTO(
        bench_data_open(w, model, model->batch > 0 ? model->batch : 32, options, report, &data));
    const char *refused = why_not(w, on, data);
    if (refused) {
        status = bench_note(report, "%s on %s: --full left out: %s", w->name, on, refused);
        goto done;
    }
    status = train(&run, model, data->data, result);
    result->has_full = status == CORNU_OK;
    if (status != CORNU_OK && status != CORNU_STOPPED) /* the other devices go on */
        status = bench_note(report, "%s on %s: --full failed: %s", w->name, on, cornu_last_error());
done:
    bench_data_close(data);
    cornu_model_close(model);
    return status;
}
