/* A model on a device: its prepared plans and the inputs of the next step. Shared by fit,
   evaluate, predict, explain and the benchmark. */
#ifndef TRAIN_SESSION_H
#define TRAIN_SESSION_H

#include "data/data.h"
#include "device/device.h"
#include "parallel/distribution.h"

typedef struct session session;

typedef struct session_options {
    cornu_where where;
    augmentation augment;
    const char *tuning; /* device_options.tuning */
    bool recompute;     /* plan_options.recompute */
    cornu_draws draws;  /* of predictions, by `seed` and `draw` */
    uint64_t seed;
    int64_t draw;
} session_options;

/* A plan with its device's side. Belongs to the session. */
typedef struct session_plan {
    plan *plan;
    prepared *prepared;
} session_plan;

/* Open the device and bind the model's variables (drawn from position.seed first if the model is
   not initialized). */
cornu_status session_open(cornu_model *model, const session_options *options, session **out);
void session_close(session *s);
/* From now on the session owns the model's weights: the public functions read and write them
   there (live_weights). session_close ends this. */
void session_own_weights(session *s);
/* Check that a model can be trained. CORNU_INVALID if another session owns its weights,
   CORNU_UNSUPPORTED if its optimizer's state is incomplete. */
cornu_status session_check_free(const cornu_model *model);
device *session_device(const session *s);
device_id session_device_id(const session *s);
/* The device's tuning; .text is "" if it has none. */
cornu_status session_tuning(const session *s, device_tuning *out);
cornu_model *session_model(const session *s);
/* The plan for a mode, a batch size and weights of the samples: built and prepared at the
   first call, then the same. */
cornu_status session_plan_for(session *s, plan_mode mode, int64_t batch, weighting weighted,
                              session_plan **out);
/* The same for a part of a training step; `batch` is 0 for SCOPE_UPDATES. */
cornu_status session_plan_scope(session *s, plan_scope scope, int64_t batch, weighting weighted,
                                session_plan **out);
/* Training plans that are built from now on are rewritten by `distribute`; NULL: they are not. The
   session does not copy it. */
void session_distribute(session *s, distribution *d);
/* One step of `plan` on samples[index[0..plan batch-1]]; in PLAN_TRAIN advances
   model->training.position.iterations and uses its learning rate (schedule times
   learning_rate_factor). */
cornu_status session_step(session *s, session_plan *plan, const sample_block *samples,
                          const int64_t *index);
/* The same, timing each operation: seconds[op_count], 0 for an operation that runs within
   another's kernel. */
cornu_status session_time_step(session *s, session_plan *plan, const sample_block *samples,
                               const int64_t *index, double *seconds);
/* The same for a part of a step, without advancing the position; `first` is the index of its
   first sample in the step's batch. No samples (NULL) for SCOPE_UPDATES. */
cornu_status session_run(session *s, session_plan *plan, const sample_block *samples,
                         const int64_t *index, int64_t first);
/* A training step is done: the next optimizer step is another one. */
void session_advance(session *s);
/* The learning rate of an optimizer step (from 0): its schedule times learning_rate_factor. */
double learning_rate_at(const cornu_model *model, int64_t iteration);
/* The learning rate of the next step. */
double session_learning_rate(const cornu_model *model);
/* Key augmentation by this pass over the data from now on, not by the model's epoch. */
void session_set_pass(session *s, int64_t pass);
/* Metrics of the caller's own get the outputs of each batch of training and evaluation by this
   function, which may be NULL. Returns what was set before. */
typedef struct called_metrics {
    void (*on_outputs)(void *user, const cornu_batch_outputs *batch);
    void *user;
} called_metrics;
called_metrics session_call_metrics(session *s, called_metrics by);
cornu_status session_results(session *s, step_results *out, bool reset);
/* The pass over which these metrics are goes on after results that were reset. */
void session_continue_metrics(session *s);
/* Copy the device's variables begin..end-1 back into the model. */
cornu_status session_pull(session *s, int begin, int end);
cornu_status session_read_variable(session *s, int number, float *values, int64_t count);
/* Give the plans and their memory up; new ones are built when they are asked for. */
void session_release_plans(session *s);
/* Memory that a plan takes, in bytes, computed before anything is allocated: variables (weights
   and, in training, slots) and buffers on the device of `options` (NULL: "cpu"), and on the host
   the model's own copy of the weights. Scratch memory of kernels is not included. */
typedef struct memory_need {
    int64_t variables, buffers, copy;
} memory_need;
cornu_status session_memory(const cornu_model *model, const session_options *options,
                            plan_mode mode, int64_t batch, memory_need *need);

#endif
