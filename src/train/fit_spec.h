/* The settings of a fit, from the fit section of a recipe and the caller's options. */
#ifndef TRAIN_FIT_SPEC_H
#define TRAIN_FIT_SPEC_H

#include "model/model.h"
#include <cornu/options.h>

/* The settings of a fit: a field for each row of cornu/options.h. */
#define SPEC_INT(name) int64_t name;
#define SPEC_FLAG(name) bool name;
#define SPEC_TEXT(name) const char *name;
#define SPEC_OWN(name) /* below */
#define SPEC_OPTION(at, type, field, ...) SPEC_##type(field)
#define SPEC_KEY(at, type, key, ...) SPEC_##type(key)
typedef struct fit_spec {
    CORNU_FIT_OPTIONS(SPEC_OPTION, SPEC_KEY, )
    const doc
        *validation_freq;    /* interval in epochs, or a list of epochs from 1; NULL: each epoch */
    const doc *class_weight; /* {CLASS: WEIGHT}, or NULL */
    const doc *callbacks;    /* a list, or NULL */
    bool validate;           /* validation at the end of each epoch */
    double validation_split; /* > 0: the last fraction of the training samples */
    int64_t validation_samples; /* > 0: only the first N test samples */
} fit_spec;
#undef SPEC_INT
#undef SPEC_FLAG
#undef SPEC_TEXT
#undef SPEC_OWN
#undef SPEC_OPTION
#undef SPEC_KEY
/* Read the defaults, overridden by a recipe's fit section; NULL: only the defaults. */
cornu_status fit_spec_read(const doc *section, fit_spec *spec);
/* Override the settings with the caller's options. */
void fit_spec_take(const cornu_fit_options *options, fit_spec *spec);
/* The caller's options by themselves. */
cornu_status fit_check_options(const cornu_fit_options *options);
/* Called for each option with its flag's name and its value as text: "no" or "yes" for a flag,
   NULL for none. */
typedef void fit_spec_visit(void *user, const char *name, const char *value);
void fit_spec_each(const fit_spec *spec, fit_spec_visit *visit, void *user);
/* True if validation follows epoch `epoch`, from 0. */
bool fit_spec_validates(const fit_spec *spec, int64_t epoch);
/* How many of the epochs begin..end-1 does it follow? */
int64_t fit_spec_validations(const fit_spec *spec, int64_t begin, int64_t end);
/* The seed of a model that has none yet: its recipe's, else 1. */
cornu_status model_default_seed(const cornu_model *model, uint64_t *seed);
/* Does the caller (`asked`) or the model's recipe ask for recomputation? */
cornu_status model_recomputes(const cornu_model *model, bool asked, bool *recompute);

#endif
