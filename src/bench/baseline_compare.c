#include "base/memory.h"
#include "base/philox.h"
#include "bench/baseline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS_LEAST = 10, /* undisturbed ones, of each run */
    RESAMPLES = 400
};
/* Logarithm of times: standard deviation of the floors of runs of one program on a machine that is
   otherwise idle; found 0.6 to 1.0 % (scripts/baseline_check.py). */
static const double RUN_BIAS = 0.010;
static const double FALSE_ALARMS = 0.05;

/* The undisturbed rounds of one run, in the order measured. */
typedef struct floor_of_run {
    double *values, *sorted; /* [count] */
    int count;
    double floor;     /* ms */
    double disturbed; /* how far it may be above the machine's, as a logarithm */
} floor_of_run;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean of the lowest tenth; sorts. */
static double floor_of(double *values, int count)
{
    double sum = 0;
    int lowest = (count + 9) / 10;
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    for (int i = 0; i < lowest; i++)
        sum += values[i];
    return sum / lowest;
}

static bool has_any(const double *values, int count)
{
    for (int i = 0; values && i < count; i++)
        if (isfinite(values[i]))
            return true;
    return false;
}

/* The upper decile of the probes, as the floor is of a tenth of the rounds; NAN: there are none. */
static double probe_of(const bench_rounds *r, double *room)
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

/* `best`: the most that any probe of either run has reached; NAN: there was none. */
static bool open_floor(const bench_rounds *r, double best, floor_of_run *f)
{
    bool overlap = !has_any(r->fastest, r->count) && !has_any(r->probe, r->count);
    const double *from = overlap ? r->ms : r->fastest;
    *f = (floor_of_run){.values = malloc((size_t)r->count * sizeof *f->values + 1),
                        .sorted = malloc((size_t)r->count * sizeof *f->sorted + 1)};
    if (!f->values || !f->sorted)
        return false;
    double probe = probe_of(r, f->sorted);
    for (int i = 0; from && i < r->count; i++)
        if (isfinite(from[i]) && from[i] > 0)
            f->values[f->count++] = from[i];
    if (f->count < ROUNDS_LEAST)
        return true;
    memcpy(f->sorted, f->values, (size_t)f->count * sizeof *f->sorted);
    f->floor = floor_of(f->sorted, f->count);
    f->disturbed = log(f->sorted[(f->count - 1) / 4] / f->floor);
    if (probe > 0 && probe < best)
        f->disturbed += log(best / probe);
    return true;
}

static void close_floor(floor_of_run *f)
{
    free(f->values);
    free(f->sorted);
}

/* Of the floor's logarithm, by resampling blocks of neighbours: a disturbance lasts for several
   rounds. */
static double bootstrap_deviation(floor_of_run *f, uint64_t item)
{
    random_stream random = random_open(1, RANDOM_SHUFFLE, item);
    int block = (int)(cbrt(f->count) + 0.5);
    double sum = 0, squares = 0;
    for (int k = 0; k < RESAMPLES; k++) {
        for (int i = 0; i < f->count; i += block) {
            int from = (int)random_below(&random, (uint32_t)f->count);
            for (int j = 0; j < block && i + j < f->count; j++)
                f->sorted[i + j] = f->values[(from + j) % f->count];
        }
        double x = log(floor_of(f->sorted, f->count) / f->floor);
        sum += x;
        squares += x * x;
    }
    double mean = sum / RESAMPLES;
    return sqrt(fmax(squares / RESAMPLES - mean * mean, 0));
}

/* The z beyond which a standard normal number is, to either side, with this probability. */
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
        best = fmax(best, before->probe[i]); /* of NAN and x: x */
    for (int i = 0; after->probe && i < after->count; i++)
        best = fmax(best, after->probe[i]);
    return best;
}

static bool is_enough(const floor_of_run *f, const char *which, int rounds, bench_change *out)
{
    if (f->count >= ROUNDS_LEAST)
        return true;
    snprintf(out->why, sizeof out->why,
             "%s: found %d rounds of %d with a step that was not preempted; expected at least %d "
             "on a quieter machine",
             which, f->count, rounds, ROUNDS_LEAST);
    return false;
}

static void judge(floor_of_run *before, floor_of_run *after, int comparisons, bench_change *out)
{
    double change = log(after->floor / before->floor);
    double a = bootstrap_deviation(before, 1), b = bootstrap_deviation(after, 2);
    double half = normal_bound(FALSE_ALARMS / (comparisons > 1 ? comparisons : 1)) *
                  sqrt(a * a + b * b + 2 * RUN_BIAS * RUN_BIAS);
    out->before_ms = before->floor;
    out->after_ms = after->floor;
    out->ratio = exp(change);
    out->low = exp(change - half - after->disturbed);
    out->high = exp(change + half + before->disturbed);
    out->verdict = out->low > 1 ? BENCH_SLOWER : out->high < 1 ? BENCH_FASTER : BENCH_SAME;
}

void baseline_compare(const bench_rounds *before, const bench_rounds *after, int comparisons,
                      bench_change *out)
{
    floor_of_run was = {0}, now = {0};
    double best = best_probe(before, after);
    out->verdict = BENCH_NOT_COMPARED;
    out->before_ms = out->after_ms = out->ratio = out->low = out->high = NAN;
    if (!open_floor(before, best, &was) || !open_floor(after, best, &now))
        snprintf(out->why, sizeof out->why, "found no memory to compare in");
    else if (is_enough(&was, "the baseline", before->count, out) &&
             is_enough(&now, "this run", after->count, out))
        judge(&was, &now, comparisons, out);
    close_floor(&was);
    close_floor(&now);
}
