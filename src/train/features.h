/* Featurewise standardization: mean and deviation of the training samples, which a model keeps. */
#ifndef TRAIN_FEATURES_H
#define TRAIN_FEATURES_H

#include "model/model.h"
#include "train/feed.h"

/* Where the model's data section asks for them: compute them from the feed's samples (by channel,
   after their scale) and keep them in the model. */
cornu_status features_learn(cornu_model *model, feed *train);

#endif
