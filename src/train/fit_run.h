/* The state of one call of cornu_fit, shared by the files fit*.c: fit.c reads the options, opens
   data, callbacks and session, and passes the run to fit_loop.c. */
#ifndef TRAIN_FIT_RUN_H
#define TRAIN_FIT_RUN_H

#include "report/csv.h"
#include "train/callbacks.h"
#include "train/classes.h"
#include "train/evaluate.h"
#include "train/fit_spec.h"
#include "train/forecast.h"
#include "train/shards.h"

/* The point up to which a run has been measured. */
typedef struct fit_marks {
    double at;     /* time; 0: nothing measured yet */
    double looked; /* time of the last check for other busy programs */
    int64_t step;
    double validated;     /* seconds of validation since `at` */
    bool decodes;         /* at the last mark, workers were decoding pictures into the cache */
    double cpu, decoding; /* seconds: of the process; of its workers that decode */
    double waited;        /* seconds for pictures */
    int64_t files;        /* decoded so far */
    double first_at;      /* time of the first mark */
    int64_t first_files;  /* files decoded at the first mark */
} fit_marks;

typedef struct fit_run {
    const cornu_fit_options *options;
    doc *section;        /* options->section, or NULL */
    fit_spec spec;       /* options over recipe over defaults */
    bool gradients_bf16; /* their gradients are rounded */
    fit_state state;     /* model, data, session, callbacks */

    sample_block train;    /* without the validation split */
    class_numbers classes; /* class numbers of the training samples */
    class_weights class_weights;
    input_pipeline input;          /* input pipeline of `train` */
    bool uploaded;                 /* the device has a copy */
    bool validates, validates_now; /* in this run; after this epoch */
    evaluation validation;
    /* Training goes through the data in passes of `per_pass` batches, each in a different order;
       an epoch is the next `steps` batches. Without steps_per_epoch an epoch is a pass. During
       the first pass it is not known which files are readable, and per_pass is the maximum. For
       a stream `steps` may be STEPS_UNKNOWN: then progress shows steps_shown, the number of the
       previous epoch. */
    int64_t batch, per_pass, steps, steps_shown, epochs;
    int64_t pass;   /* current pass of the input pipeline; -1: none yet */
    int64_t *later; /* with several ranks: this rank's validation samples, or NULL */

    /* Within an epoch. A resumed epoch reads each step's sums and adds them to the saved ones in
       the order in which the device would have: sums, too, get the same bits. */
    bool each_step, carry;
    double began, shown, learning_rate, gathered;
    int64_t resumed_step;   /* steps of this epoch done by an earlier run */
    double resumed_seconds; /* in that time */
    cornu_scores scores, validation_scores;

    forecast forecast;
    fit_marks marks; /* measurements passed to the forecast so far */

    cornu_history *history;
    csv *log;
    char val_names[MODEL_METRICS_MAX + 1][sizeof "val_" + METRIC_SHOWN_SIZE];
    bool nan_noticed, saved;
    int64_t saved_epoch; /* whole epochs in the file that was saved last */
    bool stepped;        /* at least once */
    shards_vote agreed;  /* agreed by all ranks for the current step */
} fit_run;

/* The weights of the training samples: their own, or their classes'. */
static inline weighting fit_weighting(const fit_run *run)
{
    return run->class_weights.of ? WEIGHTS_OF_SAMPLES : samples_weighting(&run->train);
}

/* ---- fit_spec.c ---- */

/* Set run->spec to the values in force: the options override the recipe; a resumed run keeps the
   values that it began with. */
cornu_status fit_settle(fit_run *run);
/* "WHAT 4 in the model file and 8 asked for" */
cornu_status fit_fail_resume(const char *what, uint64_t saved, uint64_t asked);
/* Restore the callbacks' state in a resumed run. Callbacks of a caller's section, such as
   Python's, are not in the recipe: if the resumed run has no section, a notice says that they do
   not run. */
cornu_status fit_restore_callbacks(fit_run *run);

/* ---- fit_data.c ---- */

/* The samples of training and validation, and the batches and epochs of the run. */
cornu_status fit_open_data(fit_run *run);
/* CORNU_BAD_FILE if no readable sample is left. */
cornu_status fit_check_samples(const fit_run *run, int64_t samples);

/* Before a run begins, find out what is needed about samples that may still be decoded; with
   ranks, check that all have the same files. */
cornu_status fit_open_files(fit_run *run);
/* With ranks: wait for, and decode, the samples of this rank's shards and of its share of a
   validation. */
cornu_status fit_open_share(fit_run *run);
void fit_close_share(fit_run *run);
/* With ranks: check that all have the same run. */
cornu_status fit_check_ranks(fit_run *run);

/* ---- fit_loop.c ---- */

/* Train from the model's position to the last epoch. CORNU_STOPPED with the state complete. */
cornu_status fit_loop(fit_run *run);
/* Upload the samples to the device, if it can hold them, as soon as all are in memory. */
cornu_status fit_upload(fit_run *run);
/* The header of the --log file, and its rows up to the model's position. */
cornu_status fit_log_open(fit_run *run);

/* ---- forecast.c ---- */

/* Events for the forecast: the plans are ready; the first step of an epoch is next; steps of the
   epoch are done (call after waiting for the device); a validation took `seconds`. */
void fit_forecast_open(fit_run *run);
void fit_forecast_begin(fit_run *run);
void fit_forecast_steps(fit_run *run);
void fit_forecast_validated(fit_run *run, double seconds);
/* Write into `progress` what is left: some steps of the current epoch, or (ended) none of it. */
void fit_forecast_tell(const fit_run *run, bool ended, cornu_progress *progress);

#endif
