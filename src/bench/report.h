/* The results of a comparison, as figures, as columns of tables, as JSON and as a page; with what
   was published for the workloads, and the machine. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "base/memory.h"
#include "base/statistics.h"
#include "device/device.h"
#include "format/html/html.h"
#include "step/plan.h"
#include <cornu/tables.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* One row of the workload table (published.def), or a recipe of the user. */
typedef struct bench_workload {
    const char *name;      /* a recipe's: its path */
    int64_t epoch_samples; /* a recipe's: 0; those that its data have */
    int epochs;
    const char *substitute; /* data set of the same shape, or NULL */
} bench_workload;
extern const bench_workload bench_workloads[]; /* name NULL at the end */
/* NULL: none. */
const bench_workload *bench_workload_named(const char *name);
/* Is it the path of a recipe, rather than a name? */
bool bench_is_recipe(const char *workload);

/* Published figures: published.def. */
typedef struct published_figure {
    const char *workload, *device_kind /* "cpu", "gpu" or "tpu" */, *hardware;
    double epoch_seconds; /* 0 where not given */
    double total_seconds; /* of all epochs */
    double accuracy;
    const char *note; /* the run and samples of the figures */
} published_figure;
extern const published_figure published_figures[]; /* workload NULL at the end */

typedef struct bench_machine {
    char cpu[128], system[128];
    int cores; /* physical cores that this process may use */
    int64_t memory_bytes;
    const char *compiler; /* its name, "GCC" or "clang", and version */
} bench_machine;

void bench_machine_read(bench_machine *machine);

enum { BENCH_REASON = 512 };

/* One operation of a step; operations that run within its kernel are included in its figures. */
typedef struct bench_operation {
    const char *name; /* in ops.def */
    char layer[64], shape[OP_SHAPE_TEXT], kernel[64];
    double ms; /* median */
    double flops, bytes, share_of_limit;
    const char *bound;
} bench_operation;

/* One workload on one device. */
typedef struct bench_result {
    const char *workload;
    char device[64];
    char failed[BENCH_REASON]; /* the reason why it could not be measured and has no figures; "" */
    const char *precision;     /* of products: "fp32", ... */
    int64_t batch, steps;      /* steps timed */
    statistics step_ms;        /* over rounds: each round's mean step */
    /* The rounds in the order measured: mean step, fastest step that was not preempted (NAN: none,
       or steps overlap), FMA rate of the probe before it (FLOP/s; NAN: none), rate of reading the
       variables just before and after it (bytes/s; NAN: none). */
    double *ms, *fastest, *probe, *memory; /* [step_ms.rounds], or NULL */
    /* Mean losses of the steps up to number loss_step. */
    double *loss; /* [losses] */
    int64_t *loss_step;
    int losses;
    bench_operation *operations; /* with options.operations; else none */
    int operation_count;
    double samples_per_second, epoch_seconds;
    double loss_first, loss_last; /* means of the first and the last steps, warm-up included */
    double cold_seconds;          /* opening the device, weights and plan, and the first step */
    int launches;                 /* kernels per step on an accelerator; 0 on the host */
    /* The device's own sensors while it works; NAN if not available. */
    double watts, joules_per_epoch, clock_mhz;
    double host_watts;    /* of the host's processors, including all other work there (cost.h); or
                             NAN */
    double validation_ms; /* a step of evaluation; NAN: not measured */
    double flops_per_step, bytes_per_step; /* the plan's: by the definitions of the operations */
    double flops_run, bytes_run;           /* by the kernels; the limit is computed from these */
    double share_of_limit;
    device_limits limits; /* of this device at this precision */
    const char *bound;    /* the limiting resource: "FMA" or "memory" */
    double working_set;   /* bytes of weights, slots and buffers */
    bool real_data;
    char data_name[64];
    double probe_low; /* lowest FMA probe between rounds divided by the measured limit: < 0.9 means
                         throttled; NAN: no probes, as on an accelerator */
    double probe_median;
} bench_result;

/* A device with limits of its own: an accelerator. */
typedef struct bench_device {
    cornu_device_info info;
    device_limits limits;
} bench_device;

enum { BENCH_DEVICES_MOST = 16 };

typedef enum bench_verdict {
    BENCH_NOT_COMPARED,
    BENCH_SAME, /* no change seen; the interval says how small a change would have been seen */
    BENCH_FASTER,
    BENCH_SLOWER
} bench_verdict;

/* One workload on one device, then and now: bench/baseline.h. */
typedef struct bench_change {
    char workload[64], device[64];
    bench_verdict verdict;
    double before_ms, after_ms; /* medians of the rounds' fastest steps */
    double ratio, low, high;    /* of now to then, without the effect of memory, and its interval */
    char why[256];              /* if it was not compared */
} bench_change;

/* The result of a comparison with a saved run. */
typedef struct bench_comparison {
    char file[256]; /* its printable name; "": none */
    char version[32], started[32];
    bench_change *changes;
    int count;
    size_t capacity;
    char **differences; /* "threads: 2 then, 1 now" */
    int difference_count;
    size_t difference_capacity;
} bench_comparison;

/* The settings that change figures. */
typedef struct bench_settings {
    bool quick, exact_convolution, recompute;
    int64_t steps; /* per round; 0: as many as fit */
} bench_settings;

typedef struct bench_report {
    bench_settings settings;
    char started[32]; /* "2026-11-25 01:40 UTC" */
    bench_machine machine;
    device_limits limits; /* of the host's cores */
    bench_device devices[BENCH_DEVICES_MOST];
    int device_count;
    bench_result *results;
    int count;
    size_t capacity;
    bench_comparison baseline;
    bool interrupted; /* should_stop ended it before all was measured */
    char **notes;     /* substituted data, throttling, and skipped measurements with the reason */
    int note_count;
    size_t note_capacity;
    json_t *json; /* the whole report as JSON for --json */
} bench_report;

/* NULL: the device has no limits of its own; use those of the host's cores. */
const bench_device *bench_device_of(const bench_report *report, const char *name);
/* "gpu" or "cpu": the kind of its published figures. */
const char *bench_device_kind(const bench_report *report, const char *name);
/* Append a note, unless it is already there. */
cornu_status bench_note(bench_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A note about the results whose median is far above their minimum, if there are any. */
cornu_status bench_note_noise(bench_report *report);
void bench_report_free(bench_report *report);
void bench_result_forget(bench_result *r); /* free the memory that it points to, and empty it */
/* The table, at most 80 columns. */
void bench_print(const bench_report *report, FILE *out);
/* JSON has no NaN: a missing figure is null. */
json_t *bench_json_number(double value);
/* Make report->json from the rest of the report. */
cornu_status bench_make_json(bench_report *report);
/* Write report->json, or that of another report, to a file, atomically. NULL fails for lack of
   memory. */
cornu_status bench_write_json(const json_t *all, const char *path);

typedef struct bench_column {
    const char *key;     /* in CSV */
    const char *heading; /* for people; NULL: only for programs */
    int digits;          /* digits shown to people; 0: a text */
    double (*number)(const bench_report *report, const bench_result *r); /* NAN: none */
    const char *(*text)(const bench_report *report, const bench_result *r);
} bench_column;
extern const bench_column bench_columns[]; /* key NULL at the end */
/* The column with the key (up to a "="); if there is none, the last, whose key is NULL. */
const bench_column *bench_column_named(const char *key);

/* Does other data stand in for the workload's own? */
bool bench_is_substitute(const bench_result *r);
/* The fastest published epoch on this kind of device; 0: none. */
double bench_published_epoch(const char *workload, const char *kind);
/* The results as a table, appended to `t`. */
typedef void bench_table(const bench_report *report, text *t);
bench_table bench_csv, bench_markdown;
/* The same as a file, atomically, or ("-") on `out`. */
cornu_status bench_write_table(const bench_report *report, bench_table *table, const char *path,
                               FILE *out);

/* ---- the report as a page, and its charts (html.c) ---- */

/* Write one self-contained page, atomically. */
cornu_status bench_write_html(const bench_report *report, const char *path);

/* The answer in a sentence or two: the fastest device, and how much faster it is than the others
   and than published figures. */
void bench_html_answer(const bench_report *report, char *line, size_t size);
/* Were several batches measured? They have another page. */
bool bench_html_is_sweep(const bench_report *report);

/* The section of one workload: the chart, the rows, and the batches that were left out. */
cornu_status bench_html_batches(const bench_report *report, const char *workload, text *t);
/* Sections of the page. */
cornu_status bench_html_machine(const bench_report *report, text *t);
/* Caveats, then `more` of them (NULL-ended, or NULL), and with `failures` which devices failed and
   why. */
void bench_html_notes(const bench_report *report, const char *const *more, bool failures, text *t);

#endif
