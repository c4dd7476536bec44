/* One workload on one device, while it is measured. */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include "bench/options.h"
#include "bench/published.h"
#include "bench/report.h"
#include "data/data.h"
#include "train/evaluate.h"

/* How long to measure. */
typedef struct bench_effort {
    double warm_up_seconds;
    double round_seconds;    /* a round is as many steps as fit in it, at least one */
    double budget_seconds;   /* for one contender's rounds */
    double patience_seconds; /* the same where so few steps fit that they would prove nothing */
    int rounds_least, rounds_most;
    bool comparable; /* not before the fastest steps are found, and with probes of memory */
} bench_effort;
bench_effort bench_effort_of(const bench_options *options);

/* A data set that several contenders may read. */
typedef struct bench_data {
    cornu_data *data;
    bool real;
    int users;
    /* what its callbacks need as long as it lives */
    const bench_workload *workload;
    const bench_options *options;
    double shown; /* when it was last said how far decoding is */
} bench_data;

typedef struct contender {
    const bench_workload *workload;
    const char *device;
    const char *precision;
    cornu_model *model;
    bench_data *data;
    session *session;
    session_plan *plan;
    int64_t batch;
    sample_block samples; /* of the training split, as the model sees them */
    feed feed;            /* of them */
    int64_t samples_read; /* samples of a pass that are read */
    int64_t next;         /* place in it */
    int64_t round_steps, steps;
    /* One entry a round, in the order measured: mean step, fastest step that
       was not preempted (NAN where none was, and where steps overlap, as on accelerators), FMA
       probe before it, memory probe around it (NAN where there is none). */
    double *ms, *fastest, *probe, *memory; /* [rounds_most] */
    int rounds;
    /* One entry a warm-up run or round: for loss_first and loss_last. */
    double *loss;        /* mean of the steps */
    int64_t *loss_steps; /* how many */
    int losses, losses_most;
    double seconds; /* spent in rounds */
    double cold_seconds;
    double watts, joules, clock_mhz; /* joules: over device_seconds of rounds */
    double device_seconds;
    double host_joules; /* of the host's processors, over host_seconds; NAN and 0: not measured */
    double host_seconds;
    double validation_ms;
    bool throttled;
    bool done;
    cornu_status failed; /* what ended it: its row says why, and the others go on */
    char why[BENCH_REASON];
} contender;

/* Open the workload's data: found on this machine (--full may download it), its substitute, or
   generated pixels. The pictures of a folder are all decoded then, into memory, so that no round is
   timed beside decoding; notices say how far that is, and should_stop is asked. `options` must live
   as long as the data. */
cornu_status bench_data_open(const bench_workload *w, const cornu_model *model, int64_t batch,
                             const bench_options *options, bench_report *report, bench_data **out);
/* Does --data hold the workload's data, or its substitute? */
cornu_status bench_data_check(const bench_workload *w, const bench_options *options);
void bench_data_close(bench_data *data);

/* Bytes that opening the contender will take, from its model alone. */
cornu_status contender_memory(const bench_workload *w, const char *on, const bench_options *options,
                              double *bytes);
/* The model and its data. `on`: the device. `share`: data opened for the same workload, or NULL.
   contender_close also after a failure. */
cornu_status contender_open(contender *c, const bench_workload *w, const char *on,
                            bench_data *share, const bench_options *options,
                            const bench_effort *effort, bench_report *report);
/* The device: weights and plan. */
cornu_status contender_start(contender *c, const bench_options *options);
void contender_close(contender *c);
/* It takes no further part, and has given back what it had on its device. `why` may be its own. */
void contender_fail(contender *c, cornu_status status, const char *why);
/* Warm up and choose the number of steps of a round. A step that takes longer than two seconds is
   counted as a round at once. */
cornu_status contender_warm_up(contender *c, const bench_options *options,
                               const bench_effort *effort);
/* One round; sets `done` when its time is used up. */
cornu_status contender_round(contender *c, double probe, const bench_effort *effort);
/* What the host's processors took in so many seconds of its work; NAN: nobody counted. */
void contender_meter(contender *c, double joules, double seconds);
/* Bytes/s that its device reads its variables with just now (device_ops.memory_probe); NAN: not
   asked for, since no runs are to be compared, or the device does not say. */
double contender_memory_probe(const contender *c, const bench_effort *effort);
/* Numbers of the samples of the next batch. */
cornu_status contender_batch(contender *c, const int64_t **index);
bool contender_is_stable(const contender *c, const bench_effort *effort);
/* All but the shares of the limits, which bench_run adds when the highest FMA rate is known; probes
   in FLOP/s until then. Of one that failed: no figures (NAN), and why. */
cornu_status contender_result(const contender *c, bench_result *out);
/* Time a step of evaluation, for `seconds`. */
cornu_status contender_validate(contender *c, double seconds);
/* Beside it: every round, the losses and, with options->operations, the operations. */
cornu_status contender_details(contender *c, const bench_options *options, bench_result *out);

/* The recipe's schedule from the start; fills in result->full_*. */
cornu_status bench_full_schedule(const bench_workload *w, const char *on,
                                 const bench_options *options, bench_report *report,
                                 bench_result *result);

#endif
