/* A candidate of a comparison (the type `candidate`): one workload on one device, while it is
   measured. */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include "bench/bench.h"
#include "bench/report.h"
#include "data/data.h"
#include "train/evaluate.h"

/* Limits on the time of measuring. */
typedef struct bench_effort {
    double warm_up_seconds;
    double round_seconds;    /* a round has as many steps as fit into it, at least one */
    double budget_seconds;   /* for one candidate's rounds */
    double patience_seconds; /* the same if too few steps fit to prove anything */
    int rounds_least, rounds_most;
    bool comparable; /* with probes of memory, and long enough to find the fastest steps */
} bench_effort;
bench_effort bench_effort_of(const bench_options *options);

/* A data set that several candidates may read. */
typedef struct bench_data {
    cornu_data *data;
    int64_t epoch_samples;
    bool real;
    int users;
    /* memory of its callbacks, as long as it lives */
    const bench_workload *workload;
    const bench_options *options;
    double shown; /* time of the last notice about decoding */
} bench_data;

typedef struct candidate {
    const bench_workload *workload;
    const char *device;
    const char *precision;
    cornu_model *model;
    bench_data *data;
    session *session;
    session_plan *plan;
    int64_t batch;
    sample_block samples; /* of the training split, as the model sees them */
    input_pipeline input; /* the input pipeline of these samples */
    int64_t samples_read; /* samples that a pass reads */
    int64_t next;         /* position in the pass */
    int64_t round_steps, steps;
    /* One entry per round, in the order measured: mean step, fastest step that was not preempted
       (NAN if there was none, or if steps overlap, as on accelerators), FMA probe before it,
       memory probe around it (NAN without one). */
    double *ms, *fastest, *probe, *memory; /* [rounds_most] */
    int rounds;
    /* One entry per warm-up run or round: for loss_first and loss_last. */
    double *loss;        /* mean of the steps */
    int64_t *loss_steps; /* number of steps */
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
    cornu_status
        failed; /* the failure that ended it: its row has the reason, and the others go on */
    char why[BENCH_REASON];
} candidate;

/* Open the workload's data: found on this machine, its substitute, or
   generated pixels. All pictures of a folder are decoded now, into memory, so that no round is
   timed during decoding; notices report the progress, and should_stop is asked. `options` must
   outlive the data. */
cornu_status bench_data_open(const bench_workload *w, const cornu_model *model, int64_t batch,
                             const bench_options *options, bench_report *report, bench_data **out);
/* Does --data hold the workload's data, or its substitute? */
cornu_status bench_data_check(const bench_workload *w, const bench_options *options);
void bench_data_close(bench_data *data);

/* Bytes that opening the candidate will take, from its model alone. */
cornu_status candidate_memory(const bench_workload *w, const char *on, const bench_options *options,
                              double *bytes);
/* Open the model and its data. `on`: the device. `share`: data opened for the same workload, or
   NULL. Call candidate_close also after a failure. */
cornu_status candidate_open(candidate *c, const bench_workload *w, const char *on,
                            bench_data *share, const bench_options *options,
                            const bench_effort *effort, bench_report *report);
/* Open the device, with weights and plan. */
cornu_status candidate_start(candidate *c, const bench_options *options);
void candidate_close(candidate *c);
/* End the candidate and free its memory on the device. `why` may be its own. */
void candidate_fail(candidate *c, cornu_status status, const char *why);
/* Warm up and choose the number of steps of a round. A step that takes longer than two seconds
   counts as a round. */
cornu_status candidate_warm_up(candidate *c, const bench_options *options,
                               const bench_effort *effort);
/* Run one round; sets `done` when its time is used up. */
cornu_status candidate_round(candidate *c, double probe, const bench_effort *effort);
/* Add the energy of the host's processors over `seconds` of its work; NAN: not counted. */
void candidate_meter(candidate *c, double joules, double seconds);
/* Bytes/s at which its device currently reads its variables (device_ops.memory_probe); NAN: not
   needed, since no runs are compared, or not available. */
double candidate_memory_probe(const candidate *c, const bench_effort *effort);
/* Indices of the samples of the next batch. */
cornu_status candidate_batch(candidate *c, const int64_t **index);
bool candidate_is_stable(const candidate *c, const bench_effort *effort);
/* All figures but the shares of the limits, which bench_run adds when the highest FMA rate is
   known; probes in FLOP/s until then. For a failed candidate: no figures (NAN), and the reason. */
cornu_status candidate_result(const candidate *c, bench_result *out);
/* Time a step of evaluation, for `seconds`. */
cornu_status candidate_validate(candidate *c, double seconds);
/* In addition: every round, the losses and, with options->operations, the operations. */
cornu_status candidate_details(candidate *c, const bench_options *options, bench_result *out);

#endif
