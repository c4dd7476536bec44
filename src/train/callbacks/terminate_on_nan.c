/* Keras's TerminateOnNaN: a loss that is no finite number ends the run at that step. */
#include "train/callbacks.h"
#include <math.h>

static const char *const keys[] = {NULL};

static cornu_status on_step_end(void *self, fit_state *f)
{
    (void)self;
    if (isfinite(f->step_loss))
        return CORNU_OK;
    return status_fail(CORNU_NOT_A_NUMBER,
                       "epoch %jd, step %jd: found loss %g; expected a finite number "
                       "(terminate_on_nan)",
                       (intmax_t)(f->epoch + 1), (intmax_t)f->model->training.position.step,
                       f->step_loss);
}

const callback_kind callback_terminate_on_nan = {
    .size = 1, .keys = keys, .every_step = true, .on_step_end = on_step_end};
