/* The benchmark: times the published workloads on each device and compares them with the measured
   limits and the published times. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "bench/report.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct bench_options {
    const char *const *workloads; /* names and paths of recipes, NULL-ended; NULL: all names */
    const char *device;           /* a device, several ("cpu,cuda:0"), "all", or NULL: "cpu" */
    const char *without;          /* with "all": a device that is left out; NULL: none */
    const char *precision;        /* "fp32" (NULL), "tf32", "bf16": for devices that support it */
    bool exact_convolution;
    bool recompute; /* as in cornu_fit_options; else as each recipe says */
    bool quick;
    bool operations; /* also time the operations of a step, if the step takes less than 0.5 s */
    int64_t steps;   /* > 0: the number of steps of a round */
    const char *baseline; /* a report's JSON to compare with; NULL: none */
    /* Measure until the fastest steps are found, so that the report can be compared with another
       one. */
    bool comparable;
    int64_t batch;
    /* Batches to measure, ascending, 0 at the end, each for a short time and in the order of
       sweep_next; NULL: `batch` alone. */
    const int64_t *batches;
    int64_t main_batch; /* one of these: measured longest, and in any case; 0: none */
    double seconds;     /* > 0: skip batches that would not be finished within this time */
    /* Measured in place of the workloads of published.def; name NULL at the end. `read`: its data,
       which the caller owns. */
    const struct bench_workload *subject;
    struct bench_data *read;
    bool validation; /* also time a step of evaluation */
    int threads;
    const char *data;                                /* folder */
    void (*on_notice)(void *user, const char *line); /* progress lines; may be NULL */
    bool (*should_stop)(void *user);
    /* After a stop, the results so far become the report, which says so; without this, and without
       any results, CORNU_STOPPED. */
    bool keeps_stopped;
    void *user;
} bench_options;

/* Unknown workloads are CORNU_INVALID, absent devices CORNU_NOT_FOUND. A failure on one device (it
   cannot be opened, lacks an operation or memory, is lost meanwhile) becomes a row with the reason,
   and the other devices go on; if nothing could be measured, the first such failure is returned.
   Call bench_report_free also after a failure. */
cornu_status bench_run(const bench_options *options, bench_report *report);

/* The workloads that the options ask for, name NULL at the end: those of the table in its order,
   then recipes. The caller frees them; their names are the table's and the options'. */
cornu_status bench_choose(const bench_options *options, struct bench_workload **out);

#endif
