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
/* Does it run within another operation's kernel ("with 12")? */
bool op_is_fused(const kernel_choice *c);

#endif
