/* A model in detail: weights one by one, class names, learning rate, configuration. The conventions
 * of cornu.h hold. */
#ifndef CORNU_MODEL_H
#define CORNU_MODEL_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cornu_weight_info {
    size_t size;
    const char *name; /* "conv2d/kernel"; lives as long as the model */
    int rank;
    bool trainable; /* false: a statistic such as a moving mean, or its layer is frozen */
    int64_t shape[8];
    int64_t count;  /* number of floats */
    bool statistic; /* its layer computes it, such as a moving mean; it is never trained */
} cornu_weight_info;

/* An input or output of a model. */
typedef struct cornu_end_info {
    size_t size;
    const char *name; /* of its layer; lives as long as the model */
    int rank;
    bool classes; /* of an output: its target is a class number for each row of its shape, without
                     the last dimension, as its loss wants it */
    int64_t shape[8]; /* without the batch dimension */
    int64_t first;    /* its numbers begin here in a row of cornu_predict's inputs or outputs, */
    int64_t count;    /* and are so many */
    int64_t target_count; /* an output's: numbers of its target; 0 without loss and metrics */
} cornu_end_info;

/* How many inputs and outputs, and one of them. CORNU_NOT_FOUND for another index. */
CORNU_API int cornu_model_input_count(const cornu_model *model);
CORNU_API int cornu_model_output_count(const cornu_model *model);
CORNU_API cornu_status cornu_model_input(const cornu_model *model, int index, cornu_end_info *info);
CORNU_API cornu_status cornu_model_output(const cornu_model *model, int index,
                                          cornu_end_info *info);
/* Rows of several arrays: arrays[i] is [count][sizes[i]], rows [count][sum of sizes]. */
CORNU_API cornu_status cornu_rows_join(const float *const *arrays, const int64_t *sizes,
                                       int arrays_count, int64_t count, float *rows);
/* The reverse: arrays[i] may be NULL, for numbers that are not wanted. */
CORNU_API cornu_status cornu_rows_split(const float *rows, const int64_t *sizes, int arrays_count,
                                        int64_t count, float *const *arrays);

CORNU_API int cornu_model_weight_count(const cornu_model *model);
CORNU_API cornu_status cornu_model_weight_info(const cornu_model *model, int index,
                                               cornu_weight_info *info);
/* Copy a weight out or in, row-major in Keras's layout; `count` must equal info.count. */
CORNU_API cornu_status cornu_model_get_weight(const cornu_model *model, int index, float *values,
                                              int64_t count);
CORNU_API cornu_status cornu_model_set_weight(cornu_model *model, int index, const float *values,
                                              int64_t count);
/* The number of the optimizer's variables, which follow the weights: the three functions above take
   their indexes, too, in the order of Keras's files. 0 without an optimizer, and where layers were
   frozen or thawed since it was chosen. */
CORNU_API int cornu_model_slot_count(const cornu_model *model);
/* Of an optimizer with use_ema: exchange the trained weights and their moving averages; replace the
   weights by them, as cornu_fit does when it ends: Keras's finalize_variable_values. May be called
   within callbacks. CORNU_INVALID before the first step. */
CORNU_API cornu_status cornu_model_swap_averages(cornu_model *model);
CORNU_API cornu_status cornu_model_take_averages(cornu_model *model);
CORNU_API int64_t cornu_model_parameter_count(const cornu_model *model);
/* Draw new initial weights from `seed`. */
CORNU_API cornu_status cornu_model_initialize(cornu_model *model, uint64_t seed);

/* Freeze a layer (`trainable` false) or let it be trained again: Keras's layer.trainable. NULL as
   the layer's name is the model itself and all its layers; as in Keras, nothing of a model is
   trained whose own flag is false. A frozen layer's weights have no gradients, no updates and no
   optimizer state, and a frozen BatchNormalization uses its moving statistics in training, too, and
   leaves them as they are. The next cornu_model_compile counts; of a compiled model that has not
   been trained since it was compiled or opened, the flag counts at once, and the optimizer's state
   of all variables that stay trainable is kept. CORNU_NOT_FOUND if there is no such layer. */
CORNU_API cornu_status cornu_model_set_trainable(cornu_model *model, const char *layer,
                                                 bool trainable);
/* Read the flag as it was set last. */
CORNU_API cornu_status cornu_model_trainable(const cornu_model *model, const char *layer,
                                             bool *trainable);

/* Replace the loss and metrics of a compiled model, e.g. "{loss: mse, metrics: [mae]}". The
   optimizer keeps its state; cornu_model_compile resets it. Layers that were frozen or thawed since
   are so from now on, as after cornu_model_compile. */
CORNU_API cornu_status cornu_model_change_loss(cornu_model *model, const char *options);
/* Set the learning rate from the next step on; the optimizer must not have a schedule. May be
   called within the callbacks of cornu_fit. The callback learning_rate_schedule sets the rate
   again at the beginning of each epoch. */
CORNU_API cornu_status cornu_model_set_learning_rate(cornu_model *model, double rate);
/* Replace the optimizer's learning rate, a number above 0, as if the recipe had given it: model
   files store it, and the optimizer's state is reset. CORNU_INVALID if the recipe has a
   schedule, or the callback learning_rate_schedule, which would override the number. */
CORNU_API cornu_status cornu_model_change_learning_rate(cornu_model *model, double rate);

/* Replace the class names: one per class of the outputs. With (NULL, 0) the names are removed,
   and the next training uses its data's names. Training and evaluation match the names of the
   data's classes to the model's, and refuse a name that the model does not have. */
CORNU_API cornu_status cornu_model_set_class_names(cornu_model *model, const char *const *names,
                                                   int count);
/* Set the number of classes of a newly opened built-in workload: its last layer with units gets
   this number of units. CORNU_INVALID for other models, and if the model already has weights. */
CORNU_API cornu_status cornu_model_set_outputs(cornu_model *model, int64_t classes);
/* Adapt a built-in workload without weights to data that was opened for it with
   options.other_data (of which a fifth becomes the test split, if they are pictures without one and
   the workload validates): its last layer gets one unit per class (cornu_model_set_outputs), and
   its recipe records the data. *told (may be NULL) is one line that says what changed, or NULL. */
CORNU_API cornu_status cornu_model_adapt(cornu_model *model, const cornu_data *data, char **told);

/* cornu_model_summary, with the options of Keras's. */
typedef struct cornu_summary_options {
    size_t size;
    int expand_nested; /* below a model within the model, the rows of its layers */
} cornu_summary_options;
CORNU_API cornu_status cornu_model_summary_as(const cornu_model *model,
                                              const cornu_summary_options *options, char **text);

/* Keras's to_json() of the model. */
CORNU_API cornu_status cornu_model_config(const cornu_model *model, char **json);
/* The compile section of a model as JSON, in the form that cornu_model_compile accepts; "null"
 * if it has none. */
CORNU_API cornu_status cornu_model_compile_config(const cornu_model *model, char **json);
/* The fit section of the model's recipe as JSON; "null" if it has none. */
CORNU_API cornu_status cornu_model_fit_config(const cornu_model *model, char **json);
/* Replace the data section of the model's recipe: how samples are scaled, augmented and
   standardized (docs/recipes.md), as YAML or JSON; NULL: none. */
CORNU_API cornu_status cornu_model_set_data(cornu_model *model, const char *section);
/* The data set that the recipe names: "mnist", a path, or NULL. */
CORNU_API const char *cornu_model_data_name(const cornu_model *model);

#ifdef __cplusplus
}
#endif
#endif
