/* The values of one weight of a file. */
#ifndef EXCHANGE_WEIGHT_VALUES_H
#define EXCHANGE_WEIGHT_VALUES_H

#include "format/tensor_file.h"
#include "model/model.h"

/* Is it Normalization's `count`, which no layer reads and Keras has as a whole number? */
bool weight_is_count(const file_tensor *t);
/* Read the values, float32 or float64, or a count, of the weight's shape. */
cornu_status weight_copy(variable *v, const file_tensor *t);

#endif
