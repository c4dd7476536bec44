/* Steps of making a model, shared by the files of this room. */
#ifndef MODEL_INTERNAL_H
#define MODEL_INTERNAL_H

#include "model/model.h"

enum { MODEL_LAYERS_MAX = 1000 };

/* An empty model: no layers yet. */
cornu_status model_new(const char *name, const char *source, cornu_model **out);
void model_free(cornu_model *m);
cornu_status model_rename(cornu_model *m, const char *name);
/* Append a layer; `at` is its place in the recipe, for messages (may be NULL). The first layer must
   be InputLayer, or give its input's shape itself. */
cornu_status model_append(cornu_model *m, const char *class_name, const doc *at,
                          const doc *options);
/* Fail where a model is in the place of a layer. */
cornu_status model_refuse_nested(const doc *at, const char *class_name);
/* Append the InputLayer. */
cornu_status model_set_input(cornu_model *m, const shape *input);
/* Free the optimizer's slot variables. */
void model_drop_slots(cornu_model *m);
/* Add a variable; takes `name`, also on failure. */
cornu_status model_add_variable(cornu_model *m, char *name, const variable *like);

/* Is the section Keras's to_json(), already parsed? The second function reads it. */
bool keras_config_is(const doc *section);
cornu_status model_from_keras(const doc *section, cornu_model **out);

#endif
