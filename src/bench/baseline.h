/* Is a program faster or slower than in a saved run? */
#ifndef BENCH_BASELINE_H
#define BENCH_BASELINE_H

#include "bench/report.h"

/* The rounds of one workload on one device in one run, as in bench_result. */
typedef struct bench_rounds {
    const double *ms, *fastest, *probe, *memory; /* [count] */
    int count;
} bench_rounds;

/* Compare two runs; fills in verdict, times, ratio, low, high, why. `comparisons`: the total number
   of comparisons; all of them together give a false alarm in at most one case in a hundred.

   Rounds of two runs are not exchangeable: each run has a bias of its own (addresses of its memory,
   clock of the cores, other work on the machine), so that a test over rounds alone finds
   differences between any two runs. Therefore
   - a round counts by its fastest step that was not preempted. Other work on the machine only ever
     adds to that. (Chen and Revels, "Robust benchmarking in noisy environments", 2016.) Where steps
     overlap, on accelerators, it is the rounds' mean step. Rounds in which the probe says that the
     cores lacked a fifth of their arithmetic do not count.
   - caches and memory are also shared with programs and virtual machines that cannot be observed.
     The time of reading the variables is measured around each round, and the step's dependence on
     it is removed: in logarithms, with one slope for both runs, estimated within each (Theil-Sen,
     base/statistics.h), between 0 and 1. If a run did not measure it, nothing is removed; if it
     never changed within the runs, its whole change between them may be due to the step.
   - the medians of the remaining times are compared. The interval is from a bootstrap over blocks
     of neighbouring rounds, widened by the slope's deviation and by the bias of a run. On the side
     of a disturbed run it is also widened by the constant shortfall of its cores in the probe;
     without probes, by the distance of the run above its own lowest tenth.
   - a run with too few undisturbed rounds is not compared.
   Then two runs of one program do not differ, however noisy the machine is; noise only widens the
   interval. */
void baseline_compare(const bench_rounds *before, const bench_rounds *after, int comparisons,
                      bench_change *out);

/* A saved report, read and checked. */
typedef struct bench_baseline {
    struct doc *doc;
    const char *path;
} bench_baseline;
cornu_status baseline_open(const char *path, bench_baseline *out);
void baseline_close(bench_baseline *b);
/* Fill in report->baseline: one change for each result of this run, and the differences between the
   machines, versions and settings. */
cornu_status baseline_apply(const bench_baseline *b, bench_report *report);
/* "slower by 9.8 %", "no change seen" into line[size]. */
const char *baseline_show(const bench_change *c, char *line, size_t size);
bool baseline_is_slower(const bench_report *report); /* somewhere */
/* The comparison on a terminal, at most 80 columns. */
void baseline_print(const bench_report *report, FILE *out);

#endif
