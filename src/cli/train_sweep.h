/* A sweep while it runs: train_sweep.c begins and ends it, train_sweep_run.c has its runs. */
#ifndef CLI_TRAIN_SWEEP_H
#define CLI_TRAIN_SWEEP_H

#include "cli/train.h"
#include "cli/trials.h"

typedef struct sweep {
    progress progress; /* first member: the data's callbacks see only it */
    const train_options *options;
    const option *table; /* table of these options */
    trials *trials;
    trial_result *results; /* [trials->count]; this rank's own, and in the end all */
    trial_job *jobs;       /* [at_once] */
    cornu_ranks *ranks;    /* NULL: one process */
    int at_once;
    bool began;                 /* all ranks have come as far as their runs */
    int64_t threads;            /* threads of each run */
    bool keeps_pixels;          /* they come from files, and stay in memory */
    char temporary[TRIAL_PATH]; /* folder of tables of epochs; "": the folder of the model files */
} sweep;

/* The command that trains a run by itself; `resumed`: the command that continues it. */
void sweep_tell_trial(const sweep *s, int trial, bool resumed, words *w);
/* All runs of this rank, until they have ended. */
void sweep_run(sweep *s);

#endif
