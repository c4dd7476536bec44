/* A training loop of the caller's own, and what it will need of the memory. The conventions are
 * those of cornu.h. */
#ifndef CORNU_TRAINER_H
#define CORNU_TRAINER_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model that is trained, tested and asked batch by batch, by a loop of the caller's own. While it
   is open, as within the callbacks of cornu_fit, the model's weights can be read and written, the
   model saved, evaluated and asked for predictions; no other function may change or train it. */
typedef struct cornu_trainer cornu_trainer;
/* Of the options only those of the device count. */
CORNU_API cornu_status cornu_trainer_open(cornu_model *model, const cornu_run_options *options,
                                          cornu_trainer **trainer);
/* One optimizer step on a batch, or its loss alone; `scores` (may be NULL) are the means over all
   batches since the opening or the last reset, before each step's update. Pixels are scaled as in
   cornu_data_from_arrays. */
CORNU_API cornu_status cornu_trainer_train(cornu_trainer *trainer, const cornu_arrays *batch,
                                           cornu_scores *scores);
CORNU_API cornu_status cornu_trainer_test(cornu_trainer *trainer, const cornu_arrays *batch,
                                          cornu_scores *scores);
/* As cornu_predict, in one batch. */
CORNU_API cornu_status cornu_trainer_predict(cornu_trainer *trainer, const float *inputs,
                                             int64_t count, float *outputs);
CORNU_API cornu_status cornu_trainer_reset(cornu_trainer *trainer);
/* Copy weights and optimizer state into the model, which otherwise stays as it was at the opening.
 */
CORNU_API cornu_status cornu_trainer_pull(cornu_trainer *trainer);
CORNU_API void cornu_trainer_close(cornu_trainer *trainer);
/* Would cornu_predict fit into memory with `count` samples at a time, together with the caller's
   inputs and outputs? CORNU_OUT_OF_MEMORY, with what it needs and what is free, where it would not.
   Nothing is allocated; `options` as in cornu_predict. */
CORNU_API cornu_status cornu_predict_check(const cornu_model *model, int64_t count,
                                           const cornu_run_options *options);
/* cornu_predict_check for cornu_evaluate with a batch of 1, its data left out: no batch of what is
   refused here fits. (cornu_evaluate itself refuses a batch that is too large.) */
CORNU_API cornu_status cornu_evaluate_check(const cornu_model *model,
                                            const cornu_run_options *options);
/* The same for `bytes` of the caller's own, called `what` in the message. */
CORNU_API cornu_status cornu_memory_check(const char *what, int64_t bytes);
/* Bytes of the host's memory that cornu_fit will take beside the data, as far as that is known
   before: weights, slots, buffers, and for what kernels need besides as much as the buffers. Of the
   options those of the device, and the batch, count; NULL: the defaults. */
CORNU_API cornu_status cornu_fit_memory(const cornu_model *model, const cornu_fit_options *options,
                                        int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
