/* How long each operation of a step takes, by the device's own clock. */
#ifndef TRAIN_OP_TIMES_H
#define TRAIN_OP_TIMES_H

#include "train/session.h"

typedef struct op_times_options {
    double seconds;                  /* for so long */
    int repeats_least;               /* even where they take five times as long */
    void (*between)(void *user);     /* before each; may be NULL */
    bool (*should_stop)(void *user); /* may be NULL; then CORNU_STOPPED */
    void *user;
} op_times_options;

enum { OP_TIMES_REPEATS = 30 }; /* at most */

/* Medians, without launch gaps: seconds[op_count], 0 for what runs within another's kernel; *gaps:
   seconds of the step that are launch gaps. Trains the model on the device by `input`. */
cornu_status op_times_measure(session *s, const session_plan *ready, const step_input *input,
                              const op_times_options *options, double *seconds, double *gaps);
/* Steps of a run that are taken with a clock around each operation, and are else as all others. */
typedef struct op_profile {
    int64_t first, last;       /* optimizer steps, from 0 */
    const session_plan *ready; /* of the first of them; what has another plan is not timed */
    double *seconds;           /* [steps][op_count] */
    int steps;                 /* that were timed, at most OP_TIMES_REPEATS */
    int64_t at;                /* the last of them */
} op_profile;
/* Is the step at hand, of this plan, one of them? `p` may be NULL. */
bool op_profile_wants(const op_profile *p, const session *s, const session_plan *ready);
/* In place of session_step. */
cornu_status op_profile_step(op_profile *p, session *s, session_plan *ready,
                             const sample_block *samples, const int64_t *index);
/* Medians of those that were timed, one at least, as op_times_measure's. */
cornu_status op_profile_times(const op_profile *p, session *s, double *seconds);
void op_profile_free(op_profile *p);

#endif
