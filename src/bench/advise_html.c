/* The advice as a page. */
#include "base/memory.h"
#include "bench/advise_cells.h"
#include "bench/duration.h"
#include "bench/html.h"
#include <math.h>
#include <string.h>

enum { BARS_MOST = BENCH_DEVICES_MOST + ADVISE_ESTIMATES_MOST, LINE = 1024 };

typedef struct bars {
    chart_bar bar[BARS_MOST];
    char text[BARS_MOST][DURATION_TEXT + 8];
    int count, measured;
    double least, most;
} bars;

static void add_bar(bars *b, chart_bar bar, const char *shown)
{
    snprintf(b->text[b->count], sizeof *b->text, "%s", shown);
    bar.text = b->text[b->count];
    if (bar.value > 0) {
        b->least = fmin(b->least, bar.value);
        b->most = fmax(b->most, bar.value);
    }
    b->bar[b->count++] = bar;
}

static void add_measured(const advise_report *r, bars *b)
{
    for (int i = 0; i < r->count; i++) {
        const advise_row *row = &r->rows[i];
        char time[DURATION_TEXT];
        add_bar(b,
                (chart_bar){.name = row->device,
                            .value = *row->failed ? NAN : row->seconds,
                            .low = fmax(row->seconds - row->error, row->seconds / 100),
                            .high = row->seconds + row->error,
                            .series = i % CHART_FOREIGN},
                *row->failed ? "failed" : duration_show(row->seconds, time));
    }
    b->measured = b->count;
}

static void add_estimated(const advise_report *r, bars *b)
{
    for (int i = 0; i < r->estimate_count; i++) {
        const advise_estimate *e = &r->estimates[i];
        char time[DURATION_TEXT], about[DURATION_TEXT + 8];
        snprintf(about, sizeof about, "~ %s", duration_show(e->seconds, time));
        add_bar(b,
                (chart_bar){.name = e->hardware,
                            .value = e->seconds,
                            .low = e->seconds / e->factor,
                            .high = e->seconds * e->factor,
                            .series = CHART_FOREIGN},
                about);
    }
}

/* The bars' texts are durations in words; the axis has one unit. */
static void add_chart(const advise_report *r, text *t)
{
    bars b = {.least = INFINITY};
    add_measured(r, &b);
    add_estimated(r, &b);
    bool far = b.most > 30 * b.least;
    double usual = far ? sqrt(b.least * b.most) : b.most;
    bool minutes = usual > 200, hours = usual > 12000;
    double unit = hours ? 3600 : minutes ? 60 : 1;
    for (int i = 0; i < b.count; i++) {
        b.bar[i].value /= unit;
        b.bar[i].low /= unit;
        b.bar[i].high /= unit;
    }
    const chart_group groups[] = {
        {r->estimate_count ? "measured here" : NULL, b.bar, b.measured},
        {"estimated from published figures", b.bar + b.measured, b.count - b.measured}};
    char axis[64];
    snprintf(axis, sizeof axis, "%s%s",
             hours     ? "hours"
             : minutes ? "minutes"
                       : "seconds",
             far ? ", logarithmic" : "");
    chart_html(t, &(chart){.title = "To the end of the training",
                           .description = far ? "To the left is faster; equal steps of the axis "
                                                "are equal ratios."
                                              : "Shorter is faster.",
                           .x_title = axis,
                           .log_x = far,
                           .range_name = "the range that the forecast leaves open",
                           .group = groups,
                           .group_count = r->estimate_count ? 2 : 1});
}

static void add_table(const advise_report *r, text *t)
{
    page_column columns[ADVISE_COLUMNS];
    int count = 0;
    for (int i = 0; i < ADVISE_COLUMNS; i++)
        if (advise_shows(r, i))
            columns[count++] = (page_column){advise_headings[i], false};
    page_table_begin(t, NULL, columns, count);
    for (int k = 0; k < r->count; k++) {
        const advise_row *row = &r->rows[k];
        advise_cells c = advise_cells_of(r, row, true);
        page_row_begin(t, row->device);
        for (int i = ADVISE_TIME; i < ADVISE_COLUMNS; i++)
            if (advise_shows(r, i))
                page_cell(t, i == ADVISE_TIME && *row->failed ? row->failed : c.text[i]);
        page_row_end(t);
    }
    page_table_end(t);
}

static void add_notes(const advise_report *r, text *t)
{
    char lines[ADVISE_NOTES_MOST][ADVISE_NOTE], estimates[LINE];
    const char *more[ADVISE_NOTES_MOST + 2];
    int count = 0, notes = advise_show_notes(r, lines);
    for (int i = 0; i < notes; i++)
        if (!strstr(lines[i], "not available")) /* the report has those already */
            more[count++] = lines[i];
    advise_show_estimates(r, estimates, sizeof estimates - 1);
    if (*estimates)
        more[count++] = strcat(estimates, ".");
    more[count] = NULL;
    bench_html_notes(&r->bench, more, false, t);
}

cornu_status advise_write_html(const advise_report *report, const char *path)
{
    text t = {0};
    char line[LINE];
    cornu_status status = CORNU_OK;
    advise_show_schedule(report, line, sizeof line);
    page_begin(&t, "Is a GPU worth it?", report->advice, line);
    add_chart(report, &t);
    add_table(report, &t);
    if (report->bench.count > 0) {
        page_heading(&t, 2, "By the batch");
        status = bench_html_batches(&report->bench, report->bench.results[0].workload, &t);
    }
    if (status == CORNU_OK)
        status = bench_html_machine(&report->bench, &t);
    add_notes(report, &t);
    page_end(&t);
    if (status == CORNU_OK)
        return page_write(&t, path);
    text_free(&t);
    return status;
}
