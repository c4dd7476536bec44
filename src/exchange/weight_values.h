/* The values of one weight of a file. */
#ifndef EXCHANGE_WEIGHT_VALUES_H
#define EXCHANGE_WEIGHT_VALUES_H

#include "format/tensor_file.h"
#include "model/model.h"

/* Is it a whole number, which Keras has where nothing reads it: Normalization's `count`, and a
   vector's means over an axis in Adafactor's slots? */
bool weight_is_count(const file_tensor *t);
/* Read the values, float32 or float64, or a count, of the weight's shape. */
cornu_status weight_copy(variable *v, const file_tensor *t);

#endif
