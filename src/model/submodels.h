/* Models within the model: how they are made, called and found. */
#ifndef MODEL_SUBMODELS_H
#define MODEL_SUBMODELS_H

#include "model/model.h"

enum { SUBMODEL_DEPTH_MAX = 8 };

/* ---- making ----------------------------------------------------------------------------- */

/* Begin a submodel, with its first call: what is appended from now on belongs to it, until
   submodel_end. Its InputLayers come first. `name` may be NULL; `at` is its place in the recipe. */
cornu_status submodel_begin(cornu_model *m, const char *name, const doc *at);
/* Append InputLayers that read these nodes; `names` (may be NULL) are the layers' names. */
cornu_status submodel_add_inputs(cornu_model *m, const doc *at, const int *nodes, int count,
                                 const char *const *names);
/* Set the order of its inputs: InputLayers that it has. */
cornu_status submodel_order_inputs(cornu_model *m, const doc *at, const int *nodes, int count);
/* End it: its outputs are those of these nodes in it. */
cornu_status submodel_end(cornu_model *m, const doc *at, const int *outputs, int count,
                          bool functional);
/* Call it again on the outputs of these nodes, as model_call_again. */
cornu_status submodel_call_again(cornu_model *m, int number, const doc *at, const char *name,
                                 const int *inputs, int count);

/* The parts of a model that change while something is appended, to undo it. */
typedef struct model_mark {
    int layers, nodes, last, links, variables, submodels, calls, within, inputs, outputs;
    model_output output[MODEL_ENDS_MAX];
    bool functional, initialized;
} model_mark;
model_mark model_mark_now(const cornu_model *m);
void model_go_back(cornu_model *m, const model_mark *mark);

/* ---- finding ---------------------------------------------------------------------------- */

/* The number of the call that is call number `number` of the submodel; -1: there is none. */
int submodel_call_number(const cornu_model *m, int submodel, int number);
/* The level of what a submodel consists of: its first call; -1 for submodel -1, the model itself.
 */
int submodel_level(const cornu_model *m, int submodel);
/* Is it Keras's Functional, not a Sequential? Of -1: the model itself. */
bool submodel_is_functional(const cornu_model *m, int submodel);
/* Is submodel `number` the submodel `around`, or in it? Each is in -1, the model itself. */
bool submodel_is_in(const cornu_model *m, int number, int around);
/* The submodel of this full name; -1: there is none. */
int submodel_find(const cornu_model *m, const char *name);

/* A layer, or a submodel, of the model itself or of a submodel. Its layers are m->layers[first],
   ..., of which `end` is the first that is not its own. */
typedef struct model_member {
    const layer *layer; /* NULL: a submodel */
    int submodel;       /* -1: a layer */
    int first, end;
} model_member;
/* Go to the next member of the owner, in Keras's order; begin with {.end = 0}. */
bool model_next_member(const cornu_model *m, int owner, model_member *at);
/* Its name without those of the submodels around it, and its Keras class. */
const char *model_member_name(const cornu_model *m, const model_member *of);
const char *model_member_class(const cornu_model *m, const model_member *of);

/* An output of a call, as the level where it stands has it. */
typedef struct model_source {
    const char *name; /* the layer's or submodel's, without those around it */
    int submodel;     /* -1: a layer */
    int call, output; /* numbers from 0 */
} model_source;
model_source model_source_of(const cornu_model *m, int node, int within);

/* Call number `call` of the member, where it stands in its owner's first call: the number of a node
   or, of a submodel, of a call; -1: there is none. And the nodes that it reads. */
int model_member_call(const cornu_model *m, const model_member *of, int call);
int model_member_input_count(const cornu_model *m, const model_member *of, int call);
int model_member_input(const cornu_model *m, const model_member *of, int call, int k);

#endif
