/* Featurewise standardization: mean and deviation of the training samples, which a model keeps. */
#ifndef TRAIN_FEATURES_H
#define TRAIN_FEATURES_H

#include "model/model.h"
#include "train/input_pipeline.h"

/* If the model's data section asks for the statistics, compute them from the samples of the
   input pipeline (per channel, after scaling) and store them in the model. */
cornu_status features_learn(cornu_model *model, input_pipeline *train);

#endif
