/* What training leaves in a model beside its numbers: where it stands and what it remembers. A
   model carries it and a model file (`exchange`) keeps it, so that training goes on with the same
   bits; only the room `train` gives it a meaning. */
#ifndef MODEL_TRAINING_STATE_H
#define MODEL_TRAINING_STATE_H

#include "base/doc.h"

/* Where training stands. */
typedef struct position {
    uint64_t seed;
    int64_t iterations;                   /* optimizer steps taken */
    int64_t epoch, step;                  /* the epoch at hand and the steps done in it */
    double totals[CORNU_METRICS_MAX + 1]; /* running sums of the epoch at hand: loss, metrics */
    int64_t samples;                      /* counted in them */
    double seconds;                       /* spent in the epoch at hand when it was stopped */
    double learning_rate_factor;          /* by reduce_lr_on_plateau; starts at 1 */
    /* What the numbers above count; a run that goes on must have the same. 0: never trained. */
    int64_t batch, steps_per_epoch, train_samples;
    int64_t shards;     /* that each batch is divided into, which decides bits; 0 as 1 */
    bool wire_bf16;     /* their gradients are rounded to bfloat16 where they are added */
    bool slots_divided; /* of the optimizer's state each rank has parts alone; in no file */
    int64_t epochs;     /* that the run was to have */
} position;

/* Of the training samples as they are scaled, by channel; for featurewise standardization. */
typedef struct feature_statistics {
    int channels; /* 0: not known */
    float mean[4], std[4];
} feature_statistics;

typedef struct training_state {
    position position;
    feature_statistics features;
    /* Where the samples of the last training came from, as a hint: a named set or NULL, and the
       absolute path of its folder, of a folder of images or of an .npz file, or NULL. */
    char *data_name, *data_path;
    /* How the kernels that trained it divide their work, of a device that can be tuned
       (device_tuning.text); else NULL. */
    char *tuning;
    json_t *callback_state; /* what callbacks remember across resume, or NULL */
    /* [weights] those that early_stopping would go back to, or NULL. One allocation: the values of
       all weights lie behind the pointers, so that free(best_weights) releases everything. */
    float **best_weights;
} training_state;

/* Where a model stands that was not trained yet. */
position position_start(uint64_t seed);
/* Release what the state points to. */
void training_state_free(training_state *t);
/* Forget what callbacks remember. */
void training_state_forget_callbacks(training_state *t);
/* CORNU_UNSUPPORTED where the optimizer's state is not here as a whole. */
cornu_status training_state_check_slots(const training_state *t);
/* Remember where the training samples came from (copied; NULL: not known). */
cornu_status training_state_set_data(training_state *t, const char *name, const char *path);

#endif
