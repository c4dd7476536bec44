/* Contenders that are measured together, round by round in turns. */
#include "base/memory.h"
#include "bench/room.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How long a step of evaluation is timed. */
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

/* Everyone goes on until all are stable, so that a change of the machine hits all alike. */
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

/* A failure of its device ends one contender, and the others go on. */
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
    return settle(c, contender_warm_up(c, b->options, &b->effort));
}

/* On the host's cores a probe of arithmetic stands before each round, and probes of its memory
   around it. */
static cornu_status run_round(bench *b, contender *c, int round)
{
    double probe = NAN;
    if (c->done)
        return CORNU_OK;
    bench_notice(b, "%s on %s: round %d", c->workload->name, c->device, round);
    if (!bench_device_of(b->report, c->device))
        probe = b->host->ops->probe(b->host);
    if (probe > b->report->limits.fma)
        b->report->limits.fma = probe; /* the machine was not quiet when it was measured */
    double memory = contender_memory_probe(c, &b->effort);
    (void)energy_since(&b->energy);
    cornu_status status = contender_round(c, probe, &b->effort);
    double joules = energy_since(&b->energy);
    if (status == CORNU_OK) {
        c->host_joules += joules;
        c->memory[c->rounds - 1] = sqrt(memory * contender_memory_probe(c, &b->effort));
    }
    return settle(c, status);
}

/* Of the batch that is to be trained with. */
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
    for (int round = 1; !group_is_finished(b); round++)
        for (int i = 0; i < b->group_count; i++) {
            if (bench_stopped(b))
                return status_fail(CORNU_STOPPED, "bench: stopped");
            TRY(run_round(b, &b->group[i], round));
        }
    for (int i = 0; i < b->group_count; i++)
        TRY(time_validation(b, &b->group[i]));
    return CORNU_OK;
}

static cornu_status keep_results(bench *b)
{
    bench_report *r = b->report;
    for (int i = 0; i < b->group_count; i++) {
        contender *c = &b->group[i];
        TRY(memory_grow(&r->results, &r->capacity, (size_t)r->count + 1, sizeof *r->results));
        bench_result *result = &r->results[r->count];
        *result = (bench_result){0};
        TRY(settle(c, contender_result(c, result)));
        r->count++; /* what it holds is freed with the report */
        TRY(settle(c, contender_details(c, b->options, result)));
        if (c->failed) {
            bench_result_forget(result);
            b->first_failure = b->first_failure ? b->first_failure : c->failed;
            TRY(contender_result(c, result));
        }
        if (c->rounds > 0 && c->rounds < 3 && !b->options->batches)
            TRY(bench_note(r, "%s on %s: %lld step%s only, as each takes %.1f s", c->workload->name,
                           c->device, (long long)c->steps, c->steps == 1 ? "" : "s",
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
    if (status == CORNU_OK)
        status = keep_results(b);
    group_close(b);
    return status;
}

/* Will it fit beside those that are open? */
static bool fits(const bench *b, const bench_workload *w, const compared *on,
                 const bench_options *with)
{
    double bytes;
    if (b->group_count >= GROUP_MOST)
        return false;
    if (b->group_count == 0 || on->failed)
        return true;
    if (contender_memory(w, on->name, with, &bytes) != CORNU_OK)
        return true; /* opening it says what is wrong */
    return bytes < 0.9 * (double)memory_available();
}

/* What an open contender reads already, or NULL. */
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
