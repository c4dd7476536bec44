/* Keras's files as model files: .keras, .weights.h5, and the older whole-model .h5 and .hdf5.
   docs/keras-files.md describes their contents. */
#ifndef EXCHANGE_KERAS_KERAS_H
#define EXCHANGE_KERAS_KERAS_H

#include "format/tensor_file.h"
#include "model/submodels.h"

/* True if the path's extension is one of Keras's, for models or for weights (.weights.h5). */
bool keras_path_is(const char *path);
bool keras_path_holds_weights(const char *path);

/* ---- names ------------------------------------------------------------------------------ */

typedef enum keras_layout {
    KERAS_NATIVE, /* Keras 3: "layers/dense_1/vars/0", by class and order, of a submodel
                     "layers/functional/layers/dense/vars/0"; "optimizer/vars/2" */
    KERAS_LEGACY  /* "model_weights/LAYER/PATH", listed in attributes; a submodel is one LAYER */
} keras_layout;

/* The names in a file of a model's variables, in the model's order. */
typedef struct keras_names {
    keras_layout layout;
    char **variable; /* [count] */
    int count;
    char *iteration, *rate; /* the optimizer's; NULL where it has none */
    char *momentum_product; /* Nadam's u_product, after all slots; else NULL */
} keras_names;
/* Make the names: Keras's in the first layout, cornu's in the second. */
cornu_status keras_names_make(const cornu_model *m, keras_layout layout, keras_names *out);
/* Drop the optimizer's names: for weights without optimizer, or an optimizer that is listed
   differently. */
void keras_names_forget_optimizer(keras_names *n);
void keras_names_free(keras_names *n);
/* The groups of Keras 3: of each layer, and of each submodel. */
typedef struct keras_groups {
    char **layer, **submodel; /* "layers/dense_1": from the class, and those before it */
    int layers, submodels;
} keras_groups;
cornu_status keras_groups_make(const cornu_model *m, keras_groups *out);
void keras_groups_free(keras_groups *g);
/* The name of weight `number` of a layer whose group this is: "layers/lstm/cell/vars/0". All or
   none of a layer's weights are in parts of it; numbers beyond its weights go on in the last one.
 */
cornu_status keras_weight_name(const cornu_model *m, const layer *l, const char *group, int number,
                               char **out);
/* The numbers of the variables of one of the model's own layers, or submodels, as older files list
   them: what is trained first. Returns how many; `out` has room for all weights. */
int keras_legacy_weights(const cornu_model *m, const model_member *of, int *out);

/* ---- reading ---------------------------------------------------------------------------- */

/* The training state in a Keras file, as far as it has one. */
typedef struct keras_state {
    bool has_slots;
    int64_t iterations; /* -1: not said */
    double rate;        /* -1: not said */
} keras_state;

/* Put cornu's own metadata under the keys that a .safetensors file has for them, and the network
   under "keras_config". */
cornu_status keras_read_metadata(tensor_file *f);
/* Give the tensors that are weights or slots of `m` the names of its variables, and leave out
   Keras's other tensors. CORNU_BAD_FILE if a weight of the file fits none of the model. */
cornu_status keras_read_names(tensor_file *f, const cornu_model *m, keras_state *state);
/* The same for the weights only, from a file that may have another optimizer. */
cornu_status keras_read_weight_names(tensor_file *f, const cornu_model *m);

/* The same for the layers that the file has weights for, matched by name or, in Keras 3's files,
   by class and order; additional weights of such a layer are named "LAYER/weight 3", all other
   tensors are left out. The file may lack layers, and shapes may differ. Without names, an older
   file has as many layers with weights as the model, in the same order, as Keras expects. */
cornu_status keras_read_partners(tensor_file *f, const cornu_model *m, bool by_name);

/* ---- writing ---------------------------------------------------------------------------- */

/* Write the model, or only the weights and the optimizer's state, as Keras does. `tensors` are
   the model's variables in order, then others with their own names; `entries` are cornu's
   metadata. */
cornu_status keras_write(const cornu_model *m, const file_tensor *tensors, int count,
                         const metadata_entry *entries, int entry_count, const char *path,
                         const file_watch *watch);

#endif
