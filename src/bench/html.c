/* The report as one self-contained page. */
#include "bench/html.h"
#include "bench/baseline.h"
#include "bench/columns.h"
#include "bench/published.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BARS_MOST = 64 /* of one chart */, LINE = 512 };
typedef char bar_name[96];

/* Devices in the order of the results: their colour. */
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

/* The device, with the batch where it was measured with several. */
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

cornu_status bench_step_chart(const bench_report *report, text *t,
                              void (*draw)(text *t, const chart *c))
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
    draw(t, &(chart){.id = "steps",
                     .title = "A training step, ms",
                     .description = "A bar or dot is the median over rounds of steps; the thin "
                                    "line reaches from the minimum to the 95th percentile.",
                     .x_title = needs_logarithm(report) ? "ms, logarithmic" : "ms",
                     .log_x = needs_logarithm(report),
                     .group = groups,
                     .group_count = count});
    free(groups);
    free(bars);
    free(names);
    return CORNU_OK;
}

static void add_results_table(const bench_report *report, text *t)
{
    page_column columns[32];
    int count = 0;
    for (const bench_column *c = bench_columns; c->key && count < 32; c++)
        if (c->heading)
            columns[count++] = (page_column){c->heading, c->number != NULL};
    page_table_begin(t, "Each workload on each device, over rounds of steps", columns, count);
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        page_row_begin(t, r->workload);
        for (const bench_column *c = bench_columns + 1; c->key; c++) {
            if (!c->heading)
                continue;
            if (c->text)
                page_cell(t, c->text(report, r));
            else
                page_number_cell(t, c->number(report, r), c->digits);
        }
        page_row_end(t);
    }
    page_table_end(t);
}

static cornu_status add_steps(const bench_report *report, text *t)
{
    page_heading(t, 2, "Time per step");
    page_figures_begin(t);
    TRY(bench_step_chart(report, t, page_figure));
    page_figures_end(t);
    add_results_table(report, t);
    return CORNU_OK;
}

/* ---- time per epoch --------------------------------------------------------------------- */

static int add_own_epochs(const bench_report *report, const char *workload, chart_bar *bars,
                          bar_name *names)
{
    int count = 0;
    for (int i = 0; i < report->count && count < BARS_MOST / 2; i++) {
        const bench_result *r = &report->results[i];
        if (strcmp(r->workload, workload) != 0)
            continue;
        bars[count] = (chart_bar){.name = name_bar(report, r, names[count]),
                                  .value = *r->failed ? NAN : r->epoch_seconds,
                                  .text = *r->failed ? "failed" : NULL,
                                  .series = series_of(report, r->device)};
        count++;
    }
    return count;
}

static int add_published_epochs(const char *workload, chart_bar *bars)
{
    int count = 0;
    for (const published_figure *f = published_figures; f->workload && count < BARS_MOST / 2; f++)
        if (strcmp(f->workload, workload) == 0 && f->epoch_seconds > 0)
            bars[count++] = (chart_bar){
                .name = f->hardware, .value = f->epoch_seconds, .series = CHART_FOREIGN};
    return count;
}

static void add_epoch_figure(const bench_report *report, int index, text *t)
{
    chart_bar bars[BARS_MOST];
    bar_name names[BARS_MOST / 2];
    char id[32];
    const char *workload = report->results[index].workload;
    int own = add_own_epochs(report, workload, bars, names);
    int published = add_published_epochs(workload, bars + own);
    chart_group groups[] = {{"measured here", bars, own}, {"published", bars + own, published}};
    char title[LINE];
    snprintf(id, sizeof id, "epoch%d", index);
    snprintf(title, sizeof title, "An epoch of %s, s", workload);
    page_figure(t, &(chart){.id = id,
                            .title = title,
                            .description = "The table below has the same figures.",
                            .group = groups,
                            .group_count = published ? 2 : 1});
}

static void add_published_table(const bench_report *report, text *t)
{
    static const page_column columns[] = {
        {"workload", false}, {"hardware", false}, {"device", false},    {"epoch, s", true},
        {"in all, s", true}, {"accuracy", true},  {"what it is", false}};
    page_table_begin(t, "Published figures, of TensorFlow and Keras, as their sources give them",
                     columns, 7);
    for (int i = 0; i < report->count; i++)
        for (const published_figure *f = published_figures;
             bench_html_first(report, i) && f->workload; f++) {
            if (strcmp(f->workload, report->results[i].workload) != 0)
                continue;
            page_row_begin(t, f->workload);
            page_cell(t, f->hardware);
            page_cell(t, f->device_kind);
            page_number_cell(t, f->epoch_seconds > 0 ? f->epoch_seconds : NAN, 4);
            page_number_cell(t, f->total_seconds > 0 ? f->total_seconds : NAN, 4);
            page_number_cell(t, f->accuracy > 0 ? f->accuracy : NAN, 4);
            page_cell(t, f->note);
            page_row_end(t);
        }
    page_table_end(t);
}

static void add_epochs(const bench_report *report, text *t)
{
    page_heading(t, 2, "Time per epoch");
    page_paragraph(t, "An epoch is its steps times the median step. What is published was measured "
                      "by others, on the hardware that is named.");
    page_figures_begin(t);
    for (int i = 0; i < report->count; i++)
        if (bench_html_first(report, i))
            add_epoch_figure(report, i, t);
    page_figures_end(t);
    add_published_table(report, t);
}

/* ---- the baseline ----------------------------------------------------------------------- */

static void add_changes(const bench_comparison *b, text *t)
{
    static const page_column columns[] = {
        {"workload", false}, {"device", false},     {"then, ms", true},   {"now, ms", true},
        {"change, %", true}, {"at least, %", true}, {"at most, %", true}, {"verdict", false}};
    page_table_begin(t,
                     "Medians of the rounds' fastest steps, then and now; the change less what "
                     "slower or faster memory explains, with an interval that is 99 % sure for all "
                     "rows together",
                     columns, 8);
    for (int i = 0; i < b->count; i++) {
        const bench_change *c = &b->changes[i];
        char verdict[320];
        page_row_begin(t, c->workload);
        page_cell(t, c->device);
        page_number_cell(t, c->before_ms, 4);
        page_number_cell(t, c->after_ms, 4);
        page_number_cell(t, 100 * (c->ratio - 1), 2);
        page_number_cell(t, 100 * (c->low - 1), 2);
        page_number_cell(t, 100 * (c->high - 1), 2);
        page_cell(t, baseline_show(c, verdict, sizeof verdict));
        page_row_end(t);
    }
    page_table_end(t);
}

static void add_baseline(const bench_report *report, text *t)
{
    const bench_comparison *b = &report->baseline;
    char line[LINE];
    if (!*b->file)
        return;
    page_heading(t, 2, "Against an earlier run");
    snprintf(line, sizeof line, "%s, written by cornu %s%s%s.", b->file, b->version,
             *b->started ? ", " : "", b->started);
    page_paragraph(t, line);
    if (b->difference_count > 0) {
        page_list_begin(t);
        for (int i = 0; i < b->difference_count; i++)
            page_list_item(t, b->differences[i]);
        page_list_end(t);
    }
    add_changes(b, t);
}

/* ---- the whole -------------------------------------------------------------------------- */

static void add_notes(const bench_report *report, text *t)
{
    page_list_begin(t);
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        char line[BENCH_REASON + 256];
        snprintf(line, sizeof line, "%s on %s failed: %s", r->workload, r->device, r->failed);
        if (*r->failed)
            page_list_item(t, line);
    }
    for (int i = 0; i < report->note_count; i++)
        page_list_item(t, report->notes[i]);
    bool generated = false, substitute = false;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        generated |= !*r->failed && !r->real_data;
        substitute |= bench_is_substitute(r);
    }
    if (generated)
        page_list_item(t,
                       "Where the table says \"generated pixels\", the data was not on this "
                       "machine, and random pixels of its exact shape stood in: times are of "
                       "the real work, losses say only that the network learns what it is given.");
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

static cornu_status add_machine(const bench_report *report, text *t)
{
    static const page_column columns[] = {{"what", false}, {"value", false}};
    const bench_machine *m = &report->machine;
    char line[LINE], size[16], *versions;
    page_heading(t, 2, "Machine and versions");
    page_table_begin(t, "The machine", columns, 2);
    snprintf(line, sizeof line, "%s, %d core%s, %d thread%s, %s", m->cpu, m->cores,
             m->cores == 1 ? "" : "s", report->limits.threads,
             report->limits.threads == 1 ? "" : "s", report->limits.isa);
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
    page_heading(t, 3, "Versions");
    page_lines(t, "versions", versions);
    cornu_free(versions);
    return CORNU_OK;
}

static cornu_status add_page(const bench_report *report, text *t)
{
    char line[LINE];
    snprintf(line, sizeof line, "cornu %s on %s, %d %s, %s%s", cornu_version(), report->machine.cpu,
             report->limits.threads, report->limits.threads == 1 ? "thread" : "threads",
             report->started, report->settings.quick ? ", a quick run" : "");
    page_begin(t, "How fast cornu trains here", line);
    add_notes(report, t);
    TRY(add_steps(report, t));
    add_baseline(report, t);
    add_epochs(report, t);
    bench_html_operations(report, t);
    TRY(bench_html_losses(report, t));
    TRY(add_machine(report, t));
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

cornu_status bench_write_svg(const bench_report *report, const char *path)
{
    text t = {0};
    cornu_status status = bench_step_chart(report, &t, chart_svg_alone);
    if (status == CORNU_OK)
        return page_write(&t, path);
    text_free(&t);
    return status;
}
