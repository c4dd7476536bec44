/* The numbers of a model that outlive a step: its variables, and where its training stands (the
   position, the state of callbacks). A model carries both and a model file (`exchange`) keeps them,
   so that training continues with the same bits. Only the room `train` interprets the latter. */
#ifndef MODEL_STATE_H
#define MODEL_STATE_H

#include "base/doc.h"
#include "model/constraints.h"
#include "model/initializers.h"
#include "model/regularizers.h"

/* ---- variables -------------------------------------------------------------------------- */

/* An array of numbers that lives from step to step: a weight, a moving mean, an optimizer's slot.
   This is the host's copy; while a session trains, the device's copy is the valid one. */
typedef struct variable {
    char *name;       /* "conv2d/kernel"; slots: "optimizer/SLOT/conv2d/kernel" */
    shape shape;      /* Keras's */
    shape plan_shape; /* the same numbers in a plan */
    int64_t count;
    float *value;   /* [count] */
    bool statistic; /* its layer computes it, such as a moving mean; it is never trained */
    bool trainable; /* no statistic, of a layer that is trainable now */
    bool trained;   /* was trainable when the model was compiled: has a gradient and slots */
    bool is_slot;
    int of;   /* slots: the variable that it belongs to; else -1 */
    int slot; /* slots: its number in the optimizer's row */
    initializer initializer;
    regularizer regularizer; /* counts while the variable is trained, as does: */
    constraint constraint;
    int64_t ones_at, ones; /* from `ones_at` on, so many numbers start as 1 */
    char *part;            /* the object of Keras's layer that has it, "cell"; NULL: the layer */
} variable;

/* Access to the weights that a device is training. */
typedef struct live_weights {
    /* Copy the device's variables begin..end-1 into the model; copy variable `index` of the model
       to the device. */
    cornu_status (*pull)(void *context, int begin, int end);
    cornu_status (*push)(void *context, int index);
    /* Variable `index` of the device, its `count` floats, past the model. */
    cornu_status (*read)(void *context, int index, float *values, int64_t count);
    void *context; /* a session */
} live_weights;

/* CORNU_INVALID where a device trains the model, so that only single weights may be written. */
cornu_status model_check_free(const cornu_model *m);
/* Free the variables from number `count` on; the optimizer's slots. */
void model_truncate_variables(cornu_model *m, int count);
void model_drop_slots(cornu_model *m);
/* Add a variable; takes `name` and its `part`, also on failure. */
cornu_status model_add_variable(cornu_model *m, char *name, const variable *like);
/* Allocate all weights and draw them from `seed` (each variable by its own key). Slots get their
   start values, and training begins anew. Existing weights are replaced. */
cornu_status model_initialize(cornu_model *m, uint64_t seed);
/* Draw the weights if there are none, from the seed of the model's position, else 1. */
cornu_status model_start_weights(cornu_model *m);
/* Allocate the variables' values (zeroed) that are not allocated yet. */
cornu_status model_allocate(cornu_model *m);
/* Allocate, and give the optimizer's new slots their start values. */
cornu_status model_start_slots(cornu_model *m);
/* Room for m->training.best_weights, where there is none yet. */
cornu_status model_start_best_weights(cornu_model *m);
/* The optimizer's variables of weights that are trainable now, in the order of Keras's files, into
   `order` (room for all, or NULL); returns how many. 0 where it has none for some of them. */
int model_slot_order(const cornu_model *m, int *order);
/* The one after number `before` (-1: the first); -1: none. */
int model_next_slot(const cornu_model *m, int before);
/* The variable that is this slot of a weight; -1: none. */
int model_slot(const cornu_model *m, int weight, int slot);
/* Does Muon's own step update the weight, not AdamW's (muon.c)? */
bool model_has_matrix_step(const cornu_model *m, int weight);
/* Does the optimizer keep this slot of the weight, when it is trained? */
struct optimizer_slot;
bool model_needs_slot(const cornu_model *m, int weight, const struct optimizer_slot *slot);
/* The averages of trained weights become the weights themselves. */
cornu_status model_keep_as_averages(cornu_model *m);
variable *model_variable(const cornu_model *m, const char *name); /* NULL where there is none */

/* ---- training --------------------------------------------------------------------------- */

/* The position in training. */
typedef struct position {
    uint64_t seed;
    int64_t iterations;                       /* optimizer steps taken */
    int64_t epoch, step;                      /* the current epoch and the steps done in it */
    double totals[CORNU_ALL_METRICS_MAX + 1]; /* running sums of the current epoch: loss, metrics */
    int64_t samples;                          /* number of samples in these sums */
    double seconds;              /* spent in the current epoch before it was interrupted */
    double learning_rate_factor; /* by reduce_lr_on_plateau; starts at 1 */
    /* The units of the numbers above; a run that continues must have the same. 0: never trained. */
    int64_t batch, steps_per_epoch, train_samples;
    int64_t shards; /* micro-batches that each batch is divided into, which decide bits; 0 as 1 */
    bool gradients_bf16;   /* gradients are rounded to bfloat16 for the all-reduce */
    bool slots_incomplete; /* some of the optimizer's state is elsewhere; never in a file */
    int64_t epochs;        /* that the run was planned for */
} position;

/* Statistics of the training samples as they are scaled, by channel; for featurewise
   standardization. */
typedef struct feature_statistics {
    int channels; /* 0: unknown */
    float mean[4], std[4];
} feature_statistics;

typedef struct training_state {
    position position;
    double *tables; /* running sums of the current epoch: the tables of metrics */
    int table_count;
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
/* Room for so many numbers of tables, all 0; and make them 0 again. */
cornu_status training_state_start_tables(training_state *t, int count);
void training_state_clear_tables(training_state *t);
/* Drop the callbacks' state. */
void training_state_forget_callbacks(training_state *t);
/* CORNU_UNSUPPORTED where this process does not have the whole of the optimizer's state. */
cornu_status training_state_check_slots(const training_state *t);
/* Remember the source of the training samples (copied; NULL: unknown). */
cornu_status training_state_set_data(training_state *t, const char *name, const char *path);

#endif
