/* One call of cornu_fit, as the files fit*.c share it: fit.c reads the options, opens data,
   callbacks and session, and hands the run to fit_loop.c. */
#ifndef TRAIN_FIT_RUN_H
#define TRAIN_FIT_RUN_H

#include "report/csv.h"
#include "train/callbacks.h"
#include "train/classes.h"
#include "train/evaluate.h"
#include "train/fit_spec.h"
#include "train/forecast.h"
#include "train/shards.h"

/* Up to where a run has been measured. */
typedef struct fit_marks {
    double at;     /* of the clock; 0: nothing yet */
    double looked; /* the same, when it was last looked who else is at work */
    int64_t step;
    double validated;     /* seconds of `at` up to now that were a validation's */
    bool decodes;         /* at the last mark pictures were being decoded that will be kept */
    double cpu, decoding; /* seconds: of the process; of its workers that decode */
    double waited;        /* seconds for pictures */
    int64_t files;        /* that are decoded by now */
    double first_at;      /* of the clock, at the first mark, */
    int64_t first_files;  /* and what was decoded then */
} fit_marks;

typedef struct fit_run {
    const cornu_fit_options *options;
    cornu_model *model;
    doc *section;   /* options->section, or NULL */
    fit_spec spec;  /* options over recipe over defaults */
    bool wire_bf16; /* their gradients are rounded */
    callbacks *callbacks;
    fit_state state; /* with session, shards and data */

    sample_block train;    /* without the validation split */
    class_numbers classes; /* of the training samples */
    class_weights class_weights;
    feed feed;                     /* of it */
    bool uploaded;                 /* the device has a copy */
    bool validates, validates_now; /* at all; after this epoch */
    evaluation validation;
    /* Training goes through the data in passes of `per_pass` batches, each in an order of its own;
       an epoch is the next `steps` batches. Without steps_per_epoch an epoch is a pass. While it is
       not known which files can be read, which ends with the first pass, per_pass is the most. Of a
       stream an epoch may be STEPS_UNKNOWN: then steps_shown, that of the one before, is told. */
    int64_t batch, per_pass, steps, steps_shown, epochs;
    int64_t pass;   /* that the feed is in; -1: none yet */
    int64_t *later; /* of several ranks: the validation samples that are this one's, or NULL */

    /* Within an epoch. A resumed epoch reads each step's sums and adds them to the saved ones in
       the order in which the device would have: sums, too, get the same bits. */
    bool each_step, carry;
    double began, shown, learning_rate, gathered;
    int64_t resumed_step;   /* what an earlier run did of it, */
    double resumed_seconds; /* in that time */
    cornu_scores scores, validation_scores;

    forecast forecast;
    fit_marks marks; /* what it has been told up to */

    cornu_history *history;
    csv *log;
    char val_names[MODEL_METRICS_MAX + 1][96];
    bool nan_noticed, saved;
    int64_t saved_epoch; /* whole epochs in the file that was saved last */
    bool stepped;        /* at least once */
    shards_vote agreed;  /* by all ranks, on the current step */
} fit_run;

/* ---- fit_settings.c ---- */

/* run->spec becomes what the run does: the options over what was read of the recipe, or what a
   resumed run began with. */
cornu_status fit_settle(fit_run *run);
/* "WHAT 4 in the model file and 8 asked for" */
cornu_status fit_fail_resume(const char *what, uint64_t saved, uint64_t asked);
/* Restore the callbacks' state, in a run that goes on. Callbacks of a caller's own section, such as
   Python's, are in no recipe: without a section again a notice says that they do not run. */
cornu_status fit_restore_callbacks(fit_run *run);

/* ---- fit_data.c ---- */

/* The samples of training and validation, and the batches and epochs of the run. */
cornu_status fit_open_data(fit_run *run);
/* CORNU_BAD_FILE where no sample is left of those that can be read. */
cornu_status fit_check_samples(const fit_run *run, int64_t samples);

/* ---- fit_ranks.c ---- */

/* Find out what must be known, before a run begins, of samples that may still be decoded; with
   ranks: have all of them the same files? */
cornu_status fit_open_files(fit_run *run);
/* With ranks: wait for, and decode, what this one's shards and its share of a validation need. */
cornu_status fit_open_share(fit_run *run);
void fit_close_share(fit_run *run);
/* With ranks: do all of them the same? */
cornu_status fit_check_ranks(fit_run *run);

/* ---- fit.c ---- */

/* The plan of a training step, or of its largest shard, which is there by then. */
cornu_status fit_train_plan(const fit_run *run, session_plan **out);

/* ---- fit_loop.c ---- */

/* Train from the model's position to the last epoch. CORNU_STOPPED with the state complete. */
cornu_status fit_loop(fit_run *run);
/* Upload the samples to the device, where it takes them, as soon as they all lie in memory. */
cornu_status fit_upload(fit_run *run);
/* The header of the --log file, and its rows up to the model's position. */
cornu_status fit_log_open(fit_run *run);

/* ---- fit_forecast.c ---- */

/* Tell the forecast: the plans are ready; the first step of an epoch is next; so many of its
   steps have been done (the device has been waited for); a validation took so long. */
void fit_forecast_open(fit_run *run);
void fit_forecast_begin(fit_run *run);
void fit_forecast_steps(fit_run *run);
void fit_forecast_validated(fit_run *run, double seconds);
/* Write into `progress` what is left: some steps of the current epoch, or (ended) none of it. */
void fit_forecast_tell(const fit_run *run, bool ended, cornu_progress *progress);

#endif
