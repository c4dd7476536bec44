/* What to compare, and whom to tell. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_options {
    const char *const *workloads; /* names, NULL-ended; NULL: all */
    const char *device;           /* a device, "all", or NULL: "cpu" */
    const char *precision;        /* "fp32" (NULL), "tf32", "bf16": of devices that have it */
    bool exact_convolution;
    bool quick, full;
    bool operations; /* time the operations of a step, too, where one takes less than 0.5 s */
    int64_t steps;   /* > 0: a round is that many steps */
    int64_t batch;
    int threads;
    const char *data;                                /* folder */
    void (*on_notice)(void *user, const char *line); /* what is going on; may be NULL */
    void (*on_progress)(void *user, const char *file, int64_t done, int64_t total); /* downloads */
    bool (*should_stop)(void *user);
    void *user;
} bench_options;

#endif
