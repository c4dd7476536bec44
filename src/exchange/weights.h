/* Loading of single weights, and of the layers that a file and a model have in common. */
#ifndef EXCHANGE_WEIGHTS_H
#define EXCHANGE_WEIGHTS_H

#include "exchange/weight_values.h"
#include "format/tensor_file.h"
#include "model/model.h"
#include <cornu/exchange.h>

/* CORNU_BAD_FILE if the file has no such weight (`t` NULL), or one of another shape or type. */
cornu_status weight_check(const tensor_file *f, const variable *v, const file_tensor *t);

/* Load weights as by_name and skip_mismatch of the options say. All checks come before the first
   weight changes; on_notice of the options gets the number of layers that the file had weights
   for. */
cornu_status weight_match_read(tensor_file *f, cornu_model *m, const cornu_weights_options *o);

/* ---- layers that are skipped when weights are read from a file (skip.c) ------------------ */

/* True if the layer or weight `name` is in the NULL-terminated list `skip` (may be NULL), or in a
   layer or submodel that is: "dense/kernel" if "dense" is there. */
bool skip_has(const char *const *skip, const char *name);
/* The same of the first `length` bytes of a name as PyTorch has them: "classifier.6". */
bool skip_has_module(const char *const *skip, const char *name, size_t length);
/* CORNU_INVALID if a layer in `skip` has weights neither in the model nor in the file (`f` may
   be NULL). */
cornu_status skip_check(const char *const *skip, const tensor_file *f, const cornu_model *m);

#endif
