/* One batch of generated samples that fits a model: for measuring its step. */
#ifndef TRAIN_GENERATED_H
#define TRAIN_GENERATED_H

#include "data/data.h"
#include "device/device.h"

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
