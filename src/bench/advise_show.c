/* What was found, on a terminal, as JSON and as a page. */
#include "base/memory.h"
#include "bench/advise.h"
#include "bench/duration.h"
#include "bench/sweep.h"
#include "format/page/page.h"
#include <math.h>
#include <string.h>

enum { WIDTH = 80, CELL = 64 };
enum { DEVICE, TIME, STEP, ENERGY, COST, NEEDS, FREE, COLUMNS };

typedef struct cells {
    char text[COLUMNS][CELL];
} cells;

static const char *const headings[COLUMNS] = {"device", "to the end", "ms a step", "energy",
                                              "cost",   "needs",      "is free"};

/* ---- cells ------------------------------------------------------------------------------ */

/* "450 J", "12.3 Wh" */
static void show_joules(double joules, char *out)
{
    double hours = joules / 3600;
    if (!isfinite(joules))
        snprintf(out, CELL, "-");
    else if (joules < 3600)
        snprintf(out, CELL, "%.0f J", joules);
    else if (hours < 9995)
        snprintf(out, CELL, "%.*f Wh", hours < 99.5 ? 1 : 0, hours);
    else
        snprintf(out, CELL, "%.1f kWh", hours / 1000);
}

static void show_size(double bytes, char *out)
{
    char shown[16];
    snprintf(out, CELL, "%s", bytes > 0 ? memory_human(bytes, shown) : "-");
}

/* All that is known of it: the device's, and that of the host's processors, which feed it. */
static double joules_of(const advise_row *row)
{
    if (isnan(row->device_joules))
        return row->host_joules;
    return row->device_joules + (isnan(row->host_joules) ? 0 : row->host_joules);
}

static cells cells_of(const advise_report *r, const advise_row *row, bool utf8)
{
    cells c = {.text = {""}};
    char time[DURATION_TEXT];
    double ms = row->step_ms;
    int decimals = ms < 9.95 ? 2 : ms < 99.5 ? 1 : 0;
    snprintf(c.text[DEVICE], CELL, "%.12s", row->device);
    show_size(row->memory_needed, c.text[NEEDS]);
    show_size(row->memory_free, c.text[FREE]);
    if (*row->failed)
        return c;
    snprintf(c.text[TIME], CELL, "%.63s",
             duration_show_about(row->seconds, row->error, utf8, time));
    snprintf(c.text[STEP], CELL, "%.*f%s", decimals, ms, row->measured_batch < r->batch ? "*" : "");
    show_joules(joules_of(row), c.text[ENERGY]);
    price_show(&r->prices, row->cost, c.text[COST]);
    return c;
}

static bool has_energy(const advise_report *r)
{
    for (int i = 0; i < r->count; i++)
        if (isfinite(joules_of(&r->rows[i])))
            return true;
    return false;
}

static bool is_shown(const advise_report *r, int column)
{
    return column == COST ? r->prices.count > 0 : column == ENERGY ? has_energy(r) : true;
}

/* ---- text ------------------------------------------------------------------------------- */

static int width_of(const char *line)
{
    int width = 0;
    for (; *line; line++)
        width += ((unsigned char)*line & 0xC0) != 0x80;
    return width;
}

/* Words, broken before column 80. */
static void print_wrapped(const char *line, FILE *out)
{
    char shown[1024];
    int at = 0;
    cornu_printable(line, shown, sizeof shown);
    for (const char *words = shown; *words;) {
        int length = (int)strcspn(words, " ");
        if (at > 0 && at + 1 + length > WIDTH) {
            fputs("\n  ", out);
            at = 2;
        } else if (at > 0) {
            fputc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", length, words);
        at += length;
        words += length + (int)strspn(words + length, " ");
    }
    fputc('\n', out);
}

static void print_cells(const advise_report *r, const cells *c, const int *width, FILE *out)
{
    for (int i = 0; i < COLUMNS; i++) {
        if (!is_shown(r, i))
            continue;
        int fill = width[i] - width_of(c->text[i]);
        fprintf(out, "%s%*s%s%*s", i ? "  " : "", i ? fill : 0, "", c->text[i], i ? 0 : fill, "");
    }
    fputc('\n', out);
}

static void print_rows(const advise_report *r, bool utf8, FILE *out)
{
    int width[COLUMNS];
    cells head;
    for (int i = 0; i < COLUMNS; i++) {
        snprintf(head.text[i], CELL, "%s", headings[i]);
        width[i] = width_of(headings[i]);
        for (int k = 0; k < r->count; k++) {
            cells c = cells_of(r, &r->rows[k], utf8);
            int needed = width_of(c.text[i]);
            width[i] = needed > width[i] ? needed : width[i];
        }
    }
    print_cells(r, &head, width, out);
    for (int k = 0; k < r->count; k++) {
        char line[BENCH_REASON + 128];
        cells c = cells_of(r, &r->rows[k], utf8);
        snprintf(line, sizeof line, "%-*s  failed: %s", width[DEVICE], c.text[DEVICE],
                 r->rows[k].failed);
        if (*r->rows[k].failed)
            print_wrapped(line, out);
        else
            print_cells(r, &c, width, out);
    }
}

/* "17 epochs of 1200 steps of 50 samples, each with a validation of 10000 samples" */
static void say_schedule(const advise_report *r, char *line, size_t size)
{
    int length =
        snprintf(line, size, "%s: %s%lld epoch%s of %lld step%s, batch %lld", r->name,
                 r->at_most ? "at most " : "", (long long)r->epochs, r->epochs == 1 ? "" : "s",
                 (long long)r->steps, r->steps == 1 ? "" : "s", (long long)r->batch);
    if (r->validations > 0)
        length +=
            snprintf(line + length, size - (size_t)length, ", %lld validation%s of %lld sample%s",
                     (long long)r->validations, r->validations == 1 ? "" : "s",
                     (long long)r->validation_samples, r->validation_samples == 1 ? "" : "s");
    if (r->real_data)
        length += snprintf(line + length, size - (size_t)length, "; data: %s", r->data_name);
    else
        length += snprintf(line + length, size - (size_t)length,
                           "; its data is not here: generated pixels of the exact shape");
    if (r->pictures > 0)
        snprintf(line + length, size - (size_t)length,
                 ", %lld picture%s, decoded once in %.3g ms of a core each", (long long)r->pictures,
                 r->pictures == 1 ? "" : "s", 1e3 * r->picture_seconds);
}

static bool has_smaller(const advise_report *r)
{
    for (int i = 0; i < r->count; i++)
        if (!*r->rows[i].failed && r->rows[i].measured_batch < r->batch)
            return true;
    return false;
}

static void print_lines(const advise_report *r, FILE *out)
{
    char line[BENCH_REASON + 64];
    if (has_smaller(r))
        print_wrapped("* By a smaller batch, as a step of this one would take too long to measure.",
                      out);
    if (*r->no_energy && !has_energy(r)) {
        snprintf(line, sizeof line, "Energy is not told here: %s.", r->no_energy);
        print_wrapped(line, out);
    } else if (*r->no_energy) {
        snprintf(line, sizeof line, "Energy is the devices' alone: %s.", r->no_energy);
        print_wrapped(line, out);
    }
    for (int i = 0; i < r->bench.note_count; i++)
        if (strstr(r->bench.notes[i], "not available")) {
            snprintf(line, sizeof line, "%s.", r->bench.notes[i]);
            print_wrapped(line, out);
        }
}

void advise_print(const advise_report *report, bool utf8, FILE *out)
{
    char line[1024];
    say_schedule(report, line, sizeof line);
    print_wrapped(line, out);
    fputc('\n', out);
    print_rows(report, utf8, out);
    print_lines(report, out);
    fputc('\n', out);
    sweep_print(&report->bench, utf8, out);
    fputc('\n', out);
    print_wrapped(report->advice, out);
}

/* ---- JSON ------------------------------------------------------------------------------- */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *row_json(const advise_row *row)
{
    return json_pack("{ss so sb so so so so sI so so so so so sI sI}", "device", row->device,
                     "error", *row->failed ? json_string(row->failed) : json_null(), "gpu",
                     row->gpu, "seconds", number(row->seconds), "seconds_error", number(row->error),
                     "ms_per_step", number(row->step_ms), "ms_per_validation_step",
                     number(row->validation_ms), "measured_batch", (json_int_t)row->measured_batch,
                     "host_joules", number(row->host_joules), "device_joules",
                     number(row->device_joules), "cost", number(row->cost), "memory_needed_bytes",
                     number(row->memory_needed), "memory_free_bytes", number(row->memory_free),
                     "wins_from_batch", (json_int_t)row->wins_from, "compared_up_to",
                     (json_int_t)row->compared_up_to);
}

static json_t *prices_json(const price_list *p)
{
    json_t *list = json_object();
    for (int i = 0; i < p->count; i++)
        json_object_set_new(list, p->price[i].device, json_real(p->price[i].per_hour));
    return json_pack("{ss so}", "unit", p->unit, "per_hour", list);
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
    json_t *all =
        json_pack("{ss ss so so so so ss sf sO}", "cornu", cornu_version(), "recipe", r->name,
                  "data", r->real_data ? json_string(r->data_name) : json_null(), "schedule",
                  planned, "prices", prices_json(&r->prices), "devices", rows, "advice", r->advice,
                  "measured_seconds", r->measured_seconds, "bench", r->bench.json);
    cornu_status status = bench_write_json(all, path);
    json_decref(all);
    return status;
}

/* ---- a page ----------------------------------------------------------------------------- */

static void add_table(text *page, const advise_report *r)
{
    page_column columns[COLUMNS];
    int count = 0;
    for (int i = 0; i < COLUMNS; i++)
        if (is_shown(r, i))
            columns[count++] = (page_column){headings[i], i != DEVICE};
    page_table_begin(page, "Each device", columns, count);
    for (int k = 0; k < r->count; k++) {
        cells c = cells_of(r, &r->rows[k], true);
        page_row_begin(page, r->rows[k].device);
        for (int i = TIME; i < COLUMNS; i++)
            if (is_shown(r, i))
                page_cell(page, i == TIME && *r->rows[k].failed ? r->rows[k].failed : c.text[i]);
        page_row_end(page);
    }
    page_table_end(page);
}

static void add_sweep_table(text *page, const advise_report *r)
{
    static const page_column columns[] = {
        {"batch", false}, {"device", false}, {"ms a step", true}, {"samples/s", true}};
    page_table_begin(page, "Each batch", columns, 4);
    for (int i = 0; i < r->bench.count; i++) {
        const bench_result *x = &r->bench.results[i];
        char batch[24];
        snprintf(batch, sizeof batch, "%lld", (long long)x->batch);
        page_row_begin(page, batch);
        page_cell(page, x->device);
        page_number_cell(page, x->step_ms.median, 3);
        page_number_cell(page, x->samples_per_second, 3);
        page_row_end(page);
    }
    page_table_end(page);
}

cornu_status advise_write_html(const advise_report *report, const char *path)
{
    text page = {0};
    char line[1024];
    say_schedule(report, line, sizeof line);
    page_begin(&page, "Is a GPU worth it?", line);
    page_paragraph(&page, report->advice);
    page_heading(&page, 2, "To the end of training");
    add_table(&page, report);
    page_heading(&page, 2, "By the batch");
    page_figures_begin(&page);
    cornu_status status = CORNU_OK;
    if (report->bench.count > 0)
        status = sweep_figure(&report->bench, report->bench.results[0].workload, &page);
    page_figures_end(&page);
    add_sweep_table(&page, report);
    page_end(&page);
    cornu_status written = page_write(&page, path);
    return status == CORNU_OK ? written : status;
}
