/* The published workloads and their figures: published.def. */
#ifndef BENCH_PUBLISHED_H
#define BENCH_PUBLISHED_H

#include <stdint.h>

/* One row of the workload table (published.def). */
typedef struct bench_workload {
    const char *name;
    int64_t epoch_samples;
    int epochs;
    const char *substitute; /* data set of the same shape, or NULL */
} bench_workload;
extern const bench_workload bench_workloads[]; /* name NULL at the end */

/* Published figures: published.def. */
typedef struct published_figure {
    const char *workload, *device_kind /* "cpu", "gpu" or "tpu" */, *hardware;
    double epoch_seconds; /* 0 where not given */
    double total_seconds; /* of all epochs */
    double accuracy;
    const char *note; /* the run and samples of the figures */
} published_figure;
extern const published_figure published_figures[]; /* workload NULL at the end */

#endif
