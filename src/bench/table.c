/* The report on a terminal: at most 80 columns. */
#include "base/show.h"
#include "base/status.h"
#include "bench/baseline.h"
#include "bench/report.h"
#include <math.h>
#include <string.h>

enum { CELL = 64, NOTE = 1024 };

/* Three significant digits, but no fraction above 100. */
static int decimals(double value)
{
    return value < 0.995 ? 3 : value < 9.95 ? 2 : value < 99.5 ? 1 : 0;
}

static void show_seconds(double seconds, char *out)
{
    if (!(seconds > 0))
        snprintf(out, CELL, "-");
    else if (seconds < 9999.5)
        snprintf(out, CELL, "%.*f s", seconds < 99.5 ? 1 : 0, seconds);
    else
        snprintf(out, CELL, "%.1f h", seconds / 3600);
}

static void print_wrapped(const char *words, int indent, FILE *out)
{
    wrap_print_from(words, 0, indent, out);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* The first row with figures, or NULL. */
static const bench_result *first_measured(const bench_report *report)
{
    for (int i = 0; i < report->count; i++)
        if (!*report->results[i].failed)
            return &report->results[i];
    return NULL;
}

/* The median of the same workload on the first row's device; 0: none. */
static double first_median(const bench_report *report, const bench_result *r)
{
    const bench_result *first = first_measured(report);
    for (int i = 0; i < report->count; i++)
        if (strcmp(report->results[i].workload, r->workload) == 0 && !*report->results[i].failed &&
            strcmp(report->results[i].device, first->device) == 0)
            return report->results[i].step_ms.median;
    return 0;
}

static bool has_several_devices(const bench_report *report)
{
    const bench_result *first = first_measured(report);
    for (int i = 0; i < report->count; i++)
        if (!*report->results[i].failed && strcmp(report->results[i].device, first->device) != 0)
            return true;
    return false;
}

static void show_step(double ms, char *out)
{
    if (ms < 99999.5)
        snprintf(out, CELL, "%.*f", decimals(ms), ms);
    else
        snprintf(out, CELL, "%.0f s", ms / 1e3);
}

/* The median and half of the range from the minimum to the 95th percentile; the median alone if the
   table needs the space. */
static void show_median(const statistics *s, bool alone, char *out)
{
    double spread = (s->p95 - s->minimum) / 2;
    show_step(s->median, out);
    if (!alone && s->median < 99999.5)
        sentence_add(&(sentence){out, CELL}, " ±%.*f", decimals(s->median), spread);
    else if (!alone)
        sentence_add(&(sentence){out, CELL}, " ±%.0f", spread / 1e3);
}

/* Three significant digits, at most three of them after the point. */
static void show_loss(double value, char *out)
{
    bool plain = value >= 0.0005 && value < 999.5;
    snprintf(out, CELL, plain ? "%.*f" : "%.*e", plain ? decimals(value) : 0, value);
}

static void show_losses(const bench_result *r, char *out)
{
    char last[CELL];
    if (!isfinite(r->loss_first) || !isfinite(r->loss_last)) {
        snprintf(out, CELL, "not a number");
        return;
    }
    show_loss(r->loss_first, out);
    show_loss(r->loss_last, last);
    sentence_add(&(sentence){out, CELL}, "→%s", last);
}

/* Relative to the first device's time. */
static void show_ratio(double median, double first, char *out)
{
    double ratio = first > 0 ? median / first : 0;
    if (ratio > 0)
        snprintf(out, CELL, "%.*fx", ratio < 9.95 ? 2 : 0, ratio);
    else
        snprintf(out, CELL, "-");
}

/* A failed row has only its names and the reason. */
static void add_row(const bench_report *report, const bench_result *r, bool several, show_table *t)
{
    char cell[CELL];
    const statistics *s = &r->step_ms;
    table_begin_row(t);
    table_add_cell(t, "%s", r->workload);
    table_add_cell(t, "%.12s", r->device);
    if (*r->failed) {
        table_add_note(t, "failed: %s", r->failed);
        return;
    }
    show_step(s->minimum, cell);
    table_add_cell(t, "%s", cell);
    show_median(s, several, cell);
    table_add_cell(t, "%s", cell);
    table_add_cell(t, "%.0f %%", 100 * r->share_of_limit);
    show_seconds(r->epoch_seconds, cell);
    table_add_cell(t, "%s", cell);
    show_ratio(s->median, first_median(report, r), cell);
    if (several)
        table_add_cell(t, "%s", cell);
    show_losses(r, cell);
    table_add_cell(t, "%s", cell);
    show_seconds(bench_published_epoch(r->workload, bench_device_kind(report, r->device)), cell);
    table_add_cell(t, "%s", cell);
}

static void print_rows(const bench_report *report, FILE *out)
{
    show_table t = {.columns = 0};
    char ratio[CELL];
    const bench_result *first = first_measured(report);
    const bool several = has_several_devices(report); /* no room for longer headings */
    snprintf(ratio, sizeof ratio, "/%.8s", first ? first->device : "");
    table_add_column(
        &t, (show_column){.heading = several ? "workload (ms)" : "workload", .left = true});
    table_add_column(&t, (show_column){.heading = "device", .left = true});
    table_add_column(&t, (show_column){.heading = several ? "min" : "min ms"});
    table_add_column(&t, (show_column){.heading = several ? "median" : "median ms"});
    table_add_column(&t, (show_column){.heading = "limit"});
    table_add_column(&t, (show_column){.heading = "epoch"});
    if (several)
        table_add_column(&t, (show_column){.heading = ratio});
    table_add_column(&t, (show_column){.heading = "loss"});
    table_add_column(&t, (show_column){.heading = "published"});
    for (int i = 0; i < report->count; i++)
        add_row(report, &report->results[i], several, &t);
    table_print(&t, out);
}

/* ---- lines ------------------------------------------------------------------------------ */

static void print_device(const bench_device *d, FILE *out)
{
    char line[NOTE];
    const device_limits *l = &d->limits;
    snprintf(line, sizeof line, "%s: %s · driver %s, %s", d->info.name, d->info.description,
             d->info.driver, d->info.libraries);
    print_wrapped(line, 2, out);
    snprintf(line, sizeof line, "limits: %.*f TFLOP/s fp32", decimals(l->fma / 1e12),
             l->fma / 1e12);
    if (l->tf32 > 0)
        sentence_add(&(sentence){line, NOTE}, ", %.0f tf32, %.0f bf16", l->tf32 / 1e12,
                     l->bf16 / 1e12);
    sentence_add(&(sentence){line, NOTE}, ", %.0f GB/s (%.0f in cache), %.1f us a kernel",
                 l->update / 1e9, l->cache_update / 1e9, l->launch_seconds * 1e6);
    print_wrapped(line, 2, out);
}

static void print_machine(const bench_report *report, FILE *out)
{
    char line[NOTE];
    const device_limits *l = &report->limits;
    snprintf(line, sizeof line, "cornu %s · %s · %d %s (%s), %d %s", cornu_version(),
             report->machine.cpu, report->machine.cores,
             PLURAL(report->machine.cores, "core", "cores"), l->isa, l->threads,
             PLURAL(l->threads, "thread", "threads"));
    print_wrapped(line, 2, out);
    snprintf(line, sizeof line,
             "limits: %.0f GFLOP/s, %.1f GB/s read, %.1f GB/s update (%.0f in cache)", l->fma / 1e9,
             l->read / 1e9, l->update / 1e9, l->cache_update / 1e9);
    print_wrapped(line, 2, out);
    for (int i = 0; i < report->device_count; i++)
        print_device(&report->devices[i], out);
    fputc('\n', out);
}

/* Is this the workload's first row with figures? */
static bool is_first(const bench_report *report, int index)
{
    for (int i = 0; i < index; i++)
        if (!*report->results[i].failed &&
            strcmp(report->results[i].workload, report->results[index].workload) == 0)
            return false;
    return !*report->results[index].failed;
}

static void print_published(const bench_report *report, FILE *out)
{
    bool any = false;
    for (int i = 0; i < report->count; i++) {
        char line[NOTE] = "", seconds[CELL];
        const char *workload = report->results[i].workload;
        for (const published_figure *f = published_figures; is_first(report, i) && f->workload;
             f++) {
            if (strcmp(f->workload, workload) != 0)
                continue;
            show_seconds(f->epoch_seconds, seconds);
            sentence_add(&(sentence){line, NOTE}, "%s", *line ? ", " : "");
            if (f->epoch_seconds > 0)
                sentence_add(&(sentence){line, NOTE}, "%s %s", seconds, f->hardware);
            else
                sentence_add(&(sentence){line, NOTE}, "%s (%s)", f->hardware, f->note);
            if (f->total_seconds > 0)
                sentence_add(&(sentence){line, NOTE}, " (%.0f s in all)", f->total_seconds);
        }
        if (!*line)
            continue;
        if (!any)
            fputs("\nPublished, an epoch:\n", out);
        any = true;
        char whole[NOTE + CELL];
        snprintf(whole, sizeof whole, "- %s: %s", workload, line);
        print_wrapped(whole, 4, out);
    }
}

/* The workloads that ran on other data than their own. */
static void print_data(const bench_report *report, FILE *out)
{
    char real[NOTE] = "", generated[NOTE] = "", other[NOTE] = "";
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        if (!is_first(report, i))
            continue;
        char *line = !r->real_data ? generated : bench_is_substitute(r) ? other : real;
        sentence_add(&(sentence){line, NOTE}, "%s%s", *line ? ", " : "", r->workload);
    }
    char whole[NOTE + CELL];
    fputc('\n', out);
    if (*real) {
        snprintf(whole, sizeof whole, "Their own data: %s.", real);
        print_wrapped(whole, 2, out);
    }
    if (*other) {
        snprintf(whole, sizeof whole, "Fashion-MNIST, as MNIST is not on this machine: %s.", other);
        print_wrapped(whole, 2, out);
    }
    if (*generated) {
        snprintf(whole, sizeof whole, "Generated pixels of the exact shape: %s.", generated);
        print_wrapped(whole, 2, out);
    }
}

/* An accelerator's figures besides the times: cold start, kernels, power. */
static void print_accelerators(const bench_report *report, FILE *out)
{
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        char line[NOTE];
        if (!bench_device_of(report, r->device) || *r->failed)
            continue;
        snprintf(line, sizeof line, "%s on %s (%s): %d kernels a step, first step after %.2f s",
                 r->workload, r->device, r->precision, r->launches, r->cold_seconds);
        if (isfinite(r->joules_per_epoch))
            sentence_add(&(sentence){line, NOTE}, ", %.0f J an epoch", r->joules_per_epoch);
        if (isfinite(r->watts))
            sentence_add(&(sentence){line, NOTE}, ", %.0f W", r->watts);
        if (isfinite(r->clock_mhz))
            sentence_add(&(sentence){line, NOTE}, " at %.0f MHz", r->clock_mhz);
        sentence_add(&(sentence){line, NOTE}, ".");
        print_wrapped(line, 2, out);
    }
}

void bench_print(const bench_report *report, FILE *out)
{
    print_machine(report, out);
    print_rows(report, out);
    baseline_print(report, out);
    print_published(report, out);
    print_data(report, out);
    print_accelerators(report, out);
    for (int i = 0; i < report->note_count; i++) {
        char line[NOTE];
        snprintf(line, sizeof line, "Note: %s.", report->notes[i]);
        print_wrapped(line, 2, out);
    }
    const bench_result *first = first_measured(report);
    if (first)
        fprintf(out, "Why: cornu explain %s --run\n", first->workload);
}
