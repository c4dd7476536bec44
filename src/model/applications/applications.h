/* Networks by their names: those of keras.applications, and others that are as well known. Each is
   described once, in the file of its family, as calls of network.h; recipes, the program, C and
   Python all read the Keras configuration that this gives. */
#ifndef MODEL_APPLICATIONS_APPLICATIONS_H
#define MODEL_APPLICATIONS_APPLICATIONS_H

#include "base/doc.h"

/* Is there a network of this name? Both the recipes' ("mobilenet-v2") and Keras's ("MobileNetV2")
   are known; case, '-' and '_' do not count. */
bool application_is(const char *name);
/* The network's configuration as Keras's to_json() has it (a new reference). `options` (may be
   NULL) are the arguments of Keras's function; `at` is the place that messages name. With
   `more` it has two entries besides: "automatic", a list of the layers that Keras numbers across
   models, and "weights", the address of ImageNet's, or null; without it, the option weights must be
   null, as no weights are read. */
cornu_status application_config(const char *name, const doc *at, const doc *options, bool more,
                                json_t **out);
/* A recipe of the network, ready to be trained to tell `classes` classes (0: as many as it was
   published for). The caller frees *yaml. */
cornu_status application_recipe(const char *name, int64_t classes, char **yaml);
/* The recipes' name of network number `index`; NULL past the end. */
const char *application_name(int index);
/* The rows with their options: a list for cornu_tables. */
json_t *application_table(void);

#endif
