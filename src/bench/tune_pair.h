/* One workload's training step with two tunings of a device, in turns. */
#ifndef BENCH_TUNE_PAIR_H
#define BENCH_TUNE_PAIR_H

#include "bench/tune.h"
#include "train/generated.h"
#include "train/session.h"

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
