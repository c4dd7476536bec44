/* How should a device's kernels divide their work? Candidates (device_ops.tuning_candidate) are
   compared with the current tuning, on steps of the published workloads. */
#ifndef BENCH_TUNE_H
#define BENCH_TUNE_H

#include "device/device.h"
#include "train/op_times.h"
#include "train/session.h"

typedef struct tune_options {
    const char *const *workloads; /* names, NULL-ended; NULL or none: all that differ */
    const char *device;
    bool quick;                                      /* fewer candidates, fewer rounds */
    int rounds;                                      /* 0: 5, the winner's 9; quick: 3 and 7 */
    void (*on_notice)(void *user, const char *line); /* progress lines; may be NULL */
    bool (*should_stop)(void *user);
    void *user;
} tune_options;

/* A candidate: its time divided by that of the best before its stage (1 and more: no better), or
   the reason why it has none. */
typedef struct tune_trial {
    int stage;
    char from[TUNING_TEXT], text[TUNING_TEXT];
    double ratio; /* geometric mean over the workloads; over the first ones if it is hopeless */
    char failure[256];
} tune_trial;

/* An operation of one shape: medians over interleaved rounds. */
typedef struct tune_row {
    char operation[32], shape[OP_SHAPE_TEXT];
    double before, after; /* seconds */
} tune_row;

typedef struct tune_report {
    device_tuning before, after; /* the tuning so far; the winner, in its file: .text "" if nothing
                                    is faster by TUNE_GAIN */
    double ratio;                /* of their times, measured once more */
    tune_trial *trials;
    size_t trial_count, trial_capacity;
    tune_row *rows; /* if there is a winner */
    size_t row_count, row_capacity;
} tune_report;

enum { TUNE_ROUNDS_MOST = 15 };

/* A change of bits is justified for a candidate whose time is below this fraction of the current
   one. */
#define TUNE_GAIN 0.98

/* Measure, and keep the winner. CORNU_UNSUPPORTED if the device cannot be tuned, CORNU_STOPPED with
   nothing kept. Call tune_report_free also after a failure. */
cornu_status tune_run(const tune_options *options, tune_report *report);
void tune_report_free(tune_report *report);

/* A workload that is trained with one tuning. */
typedef struct tune_side {
    cornu_model *model;
    session *session;
    session_plan *plan;
    generated_batch batch;
    double *seconds; /* [rounds][op_count] */
} tune_side;

typedef struct tune_pair {
    tune_side side[2];
    int rounds;
    double ratio; /* of the second side's step to the first's: the median over the rounds */
} tune_pair;

static inline bool tune_counts(op_kind kind)
{
    return kind >= OP_DENSE_FORWARD && kind <= OP_CONV2D_BACKWARD_WEIGHTS;
}

/* `on`: the device. `tuning` NULL: the device's own. Close a side also after a failure. */
cornu_status tune_side_open(tune_side *s, const char *workload, const char *on, const char *tuning);
void tune_side_close(tune_side *s);
/* Measure; *failed: the index of the side that failed. */
cornu_status tune_pair_run(tune_pair *p, const tune_options *options, int rounds, int *failed);
/* The median of operation `i`. */
double tune_pair_median(const tune_pair *p, int side, int i);

#endif
