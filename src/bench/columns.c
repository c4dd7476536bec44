#include "bench/columns.h"
#include "base/number.h"
#include "bench/csv_cell.h"
#include "bench/published.h"
#include "format/page/page.h"
#include "report/csv.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

double bench_published_epoch(const char *workload, const char *kind)
{
    double best = 0;
    for (const published_figure *f = published_figures; f->workload; f++)
        if (strcmp(f->workload, workload) == 0 && strcmp(f->device_kind, kind) == 0 &&
            f->epoch_seconds > 0 && (best == 0 || f->epoch_seconds < best))
            best = f->epoch_seconds;
    return best;
}

bool bench_is_substitute(const bench_result *r)
{
    for (const bench_workload *w = bench_workloads; w->name; w++)
        if (strcmp(w->name, r->workload) == 0)
            return r->real_data && w->substitute && strcmp(r->data_name, w->substitute) == 0;
    return false;
}

const char *bench_data_shown(const bench_report *report, const bench_result *r)
{
    (void)report;
    return *r->failed ? "" : r->real_data ? r->data_name : "generated pixels";
}

/* ---- one function per column ------------------------------------------------------------ */

#define TEXT(name, expression)                                                       \
    static const char *get_##name(const bench_report *report, const bench_result *r) \
    {                                                                                \
        (void)report;                                                                \
        return expression;                                                           \
    }
#define NUMBER(name, expression)                                                \
    static double get_##name(const bench_report *report, const bench_result *r) \
    {                                                                           \
        (void)report;                                                           \
        return expression;                                                      \
    }
TEXT(workload, r->workload)
TEXT(device, r->device)
TEXT(precision, r->precision ? r->precision : "fp32")
NUMBER(batch, (double)r->batch)
NUMBER(rounds, r->step_ms.rounds)
NUMBER(minimum, r->step_ms.minimum)
NUMBER(median, r->step_ms.median)
NUMBER(p95, r->step_ms.p95)
NUMBER(noise, r->step_ms.noise)
NUMBER(samples, r->samples_per_second)
NUMBER(epoch, *r->failed ? NAN : r->epoch_seconds)
NUMBER(limit, *r->failed ? NAN : 100 * r->share_of_limit)
TEXT(bound, r->bound ? r->bound : "")
NUMBER(loss_first, *r->failed ? NAN : r->loss_first)
NUMBER(loss_last, *r->failed ? NAN : r->loss_last)
NUMBER(probe, *r->failed ? NAN : 100 * r->probe_median)
TEXT(error, r->failed)

static double get_published(const bench_report *report, const bench_result *r)
{
    double seconds = bench_published_epoch(r->workload, bench_device_kind(report, r->device));
    return seconds > 0 ? seconds : NAN;
}

const bench_column bench_columns[] = {
    {"workload", "workload", 0, NULL, get_workload},
    {"device", "device", 0, NULL, get_device},
    {"precision", NULL, 0, NULL, get_precision},
    {"batch", "batch", 1, get_batch, NULL},
    {"rounds", "rounds", 1, get_rounds, NULL},
    {"ms_per_step_min", "ms a step, min", 3, get_minimum, NULL},
    {"ms_per_step_median", "median", 3, get_median, NULL},
    {"ms_per_step_p95", "95th percentile", 3, get_p95, NULL},
    {"noise", NULL, 3, get_noise, NULL},
    {"samples_per_second", "samples/s", 4, get_samples, NULL},
    {"epoch_seconds", "epoch, s", 3, get_epoch, NULL},
    {"published_epoch_seconds", "published epoch, s", 3, get_published, NULL},
    {"percent_of_limit", "% of limit", 2, get_limit, NULL},
    {"bound_by", "limit is", 0, NULL, get_bound},
    {"loss_first", "first loss", 3, get_loss_first, NULL},
    {"loss_last", "last loss", 3, get_loss_last, NULL},
    {"probe_percent", "cores between rounds, % of their best", 2, get_probe, NULL},
    {"data", "data", 0, NULL, bench_data_shown},
    {"error", NULL, 0, NULL, get_error},
    {NULL, NULL, 0, NULL, NULL}};

const bench_column *bench_column_named(const char *key)
{
    const bench_column *c = bench_columns;
    size_t length = strcspn(key, "=");
    while (c->key && (strncmp(c->key, key, length) != 0 || c->key[length]))
        c++;
    return c;
}

/* ---- CSV -------------------------------------------------------------------------------- */

/* Preceded by a comma. */
static void add_csv_cell(const bench_column *c, const bench_report *report, const bench_result *r,
                         text *t)
{
    char number[NUMBER_SIZE];
    if (c->text) {
        csv_add_name(t, c->text(report, r));
    } else {
        double value = c->number(report, r);
        text_add(t, ",%s", isfinite(value) ? number_print(number, "%.9g", value) : "");
    }
}

void bench_csv(const bench_report *report, text *t)
{
    for (const bench_column *c = bench_columns; c->key; c++)
        text_add(t, "%s%s", c == bench_columns ? "" : ",", c->key);
    for (int i = 0; i < report->count; i++) {
        text row = {0};
        for (const bench_column *c = bench_columns; c->key; c++)
            add_csv_cell(c, report, &report->results[i], &row);
        t->failed |= row.failed;
        text_add(t, "\n%s", row.data ? row.data + 1 : "");
        text_free(&row);
    }
    text_add(t, "\n");
}

bool bench_csv_is_formula(const char *cell)
{
    return csv_is_formula(cell);
}

/* ---- Markdown --------------------------------------------------------------------------- */

/* Escape all markup characters in names from outside. */
static void add_markdown(text *t, const char *line)
{
    text plain = {0};
    text_add_printable(&plain, line);
    t->failed |= plain.failed;
    for (const char *c = plain.data ? plain.data : ""; *c; c++) {
        if (*c == '<' || *c == '>' || *c == '&')
            text_add(t, *c == '<' ? "&lt;" : *c == '>' ? "&gt;" : "&amp;");
        else
            text_add(t, "%s%c", strchr("\\`*_{}[]#|~!", *c) ? "\\" : "", *c);
    }
    text_free(&plain);
}

static void add_markdown_row(const bench_report *report, const bench_result *r, text *t)
{
    for (const bench_column *c = bench_columns; c->key; c++) {
        char number[MARKUP_NUMBER];
        if (!c->heading)
            continue;
        text_add(t, "| ");
        if (c->text)
            add_markdown(t, c->text(report, r));
        else
            text_add(t, "%s", markup_number(c->number(report, r), c->digits, number));
        text_add(t, " ");
    }
    text_add(t, "|\n");
}

static void add_markdown_head(text *t)
{
    for (const bench_column *c = bench_columns; c->key; c++)
        if (c->heading)
            text_add(t, "| %s ", c->heading);
    text_add(t, "|\n");
    for (const bench_column *c = bench_columns; c->key; c++)
        if (c->heading)
            text_add(t, "|%s", c->text ? "---" : "---:");
    text_add(t, "|\n");
}

static void add_markdown_notes(const bench_report *report, text *t)
{
    text_add(t, "\n");
    for (int i = 0; i < report->count; i++)
        if (*report->results[i].failed) {
            text_add(t, "- ");
            add_markdown(t, report->results[i].workload);
            text_add(t, " on ");
            add_markdown(t, report->results[i].device);
            text_add(t, " failed: ");
            add_markdown(t, report->results[i].failed);
            text_add(t, "\n");
        }
    for (int i = 0; i < report->note_count; i++) {
        text_add(t, "- ");
        add_markdown(t, report->notes[i]);
        text_add(t, "\n");
    }
}

void bench_markdown(const bench_report *report, text *t)
{
    const bench_machine *m = &report->machine;
    text_add(t, "cornu %s on ", cornu_version());
    add_markdown(t, m->cpu);
    text_add(t, ", %d %s (%s), %d %s; limits %.0f GFLOP/s, %.1f GB/s\n\n", m->cores,
             PLURAL(m->cores, "core", "cores"), report->limits.isa, report->limits.threads,
             PLURAL(report->limits.threads, "thread", "threads"), report->limits.fma / 1e9,
             fmax(report->limits.read, report->limits.update) / 1e9);
    add_markdown_head(t);
    for (int i = 0; i < report->count; i++)
        add_markdown_row(report, &report->results[i], t);
    add_markdown_notes(report, t);
}

cornu_status bench_write_table(const bench_report *report, bench_table *table, const char *path,
                               FILE *out)
{
    text t = {0};
    char *whole;
    table(report, &t);
    if (strcmp(path, "-") != 0)
        return page_write(&t, path);
    TRY(text_take(&t, &whole));
    fputs(whole, out);
    free(whole);
    return CORNU_OK;
}
