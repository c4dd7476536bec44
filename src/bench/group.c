/* Candidates that are measured together, in turns by round. */
#include "base/memory.h"
#include "bench/duration.h"
#include "bench/room.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds for timing a step of evaluation. */
static const double VALIDATION_SECONDS = 0.3;

void bench_notice(const bench *b, const char *format, ...)
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

bool bench_stopped(const bench *b)
{
    return b->options->should_stop && b->options->should_stop(b->options->user);
}

/* All candidates go on until all are stable, so that a change of the machine affects all alike. */
static bool group_is_finished(const bench *b)
{
    bool all_stable = true, all_done = true;
    for (int i = 0; i < b->group_count; i++) {
        const contender *c = &b->group[i];
        all_done &= c->done;
        all_stable &= c->done || contender_is_stable(c, &b->effort);
    }
    return all_done || all_stable;
}

/* A failure of its device ends one candidate; the others go on. */
static cornu_status settle(contender *c, cornu_status status)
{
    char why[BENCH_REASON];
    if (status == CORNU_OK || status == CORNU_STOPPED)
        return status;
    snprintf(why, sizeof why, "%s", cornu_last_error());
    contender_fail(c, status, why);
    return CORNU_OK;
}

static cornu_status warm_up(bench *b, contender *c)
{
    if (c->failed)
        return CORNU_OK;
    bench_notice(b, "%s on %s: warming up", c->workload->name, c->device);
    (void)energy_since(&b->energy);
    double begin = clock_seconds();
    cornu_status status = contender_warm_up(c, b->options, &b->effort);
    double joules = energy_since(&b->energy);
    if (status == CORNU_OK &&
        c->rounds > 0) /* a slow step counts as a round, and may be the only one */
        contender_meter(c, joules, clock_seconds() - begin);
    return settle(c, status);
}

/* The maximum of seconds that its rounds will take. */
static double seconds_left(const contender *c, const bench_effort *effort)
{
    if (c->done || c->failed || c->rounds == 0)
        return 0;
    double by_time = fmax(effort->budget_seconds - c->seconds, 0);
    double by_rounds = (effort->rounds_most - c->rounds) * c->seconds / c->rounds;
    return fmin(by_time, by_rounds);
}

/* Probes and other work between rounds take a proportional share of the time so far. */
static void notice_round(const bench *b, const contender *c, int round)
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
        bench_notice(b, "%s on %s: round 1 of %d to %d", c->workload->name, c->device,
                     b->effort.rounds_least, b->effort.rounds_most);
    else
        bench_notice(b, "%s on %s: round %d of %d to %d, at most %s left", c->workload->name,
                     c->device, round, b->effort.rounds_least, b->effort.rounds_most,
                     duration_show(most * factor, left));
}

/* On the host's cores an arithmetic probe precedes each round, and memory probes surround it. */
static cornu_status run_round(bench *b, contender *c, int round)
{
    double probe = NAN;
    if (c->done)
        return CORNU_OK;
    notice_round(b, c, round);
    if (!bench_device_of(b->report, c->device))
        probe = b->host->ops->probe(b->host);
    if (probe > b->report->limits.fma)
        b->report->limits.fma = probe; /* the machine was busy when the limit was measured */
    double memory = contender_memory_probe(c, &b->effort);
    (void)energy_since(&b->energy);
    double begin = clock_seconds();
    cornu_status status = contender_round(c, probe, &b->effort);
    double joules = energy_since(&b->energy);
    if (status == CORNU_OK) {
        contender_meter(c, joules, clock_seconds() - begin);
        c->memory[c->rounds - 1] = sqrt(memory * contender_memory_probe(c, &b->effort));
    }
    return settle(c, status);
}

/* For the batch that will be used for training. */
static cornu_status time_validation(bench *b, contender *c)
{
    bool wanted = !b->options->main_batch || c->batch == b->options->main_batch;
    if (!b->options->validation || !wanted || c->failed)
        return CORNU_OK;
    return settle(c, contender_validate(c, VALIDATION_SECONDS));
}

static cornu_status measure_group(bench *b)
{
    for (int i = 0; i < b->group_count; i++)
        TRY(warm_up(b, &b->group[i]));
    b->group_began = clock_seconds();
    for (b->round = 1; !group_is_finished(b); b->round++)
        for (int i = 0; i < b->group_count; i++) {
            if (bench_stopped(b))
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
        contender *c = &b->group[i];
        if (stopped && (c->failed || c->rounds == 0))
            continue;
        TRY(memory_grow(&r->results, &r->capacity, (size_t)r->count + 1, sizeof *r->results));
        bench_result *result = &r->results[r->count];
        *result = (bench_result){0};
        TRY(settle(c, contender_result(c, result)));
        r->count++; /* its memory is freed with the report */
        TRY(settle(c, contender_details(c, &with, result)));
        if (c->failed) {
            bench_result_forget(result);
            b->first_failure = b->first_failure ? b->first_failure : c->failed;
            TRY(contender_result(c, result));
        }
        if (c->rounds > 0 && c->rounds < 3 && !b->options->batches)
            TRY(bench_note(r, "%s on %s: %lld step%s only, as each takes %.1f s", c->workload->name,
                           c->device, (long long)c->steps, PLURAL(c->steps, "", "s"),
                           c->ms[0] / 1e3));
    }
    return CORNU_OK;
}

void group_close(bench *b)
{
    for (int i = 0; i < b->group_count; i++)
        contender_close(&b->group[i]);
    b->group_count = 0;
}

cornu_status group_finish(bench *b)
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
    if (contender_memory(w, on->name, with, &bytes) != CORNU_OK)
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

cornu_status group_add(bench *b, const bench_workload *w, const compared *on,
                       const bench_options *with)
{
    if (!fits(b, w, on, with))
        TRY(group_finish(b));
    contender *c = &b->group[b->group_count++];
    if (on->failed) {
        *c = (contender){.workload = w, .device = on->name};
        contender_fail(c, on->failed, on->why);
        return CORNU_OK;
    }
    bench_notice(b, "%s on %s: opening", w->name, on->name);
    cornu_status status =
        contender_open(c, w, on->name, data_of(b, w), with, &b->effort, b->report);
    if (status != CORNU_OK && status != CORNU_OUT_OF_MEMORY)
        return status_prefix(status, "%s on %s", w->name, on->name);
    if (status == CORNU_OK)
        status = contender_start(c, with);
    return settle(c, status);
}
