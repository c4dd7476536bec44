/* Layers that are skipped when weights are read from a file. */
#ifndef EXCHANGE_WEIGHT_SKIP_H
#define EXCHANGE_WEIGHT_SKIP_H

#include "format/tensor_file.h"
#include "model/model.h"

/* True if the first `length` bytes of `name` are a layer in the NULL-terminated list `skip` (may
   be NULL). */
bool skip_has(const char *const *skip, const char *name, size_t length);
/* The same of the layer of a weight, "dense/kernel". */
bool skip_has_weight(const char *const *skip, const char *weight);
/* CORNU_INVALID if a layer in `skip` has weights neither in the model nor in the file (`f` may
   be NULL). */
cornu_status skip_check(const char *const *skip, const tensor_file *f, const cornu_model *m);

#endif
