/* Optimizers and learning-rate schedules: Keras's. */
#ifndef MODEL_OPTIMIZERS_H
#define MODEL_OPTIMIZERS_H

#include "base/doc.h"

typedef enum optimizer_id {
#define OPTIMIZER(id, ...) OPTIMIZER_##id,
#include "model/optimizers.def"
    OPTIMIZER_COUNT
} optimizer_id;

#define OPTIMIZER_SLOTS_MAX 3

typedef enum schedule_id {
#define SCHEDULE(id, class_name, name) SCHEDULE_##id,
#include "model/schedules.def"
#undef SCHEDULE
    SCHEDULE_COUNT
} schedule_id;

#define SCHEDULE_BOUNDARIES_MAX 32
typedef struct schedule {
    schedule_id id;
    double initial;                 /* constant: the learning rate itself */
    double decay_steps, decay_rate; /* exponential, inverse_time: rate^, or 1 / (1 + rate *), the
                                       quotient step / decay_steps */
    bool staircase;
    double alpha;                       /* cosine: fraction of initial at the end */
    double warmup_steps, warmup_target; /* cosine; warmup_target < 0: none */
    int boundary_count;                 /* step: values[i] up to boundaries[i] (inclusive) */
    double boundaries[SCHEDULE_BOUNDARIES_MAX], values[SCHEDULE_BOUNDARIES_MAX + 1];
} schedule;

typedef struct optimizer {
    optimizer_id id;
    schedule learning_rate;
#define OPTIMIZER_VALUE(type, name) type name;
#include "model/optimizers.def"
    double clipnorm, global_clipnorm; /* 0: none; per variable, over all */
    double clipvalue;                 /* 0: none */
} optimizer;

typedef struct optimizer_slot {
    const char *name; /* Keras's: "momentum", "velocity" */
    bool needed;      /* in this configuration; SGD without momentum needs none */
    double initial;   /* start value of all elements */
    int turn; /* Keras's files hold the slots of turn 0 of all weights, then those of turn 1 */
} optimizer_slot;

/* The slots of the optimizer's row, in its order; returns how many. */
int optimizer_slots(const optimizer *o, optimizer_slot slots[OPTIMIZER_SLOTS_MAX]);
const char *optimizer_name(const optimizer *o); /* Keras's: "adam" */
/* Must whole gradients be known before anything is updated? */
bool optimizer_clips_by_norm(const optimizer *o);
/* The learning rate of the optimizer step `iteration` (from 0). */
double schedule_at(const schedule *s, int64_t iteration);
/* "adam", {class_name: Adam, config: {...}} as Keras writes it, or {adam: {learning_rate: 0.01}}.
 */
cornu_status optimizer_read(const doc *d, optimizer *out);
json_t *optimizer_to_json(const optimizer *o);
/* The rows with their options: a list for cornu_tables. */
json_t *optimizer_table(void);

#endif
