/* The learning rate of each epoch by one of the optimizers' schedules, counted in epochs in place
   of steps: {step: {boundaries: [10], values: [0.1, 0.01]}}. */
#include "model/compile.h"
#include "train/callbacks.h"

typedef struct epoch_schedule {
    schedule schedule;
} epoch_schedule;

static const char *const keys[] = {
#define SCHEDULE(id, class_name, name) #name,
#include "model/optimizers.def"
    "schedule", NULL};

/* The options are the schedule itself, or {schedule: SCHEDULE}. */
static cornu_status read(void *self, const doc *options)
{
    epoch_schedule *e = self;
    const doc *inner = doc_get(options, "schedule");
    if (!options || options->count != 1)
        return doc_fail(options, "learning_rate_schedule: expected one schedule, such as "
                                 "{step: {boundaries: [10], values: [0.1, 0.01]}}");
    return schedule_read(inner ? inner : options, &e->schedule);
}

static cornu_status on_fit_begin(void *self, fit_state *f)
{
    (void)self;
    const schedule *own = &f->model->optimizer.learning_rate;
    if (own->id != SCHEDULE_CONSTANT)
        return status_fail(CORNU_INVALID,
                           "learning_rate_schedule: found an optimizer with a schedule of its own; "
                           "expected one with a constant learning_rate");
    if (!(own->initial > 0))
        return status_fail(CORNU_INVALID,
                           "learning_rate_schedule: found an optimizer with learning_rate %g; "
                           "expected more than 0",
                           own->initial);
    return CORNU_OK;
}

static cornu_status on_epoch_begin(void *self, fit_state *f)
{
    const epoch_schedule *e = self;
    f->model->training.position.learning_rate_factor =
        schedule_at(&e->schedule, f->epoch) / f->model->optimizer.learning_rate.initial;
    return CORNU_OK;
}

const callback_kind callback_learning_rate_schedule = {.size = sizeof(epoch_schedule),
                                                       .keys = keys,
                                                       .read = read,
                                                       .on_fit_begin = on_fit_begin,
                                                       .on_epoch_begin = on_epoch_begin};
