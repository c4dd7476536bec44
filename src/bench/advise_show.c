/* The advice on a terminal, as JSON and as a page. */
#include "base/memory.h"
#include "base/show.h"
#include "bench/advise.h"
#include "bench/report.h"
#include "bench/sweep.h"
#include <math.h>
#include <string.h>

enum { ADVISE_CELL = 64, ADVISE_NOTES_MOST = 8, ADVISE_NOTE = BENCH_REASON + 64 };
enum {
    ADVISE_DEVICE,
    ADVISE_TIME,
    ADVISE_STEP,
    ADVISE_ENERGY,
    ADVISE_COST,
    ADVISE_NEEDS,
    ADVISE_FREE,
    ADVISE_COLUMNS
};

typedef struct advise_cells {
    char text[ADVISE_COLUMNS][ADVISE_CELL];
} advise_cells;

static const char *const advise_headings[ADVISE_COLUMNS] = {
    "device", "to the end", "ms a step", "energy", "cost", "needs", "is free"};

/* ---- cells ------------------------------------------------------------------------------ */

/* "450 J", "12.3 Wh" */
static void show_joules(double joules, char *out)
{
    double hours = joules / 3600;
    if (!isfinite(joules))
        snprintf(out, ADVISE_CELL, "-");
    else if (joules < 3600)
        snprintf(out, ADVISE_CELL, "%.*f J", joules < 9.95 ? 2 : 0, joules);
    else if (hours < 9995)
        snprintf(out, ADVISE_CELL, "%.*f Wh", hours < 99.5 ? 1 : 0, hours);
    else
        snprintf(out, ADVISE_CELL, "%.1f kWh", hours / 1000);
}

static void show_size(double bytes, char *out)
{
    char shown[16];
    snprintf(out, ADVISE_CELL, "%s", bytes > 0 ? memory_human(bytes, shown) : "-");
}

/* All known energy: the device's, and that of the host's processors, which feed it. */
static double joules_of(const advise_row *row)
{
    if (isnan(row->device_joules))
        return row->host_joules;
    return row->device_joules + (isnan(row->host_joules) ? 0 : row->host_joules);
}

static advise_cells advise_cells_of(const advise_report *r, const advise_row *row, bool utf8)
{
    advise_cells c = {.text = {""}};
    char time[DURATION_TEXT];
    double ms = row->step_ms;
    int decimals = ms < 9.95 ? 2 : ms < 99.5 ? 1 : 0;
    snprintf(c.text[ADVISE_DEVICE], ADVISE_CELL, "%.12s", row->device);
    show_size(row->memory_needed, c.text[ADVISE_NEEDS]);
    show_size(row->memory_free, c.text[ADVISE_FREE]);
    if (*row->failed)
        return c;
    snprintf(c.text[ADVISE_TIME], ADVISE_CELL, "%.63s",
             duration_show_about(row->seconds, row->error, utf8, time));
    snprintf(c.text[ADVISE_STEP], ADVISE_CELL, "%.*f%s", decimals, ms,
             row->measured_batch < r->batch ? "*" : "");
    show_joules(joules_of(row), c.text[ADVISE_ENERGY]);
    price_show(&r->prices, row->cost, c.text[ADVISE_COST]);
    return c;
}

static bool has_energy(const advise_report *r)
{
    for (int i = 0; i < r->count; i++)
        if (isfinite(joules_of(&r->rows[i])))
            return true;
    return false;
}

static bool advise_shows(const advise_report *r, int column)
{
    return column == ADVISE_COST     ? r->prices.count > 0
           : column == ADVISE_ENERGY ? has_energy(r)
                                     : true;
}

/* ---- text ------------------------------------------------------------------------------- */

static void print_wrapped(const char *line, FILE *out)
{
    wrap_print_from(line, 0, 2, out);
}

static void print_rows(const advise_report *r, bool utf8, FILE *out)
{
    show_table t = {.indent = 2};
    for (int i = 0; i < ADVISE_COLUMNS; i++)
        if (advise_shows(r, i))
            table_add_column(
                &t, (show_column){.heading = advise_headings[i], .left = i == ADVISE_DEVICE});
    for (int k = 0; k < r->count; k++) {
        const advise_row *row = &r->rows[k];
        const advise_cells c = advise_cells_of(r, row, utf8);
        table_begin_row(&t);
        for (int i = 0; i < ADVISE_COLUMNS && (!*row->failed || i == ADVISE_DEVICE); i++)
            if (advise_shows(r, i))
                table_add_cell(&t, "%s", c.text[i]);
        if (*row->failed)
            table_add_note(&t, "failed: %s", row->failed);
    }
    table_print(&t, out);
}

/* "17 epochs of 1200 steps of 50 samples, each with a validation of 10000 samples" */
static void advise_show_schedule(const advise_report *r, char *line, size_t size)
{
    int length =
        snprintf(line, size, "%s: %s%lld epoch%s of %lld step%s, batch %lld", r->name,
                 r->at_most ? "at most " : "", (long long)r->epochs, PLURAL(r->epochs, "", "s"),
                 (long long)r->steps, PLURAL(r->steps, "", "s"), (long long)r->batch);
    if (r->validations > 0)
        length +=
            snprintf(line + length, size - (size_t)length, ", %lld validation%s of %lld sample%s",
                     (long long)r->validations, PLURAL(r->validations, "", "s"),
                     (long long)r->validation_samples, PLURAL(r->validation_samples, "", "s"));
    if (r->real_data)
        length += snprintf(line + length, size - (size_t)length, "; data: %s", r->data_name);
    else
        length += snprintf(line + length, size - (size_t)length,
                           "; its data is not here: generated pixels of the exact shape");
    if (r->pictures > 0)
        snprintf(line + length, size - (size_t)length,
                 ", %lld picture%s, decoded once in %.3g ms of a core each", (long long)r->pictures,
                 PLURAL(r->pictures, "", "s"), 1e3 * r->picture_seconds);
}

static bool has_smaller(const advise_report *r)
{
    for (int i = 0; i < r->count; i++)
        if (!*r->rows[i].failed && r->rows[i].measured_batch < r->batch)
            return true;
    return false;
}

static int advise_show_notes(const advise_report *r, char lines[ADVISE_NOTES_MOST][ADVISE_NOTE])
{
    int count = 0;
    if (has_smaller(r))
        snprintf(lines[count++], ADVISE_NOTE,
                 "* By a smaller batch, as a step of this one would take too long to measure.");
    if (*r->no_energy)
        snprintf(lines[count++], ADVISE_NOTE, "Energy is %s: %s.",
                 has_energy(r) ? "the devices' alone" : "not told here", r->no_energy);
    for (int i = 0; i < r->bench.note_count && count < ADVISE_NOTES_MOST; i++)
        if (strstr(r->bench.notes[i], "not available"))
            snprintf(lines[count++], ADVISE_NOTE, "%s.", r->bench.notes[i]);
    return count;
}

static void advise_show_estimates(const advise_report *r, char *line, size_t size)
{
    const advise_estimate *e = &r->estimates[0];
    *line = 0;
    if (r->estimate_count > 0)
        snprintf(line, size,
                 "GPUs that are not here, estimated from the figures published for %s "
                 "(TensorFlow's, steps alone; %.2g times as much or as little is possible)",
                 e->workload, e->factor);
}

static void print_estimates(const advise_report *r, FILE *out)
{
    char line[512], time[DURATION_TEXT];
    advise_show_estimates(r, line, sizeof line);
    if (!*line)
        return;
    fprintf(out, "\n");
    print_wrapped(line, out);
    for (int i = 0; i < r->estimate_count; i++)
        fprintf(out, "  %-14s about %s\n", r->estimates[i].hardware,
                duration_show(r->estimates[i].seconds, time));
}

static void print_notes(const advise_report *r, FILE *out)
{
    char lines[ADVISE_NOTES_MOST][ADVISE_NOTE];
    int count = advise_show_notes(r, lines);
    for (int i = 0; i < count; i++)
        print_wrapped(lines[i], out);
}

void advise_print(const advise_report *report, bool utf8, FILE *out)
{
    char line[1024];
    advise_show_schedule(report, line, sizeof line);
    print_wrapped(line, out);
    fputc('\n', out);
    print_rows(report, utf8, out);
    print_notes(report, out);
    print_estimates(report, out);
    fputc('\n', out);
    sweep_print(&report->bench, utf8, out);
    fputc('\n', out);
    print_wrapped(report->advice, out);
}

/* ---- JSON ------------------------------------------------------------------------------- */

static json_t *row_json(const advise_row *row)
{
    return json_pack("{ss so sb so so so so sI so so so so so sI sI}", "device", row->device,
                     "error", *row->failed ? json_string(row->failed) : json_null(), "gpu",
                     row->gpu, "seconds", bench_json_number(row->seconds), "seconds_error",
                     bench_json_number(row->error), "ms_per_step", bench_json_number(row->step_ms),
                     "ms_per_validation_step", bench_json_number(row->validation_ms),
                     "measured_batch", (json_int_t)row->measured_batch, "host_joules",
                     bench_json_number(row->host_joules), "device_joules",
                     bench_json_number(row->device_joules), "cost", bench_json_number(row->cost),
                     "memory_needed_bytes", bench_json_number(row->memory_needed),
                     "memory_free_bytes", bench_json_number(row->memory_free), "wins_from_batch",
                     (json_int_t)row->wins_from, "compared_up_to", (json_int_t)row->compared_up_to);
}

static json_t *prices_json(const price_list *p)
{
    json_t *list = json_object();
    for (int i = 0; i < p->count; i++)
        json_object_set_new(list, p->price[i].device, json_real(p->price[i].per_hour));
    return json_pack("{ss so}", "unit", p->unit, "per_hour", list);
}

static json_t *estimates_json(const advise_report *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->estimate_count; i++) {
        const advise_estimate *e = &r->estimates[i];
        json_array_append_new(list, json_pack("{ss so so ss}", "hardware", e->hardware, "seconds",
                                              bench_json_number(e->seconds), "factor",
                                              bench_json_number(e->factor), "published_for",
                                              e->workload));
    }
    return list;
}

cornu_status advise_write_json(const advise_report *report, const char *path)
{
    const advise_report *r = report;
    json_t *rows = json_array();
    for (int i = 0; i < r->count; i++)
        json_array_append_new(rows, row_json(&r->rows[i]));
    json_t *planned =
        json_pack("{sI sI sI sI sI sI sb sI sf}", "epochs", (json_int_t)r->epochs, "steps",
                  (json_int_t)r->steps, "batch", (json_int_t)r->batch, "samples",
                  (json_int_t)r->samples, "validations", (json_int_t)r->validations,
                  "validation_samples", (json_int_t)r->validation_samples, "at_most", r->at_most,
                  "pictures", (json_int_t)r->pictures, "picture_seconds", r->picture_seconds);
    json_t *all = json_pack("{ss ss so so so so so ss sf sO}", "cornu", cornu_version(), "recipe",
                            r->name, "data", r->real_data ? json_string(r->data_name) : json_null(),
                            "schedule", planned, "prices", prices_json(&r->prices), "devices", rows,
                            "estimates", estimates_json(r), "advice", r->advice, "measured_seconds",
                            r->measured_seconds, "bench", r->bench.json);
    cornu_status status = bench_write_json(all, path);
    json_decref(all);
    return status;
}

/* ---- the page ------------------------------------------------------------------------------- */

/* The advice as a page. */

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

static void add_html_table(const advise_report *r, text *t)
{
    html_column columns[ADVISE_COLUMNS];
    int count = 0;
    for (int i = 0; i < ADVISE_COLUMNS; i++)
        if (advise_shows(r, i))
            columns[count++] = (html_column){advise_headings[i], false};
    html_table_begin(t, NULL, columns, count);
    for (int k = 0; k < r->count; k++) {
        const advise_row *row = &r->rows[k];
        advise_cells c = advise_cells_of(r, row, true);
        html_row_begin(t, row->device);
        for (int i = ADVISE_TIME; i < ADVISE_COLUMNS; i++)
            if (advise_shows(r, i))
                html_cell(t, i == ADVISE_TIME && *row->failed ? row->failed : c.text[i]);
        html_row_end(t);
    }
    html_table_end(t);
}

static void add_html_notes(const advise_report *r, text *t)
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
    html_begin(&t, "Is a GPU worth it?", report->advice, line);
    add_chart(report, &t);
    add_html_table(report, &t);
    if (report->bench.count > 0) {
        html_heading(&t, 2, "By the batch");
        status = bench_html_batches(&report->bench, report->bench.results[0].workload, &t);
    }
    if (status == CORNU_OK)
        status = bench_html_machine(&report->bench, &t);
    add_html_notes(report, &t);
    html_end(&t);
    if (status == CORNU_OK)
        return html_write(&t, path);
    text_free(&t);
    return status;
}
