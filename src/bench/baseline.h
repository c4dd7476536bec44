/* Is it faster or slower than in a saved run? */
#ifndef BENCH_BASELINE_H
#define BENCH_BASELINE_H

#include "bench/report.h"

/* The rounds of one workload on one device in one run, as in bench_result. */
typedef struct bench_rounds {
    const double *ms, *fastest, *probe; /* [count] */
    int count;
} bench_rounds;

/* Compare two runs; fills in verdict, times, ratio, low, high, why. `comparisons`: how many of
   them there are in all; so many together give a false alarm in one of twenty at most.

   Rounds of two runs are not exchangeable: each run has a bias of its own (where its memory lies,
   how fast the cores were allowed to run, who else was there), so that a test over rounds alone
   finds differences between any two runs. Therefore
   - what is compared is the floor: the mean over the fastest tenth of the rounds of their fastest
     step that was not preempted. Other work on the machine only ever adds to that. (Chen and
     Revels, "Robust benchmarking in noisy environments", 2016: the minimum is the estimator that
     moves least.) Where steps overlap, on accelerators, it is that of the rounds' mean steps.
   - the interval is that of a bootstrap over blocks of neighbouring rounds, widened by the bias
     that runs of one program have on a quiet machine, and on the side of a run that was disturbed
     by how far: the distance from its floor to its lower quartile, and what the probe between
     rounds says its cores lacked.
   - a run with too few undisturbed rounds is not compared.
   Runs of one program then differ "not" however noisy it is; noise costs sight, as the interval
   says. */
void baseline_compare(const bench_rounds *before, const bench_rounds *after, int comparisons,
                      bench_change *out);

/* A saved report, read and checked. */
typedef struct bench_baseline {
    struct doc *doc;
    const char *path;
} bench_baseline;
cornu_status baseline_open(const char *path, bench_baseline *out);
void baseline_close(bench_baseline *b);
/* Fill in report->baseline: one change for each result of either run that has figures, and what
   differs between the machines, versions and settings. */
cornu_status baseline_apply(const bench_baseline *b, bench_report *report);
/* "slower by 9.8 %", "no change seen" into line[size]. */
const char *baseline_show(const bench_change *c, char *line, size_t size);
bool baseline_is_slower(const bench_report *report); /* somewhere */
/* The comparison on a terminal, at most 80 columns. */
void baseline_print(const bench_report *report, FILE *out);

#endif
