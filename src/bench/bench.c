#include "base/memory.h"
#include "bench/room.h"
#include "device/roofline.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
        bench_notice(b, "%s: measuring its limits", info->name);
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
        cornu_device_info info = {0};
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
    cornu_device_info info = {0};
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

static const bench_workload *workload_named(const char *name)
{
    for (const bench_workload *w = bench_workloads; w->name; w++)
        if (strcmp(w->name, name) == 0)
            return w;
    return NULL;
}

bool bench_wants(const bench_options *options, const char *name)
{
    if (!options->workloads || !options->workloads[0])
        return true;
    for (const char *const *w = options->workloads; *w; w++)
        if (strcmp(*w, name) == 0 || strcmp(*w, "all") == 0)
            return true;
    return false;
}

const bench_workload *bench_workloads_of(const bench *b)
{
    return b->options->subject ? b->options->subject : bench_workloads;
}

static cornu_status check_options(const bench_options *options)
{
    for (const char *const *w = options->workloads; w && *w; w++)
        if (strcmp(*w, "all") != 0 && !workload_named(*w))
            return status_fail(CORNU_INVALID, "%s: unknown workload; cornu bench --help lists them",
                               *w);
    if (options->steps < 0 || options->batch < 0 || options->threads < 0)
        return status_fail(CORNU_INVALID,
                           "bench: found a negative number of steps, batch or threads");
    return CORNU_OK;
}

/* --data must be useful to at least one of the workloads; otherwise the first workload's error is
   returned. */
static cornu_status check_data(const bench_options *options)
{
    char first[1024] = "";
    for (const bench_workload *w = bench_workloads; options->data && w->name; w++) {
        if (!bench_wants(options, w->name))
            continue;
        if (bench_data_check(w, options) == CORNU_OK)
            return CORNU_OK;
        if (!*first)
            snprintf(first, sizeof first, "%s", cornu_last_error());
    }
    return *first ? status_fail(CORNU_NOT_FOUND, "%s", first) : CORNU_OK;
}

/* ---- all together ----------------------------------------------------------------------- */

static cornu_status measure_all(bench *b)
{
    for (const bench_workload *w = bench_workloads_of(b); w->name; w++)
        for (int d = 0; d < b->device_count; d++) {
            if (!bench_wants(b->options, w->name))
                continue;
            if (bench_stopped(b))
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
    bench_notice(b, "measuring the machine's limits again");
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
    *report = (bench_report){0};
    TRY(check_options(options));
    TRY(check_data(options));
    TRY(memory_new(1, sizeof *b, "bench", &b));
    b->options = options;
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
                                        .steps = options->steps};
    bench_notice(b, "measuring the machine's limits");
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
    return status;
}
