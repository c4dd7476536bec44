#include "bench/bench.h"
#include "base/memory.h"
#include "bench/contender.h"
#include "device/roofline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More contenders than this are never open at once. */
enum { GROUP_MOST = 64 };

typedef struct bench {
    const bench_options *options;
    bench_report *report;
    bench_effort effort;
    device *host;                         /* "cpu": the machine's limits and probes */
    char devices[BENCH_DEVICES_MOST][64]; /* their names */
    int device_count;
    contender group[GROUP_MOST];
    int group_count;
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

/* An accelerator is held against limits of its own. */
static cornu_status add_device(bench *b, const device_id *id, const cornu_device_info *info)
{
    bench_report *r = b->report;
    device *d;
    TRY(id->ops->open(id->number, &(device_options){.threads = b->options->threads}, &d));
    cornu_status status = CORNU_OK;
    bool measured = bench_is_accelerator(info->name) && d->ops->limits;
    if (measured) {
        notice(b, "%s: measuring its limits", info->name);
        r->devices[r->device_count].info = *info;
        status = d->ops->limits(d, &r->devices[r->device_count].limits);
    }
    d->ops->close(d);
    TRY(status);
    r->device_count += measured;
    strcpy(b->devices[b->device_count++], info->name);
    return CORNU_OK;
}

static bool compares_all(const bench *b)
{
    return b->options->device && strcmp(b->options->device, "all") == 0;
}

/* One of all: what it lacks is said, and the others go on. */
static cornu_status add_or_note(bench *b, const device_id *id, const cornu_device_info *info)
{
    if (!info->available)
        return bench_note(b->report, "%s: not available: %s", info->name, info->reason);
    if (add_device(b, id, info) == CORNU_OK)
        return CORNU_OK;
    return bench_note(b->report, "%s: not run: %s", info->name, cornu_last_error());
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
    if (!compares_all(b)) {
        TRY(device_find(wanted, &id));
        id.ops->describe(id.number, &info);
        return add_device(b, &id, &info);
    }
    for (int i = 0; b->device_count < BENCH_DEVICES_MOST && device_at(i, &id, &info); i++)
        TRY(add_or_note(b, &id, &info));
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

/* An accelerator that fails is no reason to lose the figures of the others: it leaves, and a note
   says why. */
static cornu_status leave_out(bench *b, const char *workload, const char *on, cornu_status status)
{
    if (status == CORNU_OK || status == CORNU_STOPPED || !compares_all(b) ||
        !bench_is_accelerator(on))
        return status;
    return bench_note(b->report, "%s on %s: not run: %s", workload, on, cornu_last_error());
}

/* The same of one that is open. */
static cornu_status drop_failed(bench *b, contender *c, cornu_status status)
{
    cornu_status left_out = leave_out(b, c->workload->name, c->device, status);
    if (status == CORNU_OK || left_out != CORNU_OK)
        return left_out;
    contender_close(c);
    c->done = true;
    return CORNU_OK;
}

static cornu_status measure_group(bench *b)
{
    for (int i = 0; i < b->group_count; i++) {
        contender *c = &b->group[i];
        notice(b, "%s on %s: warming up", c->workload->name, c->device);
        TRY(drop_failed(b, c, contender_warm_up(c, b->options, &b->effort)));
    }
    for (int round = 1; !group_is_finished(b); round++)
        for (int i = 0; i < b->group_count; i++) {
            contender *c = &b->group[i];
            if (stopped(b))
                return status_fail(CORNU_STOPPED, "bench: stopped");
            if (c->done)
                continue;
            notice(b, "%s on %s: round %d", c->workload->name, c->device, round);
            bool host = !bench_is_accelerator(c->device);
            double probe = host ? b->host->ops->probe(b->host) : NAN;
            if (host && probe > b->report->limits.fma)
                b->report->limits.fma = probe; /* the machine was not quiet when it was measured */
            TRY(drop_failed(b, c, contender_round(c, probe, &b->effort)));
        }
    return CORNU_OK;
}

static cornu_status keep_results(bench *b)
{
    bench_report *r = b->report;
    for (int i = 0; i < b->group_count; i++) {
        const contender *c = &b->group[i];
        if (!c->workload)
            continue; /* it failed */
        TRY(memory_grow(&r->results, &r->capacity, (size_t)r->count + 1, sizeof *r->results));
        TRY(contender_result(c, &r->results[r->count]));
        r->count++;
        if (c->rounds < 3)
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
static bool fits(const bench *b, const bench_workload *w, const char *on)
{
    double bytes;
    if (b->group_count >= GROUP_MOST)
        return false;
    if (contender_memory(w, on, b->options, &bytes) != CORNU_OK)
        return true; /* opening it says what is wrong */
    return bytes < 0.9 * (double)memory_available();
}

/* Open one more; measure and close the ones before where memory is short. */
static cornu_status add_contender(bench *b, const bench_workload *w, const char *on)
{
    if (b->group_count > 0 && !fits(b, w, on))
        TRY(finish_group(b));
    notice(b, "%s on %s: opening", w->name, on);
    contender *c = &b->group[b->group_count];
    contender *before = b->group_count > 0 ? c - 1 : NULL;
    bench_data *share = before && before->workload == w ? before->data : NULL;
    cornu_status status = contender_open(c, w, on, share, b->options, &b->effort, b->report);
    if (status == CORNU_OUT_OF_MEMORY)
        return bench_note(b->report, "%s on %s: not run: %s", w->name, on, cornu_last_error());
    if (status != CORNU_OK) {
        status = leave_out(b, w->name, on, status);
        return status == CORNU_OK ? CORNU_OK : status_prefix(status, "%s on %s", w->name, on);
    }
    b->group_count++;
    return CORNU_OK;
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
            TRY(add_contender(b, w, b->devices[d]));
        }
    return finish_group(b);
}

static cornu_status run_full_schedules(bench *b)
{
    for (int i = 0; b->options->full && i < b->report->count; i++) {
        bench_result *r = &b->report->results[i];
        TRY(bench_full_schedule(workload_named(r->workload), r->device, b->options, b->report, r));
    }
    return CORNU_OK;
}

/* Once more: the machine may have been busy the first time. */
static cornu_status measure_limits_again(bench *b)
{
    device_limits again;
    notice(b, "measuring the machine's limits again");
    TRY(b->host->ops->limits(b->host, &again));
    roofline_raise(&b->report->limits, &again);
    return CORNU_OK;
}

/* The yardstick of one result: the host's, or its accelerator's at its precision. */
static device_limits limits_of(const bench_report *r, const bench_result *x)
{
    for (int i = 0; i < r->device_count; i++) {
        const device_limits *d = &r->devices[i].limits;
        if (strcmp(r->devices[i].info.name, x->device) != 0)
            continue;
        return roofline_at(d, x->precision);
    }
    return r->limits;
}

/* Shares of the limits, now that the highest FMA rate is known; and what the probes saw. */
static cornu_status judge(bench *b)
{
    bench_report *r = b->report;
    double low = 1, median = 1;
    for (int i = 0; i < r->count; i++) {
        bench_result *x = &r->results[i];
        x->limits = limits_of(r, x);
        double least = roofline_seconds(&x->limits, x->flops_run, x->bytes_run, x->working_set);
        x->share_of_limit = x->step_ms.median > 0 ? least / (x->step_ms.median / 1e3) : 0;
        x->bound = roofline_bound(&x->limits, x->flops_run, x->bytes_run, x->working_set);
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
    notice(b, "measuring the machine's limits");
    TRY_GOTO(b->host->ops->limits(b->host, &report->limits));
    TRY_GOTO(measure_all(b));
    TRY_GOTO(run_full_schedules(b));
    TRY_GOTO(measure_limits_again(b));
    TRY_GOTO(judge(b));
    TRY_GOTO(bench_make_json(report));
    if (report->count == 0) /* the notes say why of each; the last message is the clearest line */
        status = status_fail(CORNU_OUT_OF_MEMORY, "bench: nothing could run: %s",
                             report->note_count ? report->notes[report->note_count - 1] : "");
done:
    close_group(b);
    if (b->host)
        b->host->ops->close(b->host);
    free(b);
    return status;
}
