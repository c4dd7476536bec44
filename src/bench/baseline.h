/* Is it faster or slower than in a saved run? */
#ifndef BENCH_BASELINE_H
#define BENCH_BASELINE_H

#include "bench/report.h"

/* The rounds of one workload on one device in one run, as in bench_result. */
typedef struct bench_rounds {
    const double *ms, *fastest, *probe, *memory; /* [count] */
    int count;
} bench_rounds;

/* Compare two runs; fills in verdict, times, ratio, low, high, why. `comparisons`: how many of
   them there are in all; so many together give a false alarm in one of a hundred at most.

   Rounds of two runs are not exchangeable: each run has a bias of its own (where its memory lies,
   how fast the cores were allowed to run, who else was there), so that a test over rounds alone
   finds differences between any two runs. Therefore
   - of each round counts its fastest step that was not preempted. Other work on the machine only
     ever adds to that. (Chen and Revels, "Robust benchmarking in noisy environments", 2016.) Where
     steps overlap, on accelerators, it is the rounds' mean step. Rounds in which the probe says
     that the cores lacked a fifth of their arithmetic do not count.
   - caches and memory are shared, too, with programs and other machines that cannot be seen. What
     of a step's time goes with the time of reading the variables, measured around each round, is
     taken out: of the logarithms, by one slope for both runs, found within each (Theil-Sen,
     base/statistics.h), between 0 and 1. Where either run did not measure it, nothing is; where it
     never changed within the runs, all of its change between them may be the step's.
   - what is compared are the medians of what is left. The interval is that of a bootstrap over
     blocks of neighbouring rounds, widened by the slope's deviation and by the bias that runs of
     one program keep, and on the side of a run that was disturbed by what the probe says its cores
     lacked all the time; without probes, by how far the run was above its own lowest tenth.
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
/* Fill in report->baseline: one change for each result of this run, and what
   differs between the machines, versions and settings. */
cornu_status baseline_apply(const bench_baseline *b, bench_report *report);
/* "slower by 9.8 %", "no change seen" into line[size]. */
const char *baseline_show(const bench_change *c, char *line, size_t size);
bool baseline_is_slower(const bench_report *report); /* somewhere */
/* The comparison on a terminal, at most 80 columns. */
void baseline_print(const bench_report *report, FILE *out);

#endif
