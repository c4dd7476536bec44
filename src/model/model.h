/* A network: layers and the calls of them, the variables that hold its numbers, and its training
   configuration. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/doc.h"
#include "model/compile.h"
#include "model/emit.h"
#include "model/state.h"
#include <cornu/model.h>
#include <string.h>

typedef struct layer layer;

/* A weight, as a layer's `declare` describes it. */
typedef struct weight_spec {
    const char *name;    /* "kernel" */
    const char *options; /* its options are OPTIONS_regularizer ...; NULL: the name, without
                            "_kernel" at its end */
    shape shape;
    shape seen_as; /* the same numbers as the plan sees them */
    initializer initializer;
    int64_t ones_at, ones; /* from `ones_at` on, so many numbers start as 1 */
    const char *part;      /* the object of Keras's layer that has it, "cell"; NULL: the layer */
    const layer *of;       /* the inner layer that has it; NULL: the layer itself */
    bool trainable;
} weight_spec;
#define LAYER_WEIGHTS_MAX 64
enum { LAYER_OUTPUTS_MAX = 8 }; /* of a call */

/* A call of a layer while it is declared: the shapes of its inputs, and what the layer makes of
   them. */
typedef struct layer_call {
    const shape *in; /* [inputs], without the batch */
    int inputs;
    shape out;
    shape more[LAYER_OUTPUTS_MAX - 1]; /* of further outputs */
    int more_count;                    /* 0 on entry */
    weight_spec weights[LAYER_WEIGHTS_MAX];
    int weight_count; /* 0 on entry */
} layer_call;

/* One option of a layer (or optimizer, loss, ...) and its place in the config struct. See
   config.h. */
struct config_field;

/* The effect of a layer on the range of its input's numbers. */
typedef enum layer_range {
    LAYER_COMPUTES = 0,
    LAYER_REARRANGES, /* unchanged: the same numbers, perhaps zeros beside them */
    LAYER_RESCALES    /* changed on purpose, as pixels need it */
} layer_range;

/* (steps, channels), and (height, width, channels). */
enum { LAYER_SIGNAL = 2, LAYER_IMAGE = 3 };

/* One kind of layer: its row in the file of its family, in layers/. */
typedef struct layer_kind {
    const char *name;      /* Keras's class name */
    const char *base_name; /* stem of automatic names: "conv2d" */
    size_t config_size;
    const struct config_field *fields; /* NULL-ended */
    int rank; /* dimensions of an input, without the batch: LAYER_SIGNAL, LAYER_IMAGE; 0: any */
    /* Check the options, compute the call's output shape, and declare weights. Errors say what was
       found and expected; the caller adds the layer's name and place. */
    cornu_status (*declare)(layer *l, layer_call *call);
    /* Describe the forward pass of a call on the tensors x. y: as many as the call has outputs. */
    cornu_status (*emit)(const layer *l, step_builder *b, const tensor_ref *x, tensor_ref *y);
    const char *const *samples; /* NULL-ended: "INPUT SHAPE | OPTIONS", e.g. "7 | {units: 5}" or
                     "6,6,3 | {pool_size: 2}", or "INPUT SHAPE | LAYERS BEFORE IT, | OPTIONS": used
                     by the gradient check, parity tests and docs */
    bool penalizes;             /* its configuration is a regularizer, of what it gives */
    layer_range range;
    bool without_trainable; /* Keras's class takes no option `trainable` */
    bool changes_weights;   /* in training, before it computes */
    bool changes_images;    /* at random; Keras's class does so wherever it is called without
                               `training` */
    bool merges;            /* takes a list of inputs; others take one */
    bool reads_states; /* takes, after its one input, Keras's initial_state; declare checks it */
    const char *operation; /* Keras's module where it has an operation of this name, and no layer */
    bool unlisted;         /* as an operation it takes its inputs one by one, and not in a list */
} layer_kind;

struct layer {
    const layer_kind *kind;
    char *name; /* unique in the model: "conv2d_1", or "encoder/conv2d_1" of the submodel encoder */
    int owner;  /* the submodel that it belongs to; -1: the model itself */
    void *config;
    int first_variable, weight_count;
    bool trainable;   /* Keras's: from the next compile on, its weights are trained */
    bool frozen;      /* as of the last compile, they are not */
    bool of_operator; /* Keras has an operation here, which an operator or keras.ops made */
    int node;         /* its first call: an index into the model's nodes */
    int call_count;   /* by nodes; at least one */
    const doc *where; /* place in the recipe, for messages; NULL without one */
    /* An inner layer, which is an option of the layer around it; NULL: it stands in a model. Its
       first_variable counts from that of the layer around it. */
    const layer *around;
    char *place; /* that option in Keras's object: "forward_layer" */
};

/* A call of a layer on the outputs of earlier nodes. Layers own variables, nodes are the network:
   what follows the data walks the nodes, what keeps or names weights walks the layers. A call of a
   submodel is taken apart into the calls of its layers. Each further output of a call is a node of
   its own, immediately after that of the call, which is its one input. */
typedef struct model_node {
    const layer *layer;
    char *name;  /* of the layer or, for a further call of it, "LAYER/call_2" or what the recipe
                    says;  unique in the model */
    int call;    /* 0: the layer's first */
    int output;  /* 0: the call itself, and its first output; else the number of a further output */
    int *inputs; /* [input_count] numbers of earlier nodes; the model's InputLayers have none, those
                    of a submodel the one whose output they pass on */
    int input_count;
    int within; /* the call of a submodel that it is part of; -1: none */
    shape out;  /* without the batch */
} model_node;

enum { MODEL_ENDS_MAX = 16 }; /* inputs, and outputs, of a model */

/* A model within the model: Keras's Sequential or Functional, called as a layer. */
typedef struct submodel {
    char *name;      /* "encoder", or "encoder/stem" of the submodel encoder */
    int owner;       /* the submodel that it belongs to; -1: the model itself */
    bool functional; /* else Sequential */
    bool trainable;  /* Keras's: setting it sets its layers, whose flags count */
    int call_count;  /* at least one */
} submodel;

/* A call of a submodel. The first one says what the submodel is; others repeat its nodes on other
   inputs, with the same weights. */
typedef struct submodel_call {
    char *name; /* of the submodel or, for a further call of it, as of a node */
    int submodel;
    int number; /* 0: the submodel's first */
    int within; /* the call of the owner that it is part of; -1: none */
    int inputs[MODEL_ENDS_MAX], input_count; /* nodes of its InputLayers */
    int outputs[MODEL_ENDS_MAX], output_count;
} submodel_call;

#define MODEL_METRICS_MAX CORNU_ALL_METRICS_MAX

/* The target of an output: a value for each of its numbers, a class number for each of its rows, a
   number by which samples are compared, or none. */
typedef enum target_kind { TARGET_VALUES, TARGET_CLASSES, TARGET_LABEL, TARGET_NONE } target_kind;

/* An output of the model, and its part of the loss: the step's loss is the sum of weight times the
   loss of each that has one. */
typedef struct model_output {
    int node;
    bool has_loss;      /* without one nothing is trained for it alone */
    target_kind target; /* without a loss it has one only for its metrics */
    loss loss;
    struct traced_loss *traced; /* the caller's own, in place of the row of `loss`; or NULL */
    double weight;
} model_output;

struct cornu_model {
    char *name;
    char *source; /* file name for messages */
    bool
        functional; /* was Keras's Functional, branches, or has operations; else it is Sequential */
    bool published; /* a built-in workload, as cornu_model_open made it */
    bool trainable; /* false: no layer is trained, whatever it says itself */
    layer **layers; /* the first is InputLayer */
    int layer_count;
    model_node *nodes; /* in an order in which each comes after its inputs */
    int node_count;
    int last;       /* the node that was added last: what a layer reads that names no inputs */
    int link_count; /* inputs of all nodes */
    submodel *submodels;
    int submodel_count;
    submodel_call *calls; /* all calls of submodels */
    int call_count;
    int within;                 /* the call of a submodel that is being built; -1: none */
    int inputs[MODEL_ENDS_MAX]; /* the nodes of the model's InputLayers */
    int input_count;
    model_output outputs[MODEL_ENDS_MAX]; /* the node added last, unless others were chosen */
    int output_count;
    bool outputs_chosen;
    char **input_keys, **output_keys; /* names, where Keras has a dictionary of them, NULL-ended;
                                         or NULL */
    shape input, output; /* the numbers of a sample and of a prediction. Several inputs, or outputs,
                            stand in one row, one after another: their shape is that row's. */
    variable *variables; /* the layers' weights in order, then the optimizer's slots */
    int variable_count, weight_count;
    bool compiled, initialized;
    json_t *undecayed; /* words of names of weights that do not decay; or NULL */
    bool has_trained;  /* since it was compiled or read: `trainable` waits for the next compile */
    optimizer optimizer;
    metric metrics[MODEL_METRICS_MAX]; /* of several outputs the loss of each, in their order; then
                                          what the user asked for */
    int metric_count, sum_count;       /* sums: of all metrics */
    int table_count;                   /* numbers in the tables of all metrics */
    char **class_names;                /* or NULL */
    int class_count;
    doc *recipe;           /* whole document, or NULL; data and fit sections live in it */
    const doc *data, *fit; /* sections; may be NULL */
    doc *own_data; /* the section given to cornu_model_set_data, which `data` then points to; or
              NULL */
    int64_t batch, epochs; /* of the fit section; 0 where not given */
    float pixel_scale;     /* from the model file; 0: use model_pixel_scale */
    training_state training;
    const live_weights *live; /* NULL: the model's own values are valid */
};

/* ---- making ----------------------------------------------------------------------------- */

/* At most so many layers, and so many calls of them; so many inputs of all calls together; and so
   many numbers in the arrays among the layers' options, which are text in files. */
enum { MODEL_LAYERS_MAX = 1000, MODEL_LINKS_MAX = 10000, MODEL_NUMBERS_MAX = 50000 };

/* The name of a layer or submodel without those of the submodels around it. */
static inline const char *model_own_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* An empty model: no layers yet. */
cornu_status model_new(const char *name, const char *source, cornu_model **out);
void model_free(cornu_model *m);
cornu_status model_rename(cornu_model *m, const char *name);
/* Set the file that messages name (copied). */
cornu_status model_set_source(cornu_model *m, const char *source);
/* Append a layer of the table; `at` is its place in the recipe, for messages (may be NULL). It
   reads the outputs of the layers that its option `inputs` names, without that option the output of
   the layer before. The first layer must be InputLayer, or give its input's shape itself. */
cornu_status model_append(cornu_model *m, const char *class_name, const doc *at,
                          const doc *options);
/* The same on the outputs of these nodes, instead of those that the options name. */
cornu_status model_append_on(cornu_model *m, const char *class_name, const doc *at,
                             const doc *options, const int *inputs, int count);
/* Call a layer again, on the outputs of these nodes: it works there with the weights that it has.
   The node is called `name`; NULL: "LAYER/call_2", "LAYER/call_3" ... Fails where the weights would
   have other shapes. */
cornu_status model_call_again(cornu_model *m, layer *l, const doc *at, const char *name,
                              const int *inputs, int count);
/* How many outputs the call that is node number `node` has: further ones are the nodes after it. */
static inline int model_outputs_of(const cornu_model *m, int node)
{
    int count = 1;
    while (node + count < m->node_count && m->nodes[node + count].output > 0)
        count++;
    return count;
}
/* The number of the node that is call number `call` of the layer; -1: there is none. */
int model_call(const cornu_model *m, const layer *l, int call);
/* Append what a recipe's list of layers may have: a layer, a model within the model (Model, or
   Keras's Sequential and Functional), or a further call of either (Call): see docs/recipes.md. The
   model is as before where it fails. */
cornu_status model_add_layer(cornu_model *m, const char *class_name, const doc *at,
                             const doc *options);
/* Free a layer that is in no model; NULL is allowed. And what a node owns. */
void layer_free(layer *l);
void model_node_free(model_node *n);
/* Layers from this number on forget their places in a document, which is freed. */
void model_forget_places(cornu_model *m, int first);
/* Make the outputs of these nodes the model's, in this order; `at` is their place in the recipe. */
cornu_status model_choose_outputs(cornu_model *m, const doc *at, const int *nodes, int count);
/* The same by the layers' names: one, or a list of them. */
cornu_status model_name_outputs(cornu_model *m, const doc *names);
/* The nodes of these names: one, or a list. `reader` is the name of the layer that names its inputs
   ("": it has none); NULL: they are outputs. The caller frees *nodes. */
cornu_status model_find_nodes(const cornu_model *m, const doc *names, const char *reader,
                              int **nodes, int *count);
/* The layer, or the submodel (else -1), of this name, which stands where layers are appended now.
 */
cornu_status model_find_layer(const cornu_model *m, const doc *at, const char *name, layer **l,
                              int *inner);
/* Set the shapes of a sample and of a prediction. */
void model_set_shapes(cornu_model *m);
/* The inputs in this order, which are all that there are. */
cornu_status model_order_inputs(cornu_model *m, const doc *at, const int *nodes, int count);
/* Put layers and nodes in Keras's order: by it its files name layers and number their weights, and
   it runs the calls. So a network computes the same bits however it was described, and after it
   was read again. A chain is in it already. Weights that are there keep their values; there may be
   no slots yet. Whoever has added layers or chosen outputs calls it before anything counts layers,
   nodes or weights. */
cornu_status model_settle(cornu_model *m);
/* Fail where the network must stay as it is: the model is compiled, or in training. */
cornu_status model_check_open(const cornu_model *m, const doc *at);
/* Fail where `count` more inputs of calls would be too many. */
cornu_status model_check_links(const cornu_model *m, const doc *at, int count);
/* Fail where the outputs of these nodes cannot be those of a model or submodel: too many, an input,
   or one twice. */
cornu_status model_check_outputs(const cornu_model *m, const doc *at, const int *nodes, int count);
/* Fail where the row of these nodes' outputs, one after another, would be too long. */
cornu_status model_check_row(const cornu_model *m, const doc *at, const int *nodes, int count);
/* Fail where the output of a layer, or all those of a model within the model, are neither read nor
   outputs of the model around. */
cornu_status model_check_graph(const cornu_model *m);
/* needed[node_count]: set the nodes before those that are set already. */
void model_find_before(const cornu_model *m, bool *needed);
/* Does the network look other than a line of layers, those of submodels among them? */
bool model_branches(const cornu_model *m);
/* The same of one level: the model itself (within -1) or the first call of a submodel. A call of a
   submodel is one layer there. */
bool model_level_branches(const cornu_model *m, int within);
/* Does it branch, or have an operation, which Keras's Sequential cannot have? */
bool model_level_is_functional(const cornu_model *m, int within);
/* The call of a submodel that stands in call `within` (-1: in the model itself) and has node
   `number` in it; -1: the node stands there by itself. */
int model_call_at(const cornu_model *m, int number, int within);
/* Is node `number` part of this call of a submodel, or of one in it? Of -1 each is. */
bool model_is_within(const cornu_model *m, int number, int within);
/* The number of the one node that reads the output of node `number`; -1: none, or several. */
int model_only_reader(const cornu_model *m, int number);
/* Append an InputLayer called `name`; NULL: as Keras calls it. `at` is its place in the recipe, or
   NULL. */
cornu_status model_add_input(cornu_model *m, const doc *at, const char *name, const shape *input);

/* ---- reading and writing ---------------------------------------------------------------- */

/* Read a whole recipe: data, model, compile, fit (unknown keys are errors). Takes `recipe`, also on
   failure. The model section may be Keras's to_json() (Sequential or Functional), or the short
   form:

       model:
         input: [28, 28, 1]       # or inputs: {name: [28, 28, 1], other: [3]}
         layers:
           - Conv2D: {filters: 32, kernel_size: 5, padding: same, activation: relu}
           - Flatten
           - {class_name: Dense, config: {units: 10}}
         outputs: [dense]         # may be left out: the last layer
*/
cornu_status model_from_recipe(doc *recipe, cornu_model **out);
/* The same for a recipe that is a file of its own: its model section may also name a .json, .yaml
   or .yml file that holds one, relative to the recipe. */
cornu_status model_from_recipe_file(doc *recipe, cornu_model **out);
/* Is the section Keras's to_json(), already parsed? The second function reads it. */
bool keras_config_is(const doc *section);
cornu_status model_from_keras(const doc *section, cornu_model **out);
/* Append the model of such a section as a submodel, on the outputs of these nodes. */
cornu_status model_append_keras(cornu_model *m, const doc *section, const int *inputs, int count);
/* Free the losses that are the caller's own. */
void model_outputs_free(model_output *outputs, int count);
/* Parse only a model section. */
cornu_status model_from_section(const doc *section, cornu_model **out);
/* The same of a document that outlives the model's reading: layers keep their places in it. */
cornu_status model_read_section(const doc *section, cornu_model **out);
/* ---- which weights are trained (trainable.c) ---------------------------------------------- */

/* The flags `trainable` count from now on: make the optimizer's slots of the variables that are
   trained. Those that have slots already keep them, with their values. */
cornu_status model_take_trainable(cornu_model *m);
/* Give a model the flags of another one of the same layers. */
cornu_status model_copy_trainable(cornu_model *to, const cornu_model *from);
/* The number of variables that the last compile found trainable. */
int model_trained_count(const cornu_model *m);
/* Does a layer's flag wait for the next compile? */
bool model_trainable_waits(const cornu_model *m);
/* A file is read by the flags as they are now. Does the optimizer have all the slots that it then
   needs? If so, those of the variables that are trainable now belong in the file. */
bool model_slots_fit(const cornu_model *m);

/* Replace the model's loss and metrics by those of the section; the optimizer keeps its state. */
cornu_status model_change_loss(cornu_model *m, const doc *section);
/* Read a compile section: {optimizer: ..., loss: ..., metrics: [...]}; makes the slot variables. */
cornu_status model_compile(cornu_model *m, const doc *section);
/* The same of Keras's compile_config, which has no optimizer once Keras has saved the model as .h5:
   then it is rmsprop, the usual one of Keras's compile. */
cornu_status model_compile_keras(cornu_model *m, const doc *section);
/* Keras's to_json() as a value (new reference), and the compile section: model_from_recipe reads
   both back. */
json_t *model_to_keras(const cornu_model *m);
json_t *model_compile_to_json(const cornu_model *m);
/* Does the optimizer's weight_decay leave this weight out? */
bool model_excludes_from_decay(const cornu_model *m, const char *weight);

/* ---- inputs and outputs ----------------------------------------------------------------- */

/* The layer that scales samples, if no layer before it computes with them; else NULL. */
const layer *model_rescaling(const cornu_model *m);
/* The factor for uint8 samples where the recipe gives none: 1/255, or 1 where the model scales them
   itself. */
float model_pixel_scale(const cornu_model *m);
/* Set the names of the outputs' classes (copied). */
cornu_status model_set_classes(cornu_model *m, char *const *names, int count);
/* Does the model have enough outputs for `count` classes? One output can tell two classes apart. */
bool model_tells_classes(const cornu_model *m, int64_t count);
/* The loss of the first output that has one. */
static inline const loss *model_loss(const cornu_model *m)
{
    int output = 0;
    while (output < m->output_count - 1 && !m->outputs[output].has_loss)
        output++;
    return &m->outputs[output].loss;
}
/* Has a loss another weight than 1? */
static inline bool model_weighs_losses(const cornu_model *m)
{
    for (int i = 0; i < m->output_count; i++)
        if (m->outputs[i].weight < 1 || m->outputs[i].weight > 1)
            return true;
    return false;
}
/* Does the caller compute metrics, from the outputs of each batch? */
static inline bool model_calls_metrics(const cornu_model *m)
{
    for (int i = 0; i < m->metric_count; i++)
        if (m->metrics[i].called)
            return true;
    return false;
}
/* The name of an output: its key, or that of its node or, if that has one output in the model, of
   the submodel's call that it comes from; and of an input: its key, or that of its node. */
const char *model_output_name(const cornu_model *m, int output);
static inline const char *model_input_name(const cornu_model *m, int input)
{
    return m->input_keys ? m->input_keys[input] : m->nodes[m->inputs[input]].name;
}
/* Name the inputs, or the outputs, by the keys of these `count` entries. */
cornu_status model_set_input_keys(cornu_model *m, const doc *const *entries, int count);
cornu_status model_set_output_keys(cornu_model *m, const doc *const *entries, int count);
/* Whoever changes inputs, or outputs, makes them forget their keys. */
void model_forget_input_keys(cornu_model *m);
void model_forget_output_keys(cornu_model *m);
/* The shapes of one input and of one output, without the batch. */
static inline const shape *model_input_shape(const cornu_model *m, int input)
{
    return &m->nodes[m->inputs[input]].out;
}
static inline const shape *model_output_shape(const cornu_model *m, int output)
{
    return &m->nodes[m->outputs[output].node].out;
}
/* The shape of one output's target: of class numbers the last dimension is 1; without a target it
   has no elements. */
shape model_target_shape(const cornu_model *m, int output);
/* The activation after the last weights of the first output: softmax, ..., linear without one. */
activation_kind model_output_activation(const cornu_model *m);

/* ---- kinds of layers -------------------------------------------------------------------- */

/* All layers, NULL-ended (a row of layers/layers.def each), and the row of a Keras class
   name or alias. */
extern const layer_kind *const layer_kinds[];
extern const layer_kind layer_InputLayer, layer_Embedding;
static inline bool layer_is_input(const layer_kind *kind)
{
    return kind == &layer_InputLayer;
}
const layer_kind *layer_kind_find(const char *class_name);
/* Fail: there is no such layer. */
cornu_status layer_kind_fail(const doc *at, const char *class_name);
/* Keras's module where it has this layer as an operation: always, or because of the call's
   arguments; NULL: Keras has a layer. */
const char *layer_operation(const layer *l);
/* The rows with their options and aliases: a list for cornu_tables. */
json_t *layer_table(void);
/* The activations' names: a list for cornu_tables. */
json_t *activation_table(void);

/* ---- built-in workloads ----------------------------------------------------------------- */

/* Their recipes: recipes/NAME.yaml, embedded by the build, in CMakeLists.txt's order. */
typedef struct embedded_recipe {
    const char *name, *text;
} embedded_recipe;
extern const embedded_recipe embedded_recipes[]; /* ends with name NULL */
/* The text of the recipe called `name`, or NULL. */
const char *recipe_text(const char *name);

/* ---- summary ---------------------------------------------------------------------------- */

/* Append Keras 3's model.summary(): a title, a row per layer, with its inputs where the network
   branches, and the parameter totals; at most 76 columns. A submodel is one row; with expand_nested
   its layers' rows follow. A MB is 10^6 bytes, as everywhere in cornu, where Keras's is 2^20. */
struct text; /* base/memory.h */
void model_summary_table(const cornu_model *m, bool expand_nested, struct text *out);
/* The numbers of one layer's row. */
int64_t summary_parameters(const cornu_model *m, const layer *l);
/* 12230010 as "12,230,010" into `digits` (at least 32 bytes). Returns it. */
char *summary_number(int64_t n, char *digits);

#endif
