/* Sections of the page about the inside of a step: shares of the roofline, and losses. */
#include "bench/html.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits that keep a page of many devices small. */
enum {
    CHARTS_MOST = 16,
    OPERATIONS_MOST = 12, /* per chart: the slowest ones */
    POINTS_MOST = 25,     /* per curve */
    DEVICES_MOST = 6,
    LINE = 256
};

const char *bench_html_name(const bench_result *r, char *line, size_t size)
{
    snprintf(line, size, "%s on %s", r->workload, r->device);
    return line;
}

bool bench_html_first(const bench_report *report, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(report->results[i].workload, report->results[index].workload) == 0)
            return false;
    return true;
}

/* ---- the roofline ----------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const bench_operation *x = *(const bench_operation *const *)a,
                          *y = *(const bench_operation *const *)b;
    return (x->ms < y->ms) - (x->ms > y->ms);
}

/* The slowest OPERATIONS_MOST operations; returns their number. */
static int slowest(const bench_result *r, const bench_operation **out)
{
    enum { ALL = 512 };
    const bench_operation *all[ALL];
    int count = r->operation_count < ALL ? r->operation_count : ALL;
    for (int i = 0; i < count; i++)
        all[i] = &r->operations[i];
    qsort(all, (size_t)count, sizeof *all, by_time);
    count = count < OPERATIONS_MOST ? count : OPERATIONS_MOST;
    memcpy(out, all, (size_t)count * sizeof *all);
    return count;
}

/* "conv2d_forward conv2d" */
static void name_operation(const bench_operation *o, char *line, size_t size)
{
    snprintf(line, size, "%s%s%s", o->name, *o->layer ? " " : "", o->layer);
}

static void add_figure(const bench_result *r, const bench_operation *const *of, int count, text *t)
{
    char names[OPERATIONS_MOST][LINE], texts[OPERATIONS_MOST][64], title[LINE + 32], on[LINE];
    chart_bar bars[OPERATIONS_MOST];
    for (int i = 0; i < count; i++) {
        char number[MARKUP_NUMBER], ms[MARKUP_NUMBER], operation[LINE - 40];
        name_operation(of[i], operation, sizeof operation);
        snprintf(names[i], sizeof names[i], "%s, %s ms", operation,
                 markup_number(of[i]->ms, 3, ms));
        snprintf(texts[i], sizeof texts[i], "%s %%",
                 markup_number(100 * of[i]->share_of_limit, 2, number));
        bars[i] = (chart_bar){.name = names[i],
                              .value = 100 * of[i]->share_of_limit,
                              .text = texts[i],
                              .series = strcmp(of[i]->bound, "FMA") == 0 ? 0 : 1};
    }
    chart_group group = {NULL, bars, count};
    snprintf(title, sizeof title, "%s: share of the limit, %%", bench_html_name(r, on, sizeof on));
    chart_html(t, &(chart){.title = title,
                           .x_title = "% of what the machine could do at most",
                           .series_name = {"held back by arithmetic", "by memory"},
                           .most = 100,
                           .group = &group,
                           .group_count = 1});
}

static void add_operations_table(const bench_result *r, const bench_operation *const *of, int count,
                                 text *t)
{
    static const page_column columns[] = {{"operation", false}, {"shape", false},
                                          {"kernel", false},    {"ms", true},
                                          {"% of limit", true}, {"limit is", false}};
    char on[LINE], operation[LINE];
    page_table_begin(t, bench_html_name(r, on, sizeof on), columns, 6);
    for (int i = 0; i < count; i++) {
        name_operation(of[i], operation, sizeof operation);
        page_row_begin(t, operation);
        page_cell(t, of[i]->shape);
        page_cell(t, of[i]->kernel);
        page_number_cell(t, of[i]->ms, 3);
        page_number_cell(t, 100 * of[i]->share_of_limit, 2);
        page_cell(t, of[i]->bound);
        page_row_end(t);
    }
    page_table_end(t);
}

/* Figures or tables of the first CHARTS_MOST results with operations; returns the number of results
   that have some. */
static int each_with_operations(const bench_report *report, text *t, bool figures)
{
    int charts = 0;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        const bench_operation *of[OPERATIONS_MOST];
        if (r->operation_count == 0 || charts++ >= CHARTS_MOST)
            continue;
        int count = slowest(r, of);
        if (figures)
            add_figure(r, of, count, t);
        else
            add_operations_table(r, of, count, t);
    }
    return charts;
}

void bench_html_operations(const bench_report *report, text *t)
{
    bool any = false;
    for (int i = 0; i < report->count; i++)
        any |= report->results[i].operation_count > 0;
    if (!any)
        return;
    page_heading(t, 2, "Share of the roofline");
    page_paragraph(t, "The operations of a step that take longest, longest first, as shares of "
                      "what the machine could do: the larger of an operation's FLOPs over the "
                      "measured arithmetic rate and its bytes over the measured bandwidth.");
    page_figures_begin(t);
    int charts = each_with_operations(report, t, true);
    page_figures_end(t);
    if (charts > CHARTS_MOST)
        page_paragraph(t, "Those of the other devices are in the JSON alone.");
    page_details_begin(t, "Their shapes and kernels as tables");
    page_paragraph(t, "Operations that run within another's kernel are in its figures.");
    each_with_operations(report, t, false);
    page_details_end(t);
}

/* ---- losses ----------------------------------------------------------------------------- */

/* A curve with at most POINTS_MOST points: every n-th, and the last. */
typedef struct curve {
    double step[POINTS_MOST + 1], loss[POINTS_MOST + 1];
    int count;
} curve;

static void make_curve(const bench_result *r, curve *c)
{
    int stride = (r->losses + POINTS_MOST - 1) / POINTS_MOST;
    c->count = 0;
    for (int i = 0; i < r->losses; i++) {
        if (i % stride != 0 && i != r->losses - 1)
            continue;
        c->step[c->count] = (double)r->loss_step[i];
        c->loss[c->count++] = r->loss[i];
    }
}

/* The losses of all devices of the workload of result `index`, which is its first. */
static void add_losses_of(const bench_report *report, int index, curve *curves, text *t)
{
    chart_line lines[DEVICES_MOST];
    char title[LINE];
    int count = 0;
    for (int i = index; i < report->count && count < DEVICES_MOST; i++) {
        const bench_result *r = &report->results[i];
        if (strcmp(r->workload, report->results[index].workload) != 0 || r->losses == 0)
            continue;
        make_curve(r, &curves[count]);
        lines[count] = (chart_line){.name = r->device,
                                    .x = curves[count].step,
                                    .y = curves[count].loss,
                                    .count = curves[count].count,
                                    .series = count};
        count++;
    }
    if (count == 0)
        return;
    snprintf(title, sizeof title, "Loss of %s", report->results[index].workload);
    chart_html(t, &(chart){.title = title,
                           .x_title = "steps",
                           .from_zero = true,
                           .line = lines,
                           .line_count = count});
}

static void add_loss_rows(const bench_report *report, curve *c, text *t)
{
    char on[LINE];
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        make_curve(r, c);
        for (int k = 0; k < c->count; k++) {
            page_row_begin(t, bench_html_name(r, on, sizeof on));
            page_number_cell(t, c->step[k], 1);
            page_number_cell(t, c->loss[k], 4);
            page_row_end(t);
        }
    }
}

cornu_status bench_html_losses(const bench_report *report, text *t)
{
    static const page_column columns[] = {{"workload", false}, {"steps", true}, {"loss", true}};
    curve *curves;
    bool any = false;
    for (int i = 0; i < report->count; i++)
        any |= report->results[i].losses > 0;
    if (!any)
        return CORNU_OK;
    TRY(memory_new(DEVICES_MOST, sizeof *curves, "curves", &curves));
    page_heading(t, 2, "Does it train?");
    page_paragraph(t, "The steps that were timed are training steps: these are their losses, "
                      "warm-up included; each point is the mean of the steps before it.");
    page_figures_begin(t);
    for (int i = 0; i < report->count; i++)
        if (bench_html_first(report, i))
            add_losses_of(report, i, curves, t);
    page_figures_end(t);
    page_details_begin(t, "The losses as a table");
    page_table_begin(t, "Mean loss of the steps up to each number", columns, 3);
    add_loss_rows(report, curves, t);
    page_table_end(t);
    page_details_end(t);
    free(curves);
    return CORNU_OK;
}
