#include "base/memory.h"
#include "base/philox.h"
#include "bench/baseline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
