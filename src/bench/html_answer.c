/* The answer of a comparison in a sentence or two. */
#include "bench/columns.h"
#include "bench/duration.h"
#include "bench/html.h"
#include "bench/sentence.h"
#include <math.h>
#include <string.h>

/* The minimum and the maximum of some ratios. */
typedef struct ratios {
    double low, high;
    int count;
} ratios;

static void see(ratios *s, double value)
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
        won += bench_html_first(report, i) && best && strcmp(best->device, on) == 0;
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
        see(&t->ahead, next->epoch_seconds / best->epoch_seconds);
    }
    if (!t->shortest || best->epoch_seconds < t->shortest->epoch_seconds)
        t->shortest = best;
    if (!t->longest || best->epoch_seconds > t->longest->epoch_seconds)
        t->longest = best;
    see(&t->cpus, bench_published_epoch(workload, "cpu") / best->epoch_seconds);
    see(&t->gpus, bench_published_epoch(workload, "gpu") / best->epoch_seconds);
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
        if (bench_html_first(report, i))
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
