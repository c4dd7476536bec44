/* A saved report: read, compared with this one, shown. */
#include "bench/baseline.h"
#include "base/doc.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/show.h"
#include "base/status.h"
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
    bool of_machine;    /* a difference in it excludes a comparison */
    const char *absent; /* its value in reports that do not have it yet; or NULL */
} trait;

/* Comparing another program is the purpose; comparing another machine, or other threads, is
   impossible. */
static cornu_status find_differences(const doc *then, bench_report *report, bool *same_machine)
{
    const bench_machine *m = &report->machine;
    trait traits[] = {{NULL, "cornu", "version", "", false, NULL},
                      {"settings", "exact_convolution", "exact convolutions", "", true, NULL},
                      {"machine", "cpu", "processor", "", true, NULL},
                      {"machine", "cores", "cores", "", true, NULL},
                      {"machine", "threads", "threads", "", true, NULL},
                      {"machine", "isa", "instruction set", "", true, NULL},
                      {"machine", "system", "system", "", false, NULL},
                      {"settings", "recompute", "recomputation", "", true, "no"}};
    snprintf(traits[0].now, LINE, "%s", cornu_version());
    snprintf(traits[1].now, LINE, "%s", report->settings.exact_convolution ? "yes" : "no");
    snprintf(traits[2].now, LINE, "%s", m->cpu);
    snprintf(traits[3].now, LINE, "%d", m->cores);
    snprintf(traits[4].now, LINE, "%d", report->limits.threads);
    snprintf(traits[5].now, LINE, "%s", report->limits.isa);
    snprintf(traits[6].now, LINE, "%s", m->system);
    snprintf(traits[7].now, LINE, "%s", report->settings.recompute ? "yes" : "no");
    *same_machine = true;
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++) {
        char was[LINE];
        const trait *t = &traits[i];
        shown(doc_get(t->section ? doc_get(then, t->section) : then, t->key), was, sizeof was);
        if (!*was && t->absent)
            snprintf(was, sizeof was, "%s", t->absent);
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

/* ---- the comparison ------------------------------------------------------------------------- */

enum {
    ROUNDS_LEAST = 10, /* undisturbed rounds that each run needs */
    RESAMPLES = 400
};
/* Times are logarithms here. Standard deviation of the bias of a run of one program, without the
   effect of reading: measured 1.0 to 1.4 % (docs/experiments/measuring.md, M6). */
static const double RUN_BIAS = 0.013;
static const double FALSE_ALARMS = 0.01;
/* A round is disturbed if its arithmetic probe is lower than the run's upper decile by more than
   this. */
static const double BUSY = 0.2;
/* Times of reading the variables must differ by this much to show the slope. */
static const double READS_APART = 0.02;

/* The undisturbed rounds of one run, in the order measured. */
typedef struct run_rounds {
    double *step, *read; /* [count]: its fastest step, reading a byte; `read` 0: unknown */
    double *left;        /* [count]: of the step, without the effect of reading */
    double *room;        /* [count] */
    int count;
    double probe; /* the upper decile of the arithmetic probes; NAN: none */
    double level; /* median of `left` */
} run_rounds;

static bool has_any(const double *values, int count)
{
    for (int i = 0; values && i < count; i++)
        if (isfinite(values[i]))
            return true;
    return false;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The upper decile of the probes; NAN: none. */
static double upper_probe(const bench_rounds *r, double *room)
{
    int count = 0;
    for (int i = 0; r->probe && i < r->count; i++)
        if (isfinite(r->probe[i]))
            room[count++] = r->probe[i];
    if (count == 0)
        return NAN;
    qsort(room, (size_t)count, sizeof *room, compare_doubles);
    return room[(count - 1) * 9 / 10];
}

/* `with_reads`: both runs have probes of memory. */
static void take_rounds(const bench_rounds *from, bool with_reads, run_rounds *r)
{
    bool overlap = !has_any(from->fastest, from->count) && !has_any(from->probe, from->count);
    const double *steps = overlap ? from->ms : from->fastest;
    r->probe = upper_probe(from, r->room);
    for (int i = 0; steps && i < from->count; i++) {
        bool busy = from->probe && from->probe[i] < (1 - BUSY) * r->probe; /* false for NAN */
        bool known = isfinite(steps[i]) && steps[i] > 0;
        if (with_reads)
            known &= isfinite(from->memory[i]) && from->memory[i] > 0;
        if (busy || !known)
            continue;
        r->step[r->count] = log(steps[i]);
        r->read[r->count++] = with_reads ? -log(from->memory[i]) : 0;
    }
}

static bool open_run(const bench_rounds *from, bool with_reads, run_rounds *r)
{
    size_t most = (size_t)from->count + 1;
    *r = (run_rounds){.step = calloc(most, sizeof *r->step),
                      .read = calloc(most, sizeof *r->read),
                      .left = calloc(most, sizeof *r->left),
                      .room = calloc(most, sizeof *r->room)};
    if (!r->step || !r->read || !r->left || !r->room)
        return false;
    take_rounds(from, with_reads, r);
    return true;
}

static void close_run(run_rounds *r)
{
    free(r->step);
    free(r->read);
    free(r->left);
    free(r->room);
}

static double median_of(const double *values, run_rounds *r)
{
    memcpy(r->room, values, (size_t)r->count * sizeof *values);
    return statistics_median(r->room, r->count);
}

/* Subtract the run's median: into to[count]. */
static void center(const double *values, run_rounds *r, double *to)
{
    double median = median_of(values, r);
    for (int i = 0; i < r->count; i++)
        to[i] = values[i] - median;
}

/* The fraction of a change of reading that appears in the step, 0 to 1, estimated within both runs.
   Both NAN: reading always took the same time. */
typedef struct reading_slope {
    double value, deviation;
} reading_slope;

static bool find_slope(run_rounds *a, run_rounds *b, reading_slope *out)
{
    int count = a->count + b->count;
    double *x = malloc((size_t)count * sizeof *x + 1), *y = malloc((size_t)count * sizeof *y + 1);
    bool made = x && y;
    if (made) {
        center(a->read, a, x);
        center(b->read, b, x + a->count);
        center(a->step, a, y);
        center(b->step, b, y + a->count);
        out->value = statistics_slope(x, y, count, READS_APART, &out->deviation);
        if (isfinite(out->value))
            out->value = fmin(fmax(out->value, 0), 1);
    }
    free(x);
    free(y);
    return made;
}

static void explain_by_reading(double slope, run_rounds *r)
{
    for (int i = 0; i < r->count; i++)
        r->left[i] = r->step[i] - slope * r->read[i];
    r->level = median_of(r->left, r);
}

/* Deviation of the level, by resampling blocks of neighbours: a disturbance lasts for several
   rounds. */
static double bootstrap_deviation(run_rounds *r, uint64_t item)
{
    random_stream random = random_open(1, RANDOM_SHUFFLE, item);
    int block = (int)(cbrt(r->count) + 0.5);
    double sum = 0, squares = 0;
    for (int k = 0; k < RESAMPLES; k++) {
        for (int i = 0; i < r->count; i += block) {
            int from = (int)random_below(&random, (uint32_t)r->count);
            for (int j = 0; j < block && i + j < r->count; j++)
                r->room[i + j] = r->left[(from + j) % r->count];
        }
        double x = statistics_median(r->room, r->count) - r->level;
        sum += x;
        squares += x * x;
    }
    double mean = sum / RESAMPLES;
    return sqrt(fmax(squares / RESAMPLES - mean * mean, 0));
}

/* The z that a standard normal number exceeds, in either direction, with this probability. */
static double normal_bound(double probability)
{
    double low = 0, high = 10;
    for (int i = 0; i < 60; i++) {
        double z = (low + high) / 2;
        if (erfc(z / sqrt(2)) > probability)
            low = z;
        else
            high = z;
    }
    return high;
}

static double best_probe(const bench_rounds *before, const bench_rounds *after)
{
    double best = NAN;
    for (int i = 0; before->probe && i < before->count; i++)
        best = fmax(best, before->probe[i]); /* fmax(NAN, x) is x */
    for (int i = 0; after->probe && i < after->count; i++)
        best = fmax(best, after->probe[i]);
    return best;
}

static bool is_enough(const run_rounds *r, const char *which, int rounds, bench_change *out)
{
    if (r->count >= ROUNDS_LEAST)
        return true;
    snprintf(out->why, sizeof out->why,
             "%s: found %d rounds of %d that were not disturbed; expected at least %d on a quieter "
             "machine",
             which, r->count, rounds, ROUNDS_LEAST);
    return false;
}

/* How far the machine may have slowed down the whole run: the shortfall of its cores' arithmetic
   relative to `best`, the highest probe of either run. Without probes (NAN), the distance of the
   run above its own lowest tenth. */
static double disturbance(const run_rounds *r, double best)
{
    if (isnan(best)) {
        memcpy(r->room, r->left, (size_t)r->count * sizeof *r->room);
        qsort(r->room, (size_t)r->count, sizeof *r->room, compare_doubles);
        return r->level - r->room[(r->count - 1) / 10];
    }
    return r->probe < best ? log(best / r->probe) : 0; /* 0 for NAN */
}

/* Variances of the change; `reads`: that of reading. */
static double change_variance(run_rounds *before, run_rounds *after, double reads,
                              const reading_slope *slope)
{
    double a = bootstrap_deviation(before, 1), b = bootstrap_deviation(after, 2);
    double c = isfinite(slope->deviation) ? slope->deviation * reads : 0;
    return a * a + b * b + c * c + 2 * RUN_BIAS * RUN_BIAS;
}

static void judge(run_rounds *before, run_rounds *after, const reading_slope *slope, double best,
                  int comparisons, bench_change *out)
{
    double reads = median_of(after->read, after) - median_of(before->read, before);
    double unexplained = isfinite(slope->value) ? 0 : reads; /* all of it may be due to the step */
    explain_by_reading(isfinite(slope->value) ? slope->value : 0, before);
    explain_by_reading(isfinite(slope->value) ? slope->value : 0, after);
    double change = after->level - before->level;
    double half = normal_bound(FALSE_ALARMS / (comparisons > 1 ? comparisons : 1)) *
                  sqrt(change_variance(before, after, reads, slope));
    out->before_ms = exp(median_of(before->step, before));
    out->after_ms = exp(median_of(after->step, after));
    out->ratio = exp(change);
    out->low = exp(change - half - disturbance(after, best) - fmax(unexplained, 0));
    out->high = exp(change + half + disturbance(before, best) + fmax(-unexplained, 0));
    out->verdict = out->low > 1 ? BENCH_SLOWER : out->high < 1 ? BENCH_FASTER : BENCH_SAME;
}

void baseline_compare(const bench_rounds *before, const bench_rounds *after, int comparisons,
                      bench_change *out)
{
    run_rounds was = {0}, now = {0};
    reading_slope slope = {NAN, NAN};
    double best = best_probe(before, after);
    bool with_reads =
        has_any(before->memory, before->count) && has_any(after->memory, after->count);
    out->verdict = BENCH_NOT_COMPARED;
    out->before_ms = out->after_ms = out->ratio = out->low = out->high = NAN;
    if (!open_run(before, with_reads, &was) || !open_run(after, with_reads, &now) ||
        !find_slope(&was, &now, &slope))
        snprintf(out->why, sizeof out->why, "found no memory to compare in");
    else if (is_enough(&was, "the baseline", before->count, out) &&
             is_enough(&now, "this run", after->count, out))
        judge(&was, &now, &slope, best, comparisons, out);
    close_run(&was);
    close_run(&now);
}

/* ---- in words ------------------------------------------------------------------------------- */

/* The comparison with a saved run in words and on a terminal. */
const char *baseline_show(const bench_change *c, char *line, size_t size)
{
    double percent = 100 * (c->ratio - 1);
    switch (c->verdict) {
    case BENCH_SLOWER:
        snprintf(line, size, "slower by %.1f %%", percent);
        break;
    case BENCH_FASTER:
        snprintf(line, size, "faster by %.1f %%", -percent);
        break;
    case BENCH_SAME:
        snprintf(line, size, "no change seen");
        break;
    case BENCH_NOT_COMPARED:
        snprintf(line, size, "not compared: %s", c->why);
        break;
    }
    return line;
}

static void print_change(const bench_change *c, FILE *out)
{
    char line[512], verdict[320];
    int at;
    baseline_show(c, verdict, sizeof verdict);
    at = fprintf(out, "%-16s %-10.10s ", c->workload, c->device);
    if (c->verdict == BENCH_NOT_COMPARED) {
        wrap_print_from(verdict, at, at, out);
        return;
    }
    snprintf(line, sizeof line, "%9.4g %9.4g  %+6.1f to %+6.1f %%  %s", c->before_ms, c->after_ms,
             100 * (c->low - 1), 100 * (c->high - 1),
             c->verdict == BENCH_SAME     ? verdict
             : c->verdict == BENCH_SLOWER ? "slower"
                                          : "faster");
    fprintf(out, "%s\n", line);
}

void baseline_print(const bench_report *report, FILE *out)
{
    const bench_comparison *b = &report->baseline;
    char line[512];
    if (!*b->file)
        return;
    snprintf(line, sizeof line, "\nAgainst %s (cornu %s%s%s):", b->file, b->version,
             *b->started ? ", " : "", b->started);
    fprintf(out, "\n");
    wrap_print_from(line + 1, 0, 2, out);
    for (int i = 0; i < b->difference_count; i++) {
        snprintf(line, sizeof line, "- %s", b->differences[i]);
        wrap_print_from(line, 0, 4, out);
    }
    fprintf(out, "%-16s %-10s %9s %9s  %s\n", "fastest steps", "device", "then, ms", "now, ms",
            "change, 99 % sure");
    for (int i = 0; i < b->count; i++)
        print_change(&b->changes[i], out);
}
