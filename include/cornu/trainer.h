/* Training in detail: its position and the files that it writes, custom training loops, and checks
 * of the memory that a run needs. The conventions of cornu.h hold. */
#ifndef CORNU_TRAINER_H
#define CORNU_TRAINER_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Progress of writing a model file. cornu_fit_options.on_save is called before the file is
   written, when its temporary file exists, after every few MB, and when it is complete; also for
   files of the checkpoint callback. */
struct cornu_saving {
    const char *path;
    const char *temporary; /* the file in the same folder that is renamed to `path` when complete;
                              NULL before it exists and afterwards */
    int64_t done, total;   /* bytes */
    bool complete;         /* the file at `path` is the new one, and is on the disk */
};

/* The position of training. */
typedef struct cornu_position {
    size_t size;
    int64_t iterations; /* optimizer steps taken */
    int64_t epoch;      /* the current epoch, from 0; equal to `epochs` at the end */
    int64_t step;       /* steps done in this epoch */
    int64_t epochs;     /* epochs requested for the run; 0: never trained */
} cornu_position;
/* The model's current position; may be called within should_stop. */
CORNU_API cornu_status cornu_model_position(const cornu_model *model, cornu_position *position);

/* Check that cornu_fit accepts this data: its shapes, its classes by number or name, its
   targets. Otherwise returns CORNU_INVALID with cornu_fit's message. Changes nothing. */
CORNU_API cornu_status cornu_fit_check(const cornu_model *model, const cornu_data *data);

/* The state of the run's callbacks at its end, such as the best value so far, as a JSON list:
   [{"name": "checkpoint", "state": {...}}, ...], in the order of the fit section; lives as long
   as the history. NULL for NULL, and if there was no memory for it. As callback_state of
   cornu_fit_options it is where the callbacks of a later run with the same list begin; null in
   place of an entry lets that callback start afresh. With `resume` the state comes from the model
   file instead. */
CORNU_API const char *cornu_history_callbacks(const cornu_history *history);
/* Total seconds of cornu_fit: the epochs, and opening the device, plans and files. */
CORNU_API double cornu_history_seconds(const cornu_history *history);

/* ---- the caller's own loop --------------------------------------------------------------- */

/* Trains, tests and predicts batch by batch in the caller's own loop. While it is open, as
   within the callbacks of cornu_fit, the caller may read and write the model's weights, save it,
   evaluate it and predict with it; no other function may change or train it. */
typedef struct cornu_trainer cornu_trainer;
/* `where` may be NULL: the defaults. */
CORNU_API cornu_status cornu_trainer_open(cornu_model *model, const cornu_where *where,
                                          cornu_trainer **trainer);
/* Take one optimizer step on a batch, or only compute its loss. `scores` (may be NULL) are the
   means over all batches since the opening or the last reset, measured before each step's
   update. Pixels are scaled as in cornu_data_from_arrays. */
CORNU_API cornu_status cornu_trainer_train(cornu_trainer *trainer, const cornu_arrays *batch,
                                           cornu_scores *scores);
CORNU_API cornu_status cornu_trainer_test(cornu_trainer *trainer, const cornu_arrays *batch,
                                          cornu_scores *scores);
/* cornu_predict in one batch. */
CORNU_API cornu_status cornu_trainer_predict(cornu_trainer *trainer, const float *inputs,
                                             int64_t count, float *outputs);
/* Call this function after each batch that is trained or tested, for metrics of the caller's own:
   cornu_fit_options.on_outputs. NULL: none. */
CORNU_API void cornu_trainer_on_outputs(cornu_trainer *trainer,
                                        void (*on_outputs)(void *user,
                                                           const cornu_batch_outputs *batch),
                                        void *user);
CORNU_API cornu_status cornu_trainer_reset(cornu_trainer *trainer);
/* Copy weights and optimizer state into the model, which otherwise stays as it was at the opening.
 */
CORNU_API cornu_status cornu_trainer_pull(cornu_trainer *trainer);
CORNU_API void cornu_trainer_close(cornu_trainer *trainer);

/* ---- memory -------------------------------------------------------------------------------- */

/* Check that cornu_predict fits into memory with `count` samples at a time, together with the
   caller's inputs and outputs; otherwise CORNU_OUT_OF_MEMORY, whose message has the needed and
   the free memory. Allocates nothing; `options` as in cornu_predict. */
CORNU_API cornu_status cornu_predict_check(const cornu_model *model, int64_t count,
                                           const cornu_run_options *options);
/* cornu_predict_check for cornu_evaluate with a batch of 1, without its data: if this check
   fails, no batch size fits. (cornu_evaluate itself refuses a batch that is too large.) */
CORNU_API cornu_status cornu_evaluate_check(const cornu_model *model,
                                            const cornu_run_options *options);
/* The same for `bytes` that the caller needs; the message calls them `what`. */
CORNU_API cornu_status cornu_memory_check(const char *what, int64_t bytes);
/* Estimate the host memory, in bytes, that cornu_fit needs in addition to the data: weights,
   optimizer slots, buffers, and as much as the buffers again for the kernels' scratch memory.
   Uses only the options of the device, the batch and `recompute`; NULL: the defaults. */
CORNU_API cornu_status cornu_fit_memory(const cornu_model *model, const cornu_fit_options *options,
                                        int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
