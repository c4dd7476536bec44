/* A comparison: devices and workloads are chosen, candidates measured in turns, by round, once
   or with one batch after another, and what was measured held against the limits. */
#include "bench/bench.h"
#include "base/memory.h"
#include "base/show.h"
#include "bench/baseline.h"
#include "bench/candidate.h"
#include "bench/cost.h"
#include "bench/sweep.h"
#include "device/roofline.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The maximum number of candidates that are open at once. */
enum { GROUP_MOST = 64 };
typedef struct compared {
    char name[64];
    cornu_status failed; /* it could not be opened, or its limits not be measured; and the reason */
    char why[BENCH_REASON];
} compared;

typedef struct bench {
    const bench_options *options;
    const bench_workload *workloads; /* name NULL at the end */
    bench_report *report;
    bench_effort effort;
    device *host; /* "cpu": the machine's limits and probes */
    compared devices[BENCH_DEVICES_MOST];
    int device_count;
    bench_baseline baseline;
    candidate group[GROUP_MOST];
    int group_count;
    cornu_status first_failure; /* of a candidate */
    energy energy;              /* of the host's processors */
    double began;
    int round;          /* of the current group */
    double group_began; /* time of its first round */
    /* For a sweep: options with each of its batches; data for all of them. */
    bench_options swept[SWEEP_BATCHES_MOST];
    bench_data *kept;
} bench;

static void notice(const bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void notice(const bench *b, const char *format, ...)
{
    char line[256];
    va_list arguments;
    if (!b->options->on_notice)
        return;
    va_start(arguments, format);
    printable_v(line, sizeof line, format, arguments);
    va_end(arguments);
    b->options->on_notice(b->options->user, line);
}

static bool is_stopped(const bench *b)
{
    return b->options->should_stop && b->options->should_stop(b->options->user);
}

/* ---- the devices and workloads ---------------------------------------------------------- */

/* An accelerator is compared with limits of its own: those of a device without a probe of the
   host's cores. */
static cornu_status measure_device(bench *b, const device_id *id, const cornu_device_info *info)
{
    bench_report *r = b->report;
    device *d;
    TRY(id->ops->open(id->number, &(device_options){.threads = b->options->threads}, &d));
    cornu_status status = CORNU_OK;
    if (d->ops->limits && !d->ops->probe) {
        bench_device *to = &r->devices[r->device_count];
        notice(b, "%s: measuring its limits", info->name);
        to->info = *info;
        status = d->ops->limits(d, &to->limits);
        r->device_count += status == CORNU_OK;
    }
    d->ops->close(d);
    return status;
}

static cornu_status add_device(bench *b, const device_id *id, const cornu_device_info *info)
{
    compared *to = &b->devices[b->device_count++];
    snprintf(to->name, sizeof to->name, "%s", info->name);
    return measure_device(b, id, info);
}

/* One of all devices: a failure becomes its rows, and an absent device a note. */
static cornu_status add_any_device(bench *b, const device_id *id, const cornu_device_info *info)
{
    if (!info->available)
        return bench_note(b->report, "%s: not available: %s", info->name, info->reason);
    cornu_status status = add_device(b, id, info);
    compared *added = &b->devices[b->device_count - 1];
    if (status == CORNU_OK || status == CORNU_STOPPED)
        return status;
    added->failed = status;
    snprintf(added->why, sizeof added->why, "%s", cornu_last_error());
    return CORNU_OK;
}

/* "cpu,opencl:0": each must exist; later failures become its rows. */
static cornu_status add_listed(bench *b, const char *names)
{
    for (const char *at = names; *at; at += *at == ',') {
        char name[64];
        device_id id;
        cornu_device_info info = {.size = sizeof info};
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), at);
        at += length;
        TRY(device_find(name, &id));
        id.ops->describe(id.number, &info);
        if (b->device_count < BENCH_DEVICES_MOST)
            TRY(add_any_device(b, &id, &info));
    }
    return CORNU_OK;
}

static cornu_status open_host(bench *b)
{
    device_id id;
    TRY(device_find("cpu", &id));
    return id.ops->open(id.number, &(device_options){.threads = b->options->threads}, &b->host);
}

static cornu_status choose_devices(bench *b)
{
    const char *wanted = b->options->device;
    device_id id;
    cornu_device_info info = {.size = sizeof info};
    if (wanted && strchr(wanted, ','))
        return add_listed(b, wanted);
    if (!wanted || strcmp(wanted, "all") != 0) {
        TRY(device_find(wanted, &id));
        id.ops->describe(id.number, &info);
        return add_device(b, &id, &info);
    }
    for (int i = 0; b->device_count < BENCH_DEVICES_MOST && device_at(i, &id, &info); i++)
        if (!b->options->without || strcmp(info.name, b->options->without) != 0)
            TRY(add_any_device(b, &id, &info));
    return CORNU_OK;
}

static bool wants(const bench_options *options, const char *name)
{
    if (!options->workloads || !options->workloads[0])
        return true;
    for (const char *const *w = options->workloads; *w; w++)
        if (strcmp(*w, name) == 0 || strcmp(*w, "all") == 0)
            return true;
    return false;
}

cornu_status bench_choose(const bench_options *options, bench_workload **out)
{
    size_t count = 1;
    const char *const *given = options->workloads;
    for (const bench_workload *w = bench_workloads; w->name; w++)
        count++;
    for (int i = 0; given && given[i]; i++)
        count++;
    TRY(memory_new(count, sizeof **out, "workloads", out));
    bench_workload *next = *out;
    for (const bench_workload *w = bench_workloads; w->name; w++)
        if (wants(options, w->name))
            *next++ = *w;
    for (int i = 0; given && given[i]; i++)
        if (bench_is_recipe(given[i]))
            *next++ = (bench_workload){.name = given[i]};
    return CORNU_OK;
}

static cornu_status check_options(const bench_options *options)
{
    for (const char *const *w = options->workloads; w && *w; w++)
        if (strcmp(*w, "all") != 0 && !bench_workload_named(*w) && !bench_is_recipe(*w))
            return status_fail(CORNU_INVALID, "%s: unknown workload; cornu bench --help lists them",
                               *w);
    if (options->steps < 0 || options->batch < 0 || options->threads < 0)
        return status_fail(CORNU_INVALID,
                           "bench: found a negative number of steps, batch or threads");
    return CORNU_OK;
}

/* --data must be useful to at least one of the workloads; otherwise the first workload's error is
   returned. */
static cornu_status check_data(const bench *b)
{
    char first[1024] = "";
    const bench_options *options = b->options;
    for (const bench_workload *w = b->workloads; options->data && !options->subject && w->name;
         w++) {
        if (bench_data_check(w, options) == CORNU_OK)
            return CORNU_OK;
        if (!*first)
            snprintf(first, sizeof first, "%s", cornu_last_error());
    }
    return *first ? status_fail(CORNU_NOT_FOUND, "%s", first) : CORNU_OK;
}

/* ---- candidates in turns, round by round ---------------------------------------------------- */

/* Seconds for timing a step of evaluation. */
static const double VALIDATION_SECONDS = 0.3;

/* All candidates go on until all are stable, so that a change of the machine affects all alike. */
static bool group_is_finished(const bench *b)
{
    bool all_stable = true, all_done = true;
    for (int i = 0; i < b->group_count; i++) {
        const candidate *c = &b->group[i];
        all_done &= c->done;
        all_stable &= c->done || candidate_is_stable(c, &b->effort);
    }
    return all_done || all_stable;
}

/* A failure of its device ends one candidate; the others go on. */
static cornu_status settle(candidate *c, cornu_status status)
{
    char why[BENCH_REASON];
    if (status == CORNU_OK || status == CORNU_STOPPED)
        return status;
    snprintf(why, sizeof why, "%s", cornu_last_error());
    candidate_fail(c, status, why);
    return CORNU_OK;
}

static cornu_status warm_up(bench *b, candidate *c)
{
    if (c->failed)
        return CORNU_OK;
    notice(b, "%s on %s: warming up", c->workload->name, c->device);
    (void)energy_since(&b->energy);
    double begin = clock_seconds();
    cornu_status status = candidate_warm_up(c, b->options, &b->effort);
    double joules = energy_since(&b->energy);
    if (status == CORNU_OK &&
        c->rounds > 0) /* a slow step counts as a round, and may be the only one */
        candidate_meter(c, joules, clock_seconds() - begin);
    return settle(c, status);
}

/* The maximum of seconds that its rounds will take. */
static double seconds_left(const candidate *c, const bench_effort *effort)
{
    if (c->done || c->failed || c->rounds == 0)
        return 0;
    double by_time = fmax(effort->budget_seconds - c->seconds, 0);
    double by_rounds = (effort->rounds_most - c->rounds) * c->seconds / c->rounds;
    return fmin(by_time, by_rounds);
}

/* Probes and other work between rounds take a proportional share of the time so far. */
static void notice_round(const bench *b, const candidate *c, int round)
{
    char left[DURATION_TEXT];
    double counted = 0, most = 0;
    for (int i = 0; i < b->group_count; i++) {
        counted += b->group[i].seconds;
        most += seconds_left(&b->group[i], &b->effort);
    }
    double all = clock_seconds() - b->group_began;
    double factor = round > 1 && counted > 0 ? fmax(all / counted, 1) : 1;
    if (round == 1)
        notice(b, "%s on %s: round 1 of %d to %d", c->workload->name, c->device,
               b->effort.rounds_least, b->effort.rounds_most);
    else
        notice(b, "%s on %s: round %d of %d to %d, at most %s left", c->workload->name, c->device,
               round, b->effort.rounds_least, b->effort.rounds_most,
               duration_show(most * factor, left));
}

/* On the host's cores an arithmetic probe precedes each round, and memory probes surround it. */
static cornu_status run_round(bench *b, candidate *c, int round)
{
    double probe = NAN;
    if (c->done)
        return CORNU_OK;
    notice_round(b, c, round);
    if (!bench_device_of(b->report, c->device))
        probe = b->host->ops->probe(b->host);
    if (probe > b->report->limits.fma)
        b->report->limits.fma = probe; /* the machine was busy when the limit was measured */
    double memory = candidate_memory_probe(c, &b->effort);
    (void)energy_since(&b->energy);
    double begin = clock_seconds();
    cornu_status status = candidate_round(c, probe, &b->effort);
    double joules = energy_since(&b->energy);
    if (status == CORNU_OK) {
        candidate_meter(c, joules, clock_seconds() - begin);
        c->memory[c->rounds - 1] = sqrt(memory * candidate_memory_probe(c, &b->effort));
    }
    return settle(c, status);
}

/* For the batch that will be used for training. */
static cornu_status time_validation(bench *b, candidate *c)
{
    bool wanted = !b->options->main_batch || c->batch == b->options->main_batch;
    if (!b->options->validation || !wanted || c->failed)
        return CORNU_OK;
    return settle(c, candidate_validate(c, VALIDATION_SECONDS));
}

static cornu_status measure_group(bench *b)
{
    for (int i = 0; i < b->group_count; i++)
        TRY(warm_up(b, &b->group[i]));
    b->group_began = clock_seconds();
    for (b->round = 1; !group_is_finished(b); b->round++)
        for (int i = 0; i < b->group_count; i++) {
            if (is_stopped(b))
                return status_fail(CORNU_STOPPED, "bench: stopped");
            TRY(run_round(b, &b->group[i], b->round));
        }
    b->round = 0;
    for (int i = 0; i < b->group_count; i++)
        TRY(time_validation(b, &b->group[i]));
    return CORNU_OK;
}

/* `stopped`: keep the candidates that had their turn; no more is measured. */
static cornu_status keep_results(bench *b, bool stopped)
{
    bench_report *r = b->report;
    bench_options with = *b->options;
    with.operations = with.operations && !stopped;
    for (int i = 0; i < b->group_count; i++) {
        candidate *c = &b->group[i];
        if (stopped && (c->failed || c->rounds == 0))
            continue;
        TRY(memory_grow(&r->results, &r->capacity, (size_t)r->count + 1, sizeof *r->results));
        bench_result *result = &r->results[r->count];
        *result = (bench_result){0};
        TRY(settle(c, candidate_result(c, result)));
        r->count++; /* its memory is freed with the report */
        TRY(settle(c, candidate_details(c, &with, result)));
        if (c->failed) {
            bench_result_forget(result);
            b->first_failure = b->first_failure ? b->first_failure : c->failed;
            TRY(candidate_result(c, result));
        }
        if (c->rounds > 0 && c->rounds < 3 && !b->options->batches)
            TRY(bench_note(r, "%s on %s: %lld step%s only, as each takes %.1f s", c->workload->name,
                           c->device, (long long)c->steps, PLURAL(c->steps, "", "s"),
                           c->ms[0] / 1e3));
    }
    return CORNU_OK;
}

static void group_close(bench *b)
{
    for (int i = 0; i < b->group_count; i++)
        candidate_close(&b->group[i]);
    b->group_count = 0;
}

/* Measure the open candidates, keep the results, and close them. */
static cornu_status group_finish(bench *b)
{
    cornu_status status = measure_group(b);
    bool stopped = status == CORNU_STOPPED && b->options->keeps_stopped;
    if (status == CORNU_OK || stopped) {
        cornu_status kept = keep_results(b, stopped);
        status = kept == CORNU_OK ? status : kept;
    }
    group_close(b);
    return status;
}

/* Will it fit into memory beside the open candidates? */
static bool fits(const bench *b, const bench_workload *w, const compared *on,
                 const bench_options *with)
{
    double bytes;
    if (b->group_count >= GROUP_MOST)
        return false;
    if (b->group_count == 0 || on->failed)
        return true;
    if (candidate_memory(w, on->name, with, &bytes) != CORNU_OK)
        return true; /* opening it reports the error */
    return bytes < 0.9 * (double)memory_available();
}

/* The data that an open candidate already reads, or NULL. */
static bench_data *data_of(const bench *b, const bench_workload *w)
{
    for (int i = 0; i < b->group_count; i++)
        if (b->group[i].workload == w && b->group[i].data)
            return b->group[i].data;
    if (b->options->subject)
        return b->options->read;
    return b->kept && b->kept->workload == w ? b->kept : NULL;
}

/* Open one more candidate; where memory is short, first measure and close the open ones. `with`:
   the options, in a sweep with a batch of their own. Without the workload's data no device can be
   measured, and the comparison fails; any other failure belongs to the device. */
static cornu_status group_add(bench *b, const bench_workload *w, const compared *on,
                              const bench_options *with)
{
    if (!fits(b, w, on, with))
        TRY(group_finish(b));
    candidate *c = &b->group[b->group_count++];
    if (on->failed) {
        *c = (candidate){.workload = w, .device = on->name};
        candidate_fail(c, on->failed, on->why);
        return CORNU_OK;
    }
    notice(b, "%s on %s: opening", w->name, on->name);
    cornu_status status =
        candidate_open(c, w, on->name, data_of(b, w), with, &b->effort, b->report);
    if (status != CORNU_OK && status != CORNU_OUT_OF_MEMORY)
        return status_prefix(status, "%s on %s", w->name, on->name);
    if (status == CORNU_OK)
        status = candidate_start(c, with);
    return settle(c, status);
}

/* ---- one batch after another ---------------------------------------------------------------- */

/* The workloads with one batch after another. */
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
    candidate *c = &b->group[b->group_count++];
    *c = (candidate){.workload = w, .device = on->name, .batch = batch};
    candidate_fail(c, CORNU_UNSUPPORTED, why);
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
        if (is_stopped(b))
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

/* All workloads with all options->batches; sorts the results. */
static cornu_status sweep_all(bench *b)
{
    cornu_status status = CORNU_OK;
    for (const bench_workload *w = b->workloads; w->name && status == CORNU_OK; w++)
        status = sweep_workload(b, w);
    sweep_sort(b->report);
    return status;
}

/* ---- all together ----------------------------------------------------------------------- */

static cornu_status measure_all(bench *b)
{
    for (const bench_workload *w = b->workloads; w->name; w++)
        for (int d = 0; d < b->device_count; d++) {
            if (is_stopped(b))
                return status_fail(CORNU_STOPPED, "bench: stopped");
            TRY(group_add(b, w, &b->devices[d], b->options));
        }
    return group_finish(b);
}

/* At least one result is needed; otherwise the first failure is the comparison's. */
static cornu_status check_measured(const bench *b)
{
    const bench_result *r = b->report->results;
    for (int i = 0; i < b->report->count; i++)
        if (!*r[i].failed)
            return CORNU_OK;
    return status_fail(b->first_failure, "%s on %s: %s", r->workload, r->device, r->failed);
}

/* The results so far, after an interruption; no more is measured for them. */
static cornu_status keep_interrupted(bench *b, cornu_status status)
{
    char round[32] = "";
    bench_report *r = b->report;
    if (status != CORNU_STOPPED || !b->options->keeps_stopped || r->count == 0)
        return status;
    r->interrupted = true;
    if (b->round > 0)
        snprintf(round, sizeof round, " in round %d", b->round);
    return bench_note(r, "interrupted%s: these are the figures of what was measured until then%s",
                      round,
                      b->options->baseline ? ", and are not compared with the baseline" : "");
}

static cornu_status measure_everything(bench *b)
{
    cornu_status status = b->options->batches ? sweep_all(b) : measure_all(b);
    if (status == CORNU_OK)
        status = check_measured(b);
    return keep_interrupted(b, status);
}

/* Measure again: the machine may have been busy the first time. A device that fails now keeps its
   first limits. */
static cornu_status measure_limits_again(bench *b)
{
    device_limits again;
    notice(b, "measuring the machine's limits again");
    TRY(b->host->ops->limits(b->host, &again));
    roofline_raise(&b->report->limits, &again);
    for (int i = 0; i < b->report->device_count; i++) {
        bench_device *of = &b->report->devices[i];
        if (roofline_of(of->info.name, b->options->threads, &again) == CORNU_OK)
            roofline_raise(&of->limits, &again);
    }
    return CORNU_OK;
}

/* The limits for one result: the host's, or its accelerator's at its precision. */
static device_limits limits_of(const bench_report *r, const bench_result *x)
{
    const bench_device *d = bench_device_of(r, x->device);
    return d ? roofline_at(&d->limits, x->precision) : r->limits;
}

static void judge_operations(bench_result *x)
{
    for (int i = 0; i < x->operation_count; i++) {
        bench_operation *o = &x->operations[i];
        double least = roofline_seconds(&x->limits, o->flops, o->bytes, o->bytes);
        o->share_of_limit = least / (o->ms / 1e3);
        o->bound = roofline_bound(&x->limits, o->flops, o->bytes, o->bytes);
    }
}

/* Shares of the limits, now that the highest FMA rate is known; and the results of the probes. */
static cornu_status judge(bench *b)
{
    bench_report *r = b->report;
    double low = 1, median = 1;
    for (int i = 0; i < r->count; i++) {
        bench_result *x = &r->results[i];
        if (*x->failed)
            continue;
        x->limits = limits_of(r, x);
        double least = roofline_seconds(&x->limits, x->flops_run, x->bytes_run, x->working_set);
        x->share_of_limit = x->step_ms.median > 0 ? least / (x->step_ms.median / 1e3) : 0;
        x->bound = roofline_bound(&x->limits, x->flops_run, x->bytes_run, x->working_set);
        judge_operations(x);
        x->probe_low /= r->limits.fma;
        x->probe_median /= r->limits.fma;
        low = fmin(low, x->probe_low); /* fmin of a number and NAN is the number */
        median = fmin(median, x->probe_median);
    }
    TRY(bench_note_noise(r));
    if (low >= 0.9)
        return CORNU_OK;
    return bench_note(r,
                      "between rounds the cores reached %.0f %% of their limit as a rule and "
                      "%.0f %% at the least: the machine is throttled or shared",
                      100 * median, 100 * low);
}

cornu_status bench_run(const bench_options *options, bench_report *report)
{
    cornu_status status;
    bench *b = NULL;
    bench_workload *chosen = NULL;
    *report = (bench_report){0};
    TRY(check_options(options));
    TRY(memory_new(1, sizeof *b, "bench", &b));
    b->options = options;
    TRY_GOTO(bench_choose(options, &chosen));
    b->workloads = options->subject ? options->subject : chosen;
    TRY_GOTO(check_data(b));
    b->report = report;
    b->effort = bench_effort_of(options);
    if (options->baseline)
        TRY_GOTO(baseline_open(options->baseline, &b->baseline));
    b->began = clock_seconds();
    energy_open(&b->energy, NULL);
    TRY_GOTO(choose_devices(b));
    TRY_GOTO(open_host(b));
    bench_machine_read(&report->machine);
    if (strncmp(report->machine.compiler, "clang", 5) == 0)
        TRY_GOTO(bench_note(
            report, "cornu was compiled by %s; without AVX-512 GCC's build takes shorter steps",
            report->machine.compiler));
    strftime(report->started, sizeof report->started, "%Y-%m-%d %H:%M UTC",
             gmtime_r(&(time_t){time(NULL)}, &(struct tm){0}));
    report->settings = (bench_settings){.quick = options->quick,
                                        .exact_convolution = options->exact_convolution,
                                        .recompute = options->recompute,
                                        .steps = options->steps};
    notice(b, "measuring the machine's limits");
    TRY_GOTO(b->host->ops->limits(b->host, &report->limits));
    TRY_GOTO(measure_everything(b));
    TRY_GOTO(check_measured(b));
    if (options->seconds == 0 && !report->interrupted)
        TRY_GOTO(measure_limits_again(b));
    TRY_GOTO(judge(b));
    if (options->baseline && !report->interrupted)
        TRY_GOTO(baseline_apply(&b->baseline, report));
    TRY_GOTO(bench_make_json(report));
done:
    baseline_close(&b->baseline);
    group_close(b);
    bench_data_close(b->kept);
    if (b->host)
        b->host->ops->close(b->host);
    free(b);
    free(chosen);
    return status;
}
