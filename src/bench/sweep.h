/* A workload with one batch after another: what a step takes, and from which batch on one device
   beats another. */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include "base/memory.h"
#include "bench/report.h"

enum { SWEEP_BATCHES_MOST = 24 };

/* "batch" (1, 2, 4, ... 512) or "batch=1,8,64" (ascending) to batches[SWEEP_BATCHES_MOST + 1],
   which 0 ends. CORNU_INVALID says what else was found. */
cornu_status sweep_parse(const char *asked, int64_t *batches);
/* One more into the list, at its place; at most SWEEP_BATCHES_MOST stay. */
void sweep_insert(int64_t *batches, int64_t batch);
/* Which to measure next: the ends first, then what is farthest from what was measured, so that the
   list may be ended at any time. -1: all are done. */
int sweep_next(const int64_t *batches, const bool *done);
/* Milliseconds that a step may take, by those that were measured of the same workload on the same
   device: of the next smaller batch times as many samples, else that of the next larger. 0: there
   is none. */
double sweep_predict_ms(const bench_report *report, const char *workload, const char *on,
                        int64_t batch);
/* NULL: there is none. */
const bench_result *sweep_find(const bench_report *report, const char *workload, const char *on,
                               int64_t batch);
/* Results by workload, batch and device, each in the order in which it first appears. */
void sweep_sort(bench_report *report);
/* The least batch from which on, up to the largest that both were measured with, `on` takes
   clearly less time than `other`; 0: there is none. *most: that largest. */
int64_t sweep_wins_from(const bench_report *report, const char *workload, const char *on,
                        const char *other, int64_t *most);
/* Append to `line`, each with a space before it, sentences: for each other device, from which batch
   on it takes less time than the first one ("opencl:0 takes less time than cpu from batch 64 on.")
 */
void sweep_say_winners(const bench_report *report, const char *workload, char *line, size_t size);
/* "reference was not measured with batch 64, 128: with 64 a step would take about 9 s."; "":
   nothing was left out. */
void sweep_say_left_out(const bench_report *report, const char *workload, char *line, size_t size);
/* The table, with bars, at most 80 columns. */
void sweep_print(const bench_report *report, bool utf8, FILE *out);
/* Samples a second by batch, a line for each device: appended to a page as a figure. */
cornu_status sweep_figure(const bench_report *report, const char *workload, text *page);

#endif
