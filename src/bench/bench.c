#include "bench/bench.h"
#include "base/memory.h"
#include "bench/contender.h"
#include "device/roofline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More contenders than this are never open at once. */
enum { GROUP_MOST = 64 };

typedef struct compared {
    char name[64];
    cornu_status failed; /* it could not be opened, or its limits not be measured, and why */
    char why[BENCH_REASON];
} compared;

typedef struct bench {
    const bench_options *options;
    bench_report *report;
    bench_effort effort;
    device *host; /* "cpu": the machine's limits and probes */
    compared devices[BENCH_DEVICES_MOST];
    int device_count;
    contender group[GROUP_MOST];
    int group_count;
    cornu_status first_failure; /* of a contender */
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

/* ---- what to measure -------------------------------------------------------------------- */

/* An accelerator is held against limits of its own: those of a device that has no probe of the
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

/* One of all: what fails becomes its rows, and what is not there a note. */
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
    cornu_device_info info = {0};
    if (!wanted || strcmp(wanted, "all") != 0) {
        TRY(device_find(wanted, &id));
        id.ops->describe(id.number, &info);
        return add_device(b, &id, &info);
    }
    for (int i = 0; b->device_count < BENCH_DEVICES_MOST && device_at(i, &id, &info); i++)
        TRY(add_any_device(b, &id, &info));
    return CORNU_OK;
}

static const bench_workload *workload_named(const char *name)
{
    for (const bench_workload *w = bench_workloads; w->name; w++)
        if (strcmp(w->name, name) == 0)
            return w;
    return NULL;
}

static bool is_wanted(const bench_options *options, const char *name)
{
    if (!options->workloads || !options->workloads[0])
        return true;
    for (const char *const *w = options->workloads; *w; w++)
        if (strcmp(*w, name) == 0 || strcmp(*w, "all") == 0)
            return true;
    return false;
}

static cornu_status check_options(const bench_options *options)
{
    for (const char *const *w = options->workloads; w && *w; w++)
        if (strcmp(*w, "all") != 0 && !workload_named(*w))
            return status_fail(CORNU_INVALID, "%s: unknown workload; cornu bench --help lists them",
                               *w);
    if (options->quick && options->full)
        return status_fail(CORNU_INVALID, "bench: found quick and full; expected one of them");
    if (options->steps < 0 || options->batch < 0 || options->threads < 0)
        return status_fail(CORNU_INVALID,
                           "bench: found a negative number of steps, batch or threads");
    return CORNU_OK;
}

/* --data must be of use to one of the workloads at least; the first of them says what is missing.
 */
static cornu_status check_data(const bench_options *options)
{
    char first[1024] = "";
    for (const bench_workload *w = bench_workloads; options->data && w->name; w++) {
        if (!is_wanted(options, w->name))
            continue;
        if (bench_data_check(w, options) == CORNU_OK)
            return CORNU_OK;
        if (!*first)
            snprintf(first, sizeof first, "%s", cornu_last_error());
    }
    return *first ? status_fail(CORNU_NOT_FOUND, "%s", first) : CORNU_OK;
}

/* ---- measuring a group ------------------------------------------------------------------ */

static bool stopped(const bench *b)
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
    notice(b, "%s on %s: warming up", c->workload->name, c->device);
    return settle(c, contender_warm_up(c, b->options, &b->effort));
}

/* On the host's cores a probe stands before each round. */
static cornu_status run_round(bench *b, contender *c, int round)
{
    double probe = NAN;
    if (c->done)
        return CORNU_OK;
    notice(b, "%s on %s: round %d", c->workload->name, c->device, round);
    if (!bench_device_of(b->report, c->device))
        probe = b->host->ops->probe(b->host);
    if (probe > b->report->limits.fma)
        b->report->limits.fma = probe; /* the machine was not quiet when it was measured */
    return settle(c, contender_round(c, probe, &b->effort));
}

static cornu_status measure_group(bench *b)
{
    for (int i = 0; i < b->group_count; i++)
        TRY(warm_up(b, &b->group[i]));
    for (int round = 1; !group_is_finished(b); round++)
        for (int i = 0; i < b->group_count; i++) {
            if (stopped(b))
                return status_fail(CORNU_STOPPED, "bench: stopped");
            TRY(run_round(b, &b->group[i], round));
        }
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
        if (c->rounds > 0 && c->rounds < 3)
            TRY(bench_note(r, "%s on %s: %lld step%s only, as each takes %.1f s", c->workload->name,
                           c->device, (long long)c->steps, c->steps == 1 ? "" : "s",
                           c->ms[0] / 1e3));
    }
    return CORNU_OK;
}

static void close_group(bench *b)
{
    for (int i = 0; i < b->group_count; i++)
        contender_close(&b->group[i]);
    b->group_count = 0;
}

static cornu_status finish_group(bench *b)
{
    cornu_status status = measure_group(b);
    if (status == CORNU_OK)
        status = keep_results(b);
    close_group(b);
    return status;
}

/* Will it fit beside those that are open? */
static bool fits(const bench *b, const bench_workload *w, const compared *on)
{
    double bytes;
    if (b->group_count >= GROUP_MOST)
        return false;
    if (b->group_count == 0 || on->failed)
        return true;
    if (contender_memory(w, on->name, b->options, &bytes) != CORNU_OK)
        return true; /* opening it says what is wrong */
    return bytes < 0.9 * (double)memory_available();
}

/* What an open contender reads already, or NULL. */
static bench_data *data_of(const bench *b, const bench_workload *w)
{
    for (int i = 0; i < b->group_count; i++)
        if (b->group[i].workload == w && b->group[i].data)
            return b->group[i].data;
    return NULL;
}

/* Open one more; measure and close the ones before where memory is short. Where its data cannot be
   had, no other device can be measured on them, and that ends the comparison; all else is the
   device's failure. */
static cornu_status add_contender(bench *b, const bench_workload *w, const compared *on)
{
    if (!fits(b, w, on))
        TRY(finish_group(b));
    contender *c = &b->group[b->group_count++];
    if (on->failed) {
        *c = (contender){.workload = w, .device = on->name};
        contender_fail(c, on->failed, on->why);
        return CORNU_OK;
    }
    notice(b, "%s on %s: opening", w->name, on->name);
    cornu_status status =
        contender_open(c, w, on->name, data_of(b, w), b->options, &b->effort, b->report);
    if (status != CORNU_OK && status != CORNU_OUT_OF_MEMORY)
        return status_prefix(status, "%s on %s", w->name, on->name);
    if (status == CORNU_OK)
        status = contender_start(c, b->options);
    return settle(c, status);
}

/* ---- the whole -------------------------------------------------------------------------- */

static cornu_status measure_all(bench *b)
{
    for (const bench_workload *w = bench_workloads; w->name; w++)
        for (int d = 0; d < b->device_count; d++) {
            if (!is_wanted(b->options, w->name))
                continue;
            if (stopped(b))
                return status_fail(CORNU_STOPPED, "bench: stopped");
            TRY(add_contender(b, w, &b->devices[d]));
        }
    return finish_group(b);
}

/* Something has to be measured; else the first failure is the comparison's. */
static cornu_status check_measured(const bench *b)
{
    const bench_result *r = b->report->results;
    for (int i = 0; i < b->report->count; i++)
        if (!*r[i].failed)
            return CORNU_OK;
    return status_fail(b->first_failure, "%s on %s: %s", r->workload, r->device, r->failed);
}

static cornu_status run_full_schedules(bench *b)
{
    for (int i = 0; b->options->full && i < b->report->count; i++) {
        bench_result *r = &b->report->results[i];
        if (*r->failed)
            continue;
        TRY(bench_full_schedule(workload_named(r->workload), r->device, b->options, b->report, r));
    }
    return CORNU_OK;
}

/* Once more: the machine may have been busy the first time. A device that fails now keeps what was
   measured before. */
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

/* The yardstick of one result: the host's, or its accelerator's at its precision. */
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

/* Shares of the limits, now that the highest FMA rate is known; and what the probes saw. */
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
        x->probe_low = x->probe_low > 0 ? x->probe_low / r->limits.fma : 1;
        x->probe_median = x->probe_median > 0 ? x->probe_median / r->limits.fma : 1;
        low = x->probe_low < low ? x->probe_low : low;
        median = x->probe_median < median ? x->probe_median : median;
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
    *report = (bench_report){0};
    TRY(check_options(options));
    TRY(check_data(options));
    TRY(memory_new(1, sizeof *b, "bench", &b));
    b->options = options;
    b->report = report;
    b->effort = bench_effort_of(options);
    TRY_GOTO(choose_devices(b));
    TRY_GOTO(open_host(b));
    bench_machine_read(&report->machine);
    report->settings = (bench_settings){.quick = options->quick,
                                        .exact_convolution = options->exact_convolution,
                                        .steps = options->steps};
    notice(b, "measuring the machine's limits");
    TRY_GOTO(b->host->ops->limits(b->host, &report->limits));
    TRY_GOTO(measure_all(b));
    TRY_GOTO(check_measured(b));
    TRY_GOTO(run_full_schedules(b));
    TRY_GOTO(measure_limits_again(b));
    TRY_GOTO(judge(b));
    TRY_GOTO(bench_make_json(report));
done:
    close_group(b);
    if (b->host)
        b->host->ops->close(b->host);
    free(b);
    return status;
}
