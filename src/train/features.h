/* Featurewise standardization: mean and deviation of the training samples, which a model keeps. */
#ifndef TRAIN_FEATURES_H
#define TRAIN_FEATURES_H

#include "model/model.h"
#include "train/feed.h"

/* Where the model's data section asks for them: compute them from the feed's samples (by channel,
   after their scale) and keep them in the model. */
cornu_status features_learn(cornu_model *model, feed *train);
/* What the data section and the model say. */
cornu_status features_standardization(const cornu_model *model, standardization *out);

/* The `features` entry of a model file. */
json_t *features_to_json(const feature_statistics *s);
/* `path` is named in messages; CORNU_BAD_FILE where something is missing or out of its range. */
cornu_status features_from_json(const json_t *object, const char *path, feature_statistics *out);

#endif
