/* Layers that are left out where weights are read from a file. */
#ifndef EXCHANGE_WEIGHT_SKIP_H
#define EXCHANGE_WEIGHT_SKIP_H

#include "format/tensor_file.h"
#include "model/model.h"

/* Is the layer that is called by the first `length` bytes of `name` one of NULL-ended `skip` (which
   may be NULL)? */
bool skip_has(const char *const *skip, const char *name, size_t length);
/* The same of the layer of a weight, "dense/kernel". */
bool skip_has_weight(const char *const *skip, const char *weight);
/* CORNU_INVALID where one of them has no weights in the model, nor (`f` may be NULL) in the file.
 */
cornu_status skip_check(const char *const *skip, const tensor_file *f, const cornu_model *m);

#endif
