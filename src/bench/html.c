/* The report as one self-contained page. */
#include "base/show.h"
#include "bench/baseline.h"
#include "bench/report.h"
#include "bench/sweep.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512 };
typedef char bar_name[96];

/* "cifar10-mlp on cpu" */
static const char *name_of(const bench_result *r, char *line, size_t size)
{
    snprintf(line, size, "%s on %s", r->workload, r->device);
    return line;
}

/* Is it the first result of its workload? */
static bool is_first(const bench_report *report, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(report->results[i].workload, report->results[index].workload) == 0)
            return false;
    return true;
}

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
    html_column columns[18] = {{"workload", false}, {"device", false}};
    int count = 0;
    for (; keys[count]; count++) {
        const char *heading = strchr(keys[count], '=');
        of[count] = bench_column_named(keys[count]);
        columns[count + 2] =
            (html_column){heading ? heading + 1 : of[count]->heading, of[count]->number != NULL};
    }
    html_table_begin(t, caption, columns, count + 2);
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        html_row_begin(t, r->workload);
        html_cell(t, r->device);
        for (int k = 0; k < count; k++)
            if (of[k]->text)
                html_cell(t, of[k]->text(report, r));
            else
                html_number_cell(t, of[k]->number(report, r), of[k]->digits);
        html_row_end(t);
    }
    html_table_end(t);
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
    html_heading(t, 2, "Time per step");
    TRY(add_step_chart(report, t));
    html_details_begin(t, "Rounds, limits, losses and data as tables");
    add_results_table(report, "The rounds of steps", spread, t);
    add_results_table(report, "What the steps did", shares, t);
    html_details_end(t);
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
        if (!is_first(report, i))
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
    static const html_column columns[] = {{"workload", false}, {"hardware", false},
                                          {"epoch, s", true},  {"in all, s", true},
                                          {"accuracy", true},  {"what it is", false}};
    html_details_begin(t, "The published figures, of TensorFlow and Keras, as their sources give "
                          "them");
    html_table_begin(t, NULL, columns, 6);
    for (int i = 0; i < report->count; i++)
        for (const published_figure *f = published_figures; is_first(report, i) && f->workload;
             f++) {
            if (strcmp(f->workload, report->results[i].workload) != 0)
                continue;
            html_row_begin(t, f->workload);
            html_cell(t, f->hardware);
            html_number_cell(t, f->epoch_seconds > 0 ? f->epoch_seconds : NAN, 4);
            html_number_cell(t, f->total_seconds > 0 ? f->total_seconds : NAN, 4);
            html_number_cell(t, f->accuracy > 0 ? f->accuracy : NAN, 4);
            html_cell(t, f->note);
            html_row_end(t);
        }
    html_table_end(t);
    html_details_end(t);
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

/* ---- the answer in a sentence --------------------------------------------------------------- */

/* The answer of a comparison in a sentence or two. */
/* The minimum and the maximum of some ratios. */
typedef struct ratios {
    double low, high;
    int count;
} ratios;

static void see_ratio(ratios *s, double value)
{
    if (!(value > 0) || !isfinite(value))
        return;
    s->low = s->count ? fmin(s->low, value) : value;
    s->high = s->count ? fmax(s->high, value) : value;
    s->count++;
}

/* "4.1", "4.1 to 62", then `unit`; below 1 in percent. */
static void say_ratios(const sentence *s, const ratios *of)
{
    const bool below = of->high < 0.995;
    const bool several = of->high > 1.05 * of->low;
    double unit = below ? 100 : 1;
    char low[MARKUP_NUMBER], high[MARKUP_NUMBER];
    if (several)
        sentence_add(s, "%s to ", markup_number(unit * of->low, 2, low));
    sentence_add(s, "%s%s", markup_number(unit * of->high, 2, high), below ? " %" : " times");
}

/* The fastest of a workload's devices (except one), or NULL. */
static const bench_result *fastest(const bench_report *report, const char *workload,
                                   const bench_result *but)
{
    const bench_result *best = NULL;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        bool counts = !*r->failed && r != but && strcmp(r->workload, workload) == 0;
        if (counts && (!best || r->epoch_seconds < best->epoch_seconds))
            best = r;
    }
    return best;
}

typedef struct tally {
    const char *winner; /* the device that is the fastest most often */
    int workloads, won;
    ratios ahead;     /* of the second device, where the winner is the fastest */
    const char *next; /* the second device, if the same everywhere, or NULL */
    const bench_result *shortest, *longest; /* the winner's epochs */
    ratios cpus, gpus;                      /* published epochs divided by the winner's */
} tally;

static int wins_of(const bench_report *report, const char *on)
{
    int won = 0;
    for (int i = 0; i < report->count; i++) {
        const bench_result *best = fastest(report, report->results[i].workload, NULL);
        won += is_first(report, i) && best && strcmp(best->device, on) == 0;
    }
    return won;
}

static void count_workload(const bench_report *report, const char *workload, tally *t)
{
    const bench_result *best = fastest(report, workload, NULL);
    if (!best)
        return;
    const bench_result *next = fastest(report, workload, best);
    t->workloads++;
    if (strcmp(best->device, t->winner) != 0)
        return;
    if (next) {
        bool other = t->ahead.count > 0 && (!t->next || strcmp(t->next, next->device) != 0);
        t->next = other ? NULL : next->device;
        see_ratio(&t->ahead, next->epoch_seconds / best->epoch_seconds);
    }
    if (!t->shortest || best->epoch_seconds < t->shortest->epoch_seconds)
        t->shortest = best;
    if (!t->longest || best->epoch_seconds > t->longest->epoch_seconds)
        t->longest = best;
    see_ratio(&t->cpus, bench_published_epoch(workload, "cpu") / best->epoch_seconds);
    see_ratio(&t->gpus, bench_published_epoch(workload, "gpu") / best->epoch_seconds);
}

static tally tally_of(const bench_report *report)
{
    tally t = {.winner = NULL};
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        int won = *r->failed ? 0 : wins_of(report, r->device);
        if (won > t.won) {
            t.won = won;
            t.winner = r->device;
        }
    }
    for (int i = 0; t.winner && i < report->count; i++)
        if (is_first(report, i))
            count_workload(report, report->results[i].workload, &t);
    return t;
}

/* "cpu is the fastest device here, 3.1 to 54 times as fast as opencl:0: " */
static void say_lead(const sentence *s, const tally *t)
{
    if (t->ahead.count == 0) {
        sentence_add(s, "On %s ", t->winner);
        return;
    }
    sentence_add(s, "%s is the fastest device ", t->winner);
    if (t->won < t->workloads)
        sentence_add(s, "on %d of %d workloads, ", t->won, t->workloads);
    else
        sentence_add(s, "here, ");
    say_ratios(s, &t->ahead);
    sentence_add(s, " as fast as %s: ", t->next ? t->next : "the next");
}

static void say_epochs(const sentence *s, const tally *t)
{
    char low[DURATION_TEXT], high[DURATION_TEXT];
    duration_show(t->shortest->epoch_seconds, low);
    duration_show(t->longest->epoch_seconds, high);
    if (t->shortest == t->longest)
        sentence_add(s, "an epoch of %s takes %s", t->shortest->workload, low);
    else
        sentence_add(s, "an epoch takes %s (%s) to %s (%s)", low, t->shortest->workload, high,
                     t->longest->workload);
}

static void say_published(const sentence *s, const char *lead, const char *what, const ratios *of)
{
    if (of->count == 0)
        return;
    sentence_add(s, "%s the published %s%s ", lead, what, of->count > 1 ? "s take" : " takes");
    say_ratios(s, of);
    sentence_add(s, of->high < 0.995 ? " of the time" : " as long");
}

void bench_html_answer(const bench_report *report, char *line, size_t size)
{
    const sentence s = {line, size};
    tally t = tally_of(report);
    *line = 0;
    if (!t.winner)
        return;
    say_lead(&s, &t);
    say_epochs(&s, &t);
    say_published(&s, ";", "CPU", &t.cpus);
    say_published(&s, t.cpus.count ? "," : ";", "GPU", &t.gpus);
    sentence_add(&s, ".");
}

/* ---- against an earlier run ----------------------------------------------------------------- */

/* The section of the page that compares with an earlier run. */

static void add_change(const bench_change *c, text *t)
{
    char verdict[320], range[64];
    snprintf(range, sizeof range, "%+.1f to %+.1f", 100 * (c->low - 1), 100 * (c->high - 1));
    html_row_begin(t, c->workload);
    html_cell(t, c->device);
    html_number_cell(t, c->before_ms, 4);
    html_number_cell(t, c->after_ms, 4);
    html_number_cell(t, 100 * (c->ratio - 1), 2);
    html_cell(t, range);
    html_cell(t, baseline_show(c, verdict, sizeof verdict));
    html_row_end(t);
}

static void add_changes(const bench_comparison *b, text *t)
{
    static const html_column columns[] = {
        {"workload", false}, {"device", false},    {"then, ms", true}, {"now, ms", true},
        {"change, %", true}, {"99 % sure", false}, {"verdict", false}};
    html_table_begin(t,
                     "Medians of the rounds' fastest steps, then and now; the change less what "
                     "slower or faster memory explains, with an interval that is 99 % sure for all "
                     "rows together",
                     columns, 7);
    for (int i = 0; i < b->count; i++)
        if (b->changes[i].verdict != BENCH_NOT_COMPARED)
            add_change(&b->changes[i], t);
    html_table_end(t);
}

/* The rows that were not compared, one line per reason. */
static void add_not_compared(const bench_comparison *b, text *t)
{
    html_list_begin(t);
    for (int i = 0; i < b->count; i++) {
        const bench_change *first = &b->changes[i];
        text line = {0};
        bool said = first->verdict != BENCH_NOT_COMPARED;
        for (int k = 0; k < i; k++)
            said |= strcmp(b->changes[k].why, first->why) == 0;
        if (said)
            continue;
        text_add(&line, "Not compared: ");
        for (int k = i; k < b->count; k++)
            if (strcmp(b->changes[k].why, first->why) == 0)
                text_add(&line, "%s%s on %s", k > i ? ", " : "", b->changes[k].workload,
                         b->changes[k].device);
        text_add(&line, ": %s.", first->why);
        html_list_item(t, line.data ? line.data : "");
        t->failed |= line.failed;
        text_free(&line);
    }
    html_list_end(t);
}

static void add_baseline(const bench_report *report, text *t)
{
    const bench_comparison *b = &report->baseline;
    char line[LINE];
    if (!*b->file)
        return;
    html_heading(t, 2, "Against an earlier run");
    snprintf(line, sizeof line, "%s, written by cornu %s%s%s.", b->file, b->version,
             *b->started ? ", " : "", b->started);
    html_paragraph(t, line);
    if (b->difference_count > 0) {
        html_list_begin(t);
        for (int i = 0; i < b->difference_count; i++)
            html_list_item(t, b->differences[i]);
        html_list_end(t);
    }
    int compared = 0;
    for (int i = 0; i < b->count; i++)
        compared += b->changes[i].verdict != BENCH_NOT_COMPARED;
    if (compared > 0)
        add_changes(b, t);
    if (compared < b->count)
        add_not_compared(b, t);
}

/* ---- inside a step -------------------------------------------------------------------------- */

/* Sections of the page about the inside of a step: shares of the roofline, and losses. */
/* Limits that keep a page of many devices small. */
enum {
    CHARTS_MOST = 16,
    OPERATIONS_MOST = 12, /* per chart: the slowest ones */
    POINTS_MOST = 25,     /* per curve */
    DEVICES_MOST = 6
};

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
    snprintf(title, sizeof title, "%s: share of the limit, %%", name_of(r, on, sizeof on));
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
    static const html_column columns[] = {{"operation", false}, {"shape", false},
                                          {"kernel", false},    {"ms", true},
                                          {"% of limit", true}, {"limit is", false}};
    char on[LINE], operation[LINE];
    html_table_begin(t, name_of(r, on, sizeof on), columns, 6);
    for (int i = 0; i < count; i++) {
        name_operation(of[i], operation, sizeof operation);
        html_row_begin(t, operation);
        html_cell(t, of[i]->shape);
        html_cell(t, of[i]->kernel);
        html_number_cell(t, of[i]->ms, 3);
        html_number_cell(t, 100 * of[i]->share_of_limit, 2);
        html_cell(t, of[i]->bound);
        html_row_end(t);
    }
    html_table_end(t);
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

static void add_operations(const bench_report *report, text *t)
{
    bool any = false;
    for (int i = 0; i < report->count; i++)
        any |= report->results[i].operation_count > 0;
    if (!any)
        return;
    html_heading(t, 2, "Share of the roofline");
    html_paragraph(t, "The operations of a step that take longest, longest first, as shares of "
                      "what the machine could do: the larger of an operation's FLOPs over the "
                      "measured arithmetic rate and its bytes over the measured bandwidth.");
    html_figures_begin(t);
    int charts = each_with_operations(report, t, true);
    html_figures_end(t);
    if (charts > CHARTS_MOST)
        html_paragraph(t, "Those of the other devices are in the JSON alone.");
    html_details_begin(t, "Their shapes and kernels as tables");
    html_paragraph(t, "Operations that run within another's kernel are in its figures.");
    each_with_operations(report, t, false);
    html_details_end(t);
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
            html_row_begin(t, name_of(r, on, sizeof on));
            html_number_cell(t, c->step[k], 1);
            html_number_cell(t, c->loss[k], 4);
            html_row_end(t);
        }
    }
}

static cornu_status add_losses(const bench_report *report, text *t)
{
    static const html_column columns[] = {{"workload", false}, {"steps", true}, {"loss", true}};
    curve *curves;
    bool any = false;
    for (int i = 0; i < report->count; i++)
        any |= report->results[i].losses > 0;
    if (!any)
        return CORNU_OK;
    TRY(memory_new(DEVICES_MOST, sizeof *curves, "curves", &curves));
    html_heading(t, 2, "Does it train?");
    html_paragraph(t, "The steps that were timed are training steps: these are their losses, "
                      "warm-up included; each point is the mean of the steps before it.");
    html_figures_begin(t);
    for (int i = 0; i < report->count; i++)
        if (is_first(report, i))
            add_losses_of(report, i, curves, t);
    html_figures_end(t);
    html_details_begin(t, "The losses as a table");
    html_table_begin(t, "Mean loss of the steps up to each number", columns, 3);
    add_loss_rows(report, curves, t);
    html_table_end(t);
    html_details_end(t);
    free(curves);
    return CORNU_OK;
}

/* ---- notes and machine ------------------------------------------------------------------ */

static void add_failures(const bench_report *report, text *t)
{
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        char line[BENCH_REASON + 256];
        snprintf(line, sizeof line, "%s on %s failed: %s", r->workload, r->device, r->failed);
        if (*r->failed)
            html_list_item(t, line);
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
    html_heading(t, 2, "What to keep in mind");
    html_list_begin(t);
    if (failed)
        add_failures(report, t);
    for (; more && *more; more++)
        html_list_item(t, *more);
    for (int i = 0; i < report->note_count; i++)
        html_list_item(t, report->notes[i]);
    if (generated)
        html_list_item(t, "Some data was not on this machine, and random pixels of its exact shape "
                          "stood in (\"generated pixels\"): times are of the real work, losses say "
                          "only that the network learns what it is given.");
    if (substitute)
        html_list_item(t, "Fashion-MNIST stands in for MNIST, which is not on this machine.");
    html_list_end(t);
}

static void add_row(text *t, const char *name, const char *value)
{
    html_row_begin(t, name);
    html_cell(t, value);
    html_row_end(t);
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
    static const html_column columns[] = {{"what", false}, {"value", false}};
    const bench_machine *m = &report->machine;
    char line[LINE], size[16], *versions;
    html_heading(t, 2, "Machine and versions");
    html_table_begin(t, NULL, columns, 2);
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
    html_table_end(t);
    TRY(cornu_versions(&versions));
    html_details_begin(t, "Versions of everything");
    html_facts(t, NULL, versions);
    html_details_end(t);
    cornu_free(versions);
    return CORNU_OK;
}

static const char *say_where(const bench_report *report, char *line, size_t size)
{
    snprintf(line, size, "cornu %s on %s, %d %s, %s%s%s", cornu_version(), report->machine.cpu,
             report->limits.threads, PLURAL(report->limits.threads, "thread", "threads"),
             report->started, report->settings.quick ? ", a quick run" : "",
             report->interrupted ? "; interrupted before all was measured" : "");
    return line;
}

/* ---- a sweep's page ------------------------------------------------------------------------- */

/* The page of a sweep: the best batch, and the batch from which another device wins. */

bool bench_html_is_sweep(const bench_report *report)
{
    for (int i = 1; i < report->count; i++) {
        const bench_result *r = &report->results[i], *first = r;
        while (first > report->results && strcmp(first[-1].workload, r->workload) == 0)
            first--;
        if (first->batch != r->batch && r->batch > 0 && first->batch > 0)
            return true;
    }
    return false;
}

/* The batch with which a device trains the most samples per second; NULL: none. */
static const bench_result *best_batch(const bench_report *report, const char *workload)
{
    const bench_result *best = NULL;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        bool counts = !*r->failed && strcmp(r->workload, workload) == 0;
        if (counts && (!best || r->samples_per_second > best->samples_per_second))
            best = r;
    }
    return best;
}

/* "cpu trains most samples a second, 5120, with batch 64; opencl:0 ..." */
static void say_best_batch(const bench_report *report, const char *workload, char *line,
                           size_t size)
{
    const bench_result *best = best_batch(report, workload);
    char rate[MARKUP_NUMBER];
    *line = 0;
    if (!best)
        return;
    snprintf(line, size, "%s is fastest on %s with batch %lld: %s samples a second.", workload,
             best->device, (long long)best->batch,
             markup_number(best->samples_per_second, 3, rate));
    sweep_say_winners(report, workload, line, size);
}

static void add_batches(const bench_report *report, const char *workload, text *t)
{
    static const html_column columns[] = {
        {"batch", false}, {"device", false}, {"ms a step", true}, {"samples/s", true}};
    html_table_begin(t, NULL, columns, 4);
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        char batch[24];
        if (*r->failed || strcmp(r->workload, workload) != 0)
            continue;
        snprintf(batch, sizeof batch, "%lld", (long long)r->batch);
        html_row_begin(t, batch);
        html_cell(t, r->device);
        html_number_cell(t, r->step_ms.median, 3);
        html_number_cell(t, r->samples_per_second, 3);
        html_row_end(t);
    }
    html_table_end(t);
}

static bool has_several_batches(const bench_report *report, const char *workload)
{
    int64_t first = 0;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        if (*r->failed || strcmp(r->workload, workload) != 0)
            continue;
        if (first && r->batch != first)
            return true;
        first = r->batch;
    }
    return false;
}

cornu_status bench_html_batches(const bench_report *report, const char *workload, text *t)
{
    char left_out[2 * LINE];
    const bool several = has_several_batches(report, workload); /* else there is no line to draw */
    if (several) {
        TRY(sweep_figure(report, workload, t));
        html_details_begin(t, "Each batch as a table");
    }
    add_batches(report, workload, t);
    if (several)
        html_details_end(t);
    sweep_say_left_out(report, workload, left_out, sizeof left_out);
    if (*left_out)
        html_paragraph(t, left_out);
    return CORNU_OK;
}

static cornu_status add_sweep(const bench_report *report, text *t)
{
    char where[LINE], answer[2 * LINE] = "";
    int workloads = 0;
    for (int i = 0; i < report->count; i++)
        workloads += is_first(report, i);
    if (workloads == 1)
        say_best_batch(report, report->results[0].workload, answer, sizeof answer);
    html_begin(t, "Which batch, and which device", workloads == 1 ? answer : NULL,
               say_where(report, where, sizeof where));
    for (int i = 0; i < report->count; i++) {
        const char *workload = report->results[i].workload;
        if (!is_first(report, i))
            continue;
        if (workloads > 1) {
            html_heading(t, 2, workload);
            say_best_batch(report, workload, answer, sizeof answer);
            html_paragraph(t, answer);
        }
        TRY(bench_html_batches(report, workload, t));
    }
    TRY(bench_html_machine(report, t));
    bench_html_notes(report, NULL, false, t);
    html_end(t);
    return CORNU_OK;
}

/* ---- all together ----------------------------------------------------------------------- */

static cornu_status add_page(const bench_report *report, text *t)
{
    char where[LINE], answer[2 * LINE];
    if (bench_html_is_sweep(report))
        return add_sweep(report, t);
    bench_html_answer(report, answer, sizeof answer);
    html_begin(t, "How fast cornu trains here", answer, say_where(report, where, sizeof where));
    TRY(add_epochs(report, t));
    add_baseline(report, t);
    TRY(add_steps(report, t));
    add_operations(report, t);
    TRY(add_losses(report, t));
    TRY(bench_html_machine(report, t));
    bench_html_notes(report, NULL, true, t);
    html_end(t);
    return CORNU_OK;
}

cornu_status bench_write_html(const bench_report *report, const char *path)
{
    text t = {0};
    cornu_status status = add_page(report, &t);
    if (status == CORNU_OK)
        return html_write(&t, path);
    text_free(&t);
    return status;
}
