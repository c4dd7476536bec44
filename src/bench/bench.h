/* The main job: time the published workloads on each device and set the figures beside the measured
   limit and the published times. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/statistics.h"
#include "bench/limits.h"
#include "data/data.h"
#include "device/device.h"
#include <stdio.h>

typedef struct bench_options {
    const char *const *workloads; /* names, NULL-ended; NULL: all */
    const char *device;           /* a device, "all", or NULL: "cpu" */
    const char *precision;        /* "fp32" (NULL), "tf32", "bf16": of devices that have it */
    bool exact_convolution;
    bool quick, full;
    int64_t steps; /* > 0: a round is that many steps */
    int64_t batch;
    int threads;
    const char *data;                                /* folder */
    void (*on_notice)(void *user, const char *line); /* what is going on; may be NULL */
    void (*on_progress)(void *user, const char *file, int64_t done, int64_t total); /* downloads */
    bool (*should_stop)(void *user);
    void *user;
} bench_options;

/* One workload on one device. */
typedef struct bench_result {
    const char *workload;
    char device[64];
    const char *precision; /* of products: "fp32", ... */
    int64_t batch, steps;  /* steps timed */
    statistics step_ms;    /* over rounds: each round's mean step */
    double samples_per_second, epoch_seconds;
    double loss_first, loss_last; /* means of the first and the last steps, warm-up included */
    double cold_seconds;          /* opening the device, weights and plan, and the first step */
    int launches;                 /* of kernels on an accelerator, a step; 0 on the host */
    /* What the device says of itself while it works; NAN where it does not. */
    double watts, joules_per_epoch, clock_mhz;
    double flops_per_step, bytes_per_step; /* the plan's: as the operations are defined */
    double flops_run, bytes_run;           /* as the kernels do them; the limit is of these */
    double share_of_limit;
    machine_limits limits; /* of this device at this precision */
    const char *bound;     /* what the limit is: "FMA" or "memory" */
    double working_set;    /* bytes of weights, slots and buffers */
    bool real_data;
    char data_name[64];
    double probe_low; /* least FMA probe between rounds over the measured limit: < 0.9 says
                         throttled */
    double probe_median;
    bool has_full;                                 /* --full: the recipe's schedule was run */
    double full_seconds, full_loss, full_accuracy; /* loss and accuracy on the test samples */
} bench_result;

typedef struct bench_machine {
    char cpu[128], system[128];
    int cores; /* physical, that this process may use */
    int64_t memory_bytes;
} bench_machine;

/* A device that has limits of its own: an accelerator. */
typedef struct bench_device {
    cornu_device_info info;
    device_limits limits;
} bench_device;

enum { BENCH_DEVICES_MOST = 16 };

typedef struct bench_report {
    bench_machine machine;
    machine_limits limits; /* of the host's cores */
    bench_device devices[BENCH_DEVICES_MOST];
    int device_count;
    bench_result *results;
    int count;
    size_t capacity;
    char **notes; /* substituted data, throttling, what was not run and why */
    int note_count;
    size_t note_capacity;
    json_t *json; /* the whole report as --json writes it */
} bench_report;

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
    const char *note; /* what these are: of which run and samples */
} published_figure;
extern const published_figure published_figures[]; /* workload NULL at the end */

/* Unknown workloads are CORNU_INVALID, devices that are not there CORNU_NOT_FOUND. What does not
   fit into memory or has no data for --full becomes a note, and the rest goes on. Call
   bench_report_free also after a failure. */
cornu_status bench_run(const bench_options *options, bench_report *report);
void bench_report_free(bench_report *report);
cornu_status bench_note(bench_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A note of the results whose median is far above their minimum, where there are any. */
cornu_status bench_note_noise(bench_report *report);
/* The table, at most 80 columns. */
void bench_print(const bench_report *report, FILE *out);
/* report->json from the rest of the report. */
cornu_status bench_make_json(bench_report *report);
/* report->json as a file, atomically. */
cornu_status bench_write_json(const bench_report *report, const char *path);
/* "gpu" for a cuda device, else "cpu". */
const char *bench_device_kind(const char *name);
void bench_machine_read(bench_machine *machine);

#endif
