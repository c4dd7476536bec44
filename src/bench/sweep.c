/* A workload with several batches: which to measure, which device wins from where on, in
   words, as a table with bars and as a chart. */
#include "bench/sweep.h"
#include "base/memory.h"
#include "format/html/html.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MOST = 1 << 20 };
/* A device beats another if it takes less than this fraction of the other's time. */
static const double CLEARLY = 0.95;

/* ---- the list --------------------------------------------------------------------------- */

static cornu_status fail_sweep(const char *found)
{
    return status_fail(CORNU_INVALID,
                       "sweep: found \"%.60s\"; expected batch, or batch= and at most %d ascending "
                       "numbers from 1 to %d, such as batch=1,8,64",
                       found, SWEEP_BATCHES_MOST, BATCH_MOST);
}

cornu_status sweep_parse(const char *asked, int64_t *batches)
{
    int count = 0;
    if (strcmp(asked, "batch") == 0) {
        for (int64_t batch = 1; batch <= 512; batch *= 2)
            batches[count++] = batch;
        batches[count] = 0;
        return CORNU_OK;
    }
    if (strncmp(asked, "batch=", 6) != 0)
        return fail_sweep(asked);
    for (const char *at = asked + 6; *at || count == 0;) {
        char *end;
        errno = 0;
        long long number = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : 0;
        if (number < 1 || number > BATCH_MOST || errno || count == SWEEP_BATCHES_MOST ||
            (*end && *end != ',') || (*end == ',' && !end[1]) ||
            (count > 0 && number <= batches[count - 1]))
            return fail_sweep(asked);
        batches[count++] = number;
        at = end + (*end == ',');
    }
    batches[count] = 0;
    return CORNU_OK;
}

static int count_of(const int64_t *batches)
{
    int count = 0;
    while (batches && batches[count])
        count++;
    return count;
}

void sweep_insert(int64_t *batches, int64_t batch)
{
    int count = count_of(batches), at = 0;
    while (at < count && batches[at] < batch)
        at++;
    if (at < count && batches[at] == batch)
        return;
    if (count == SWEEP_BATCHES_MOST)
        batches[--count] = 0;
    if (at > count)
        at = count;
    memmove(batches + at + 1, batches + at, (size_t)(count - at + 1) * sizeof *batches);
    batches[at] = batch;
}

int sweep_next(const int64_t *batches, const bool *done)
{
    int count = count_of(batches), best = -1, most = 0;
    if (count > 0 && !done[0])
        return 0;
    if (count > 0 && !done[count - 1])
        return count - 1;
    for (int i = count - 1; i >= 0; i--) {
        int before = i, behind = i;
        while (before > 0 && !done[before])
            before--;
        while (behind < count - 1 && !done[behind])
            behind++;
        int near = i - before < behind - i ? i - before : behind - i;
        if (!done[i] && near > most) {
            most = near;
            best = i;
        }
    }
    return best;
}

/* ---- results ---------------------------------------------------------------------------- */

static bool is_of(const bench_result *r, const char *workload, const char *on)
{
    return strcmp(r->workload, workload) == 0 && strcmp(r->device, on) == 0;
}

/* The result of this device and batch; NULL: none. */
static const bench_result *sweep_find(const bench_report *report, const char *workload,
                                      const char *on, int64_t batch)
{
    for (int i = 0; i < report->count; i++)
        if (is_of(&report->results[i], workload, on) && report->results[i].batch == batch)
            return &report->results[i];
    return NULL;
}

double sweep_predict_ms(const bench_report *report, const char *workload, const char *on,
                        int64_t batch)
{
    const bench_result *below = NULL, *above = NULL;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        if (!is_of(r, workload, on) || *r->failed || r->batch < 1)
            continue;
        if (r->batch <= batch && (!below || r->batch > below->batch))
            below = r;
        if (r->batch > batch && (!above || r->batch < above->batch))
            above = r;
    }
    double least = below ? below->step_ms.median * (double)batch / (double)below->batch : INFINITY;
    double most = above ? above->step_ms.median : INFINITY;
    return below || above ? fmin(least, most) : 0;
}

/* Where the result's workload, or its device, first appears. */
static int first_of(const bench_report *report, const bench_result *r, bool by_device)
{
    for (int i = 0; i < report->count; i++) {
        const bench_result *x = &report->results[i];
        if (by_device ? strcmp(x->device, r->device) == 0 : strcmp(x->workload, r->workload) == 0)
            return i;
    }
    return report->count;
}

typedef struct placed {
    int workload, device, index;
    bench_result result;
} placed;

static int compare_placed(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->workload != y->workload)
        return x->workload < y->workload ? -1 : 1;
    if (x->result.batch != y->result.batch)
        return x->result.batch < y->result.batch ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Without memory they stay unsorted. */
void sweep_sort(bench_report *report)
{
    placed *all = calloc((size_t)report->count + 1, sizeof *all);
    for (int i = 0; all && i < report->count; i++) {
        bench_result *r = &report->results[i];
        all[i] = (placed){first_of(report, r, false), first_of(report, r, true), i, *r};
    }
    if (all)
        qsort(all, (size_t)report->count, sizeof *all, compare_placed);
    for (int i = 0; all && i < report->count; i++)
        report->results[i] = all[i].result;
    free(all);
}

int64_t sweep_wins_from(const bench_report *report, const char *workload, const char *on,
                        const char *other, int64_t *most)
{
    int64_t from = 0, last_loss = 0;
    *most = 0;
    for (int i = 0; i < report->count; i++) {
        const bench_result *mine = &report->results[i];
        if (!is_of(mine, workload, on) || *mine->failed)
            continue;
        const bench_result *theirs = sweep_find(report, workload, other, mine->batch);
        if (!theirs || *theirs->failed)
            continue;
        bool wins = mine->step_ms.median < CLEARLY * theirs->step_ms.median;
        *most = mine->batch > *most ? mine->batch : *most;
        if (!wins && mine->batch > last_loss)
            last_loss = mine->batch;
    }
    for (int i = 0; i < report->count; i++) {
        const bench_result *mine = &report->results[i];
        const bench_result *theirs = sweep_find(report, workload, other, mine->batch);
        bool both = is_of(mine, workload, on) && !*mine->failed && theirs && !*theirs->failed;
        if (both && mine->batch > last_loss && (from == 0 || mine->batch < from))
            from = mine->batch;
    }
    return from;
}

/* ---- in words and bars ---------------------------------------------------------------------- */

enum { BAR = 30, DEVICES_MOST = BENCH_DEVICES_MOST };

static double rate_of(const bench_result *r)
{
    return *r->failed ? NAN : (double)r->batch / (r->step_ms.median / 1e3);
}

static double most_of(const bench_report *report, const char *workload)
{
    double most = 0;
    for (int i = 0; i < report->count; i++)
        if (strcmp(report->results[i].workload, workload) == 0)
            most = fmax(most, rate_of(&report->results[i]));
    return most;
}

static void print_bar(double share, bool utf8, FILE *out)
{
    int length = (int)lround(share * BAR);
    for (int i = 0; i < length; i++)
        fputs(utf8 ? "━" : "#", out);
}

static void print_row(const bench_result *r, bool first, double most, bool utf8, FILE *out)
{
    char batch[24] = "", why[48], shown[64];
    if (first)
        snprintf(batch, sizeof batch, "%lld", (long long)r->batch);
    cornu_printable(r->device, shown, sizeof shown);
    fprintf(out, "%7s  %-11.11s", batch, shown);
    if (*r->failed) {
        snprintf(why, sizeof why, "%.47s", r->failed);
        fprintf(out, "  %s\n", why);
        return;
    }
    double ms = r->step_ms.median, rate = rate_of(r);
    fprintf(out, " %9.*f %10.*f  ",
            ms < 9.95   ? 3
            : ms < 99.5 ? 1
                        : 0,
            ms, rate < 99.5 ? 1 : 0, rate);
    print_bar(most > 0 ? rate / most : 0, utf8, out);
    fputc('\n', out);
}

static void append(char *line, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *line, size_t size, const char *format, ...)
{
    size_t length = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    printable_v(line + length, size - length, format, arguments);
    va_end(arguments);
}

void sweep_say_winners(const bench_report *report, const char *workload, char *line, size_t size)
{
    const bench_result *first = NULL;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        int64_t most;
        if (strcmp(r->workload, workload) != 0)
            continue;
        first = first ? first : r;
        if (r->batch != first->batch || strcmp(r->device, first->device) == 0)
            continue;
        int64_t from = sweep_wins_from(report, workload, r->device, first->device, &most);
        if (from > 0)
            append(line, size, " %s is faster than %s from batch %lld on.", r->device,
                   first->device, (long long)from);
        else if (most > first->batch)
            append(line, size, " %s is not faster than %s at any batch up to %lld.", r->device,
                   first->device, (long long)most);
        else if (most > 0) /* the only batch that both have */
            append(line, size, " %s is not faster than %s at batch %lld.", r->device, first->device,
                   (long long)most);
    }
}

/* The batches with which `on` failed in the same way as with `first`. */
static void say_failed(const bench_report *report, const bench_result *first, char *line,
                       size_t size)
{
    static const char left_out[] = "left out: ";
    int count = 0;
    append(line, size, "%s%s was not measured with batch", *line ? " " : "", first->device);
    for (const bench_result *r = first; r < report->results + report->count; r++)
        if (*r->failed && strcmp(r->workload, first->workload) == 0 &&
            strcmp(r->device, first->device) == 0)
            append(line, size, "%s %lld", count++ ? "," : "", (long long)r->batch);
    if (strncmp(first->failed, left_out, sizeof left_out - 1) == 0)
        append(line, size, ": with %lld %s.", (long long)first->batch,
               first->failed + sizeof left_out - 1);
    else
        append(line, size, ": %.160s.", first->failed);
}

void sweep_say_left_out(const bench_report *report, const char *workload, char *line, size_t size)
{
    *line = 0;
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        bool said = !*r->failed || strcmp(r->workload, workload) != 0;
        for (int k = 0; k < i; k++)
            said |= *report->results[k].failed &&
                    strcmp(report->results[k].device, r->device) == 0 &&
                    strcmp(report->results[k].workload, workload) == 0;
        if (!said)
            say_failed(report, r, line, size);
    }
}

/* One line each. */
static void print_winners(const bench_report *report, const char *workload, FILE *out)
{
    char line[1024] = "";
    sweep_say_winners(report, workload, line, sizeof line);
    for (const char *at = line; *at;) {
        const char *end = strstr(at, ". ");
        size_t length = end ? (size_t)(end - at) + 1 : strlen(at);
        fprintf(out, "%.*s\n", (int)length - 1, at + 1);
        at += length;
    }
}

/* The lines that bench_print prints below its table. */
static void print_notes(const bench_report *report, FILE *out)
{
    for (int i = 0; i < report->note_count; i++)
        if (strstr(report->notes[i], "the time was used up") ||
            strncmp(report->notes[i], "interrupted", 11) == 0)
            fprintf(out, "Note: %s.\n", report->notes[i]);
}

void sweep_print(const bench_report *report, bool utf8, FILE *out)
{
    const char *workload = "";
    for (int i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        bool opens = strcmp(workload, r->workload) != 0;
        if (opens) {
            char shown[64];
            workload = r->workload;
            cornu_printable(workload, shown, sizeof shown);
            fprintf(out, "%s%s\n%7s  %-11s %9s %10s\n", i > 0 ? "\n" : "", shown, "batch", "device",
                    "ms a step", "samples/s");
        }
        bool first = opens || r->batch != r[-1].batch;
        print_row(r, first, most_of(report, workload), utf8, out);
        if (i + 1 == report->count || strcmp(r[1].workload, workload) != 0)
            print_winners(report, workload, out);
    }
    print_notes(report, out);
}

/* ---- the chart -------------------------------------------------------------------------- */

/* The devices of a workload, in order. */
static int devices_of(const bench_report *report, const char *workload, const char **names)
{
    int count = 0;
    for (int i = 0; i < report->count && count < DEVICES_MOST; i++) {
        const bench_result *r = &report->results[i];
        bool known = strcmp(r->workload, workload) != 0;
        for (int k = 0; k < count; k++)
            known |= strcmp(names[k], r->device) == 0;
        if (!known)
            names[count++] = r->device;
    }
    return count;
}

cornu_status sweep_figure(const bench_report *report, const char *workload, text *page)
{
    const char *names[DEVICES_MOST];
    chart_line lines[DEVICES_MOST];
    double *points;
    int count = devices_of(report, workload, names), used = 0;
    TRY(memory_new((size_t)report->count * 2 + 1, sizeof *points, "points", &points));
    for (int d = 0; d < count; d++) {
        double *x = points + used, *y = x + report->count;
        int n = 0;
        for (int i = 0; i < report->count; i++) {
            const bench_result *r = &report->results[i];
            if (strcmp(r->workload, workload) != 0 || strcmp(r->device, names[d]) != 0)
                continue;
            x[n] = (double)r->batch;
            y[n++] = rate_of(r);
        }
        lines[d] = (chart_line){.name = names[d], .x = x, .y = y, .count = n, .series = d};
        lines[d].series %= CHART_SERIES;
        used += n;
    }
    chart_html(page, &(chart){.title = "Samples a second by the batch",
                              .description = "Higher is faster; both axes are logarithmic.",
                              .x_title = "batch",
                              .log_x = true,
                              .log_y = true,
                              .line = lines,
                              .line_count = count});
    free(points);
    return CORNU_OK;
}
