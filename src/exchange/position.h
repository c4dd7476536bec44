/* The position of training and the statistics of its samples as JSON: the entries `position` and
   `features` of a model file. */
#ifndef EXCHANGE_POSITION_H
#define EXCHANGE_POSITION_H

#include "model/model.h"

json_t *position_to_json(const position *p, int metric_count);
/* Messages name `path`; CORNU_BAD_FILE if an entry is missing, of another type or out of range. */
cornu_status position_from_json(const json_t *object, int metric_count, const char *path,
                                position *out);

json_t *features_to_json(const feature_statistics *s);
/* As position_from_json. */
cornu_status features_from_json(const json_t *object, const char *path, feature_statistics *out);

/* An exact double in a JSON string, and back. */
json_t *exact_to_json(double value);
bool exact_from_json(const json_t *text, double *value);
/* A count of epochs, steps or the like, 0 to 2^31 - 1: no sum of two of them overflows. */
bool count_from_json(const json_t *number, int64_t *value);

#endif
