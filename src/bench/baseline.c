/* A saved report: read, compared with this one, shown. */
#include "bench/baseline.h"
#include "base/doc.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MOST = 10000, LINE = 512 };

/* ---- reading ---------------------------------------------------------------------------- */

static cornu_status check_result(const doc *r)
{
    const char *s = NULL;
    int64_t batch = 0;
    static const char *const texts[] = {"workload", "device"};
    for (int i = 0; i < 2; i++)
        if (!doc_string(doc_get(r, texts[i])))
            return doc_fail(r, "found no %s; expected a report of cornu bench --json", texts[i]);
    TRY(doc_read_string(r, "precision", &s));
    TRY(doc_read_string(r, "data_set", &s));
    TRY(doc_read_string(r, "error", &s));
    return doc_read_int(r, "batch", 1, INT32_MAX, &batch);
}

static cornu_status check(const doc *report)
{
    const char *s = NULL;
    const doc *results = doc_get(report, "results");
    if (report->type != DOC_MAP || !results || results->type != DOC_LIST)
        return doc_fail(report, "found no results; expected a report of cornu bench --json");
    TRY(doc_read_string(report, "cornu", &s));
    TRY(doc_read_string(report, "started", &s));
    for (int i = 0; i < results->count; i++)
        TRY(check_result(results->items[i]));
    return CORNU_OK;
}

cornu_status baseline_open(const char *path, bench_baseline *out)
{
    *out = (bench_baseline){.path = path};
    TRY(doc_read(path, &out->doc));
    cornu_status status = check(out->doc);
    if (status != CORNU_OK)
        baseline_close(out);
    return status;
}

void baseline_close(bench_baseline *b)
{
    doc_free(b->doc);
    b->doc = NULL;
}

/* The `count` numbers of a list, NAN for other entries; all NAN without such a list. */
static cornu_status read_list(const doc *map, const char *key, int count, double **out)
{
    const doc *list = doc_get(map, key);
    TRY(memory_new((size_t)count + 1, sizeof **out, "rounds", out));
    for (int i = 0; i < count; i++) {
        const doc *d = list && list->type == DOC_LIST && i < list->count ? list->items[i] : NULL;
        (*out)[i] = d && (d->type == DOC_REAL || d->type == DOC_INT) ? d->real : NAN;
    }
    return CORNU_OK;
}

static int rounds_of(const doc *r)
{
    const doc *samples = doc_get(doc_get(r, "ms_per_step"), "samples");
    int count = samples && samples->type == DOC_LIST ? samples->count : 0;
    return count < ROUNDS_MOST ? count : ROUNDS_MOST;
}

static const doc *result_of(const doc *report, const char *workload, const char *on)
{
    const doc *results = doc_get(report, "results");
    for (int i = 0; i < results->count; i++)
        if (strcmp(doc_string(doc_get(results->items[i], "workload")), workload) == 0 &&
            strcmp(doc_string(doc_get(results->items[i], "device")), on) == 0)
            return results->items[i];
    return NULL;
}

/* ---- differences ------------------------------------------------------------------------ */

static cornu_status add_difference(bench_report *report, const char *what, const char *then,
                                   const char *now)
{
    bench_comparison *c = &report->baseline;
    char line[3 * LINE], shown[3 * LINE];
    snprintf(line, sizeof line, "%s: %s then, %s now", what, *then ? then : "not said", now);
    cornu_printable(line, shown, sizeof shown);
    TRY(memory_grow(&c->differences, &c->difference_capacity, (size_t)c->difference_count + 1,
                    sizeof *c->differences));
    TRY(memory_copy_string(shown, &c->differences[c->difference_count]));
    c->difference_count++;
    return CORNU_OK;
}

/* A string or number of the document as text. */
static const char *shown(const doc *d, char *out, size_t size)
{
    *out = 0;
    if (d && d->type == DOC_STRING)
        snprintf(out, size, "%s", d->string);
    else if (d && d->type == DOC_INT)
        snprintf(out, size, "%lld", (long long)d->integer);
    else if (d && d->type == DOC_BOOL)
        snprintf(out, size, "%s", d->boolean ? "yes" : "no");
    return out;
}

typedef struct trait {
    const char *section, *key, *name;
    char now[LINE];
    bool of_machine; /* a difference in it excludes a comparison */
} trait;

/* Comparing another program is the purpose; comparing another machine, or other threads, is
   impossible. */
static cornu_status find_differences(const doc *then, bench_report *report, bool *same_machine)
{
    const bench_machine *m = &report->machine;
    trait traits[] = {{NULL, "cornu", "version", "", false},
                      {"settings", "exact_convolution", "exact convolutions", "", true},
                      {"machine", "cpu", "processor", "", true},
                      {"machine", "cores", "cores", "", true},
                      {"machine", "threads", "threads", "", true},
                      {"machine", "isa", "instruction set", "", true},
                      {"machine", "system", "system", "", false}};
    snprintf(traits[0].now, LINE, "%s", cornu_version());
    snprintf(traits[1].now, LINE, "%s", report->settings.exact_convolution ? "yes" : "no");
    snprintf(traits[2].now, LINE, "%s", m->cpu);
    snprintf(traits[3].now, LINE, "%d", m->cores);
    snprintf(traits[4].now, LINE, "%d", report->limits.threads);
    snprintf(traits[5].now, LINE, "%s", report->limits.isa);
    snprintf(traits[6].now, LINE, "%s", m->system);
    *same_machine = true;
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++) {
        char was[LINE];
        const trait *t = &traits[i];
        shown(doc_get(t->section ? doc_get(then, t->section) : then, t->key), was, sizeof was);
        if (strcmp(was, t->now) == 0)
            continue;
        *same_machine &= !t->of_machine;
        TRY(add_difference(report, t->name, was, t->now));
    }
    return CORNU_OK;
}

/* The reason why the two are not the same work; "" if they are. */
static void find_why_not(const doc *then, const bench_result *now, char *why, size_t size)
{
    char was[LINE], is[64];
    static const char *const keys[] = {"batch", "precision", "data_set"};
    const char *const values[] = {is, now->precision ? now->precision : "fp32", now->data_name};
    snprintf(is, sizeof is, "%lld", (long long)now->batch);
    *why = 0;
    for (int i = 0; i < 3 && !*why; i++) {
        shown(doc_get(then, keys[i]), was, sizeof was);
        if (strcmp(was, values[i]) != 0)
            snprintf(why, size, "%s: %.60s then, %.60s now", keys[i], was, values[i]);
    }
}

/* ---- comparing -------------------------------------------------------------------------- */

static cornu_status compare_rounds(const doc *then, const bench_result *now, int comparisons,
                                   bench_change *c)
{
    const doc *times = doc_get(then, "ms_per_step");
    int count = rounds_of(then);
    double *ms = NULL, *fastest = NULL, *probe = NULL, *memory = NULL;
    cornu_status status;
    TRY_GOTO(read_list(times, "samples", count, &ms));
    TRY_GOTO(read_list(times, "fastest", count, &fastest));
    TRY_GOTO(read_list(times, "probes", count, &probe));
    TRY_GOTO(read_list(times, "memory_probes", count, &memory));
    const bench_rounds before = {ms, fastest, probe, memory, count};
    const bench_rounds after = {now->ms, now->fastest, now->probe, now->memory,
                                now->ms ? now->step_ms.rounds : 0};
    baseline_compare(&before, &after, comparisons, c);
done:
    free(ms);
    free(fastest);
    free(probe);
    free(memory);
    return status;
}

static cornu_status add_change(bench_report *report, const char *workload, const char *on,
                               bench_change **out)
{
    bench_comparison *c = &report->baseline;
    TRY(memory_grow(&c->changes, &c->capacity, (size_t)c->count + 1, sizeof *c->changes));
    *out = &c->changes[c->count++];
    **out =
        (bench_change){.before_ms = NAN, .after_ms = NAN, .ratio = NAN, .low = NAN, .high = NAN};
    cornu_printable(workload, (*out)->workload, sizeof(*out)->workload);
    cornu_printable(on, (*out)->device, sizeof(*out)->device);
    return CORNU_OK;
}

static cornu_status compare_result(const doc *then, const bench_result *now, bool same_machine,
                                   int comparisons, bench_report *report)
{
    bench_change *c;
    char why[LINE];
    TRY(add_change(report, now->workload, now->device, &c));
    if (!then) {
        snprintf(c->why, sizeof c->why, "not in the baseline");
        return CORNU_OK;
    }
    find_why_not(then, now, why, sizeof why);
    if (doc_string(doc_get(then, "error")))
        snprintf(c->why, sizeof c->why, "failed in the baseline");
    else if (*now->failed)
        snprintf(c->why, sizeof c->why, "failed in this run");
    else if (!same_machine)
        snprintf(c->why, sizeof c->why, "another machine, or other settings of all");
    else if (*why)
        cornu_printable(why, c->why, sizeof c->why);
    else
        return compare_rounds(then, now, comparisons, c);
    return CORNU_OK;
}

cornu_status baseline_apply(const bench_baseline *b, bench_report *report)
{
    bench_comparison *to = &report->baseline;
    char text_[LINE];
    bool same_machine;
    int comparisons = 0;
    cornu_printable(b->path, to->file, sizeof to->file);
    cornu_printable(shown(doc_get(b->doc, "cornu"), text_, sizeof text_), to->version,
                    sizeof to->version);
    cornu_printable(shown(doc_get(b->doc, "started"), text_, sizeof text_), to->started,
                    sizeof to->started);
    TRY(find_differences(b->doc, report, &same_machine));
    for (int i = 0; i < report->count; i++)
        comparisons +=
            result_of(b->doc, report->results[i].workload, report->results[i].device) != NULL;
    for (int i = 0; i < report->count; i++) {
        const bench_result *now = &report->results[i];
        TRY(compare_result(result_of(b->doc, now->workload, now->device), now, same_machine,
                           comparisons, report));
    }
    return CORNU_OK;
}

bool baseline_is_slower(const bench_report *report)
{
    for (int i = 0; i < report->baseline.count; i++)
        if (report->baseline.changes[i].verdict == BENCH_SLOWER)
            return true;
    return false;
}
