/* Evaluation and prediction, and the running means that every pass shows, as Keras does: sums over
   the samples seen so far, divided by their number. */
#ifndef TRAIN_EVALUATE_H
#define TRAIN_EVALUATE_H

#include "base/clock.h"
#include "parallel/ranks.h"
#include "train/input_pipeline.h"
#include "train/session.h"
#include <cornu/report.h>

/* The names of the scores: loss, then the metrics. Values become NaN. */
void scores_open(const cornu_model *model, cornu_scores *scores);
/* Compute means from sums, and values from tables; NaN if samples is 0. */
void scores_from_sums(const cornu_model *model, const double *sums, const double *tables,
                      int64_t samples, cornu_scores *scores);
/* The sums of a device's results: loss, then model->sum_count of metrics. */
void results_sums(const cornu_model *model, const step_results *results, double *sums);

/* Progress lines cost a wait for the device: they are read this often at most. */
#define PROGRESS_SECONDS 0.1

/* The samples of a data set to evaluate. */
typedef struct evaluation {
    const cornu_data *data;
    cornu_split split;
    int64_t first, count; /* samples first..first+count-1, in this order */
    int64_t batch;
    int64_t steps;             /* 0: all; else at most this many batches */
    bool each_step, announced; /* on_step after each; and before the first, with step 0 */
    void (*on_step)(void *user, const cornu_progress *progress); /* may be NULL */
    bool (*should_stop)(void *user);                             /* may be NULL */
    void *user;
    cornu_report *report; /* gets each sample, and is finished; NULL: none */
    /* The ranks evaluate together, with the same bits as one process; NULL: one process. Each
       rank runs every count-th batch, unless a callback needs all batches. */
    cornu_ranks *ranks;
} evaluation;
/* True if this rank evaluates batch `step`. */
bool evaluation_is_own(const evaluation *e, int64_t step);
/* Mean loss and metrics; CORNU_STOPPED when should_stop asked for it. Resets the device's sums. */
cornu_status session_evaluate(session *s, const evaluation *e, cornu_scores *scores);

/* Outputs of inputs, `batch` at a time; on_step and should_stop of the options are asked. */
cornu_status session_predict(session *s, const cornu_run_options *o, const float *inputs,
                             int64_t count, int64_t batch, float *outputs);

#endif
