/* The training state beside a model's numbers: the position in training and the state of callbacks.
   A model carries it and a model file (`exchange`) keeps it, so that training continues with the
   same bits. Only the room `train` interprets it. */
#ifndef MODEL_TRAINING_STATE_H
#define MODEL_TRAINING_STATE_H

#include "base/doc.h"

/* The position in training. */
typedef struct position {
    uint64_t seed;
    int64_t iterations;                   /* optimizer steps taken */
    int64_t epoch, step;                  /* the current epoch and the steps done in it */
    double totals[CORNU_METRICS_MAX + 1]; /* running sums of the current epoch: loss, metrics */
    int64_t samples;                      /* number of samples in these sums */
    double seconds;                       /* spent in the current epoch before it was interrupted */
    double learning_rate_factor;          /* by reduce_lr_on_plateau; starts at 1 */
    /* The units of the numbers above; a run that continues must have the same. 0: never trained. */
    int64_t batch, steps_per_epoch, train_samples;
    int64_t shards; /* micro-batches that each batch is divided into, which decide bits; 0 as 1 */
    bool wire_bf16; /* gradients are rounded to bfloat16 for the all-reduce */
    bool slots_divided; /* each rank has only its share of the optimizer's state; never in a file */
    int64_t epochs;     /* that the run was planned for */
} position;

/* Statistics of the training samples as they are scaled, by channel; for featurewise
   standardization. */
typedef struct feature_statistics {
    int channels; /* 0: unknown */
    float mean[4], std[4];
} feature_statistics;

typedef struct training_state {
    position position;
    feature_statistics features;
    /* The source of the last training samples, as a hint: a named set or NULL, and the absolute
       path of its folder, of a folder of images or of an .npz file, or NULL. */
    char *data_name, *data_path;
    /* How the kernels that trained the model divide their work, on a device that can be tuned
       (device_tuning.text); else NULL. */
    char *tuning;
    json_t *callback_state; /* state of the callbacks, kept across resume, or NULL */
    /* [weights] the weights that early_stopping would restore, or NULL. One allocation: the values
       follow the pointers, so that free(best_weights) releases everything. */
    float **best_weights;
} training_state;

/* The position of a model that was never trained. */
position position_start(uint64_t seed);
/* Free the memory that the state points to. */
void training_state_free(training_state *t);
/* Drop the callbacks' state. */
void training_state_forget_callbacks(training_state *t);
/* CORNU_UNSUPPORTED where this process does not have the whole of the optimizer's state. */
cornu_status training_state_check_slots(const training_state *t);
/* Remember the source of the training samples (copied; NULL: unknown). */
cornu_status training_state_set_data(training_state *t, const char *name, const char *path);

#endif
