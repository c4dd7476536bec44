/* Declarations shared by the files that make models. */
#ifndef MODEL_BUILD_H
#define MODEL_BUILD_H

#include "model/model.h"

/* The submodel that what is appended belongs to; -1: the model itself. */
static inline int model_owner(const cornu_model *m)
{
    return m->within < 0 ? -1 : m->calls[m->within].submodel;
}

/* The full name of a layer or submodel that is appended: the name that was chosen for it, or the
   first of "base", "base_1", ... that is free. The caller frees *out. */
cornu_status model_chosen_name(const cornu_model *m, const char *name, const doc *at, char **out);
cornu_status model_automatic_name(const cornu_model *m, const char *base, char **out);
/* The name of call number `number` (from 2) of the layer or submodel of this full name. */
cornu_status model_call_name(const cornu_model *m, const char *of, int number, char **out);

/* Fail where nothing can be appended. */
cornu_status model_check_room(const cornu_model *m, const doc *at);
/* The nodes that the option `inputs` names, or else the one that was added last, if there is one.
   `reader` is the name of what reads them, for messages; "": it has none. The caller frees *nodes.
 */
cornu_status model_read_inputs(const cornu_model *m, const doc *at, const char *reader,
                               const doc *options, int **nodes, int *count);
/* Append an InputLayer: of the model, or in a submodel, where it reads one node. `name` may be
 * NULL.
 */
cornu_status model_add_input_on(cornu_model *m, const doc *at, const char *name, const shape *input,
                                const int *nodes, int count);
/* Append a further call of a layer, as a node of this full name. */
cornu_status model_repeat(cornu_model *m, layer *l, const doc *at, const char *name,
                          const int *inputs, int count);
/* A layer or submodel that was appended to the model has these outputs: they are the model's,
   unless others were chosen. */
void model_take_end(cornu_model *m, const int *nodes, int count);

#endif
