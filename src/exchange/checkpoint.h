/* Model files: one safetensors file with weights and slots under the variables' names and, in
   its metadata, everything needed to continue with the same bits (docs/model-file.md); or the
   same in one of Keras's files (keras/keras.h). */
#ifndef EXCHANGE_CHECKPOINT_H
#define EXCHANGE_CHECKPOINT_H

#include "base/files.h"
#include "model/model.h"

/* Write the model, atomically: the host's weights, which must equal the device's, and the
   optimizer's slots from the host or the device (model->live). `watch` may be NULL. */
cornu_status checkpoint_write(const cornu_model *model, const char *path, const file_watch *watch);
/* Write only the weights, from the host's copy, for --init and cornu_model_load_weights. */
cornu_status checkpoint_write_weights(const cornu_model *m, const char *path,
                                      const file_watch *watch);
/* CORNU_BAD_FILE names the entry or tensor, what was found and what was expected. */
cornu_status checkpoint_read(const char *path, cornu_model **out);
/* The endings of model files, for messages; and does `path` have one? */
#define CHECKPOINT_ENDINGS ".safetensors, .keras, .h5 or .hdf5"
bool checkpoint_path_is(const char *path);
/* Before training, check that `path` is a name for a model file and can be written. Leaves no
   file. */
cornu_status checkpoint_check(const char *path, const char *option);
/* Check that the model's description in the file can be read again; only extremely long names
   cannot. */
cornu_status checkpoint_check_model(const cornu_model *model);

/* The names of the model's classes as a new list; names may have any characters. */
json_t *checkpoint_class_names(const cornu_model *m);

/* ---- the position of training and the statistics of its samples as JSON ----------------- */

/* The entries `position` and `features` of a model file. */
json_t *position_to_json(const position *p, int sum_count);
/* Messages name `path`; CORNU_BAD_FILE if an entry is missing, of another type or out of range. */
cornu_status position_from_json(const json_t *object, int sum_count, const char *path,
                                position *out);

json_t *features_to_json(const feature_statistics *s);
/* As position_from_json. */
cornu_status features_from_json(const json_t *object, const char *path, feature_statistics *out);

/* An exact double in a JSON string, and back. */
json_t *exact_to_json(double value);
bool exact_from_json(const json_t *exact, double *value);
/* A count of epochs, steps or the like, 0 to 2^31 - 1: no sum of two of them overflows. */
bool count_from_json(const json_t *number, int64_t *value);

#endif
