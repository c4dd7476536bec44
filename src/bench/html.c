/* The report as one self-contained page. */
#include "bench/html.h"
#include "bench/columns.h"
#include "bench/published.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512 };
typedef char bar_name[96];

/* The index of a device in the order of the results: its colour. */
static int series_of(const bench_report *report, const char *on)
{
    int series = 0;
    for (int i = 0; i < report->count; i++) {
        if (strcmp(report->results[i].device, on) == 0)
            return series % CHART_FOREIGN;
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen |= strcmp(report->results[k].device, report->results[i].device) == 0;
        series += !seen;
    }
    return 0;
}

/* The device, with the batch if it was measured with several. */
static const char *name_bar(const bench_report *report, const bench_result *r, bar_name out)
{
    bool several = false;
    for (int i = 0; i < report->count; i++) {
        const bench_result *other = &report->results[i];
        several |= strcmp(other->workload, r->workload) == 0 &&
                   strcmp(other->device, r->device) == 0 && other->batch != r->batch;
    }
    if (several)
        snprintf(out, sizeof(bar_name), "%.60s, batch %jd", r->device, (intmax_t)r->batch);
    else
        snprintf(out, sizeof(bar_name), "%.90s", r->device);
    return out;
}

/* ---- time per step ---------------------------------------------------------------------- */

static chart_bar step_bar(const bench_report *report, const bench_result *r, bar_name name)
{
    const statistics *s = &r->step_ms;
    return (chart_bar){.name = name_bar(report, r, name),
                       .value = s->median,
                       .low = s->minimum,
                       .high = s->p95,
                       .text = *r->failed ? "failed" : NULL,
                       .series = series_of(report, r->device)};
}

/* Beyond this ratio bars would hide the small ones. */
static bool needs_logarithm(const bench_report *report)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < report->count; i++) {
        least = fmin(least, report->results[i].step_ms.median);
        most = fmax(most, report->results[i].step_ms.median);
    }
    return most > 30 * least;
}

static cornu_status add_step_chart(const bench_report *report, text *t)
{
    chart_group *groups;
    chart_bar *bars = NULL;
    bar_name *names = NULL;
    int count = 0;
    TRY(memory_new((size_t)report->count + 1, sizeof *groups, "chart", &groups));
    cornu_status status = memory_new((size_t)report->count + 1, sizeof *bars, "chart", &bars);
    if (status == CORNU_OK)
        status = memory_new((size_t)report->count + 1, sizeof *names, "chart", &names);
    if (status != CORNU_OK) {
        free(groups);
        free(bars);
        return status;
    }
    for (int i = 0; i < report->count; i++) {
        if (count == 0 || strcmp(groups[count - 1].name, report->results[i].workload) != 0)
            groups[count++] = (chart_group){.name = report->results[i].workload, .bar = &bars[i]};
        bars[i] = step_bar(report, &report->results[i], names[i]);
        groups[count - 1].count++;
    }
    chart_html(t, &(chart){.title = "A training step, ms",
                           .x_title = needs_logarithm(report) ? "ms, logarithmic" : "ms",
                           .value_name = "median over rounds of steps",
                           .range_name = "from the minimum to the 95th percentile",
                           .log_x = needs_logarithm(report),
                           .group = groups,
                           .group_count = count});
    free(groups);
    free(bars);
    free(names);
    return CORNU_OK;
}

/* The columns of `keys`, after workload and device; "KEY=HEADING" replaces a heading that would not
   fit here. NULL at the end. */
static void add_results_table(const bench_report *report, const char *caption,
                              const char *const *keys, text *t)
{
    const bench_column *of[16];
    page_column columns[18] = {{"workload", false}, {"device", false}};
    int count = 0;
    for (; keys[count]; count++) {
        const char *heading = strchr(keys[count], '=');
        of[count] = bench_column_named(keys[count]);
        columns[count + 2] =
            (page_column){heading ? heading + 1 : of[count]->heading, of[count]->number != NULL};
    }
    page_table_begin(t, caption, columns, count + 2);
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        page_row_begin(t, r->workload);
        page_cell(t, r->device);
        for (int k = 0; k < count; k++)
            if (of[k]->text)
                page_cell(t, of[k]->text(report, r));
            else
                page_number_cell(t, of[k]->number(report, r), of[k]->digits);
        page_row_end(t);
    }
    page_table_end(t);
}

static cornu_status add_steps(const bench_report *report, text *t)
{
    static const char *const spread[] = {"batch",
                                         "rounds",
                                         "ms_per_step_min=least ms",
                                         "ms_per_step_p95=95th percentile, ms",
                                         "probe_percent=cores between rounds, %",
                                         NULL};
    static const char *const shares[] = {"percent_of_limit", "bound_by", "loss_first",
                                         "loss_last",        "data",     NULL};
    page_heading(t, 2, "Time per step");
    TRY(add_step_chart(report, t));
    page_details_begin(t, "Rounds, limits, losses and data as tables");
    add_results_table(report, "The rounds of steps", spread, t);
    add_results_table(report, "What the steps did", shares, t);
    page_details_end(t);
    return CORNU_OK;
}

/* ---- time per epoch --------------------------------------------------------------------- */

/* The bars of a chart of epochs. */
typedef struct epochs {
    chart_group *group; /* one workload each */
    chart_bar *bar;
    bar_name *name;
    int groups, bars;
    double least, most;
    bool published;
} epochs;

static void add_epoch(epochs *e, chart_bar bar)
{
    if (bar.value > 0) {
        e->least = fmin(e->least, bar.value);
        e->most = fmax(e->most, bar.value);
    }
    e->bar[e->bars++] = bar;
    e->group[e->groups - 1].count++;
}

static void add_own_epochs(const bench_report *report, const char *workload, epochs *e)
{
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        if (strcmp(r->workload, workload) == 0)
            add_epoch(e, (chart_bar){.name = name_bar(report, r, e->name[e->bars]),
                                     .value = *r->failed ? NAN : r->epoch_seconds,
                                     .text = *r->failed ? "failed" : NULL,
                                     .series = series_of(report, r->device)});
    }
}

static void add_published_epochs(const char *workload, epochs *e)
{
    for (const published_figure *f = published_figures; f->workload; f++) {
        if (strcmp(f->workload, workload) != 0 || !(f->epoch_seconds > 0))
            continue;
        add_epoch(e, (chart_bar){
                         .name = f->hardware, .value = f->epoch_seconds, .series = CHART_FOREIGN});
        e->published = true;
    }
}

static void draw_epochs(const bench_report *report, const epochs *e, text *t)
{
    bool far = e->most > 30 * e->least;
    chart c = {.title = e->published ? "An epoch here, and as published" : "An epoch",
               .description = far ? "Seconds; to the left is faster. The axis is logarithmic: "
                                    "equal steps are equal ratios."
                                  : "Seconds; shorter is faster.",
               .x_title = far ? "seconds, logarithmic" : "seconds",
               .log_x = far,
               .group = e->group,
               .group_count = e->groups};
    for (int i = 0; i < report->count; i++) {
        const char **name = &c.series_name[series_of(report, report->results[i].device)];
        *name = *name ? *name : report->results[i].device;
    }
    if (e->published)
        c.series_name[CHART_FOREIGN] = "published, on the hardware named";
    chart_html(t, &c);
}

/* One chart for all workloads. */
static cornu_status add_epoch_chart(const bench_report *report, text *t)
{
    epochs e = {.least = INFINITY};
    size_t most = (size_t)report->count + 1;
    for (const published_figure *f = published_figures; f->workload; f++)
        most++;
    cornu_status status;
    TRY_GOTO(memory_new(most, sizeof *e.group, "chart", &e.group));
    TRY_GOTO(memory_new(most, sizeof *e.bar, "chart", &e.bar));
    TRY_GOTO(memory_new(most, sizeof *e.name, "chart", &e.name));
    for (int i = 0; i < report->count; i++) {
        if (!bench_html_first(report, i))
            continue;
        const char *workload = report->results[i].workload;
        e.group[e.groups++] = (chart_group){.name = workload, .bar = &e.bar[e.bars]};
        add_own_epochs(report, workload, &e);
        add_published_epochs(workload, &e);
    }
    draw_epochs(report, &e, t);
done:
    free(e.group);
    free(e.bar);
    free(e.name);
    return status;
}

static void add_published_table(const bench_report *report, text *t)
{
    static const page_column columns[] = {{"workload", false}, {"hardware", false},
                                          {"epoch, s", true},  {"in all, s", true},
                                          {"accuracy", true},  {"what it is", false}};
    page_details_begin(t, "The published figures, of TensorFlow and Keras, as their sources give "
                          "them");
    page_table_begin(t, NULL, columns, 6);
    for (int i = 0; i < report->count; i++)
        for (const published_figure *f = published_figures;
             bench_html_first(report, i) && f->workload; f++) {
            if (strcmp(f->workload, report->results[i].workload) != 0)
                continue;
            page_row_begin(t, f->workload);
            page_cell(t, f->hardware);
            page_number_cell(t, f->epoch_seconds > 0 ? f->epoch_seconds : NAN, 4);
            page_number_cell(t, f->total_seconds > 0 ? f->total_seconds : NAN, 4);
            page_number_cell(t, f->accuracy > 0 ? f->accuracy : NAN, 4);
            page_cell(t, f->note);
            page_row_end(t);
        }
    page_table_end(t);
    page_details_end(t);
}

/* The figures that most readers need. */
static cornu_status add_epochs(const bench_report *report, text *t)
{
    static const char *const keys[] = {"epoch_seconds", "ms_per_step_median=ms a step",
                                       "samples_per_second", "published_epoch_seconds", NULL};
    TRY(add_epoch_chart(report, t));
    add_results_table(report,
                      "An epoch is its steps times the median step. The published epoch is the "
                      "fastest on hardware of the same kind, measured by others.",
                      keys, t);
    add_published_table(report, t);
    return CORNU_OK;
}

/* ---- all together ----------------------------------------------------------------------- */

static void add_failures(const bench_report *report, text *t)
{
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        char line[BENCH_REASON + 256];
        snprintf(line, sizeof line, "%s on %s failed: %s", r->workload, r->device, r->failed);
        if (*r->failed)
            page_list_item(t, line);
    }
}

void bench_html_notes(const bench_report *report, const char *const *more, bool failures, text *t)
{
    bool generated = false, substitute = false, failed = false;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        generated |= !*r->failed && !r->real_data;
        substitute |= bench_is_substitute(r);
        failed |= *r->failed != 0 && failures;
    }
    if (!generated && !substitute && !failed && report->note_count == 0 && !(more && *more))
        return;
    page_heading(t, 2, "What to keep in mind");
    page_list_begin(t);
    if (failed)
        add_failures(report, t);
    for (; more && *more; more++)
        page_list_item(t, *more);
    for (int i = 0; i < report->note_count; i++)
        page_list_item(t, report->notes[i]);
    if (generated)
        page_list_item(t, "Some data was not on this machine, and random pixels of its exact shape "
                          "stood in (\"generated pixels\"): times are of the real work, losses say "
                          "only that the network learns what it is given.");
    if (substitute)
        page_list_item(t, "Fashion-MNIST stands in for MNIST, which is not on this machine.");
    page_list_end(t);
}

static void add_row(text *t, const char *name, const char *value)
{
    page_row_begin(t, name);
    page_cell(t, value);
    page_row_end(t);
}

static void add_limits(text *t, const char *name, const device_limits *l)
{
    char line[LINE];
    snprintf(line, sizeof line,
             "%.0f GFLOP/s, %.1f GB/s read, %.1f GB/s update (%.0f in cache), measured",
             l->fma / 1e9, l->read / 1e9, l->update / 1e9, l->cache_update / 1e9);
    add_row(t, name, line);
}

cornu_status bench_html_machine(const bench_report *report, text *t)
{
    static const page_column columns[] = {{"what", false}, {"value", false}};
    const bench_machine *m = &report->machine;
    char line[LINE], size[16], *versions;
    page_heading(t, 2, "Machine and versions");
    page_table_begin(t, NULL, columns, 2);
    snprintf(line, sizeof line, "%s, %d %s, %d %s, %s", m->cpu, m->cores,
             PLURAL(m->cores, "core", "cores"), report->limits.threads,
             PLURAL(report->limits.threads, "thread", "threads"), report->limits.isa);
    add_row(t, "processor", line);
    add_limits(t, "its limits", &report->limits);
    add_row(t, "memory", memory_human((double)m->memory_bytes, size));
    add_row(t, "system", m->system);
    for (int i = 0; i < report->device_count; i++) {
        const bench_device *d = &report->devices[i];
        snprintf(line, sizeof line, "%s, driver %s, %s", d->info.description, d->info.driver,
                 d->info.libraries);
        add_row(t, d->info.name, line);
        add_limits(t, "its limits", &d->limits);
    }
    page_table_end(t);
    TRY(cornu_versions(&versions));
    page_details_begin(t, "Versions of everything");
    page_facts(t, NULL, versions);
    page_details_end(t);
    cornu_free(versions);
    return CORNU_OK;
}

const char *bench_html_where(const bench_report *report, char *line, size_t size)
{
    snprintf(line, size, "cornu %s on %s, %d %s, %s%s%s", cornu_version(), report->machine.cpu,
             report->limits.threads, PLURAL(report->limits.threads, "thread", "threads"),
             report->started, report->settings.quick ? ", a quick run" : "",
             report->interrupted ? "; interrupted before all was measured" : "");
    return line;
}

static cornu_status add_page(const bench_report *report, text *t)
{
    char where[LINE], answer[2 * LINE];
    if (bench_html_is_sweep(report))
        return bench_html_sweep(report, t);
    bench_html_answer(report, answer, sizeof answer);
    page_begin(t, "How fast cornu trains here", answer,
               bench_html_where(report, where, sizeof where));
    TRY(add_epochs(report, t));
    bench_html_baseline(report, t);
    TRY(add_steps(report, t));
    bench_html_operations(report, t);
    TRY(bench_html_losses(report, t));
    TRY(bench_html_machine(report, t));
    bench_html_notes(report, NULL, true, t);
    page_end(t);
    return CORNU_OK;
}

cornu_status bench_write_html(const bench_report *report, const char *path)
{
    text t = {0};
    cornu_status status = add_page(report, &t);
    if (status == CORNU_OK)
        return page_write(&t, path);
    text_free(&t);
    return status;
}
