/* What to compare, and whom to tell. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_options {
    const char *const *workloads; /* names, NULL-ended; NULL: all */
    const char *device;           /* a device, several ("cpu,cuda:0"), "all", or NULL: "cpu" */
    const char *without;          /* of "all": a device that is not wanted; NULL: none */
    const char *precision;        /* "fp32" (NULL), "tf32", "bf16": of devices that have it */
    bool exact_convolution;
    bool quick, full;
    bool operations; /* time the operations of a step, too, where one takes less than 0.5 s */
    bool graph;    /* and keep them as a graph for bench_write_events, where this build has that */
    int64_t steps; /* > 0: a round is that many steps */
    const char *baseline; /* a report's JSON to compare with; NULL: none */
    /* Measure until the fastest steps are found, so that the report can be compared with another
       one. */
    bool comparable;
    int64_t batch;
    /* Batches to measure, ascending, 0 at the end, each shortly and in the order of sweep_next;
       NULL: `batch` alone. */
    const int64_t *batches;
    int64_t main_batch; /* of these: measured longest, and in any case; 0: none */
    double seconds;     /* > 0: begin none of them that would not be measured by then */
    /* What is measured in place of the workloads of published.def; name NULL at the end. `read`:
       its data, which stay the caller's. */
    const struct bench_workload *subject;
    struct bench_data *read;
    bool validation; /* time a step of evaluation, too */
    int threads;
    const char *data;                                /* folder */
    void (*on_notice)(void *user, const char *line); /* what is going on; may be NULL */
    void (*on_progress)(void *user, const char *file, int64_t done, int64_t total); /* downloads */
    bool (*should_stop)(void *user);
    /* Where that asks for it, what was measured until then becomes the report, which says so; else,
       and where nothing was, CORNU_STOPPED. */
    bool keeps_stopped;
    void *user;
} bench_options;

#endif
