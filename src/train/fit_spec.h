/* The fit section of a recipe. */
#ifndef TRAIN_FIT_SPEC_H
#define TRAIN_FIT_SPEC_H

#include "model/model.h"

/* Zero or the default where the section does not say. */
typedef struct fit_spec {
    int64_t batch, epochs, initial_epoch, steps_per_epoch;
    int64_t validation_steps, validation_batch; /* 0: as `batch` */
    const doc *validation_freq; /* every so many epochs, or a list of epochs from 1; NULL: each */
    const doc *class_weight;    /* {CLASS: WEIGHT}, or NULL */
    bool validate;              /* validation at the end of each epoch */
    double validation_split;    /* > 0: the last fraction of the training samples */
    int64_t validation_samples; /* > 0: only the first N test samples */
    int64_t shards;             /* a batch's, parallel/shard_layout.h */
    const char *wire;           /* of their gradients; NULL: not said */
    bool shuffle;
    uint64_t seed;
    const doc *callbacks; /* a list, or NULL */
} fit_spec;
/* Keys: batch_size, epochs, initial_epoch, steps_per_epoch, validation_steps,
   validation_batch_size, validation_freq, validation (test, none, a fraction of the training
   samples, or {test: SAMPLES}), validation_split, shuffle, shards, wire, seed, class_weight,
   callbacks. NULL: defaults. */
cornu_status fit_spec_read(const doc *section, fit_spec *spec);
/* Does validation follow epoch `epoch`, from 0? */
bool fit_spec_validates(const fit_spec *spec, int64_t epoch);
/* How many of the epochs begin..end-1 does it follow? */
int64_t fit_spec_validations(const fit_spec *spec, int64_t begin, int64_t end);
/* The seed of a model that has none yet: its recipe's, else 1. */
cornu_status model_default_seed(const cornu_model *model, uint64_t *seed);

#endif
