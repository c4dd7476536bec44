/* A workload with several batches: the time of a step, and the batch from which one device beats
   another. */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include "base/memory.h"
#include "bench/report.h"

enum { SWEEP_BATCHES_MOST = 24 };

/* "batch" (1, 2, 4, ... 512) or "batch=1,8,64" (ascending) to batches[SWEEP_BATCHES_MOST + 1],
   ended by 0. CORNU_INVALID says what was found instead. */
cornu_status sweep_parse(const char *asked, int64_t *batches);
/* Insert a batch in order; at most SWEEP_BATCHES_MOST stay. */
void sweep_insert(int64_t *batches, int64_t batch);
/* The batch to measure next: the ends first, then the one farthest from those that are measured, so
   that the sweep may end at any time. -1: all are done. */
int sweep_next(const int64_t *batches, const bool *done);
/* The predicted milliseconds of a step, from results of the same workload on the same device: those
   of the next smaller batch times the ratio of samples, else those of the next larger batch. 0:
   none. */
double sweep_predict_ms(const bench_report *report, const char *workload, const char *on,
                        int64_t batch);
/* Sort results by workload, batch and device, each in the order of its first appearance. */
void sweep_sort(bench_report *report);
/* The smallest batch from which on, up to the largest batch measured with both, `on` takes clearly
   less time than `other`; 0: none. *most: that largest batch. */
int64_t sweep_wins_from(const bench_report *report, const char *workload, const char *on,
                        const char *other, int64_t *most);
/* Append sentences to `line`, each with a space before it: for each other device, the batch from
   which it is faster than the first one ("opencl:0 is faster than cpu from batch 64 on.") */
void sweep_say_winners(const bench_report *report, const char *workload, char *line, size_t size);
/* "reference was not measured with batch 64, 128: with 64 a step would take about 9 s."; "": no
   batch was left out. */
void sweep_say_left_out(const bench_report *report, const char *workload, char *line, size_t size);
/* The table, with bars, at most 80 columns. */
void sweep_print(const bench_report *report, bool utf8, FILE *out);
/* Append a figure to a page: samples per second by batch, a line for each device. */
cornu_status sweep_figure(const bench_report *report, const char *workload, text *page);

#endif
