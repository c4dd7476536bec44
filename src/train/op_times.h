/* How long each operation of a step takes, by the device's own clock. */
#ifndef TRAIN_OP_TIMES_H
#define TRAIN_OP_TIMES_H

#include "train/session.h"

typedef struct op_times_options {
    double seconds;                  /* maximum duration */
    int repeats_least;               /* even if they take five times as long */
    void (*between)(void *user);     /* called before each run; may be NULL */
    bool (*should_stop)(void *user); /* may be NULL; then CORNU_STOPPED */
    void *user;
} op_times_options;

enum { OP_TIMES_REPEATS = 30 }; /* at most */

/* Measure medians without launch gaps: seconds[op_count], 0 for an operation that runs within
   another's kernel; *gaps: seconds of launch gaps in the step. Trains the model on the device
   with `input`. */
cornu_status op_times_measure(session *s, const session_plan *ready, const step_input *input,
                              const op_times_options *options, double *seconds, double *gaps);
/* Steps of a run in which each operation is timed; they are otherwise like the other steps. */
typedef struct op_profile {
    int64_t first, last; /* optimizer steps, from 0 */
    const session_plan
        *ready;      /* plan of the first of these steps; steps with another plan are not timed */
    double *seconds; /* [steps][op_count] */
    int steps;       /* timed steps, at most OP_TIMES_REPEATS */
    int64_t at;      /* the last of them */
} op_profile;
/* True if the current step, with this plan, is one of the profiled steps. `p` may be NULL. */
bool op_profile_wants(const op_profile *p, const session *s, const session_plan *ready);
/* Use instead of session_step. */
cornu_status op_profile_step(op_profile *p, session *s, session_plan *ready,
                             const sample_block *samples, const int64_t *index);
/* Medians of those that were timed, one at least, as op_times_measure's. */
cornu_status op_profile_times(const op_profile *p, session *s, double *seconds);
void op_profile_free(op_profile *p);

/* One batch of generated samples that fits a model: for measuring its step. */

typedef struct generated_batch {
    cornu_data *data;
    sample_block samples; /* as the model gets them */
    int64_t *index;       /* 0, 1, ... */
} generated_batch;

/* Close it even if this fails. */
cornu_status generated_batch_open(const cornu_model *model, int64_t batch, generated_batch *out);
void generated_batch_close(generated_batch *b);
/* The next step's, at the model's learning rate. */
step_input generated_batch_input(const cornu_model *model, const generated_batch *b);

#endif
