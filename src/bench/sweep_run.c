/* The workloads with one batch after another. */
#include "bench/room.h"
#include <math.h>
#include <string.h>

/* In a sweep, for each batch; and for the batch of the options, if it is among them. */
static const bench_effort SWEPT = {.warm_up_seconds = 0.1,
                                   .round_seconds = 0.05,
                                   .budget_seconds = 0.5,
                                   .patience_seconds = 2.5,
                                   .rounds_least = 5,
                                   .rounds_most = 30};
static const bench_effort SWEPT_LONGEST = {.warm_up_seconds = 0.3,
                                           .round_seconds = 0.15,
                                           .budget_seconds = 3,
                                           .patience_seconds = 5,
                                           .rounds_least = 12,
                                           .rounds_most = 60};
/* Seconds per batch and device besides its rounds. */
static const double SWEPT_OPENING_SECONDS = 0.4;

static cornu_status leave_out(bench *b, const bench_workload *w, const compared *on, int64_t batch,
                              const char *why)
{
    contender *c = &b->group[b->group_count++];
    *c = (contender){.workload = w, .device = on->name, .batch = batch};
    contender_fail(c, CORNU_UNSUPPORTED, why);
    return CORNU_OK;
}

/* Seconds that a batch will take on a device, as far as is known: opening it (drivers may compile),
   and its rounds. */
static double cost_of(const bench *b, const bench_workload *w, const compared *on, int64_t batch)
{
    double opening = SWEPT_OPENING_SECONDS;
    double step = sweep_predict_ms(b->report, w->name, on->name, batch) / 1e3;
    for (int i = 0; i < b->report->count; i++) {
        const bench_result *r = &b->report->results[i];
        if (strcmp(r->device, on->name) == 0 && !*r->failed)
            opening = fmax(opening, r->cold_seconds);
    }
    return opening + fmax(b->effort.budget_seconds, 3 * step);
}

static bool is_in_time(const bench *b, const bench_workload *w, const compared *on,
                       const bench_options *with)
{
    double end = clock_seconds() - b->began + cost_of(b, w, on, with->batch);
    return with->seconds <= 0 || end <= with->seconds || with->batch == with->main_batch;
}

/* One batch on one device, if a step is not too slow and there is time. */
static cornu_status sweep_device(bench *b, const bench_workload *w, const compared *on,
                                 const bench_options *with)
{
    char why[BENCH_REASON];
    double step = sweep_predict_ms(b->report, w->name, on->name, with->batch) / 1e3;
    if (step > b->effort.patience_seconds) {
        snprintf(why, sizeof why, "left out: a step would take about %.0f s", step);
        return leave_out(b, w, on, with->batch, why);
    }
    if (is_in_time(b, w, on, with))
        return group_add(b, w, on, with);
    return bench_note(b->report, "%s: not measured with every batch: the time was used up",
                      on->name);
}

/* One batch on all devices for which there is time. */
static cornu_status sweep_one(bench *b, const bench_workload *w, const bench_options *with)
{
    b->effort = with->batch == with->main_batch ? SWEPT_LONGEST : SWEPT;
    for (int d = 0; d < b->device_count; d++) {
        const compared *on = &b->devices[d];
        if (bench_stopped(b))
            return status_fail(CORNU_STOPPED, "bench: stopped");
        TRY(sweep_device(b, w, on, with));
    }
    return group_finish(b);
}

static cornu_status open_kept(bench *b, const bench_workload *w, int64_t batch)
{
    cornu_model *model;
    if (b->options->subject)
        return CORNU_OK;
    TRY(cornu_model_open(w->name, &model));
    bench_data_close(b->kept);
    b->kept = NULL;
    cornu_status status = bench_data_open(w, model, batch, b->options, b->report, &b->kept);
    cornu_model_close(model);
    return status;
}

static cornu_status sweep_workload(bench *b, const bench_workload *w)
{
    const int64_t *batches = b->options->batches;
    bool done[SWEEP_BATCHES_MOST] = {false};
    int count = 0, own = -1;
    for (; batches[count]; count++)
        own = batches[count] == b->options->main_batch ? count : own;
    TRY(open_kept(b, w, batches[count - 1]));
    const bench_data *data = b->options->subject ? b->options->read : b->kept;
    for (int step = 0, i; (i = sweep_next(batches, done)) >= 0; step++) {
        i = step == 1 && own >= 0 && !done[own] ? own : i;
        done[i] = true;
        if (batches[i] > data->data->block[CORNU_TRAIN].count)
            continue;
        b->swept[i] = *b->options;
        b->swept[i].batch = batches[i];
        TRY(sweep_one(b, w, &b->swept[i]));
    }
    return CORNU_OK;
}

cornu_status sweep_all(bench *b)
{
    cornu_status status = CORNU_OK;
    for (const bench_workload *w = bench_workloads_of(b); w->name && status == CORNU_OK; w++)
        if (bench_wants(b->options, w->name))
            status = sweep_workload(b, w);
    sweep_sort(b->report);
    return status;
}
