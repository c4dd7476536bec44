/* Keras's SwapEMAWeights: validation, and with swap_on_epoch whatever happens at an epoch's end,
   sees the averages of an optimizer with use_ema as the model's weights. */
#include "train/callbacks.h"
#include <cornu/model.h>

typedef struct swap_ema_weights {
    bool swap_on_epoch;
    bool swapped; /* state: the model has the averages now */
} swap_ema_weights;

static const char *const keys[] = {"swap_on_epoch", NULL};

static cornu_status read(void *self, const doc *options)
{
    swap_ema_weights *s = self;
    return doc_read_bool(options, "swap_on_epoch", &s->swap_on_epoch);
}

static cornu_status on_fit_begin(void *self, fit_state *f)
{
    (void)self;
    if (f->model->optimizer.use_ema)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "swap_ema_weights: found an optimizer without averages of the weights; "
                       "expected one with use_ema");
}

/* Give the model the averages, or its own weights again. */
static cornu_status change(swap_ema_weights *s, fit_state *f, bool averages)
{
    if (s->swapped == averages)
        return CORNU_OK;
    s->swapped = averages;
    f->pulled = false;
    return cornu_model_swap_averages(f->model);
}

static cornu_status on_epoch_begin(void *self, fit_state *f)
{
    swap_ema_weights *s = self;
    return s->swap_on_epoch ? change(s, f, false) : CORNU_OK;
}

static cornu_status on_evaluation_begin(void *self, fit_state *f)
{
    return change(self, f, true);
}

static cornu_status on_evaluation_end(void *self, fit_state *f)
{
    return change(self, f, false);
}

/* After the run's last epoch the averages stay as the weights, which cornu_fit takes for both. */
static cornu_status on_epoch_end(void *self, fit_state *f)
{
    swap_ema_weights *s = self;
    if (!s->swap_on_epoch)
        return CORNU_OK;
    TRY(change(s, f, true));
    return f->epoch == f->model->training.position.epochs - 1 ? model_keep_as_averages(f->model)
                                                              : CORNU_OK;
}

static json_t *save(const void *self)
{
    const swap_ema_weights *s = self;
    return json_pack("{s:b}", "swapped", s->swapped);
}

static bool restore(void *self, const json_t *state)
{
    swap_ema_weights *s = self;
    const json_t *swapped = json_object_get(state, "swapped");
    s->swapped = json_is_true(swapped);
    return json_is_boolean(swapped);
}

const callback_kind callback_swap_ema_weights = {.size = sizeof(swap_ema_weights),
                                                 .keys = keys,
                                                 .read = read,
                                                 .on_fit_begin = on_fit_begin,
                                                 .on_epoch_begin = on_epoch_begin,
                                                 .on_evaluation_begin = on_evaluation_begin,
                                                 .on_evaluation_end = on_evaluation_end,
                                                 .on_epoch_end = on_epoch_end,
                                                 .save = save,
                                                 .restore = restore};
