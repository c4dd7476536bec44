/* The results of a comparison, beside published figures and the machine: its columns, as CSV,
   Markdown and JSON. */
#include "bench/report.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/show.h"
#include "base/threads.h"
#include "format/html/html.h"
#include <cornu/tables.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* A median that is this many times the minimum counts as noisy. */
static const double NOISY = 1.2;
enum { NOISY_NAMED = 6 }; /* results in one note */

const bench_device *bench_device_of(const bench_report *report, const char *name)
{
    for (int i = 0; i < report->device_count; i++)
        if (strcmp(report->devices[i].info.name, name) == 0)
            return &report->devices[i];
    return NULL;
}

const char *bench_device_kind(const bench_report *report, const char *name)
{
    const bench_device *d = bench_device_of(report, name);
    return d && d->info.gpu ? "gpu" : "cpu";
}

cornu_status bench_note(bench_report *report, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    printable_v(line, sizeof line, format, arguments);
    va_end(arguments);
    for (int i = 0; i < report->note_count; i++)
        if (strcmp(report->notes[i], line) == 0)
            return CORNU_OK;
    TRY(memory_grow(&report->notes, &report->note_capacity, (size_t)report->note_count + 1,
                    sizeof *report->notes));
    TRY(memory_copy_string(line, &report->notes[report->note_count]));
    report->note_count++;
    return CORNU_OK;
}

void bench_result_forget(bench_result *r)
{
    free(r->ms);
    free(r->fastest);
    free(r->probe);
    free(r->memory);
    free(r->loss);
    free(r->loss_step);
    free(r->operations);
    *r = (bench_result){0};
}

static void free_lines(char **lines, int count)
{
    for (int i = 0; i < count; i++)
        free(lines[i]);
    free(lines);
}

void bench_report_free(bench_report *report)
{
    for (int i = 0; i < report->count; i++)
        bench_result_forget(&report->results[i]);
    free_lines(report->notes, report->note_count);
    free_lines(report->baseline.differences, report->baseline.difference_count);
    free(report->baseline.changes);
    free(report->results);
    json_decref(report->json);
    *report = (bench_report){0};
}

static bool is_noisy(const bench_result *r)
{
    return !*r->failed && r->step_ms.median > NOISY * r->step_ms.minimum;
}

/* " with batch 8" where a sweep has the same workload on the same device with others; else "". */
static const char *show_batch(const bench_report *report, const bench_result *r, char out[32])
{
    *out = 0;
    for (int i = 0; i < report->count; i++) {
        const bench_result *other = &report->results[i];
        if (other->batch != r->batch && strcmp(other->workload, r->workload) == 0 &&
            strcmp(other->device, r->device) == 0)
            snprintf(out, 32, " with batch %lld", (long long)r->batch);
    }
    return out;
}

cornu_status bench_note_noise(bench_report *report)
{
    char line[NOISY_NAMED * 64] = "", batch[32], others[32] = "";
    int count = 0;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        const statistics *s = &r->step_ms;
        size_t length = strlen(line);
        if (is_noisy(r) && count++ < NOISY_NAMED)
            snprintf(line + length, sizeof line - length, "%s%s on %s%s %.3g times",
                     *line ? ", " : "", r->workload, r->device, show_batch(report, r, batch),
                     s->median / s->minimum);
    }
    if (count == 0)
        return CORNU_OK;
    if (count > NOISY_NAMED)
        snprintf(others, sizeof others, ", and %d more", count - NOISY_NAMED);
    return bench_note(report,
                      "medians far above their minima: %s%s; the machine was not quiet, and what "
                      "it can do is nearer the minimum",
                      line, others);
}

/* ---- published figures ---------------------------------------------------------------------- */

const bench_workload bench_workloads[] = {
#define WORKLOAD(name, samples, epochs, substitute) {name, samples, epochs, substitute},
#include "bench/published.def"
#undef WORKLOAD
    {NULL, 0, 0, NULL}};

const published_figure published_figures[] = {
#define PUBLISHED(workload, kind, hardware, epoch, total, accuracy, note) \
    {workload, kind, hardware, epoch, total, accuracy, note},
#include "bench/published.def"
#undef PUBLISHED
    {NULL, NULL, NULL, 0, 0, 0, NULL}};

const bench_workload *bench_workload_named(const char *name)
{
    for (const bench_workload *w = bench_workloads; w->name; w++)
        if (strcmp(w->name, name) == 0)
            return w;
    return NULL;
}

bool bench_is_recipe(const char *workload)
{
    return strpbrk(workload, "./") != NULL;
}

/* ---- the machine ---------------------------------------------------------------------------- */

/* Remove every `what` from `line`. */
static void strip(char *line, const char *what)
{
    size_t length = strlen(what);
    for (char *found = strstr(line, what); found; found = strstr(found, what))
        memmove(found, found + length, strlen(found + length) + 1);
}

/* The value of the first line of /proc/cpuinfo that begins with `key`. */
static bool cpuinfo(const char *key, char *value, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f)
        return false;
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon)
            continue;
        snprintf(value, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        value[strcspn(value, "\n")] = 0;
        found = *value != 0;
    }
    fclose(f);
    return found;
}

#ifdef __clang__
static const char compiler[] = "clang " __clang_version__;
#else
static const char compiler[] = "GCC " __VERSION__;
#endif

void bench_machine_read(bench_machine *machine)
{
    *machine = (bench_machine){
        .cores = threads_default(), .memory_bytes = memory_total(), .compiler = compiler};
    struct utsname names;
    if (uname(&names) == 0) {
        snprintf(machine->system, sizeof machine->system, "%s %.60s", names.sysname, names.release);
        snprintf(machine->cpu, sizeof machine->cpu, "%s", names.machine);
    }
    cpuinfo("model name", machine->cpu, sizeof machine->cpu);
    static const char *const noise[] = {"(R)", "(r)", "(TM)", "(tm)", " CPU", " Processor"};
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        strip(machine->cpu, noise[i]);
}

/* ---- columns -------------------------------------------------------------------------------- */

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
    const bench_workload *w = bench_workload_named(r->workload);
    return w && r->real_data && w->substitute && strcmp(r->data_name, w->substitute) == 0;
}

/* "generated pixels", or the name of the data set. */
static const char *bench_data_shown(const bench_report *report, const bench_result *r)
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

/* ---- Markdown --------------------------------------------------------------------------- */

static void add_markdown_row(const bench_report *report, const bench_result *r, text *t)
{
    for (const bench_column *c = bench_columns; c->key; c++) {
        char number[MARKUP_NUMBER];
        if (!c->heading)
            continue;
        text_add(t, "| ");
        if (c->text)
            markdown_add(t, c->text(report, r));
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
            markdown_add(t, report->results[i].workload);
            text_add(t, " on ");
            markdown_add(t, report->results[i].device);
            text_add(t, " failed: ");
            markdown_add(t, report->results[i].failed);
            text_add(t, "\n");
        }
    for (int i = 0; i < report->note_count; i++) {
        text_add(t, "- ");
        markdown_add(t, report->notes[i]);
        text_add(t, "\n");
    }
}

void bench_markdown(const bench_report *report, text *t)
{
    const bench_machine *m = &report->machine;
    text_add(t, "cornu %s on ", cornu_version());
    markdown_add(t, m->cpu);
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
        return html_write(&t, path);
    TRY(text_take(&t, &whole));
    fputs(whole, out);
    free(whole);
    return CORNU_OK;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* The report as JSON: one object with machine, limits, results[] and notes[]. */
json_t *bench_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *given(double value)
{
    return value > 0 ? bench_json_number(value) : json_null();
}

static json_t *published_json(const char *workload)
{
    json_t *list = json_array();
    for (const published_figure *f = published_figures; f->workload; f++)
        if (strcmp(f->workload, workload) == 0)
            json_array_append_new(list, json_pack("{ss ss so so so ss}", "device", f->device_kind,
                                                  "hardware", f->hardware, "epoch_seconds",
                                                  given(f->epoch_seconds), "total_seconds",
                                                  given(f->total_seconds), "accuracy",
                                                  given(f->accuracy), "note", f->note));
    return list;
}

static json_t *list_json(const double *values, int count)
{
    json_t *list = json_array();
    for (int i = 0; values && i < count; i++)
        json_array_append_new(list, bench_json_number(values[i]));
    return list;
}

/* The lists that a later run with --baseline needs for each round: its mean step and its fastest
   (ms), FLOP/s of the arithmetic probe before it, bytes/s of reading the model's variables before
   and after it (report.h). null: none. */
static json_t *times_json(const bench_result *r)
{
    const statistics *s = &r->step_ms;
    return json_pack("{so so so so so si so so so so}", "min", bench_json_number(s->minimum),
                     "median", bench_json_number(s->median), "p95", bench_json_number(s->p95),
                     "noise", bench_json_number(s->noise), "median_over_min",
                     bench_json_number(s->median / s->minimum), "rounds", s->rounds, "samples",
                     list_json(r->ms, s->rounds), "fastest", list_json(r->fastest, s->rounds),
                     "probes", list_json(r->probe, s->rounds), "memory_probes",
                     list_json(r->memory, s->rounds));
}

static json_t *losses_json(const bench_result *r)
{
    json_t *steps = json_array();
    for (int i = 0; i < r->losses; i++)
        json_array_append_new(steps, json_integer((json_int_t)r->loss_step[i]));
    return json_pack("{so so}", "step", steps, "loss", list_json(r->loss, r->losses));
}

static json_t *operations_json(const bench_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->operation_count; i++) {
        const bench_operation *o = &r->operations[i];
        json_array_append_new(list, json_pack("{ss ss ss ss so so so so ss}", "operation", o->name,
                                              "layer", o->layer, "shape", o->shape, "kernel",
                                              o->kernel, "ms", bench_json_number(o->ms),
                                              "flops_run", bench_json_number(o->flops), "bytes_run",
                                              bench_json_number(o->bytes), "share_of_limit",
                                              bench_json_number(o->share_of_limit), "bound_by",
                                              o->bound ? o->bound : ""));
    }
    return list;
}

static json_t *result_json(const bench_result *r)
{
    return json_pack(
        "{ss ss ss so sI sI so so so so si so so so so so so so so so so so so so ss ss ss so so "
        "so so so}",
        "workload", r->workload, "device", r->device, "precision",
        r->precision ? r->precision : "fp32", "error",
        *r->failed ? json_string(r->failed) : json_null(), "batch", (json_int_t)r->batch, "steps",
        (json_int_t)r->steps, "ms_per_step", times_json(r), "samples_per_second",
        bench_json_number(r->samples_per_second), "epoch_seconds",
        bench_json_number(r->epoch_seconds), "cold_seconds", bench_json_number(r->cold_seconds),
        "launches", r->launches, "watts", bench_json_number(r->watts), "joules_per_epoch",
        bench_json_number(r->joules_per_epoch), "host_watts", bench_json_number(r->host_watts),
        "validation_ms", bench_json_number(r->validation_ms), "clock_mhz",
        bench_json_number(r->clock_mhz), "loss_first", bench_json_number(r->loss_first),
        "loss_last", bench_json_number(r->loss_last), "flops_per_step",
        bench_json_number(r->flops_per_step), "bytes_per_step",
        bench_json_number(r->bytes_per_step), "flops_run", bench_json_number(r->flops_run),
        "bytes_run", bench_json_number(r->bytes_run), "working_set_bytes",
        bench_json_number(r->working_set), "share_of_limit", bench_json_number(r->share_of_limit),
        "bound_by", r->bound ? r->bound : "", "data", r->real_data ? "real" : "generated",
        "data_set", r->data_name, "probe_low", bench_json_number(r->probe_low), "probe_median",
        bench_json_number(r->probe_median), "published", published_json(r->workload), "losses",
        losses_json(r), "operations", operations_json(r));
}

static json_t *device_json(const bench_device *d)
{
    const cornu_device_info *i = &d->info;
    const device_limits *l = &d->limits;
    return json_pack("{ss ss ss ss ss ss s{so so so so so sf so}}", "name", i->name, "description",
                     i->description, "bus_id", i->bus_id, "capability", i->capability, "driver",
                     i->driver, "libraries", i->libraries, "limits", "fma_flops", given(l->fma),
                     "tf32_flops", given(l->tf32), "bf16_flops", given(l->bf16), "memory_bytes",
                     given(l->update), "cache_bytes", given(l->cache_update), "cache_size",
                     l->cache_bytes, "launch_seconds", given(l->launch_seconds));
}

/* null if nothing was compared. */
static json_t *baseline_json(const bench_comparison *b)
{
    static const char *const verdicts[] = {"not compared", "no change seen", "faster", "slower"};
    if (!*b->file)
        return json_null();
    json_t *differences = json_array(), *results = json_array();
    for (int i = 0; i < b->difference_count; i++)
        json_array_append_new(differences, json_string(b->differences[i]));
    for (int i = 0; i < b->count; i++) {
        const bench_change *c = &b->changes[i];
        json_array_append_new(
            results,
            json_pack("{ss ss ss so so so so so ss}", "workload", c->workload, "device", c->device,
                      "verdict", verdicts[c->verdict], "then_ms", bench_json_number(c->before_ms),
                      "now_ms", bench_json_number(c->after_ms), "ratio",
                      bench_json_number(c->ratio), "ratio_low", bench_json_number(c->low),
                      "ratio_high", bench_json_number(c->high), "why", c->why));
    }
    return json_pack("{ss ss ss so so}", "file", b->file, "cornu", b->version, "started",
                     b->started, "differences", differences, "results", results);
}

cornu_status bench_make_json(bench_report *report)
{
    const bench_machine *m = &report->machine;
    const device_limits *l = &report->limits;
    json_t *results = json_array(), *notes = json_array(), *devices = json_array();
    for (int i = 0; i < report->device_count; i++)
        json_array_append_new(devices, device_json(&report->devices[i]));
    for (int i = 0; i < report->count; i++)
        json_array_append_new(results, result_json(&report->results[i]));
    for (int i = 0; i < report->note_count; i++)
        json_array_append_new(notes, json_string(report->notes[i]));
    json_t *machine =
        json_pack("{ss ss si si ss sI ss*}", "cpu", m->cpu, "system", m->system, "cores", m->cores,
                  "threads", l->threads, "isa", l->isa, "memory_bytes", (json_int_t)m->memory_bytes,
                  "compiler", m->compiler);
    json_t *limits =
        json_pack("{so so so so}", "fma_flops", bench_json_number(l->fma), "read_bytes",
                  bench_json_number(l->read), "update_bytes", bench_json_number(l->update),
                  "cache_update_bytes", bench_json_number(l->cache_update));
    json_t *settings =
        json_pack("{sb sb sb sI}", "quick", report->settings.quick, "exact_convolution",
                  report->settings.exact_convolution, "recompute", report->settings.recompute,
                  "steps", (json_int_t)report->settings.steps);
    json_decref(report->json);
    report->json =
        json_pack("{ss ss sb so so so so so so so}", "cornu", cornu_version(), "started",
                  report->started, "interrupted", (int)report->interrupted, "machine", machine,
                  "settings", settings, "limits", limits, "devices", devices, "results", results,
                  "notes", notes, "baseline", baseline_json(&report->baseline));
    if (!report->json)
        return status_fail(CORNU_OUT_OF_MEMORY, "report: cannot allocate");
    return CORNU_OK;
}

cornu_status bench_write_json(const json_t *all, const char *path)
{
    text t = {0};
    char *json = json_dumps(all, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
    if (!json) /* true for NULL as well */
        return status_fail(CORNU_OUT_OF_MEMORY, "report: cannot allocate");
    text_add(&t, "%s\n", json);
    free(json);
    return html_write(&t, path);
}
