/* cornu: train dense and convolutional image classifiers, from C.

   Train on Fashion-MNIST, which is Debian's package dataset-fashion-mnist, in eighteen lines:

     #include <cornu/cornu.h>
     #include <stdio.h>
     int main(void)
     {
         cornu_model *model = NULL;
         cornu_data *data = NULL;
         cornu_fit_options options = {
             .size = sizeof options, .where = {.device = "cpu"}, .epochs = 5};
         int failed = cornu_model_open("mnist-cnn-2", &model) ||
                      cornu_data_open("fashion_mnist", NULL, &data) ||
                      cornu_fit(model, data, &options, NULL) ||
                      cornu_model_save(model, "clothes.safetensors");
         if (failed)
             fprintf(stderr, "%s\n", cornu_last_error());
         cornu_data_close(data);
         cornu_model_close(model);
         return failed;
     }

   Other headers cover one subject each: model.h (weights, configuration, class names), data.h
   (streams of batches, samples), images.h, trainer.h (custom training loops, the position of a
   training), report.h (scores, the meaning of outputs), exchange.h (PyTorch's names, ONNX),
   parallel.h (several processes), tables.h (layers, workloads, devices, text for a terminal).

   Conventions
   - Every function that can fail returns a cornu_status; CORNU_OK is 0. cornu_last_error() then
     names the file, layer or option, the value found and the value expected. The library never
     prints, never exits, and installs no signal handler.
   - Handles are opaque. Every *_close accepts NULL. Strings returned through `char **` belong to
     the caller, which frees them with cornu_free.
   - A struct that begins with `size` belongs to the program, which sets `size` and zeroes the
     rest, as in cornu_scores scores = {.size = sizeof scores}; also if the library fills it in. A
     later library may add fields at the end, and knows from `size` which of them the program has.
   - In options, NULL and a field that is 0 mean the stated default.
   - Images are NHWC: [samples][height][width][channels], 32-bit floats unless said otherwise.
   - Only one thread at a time may use a handle; different threads may use different handles. */
#ifndef CORNU_H
#define CORNU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CORNU_API __attribute__((visibility("default")))
#else
#define CORNU_API
#endif

#define CORNU_VERSION "0.2.0"

/* The numbers are part of the interface and never change. */
typedef enum cornu_status {
    CORNU_OK = 0,
    CORNU_INVALID = 1,       /* an argument, option or recipe is wrong */
    CORNU_NOT_FOUND = 2,     /* a file, data set, device or layer was not found */
    CORNU_BAD_FILE = 3,      /* a file is truncated, damaged or of another format */
    CORNU_IO = 4,            /* the operating system refused to read or write */
    CORNU_OUT_OF_MEMORY = 5, /* more memory needed than is available; nothing was allocated */
    CORNU_UNSUPPORTED = 6,   /* valid, but not something that cornu or the device can do */
    CORNU_DEVICE = 7,        /* the device failed */
    CORNU_STOPPED = 8,       /* the caller's should_stop returned true; state is complete */
    CORNU_NOT_A_NUMBER = 9,  /* terminate_on_nan: the loss became NaN or infinite */
    CORNU_NETWORK = 10,      /* a download failed, or another rank does not answer */
    CORNU_INTERNAL = 11,     /* a bug in cornu */
    CORNU_RANK = 12          /* another rank failed; the message is that rank's and names it */
} cornu_status;

CORNU_API const char *cornu_version(void);
/* Short name of a status: "invalid", "not found", ... */
CORNU_API const char *cornu_status_name(cornu_status status);
/* The message of the calling thread's last failed call; never NULL. */
CORNU_API const char *cornu_last_error(void);
/* Release a string that cornu returned. */
CORNU_API void cornu_free(void *memory);

/* ---- models ----------------------------------------------------------------------------- */

typedef struct cornu_model cornu_model;

/* Open `what`: the id of a built-in workload ("mnist-cnn-2"; see cornu_workload_name), the path of
   a recipe (.yaml, .yml, .json), or the path of a model file (.safetensors, Keras's .keras, .h5,
   .hdf5, or .onnx: a network of operators that cornu has, without a compile section). */
CORNU_API cornu_status cornu_model_open(const char *what, cornu_model **model);
/* The same from the text of a recipe; messages use `name` as the file name. */
CORNU_API cornu_status cornu_model_parse(const char *text, const char *name, cornu_model **model);
/* Build a model layer by layer: an empty Sequential model for inputs of shape[rank], without the
   batch dimension, e.g. {28, 28, 1}. */
CORNU_API cornu_status cornu_model_new(const int64_t *shape, int rank, cornu_model **model);
/* Append a layer by its Keras class name with its Keras options as YAML or JSON, e.g.
   cornu_model_add(m, "Conv2D", "{filters: 32, kernel_size: 3, activation: relu}"). A model within
   the model is a layer, too: cornu_model_add(m, "Model", "{name: block, layers: [{Dense: {units:
   8}}]}"), and "Call" calls a layer or a model again: "{layer: block}" (docs/recipes.md). */
CORNU_API cornu_status cornu_model_add(cornu_model *model, const char *layer, const char *options);
/* Make these layers' outputs the model's, in this order: a name or a list of names, as YAML or
   JSON, e.g. "[price, kind]". Without it the last layer's output is the model's. A model has
   several inputs by several InputLayers: cornu_model_add(m, "InputLayer", "{shape: [3], name: b}").
 */
CORNU_API cornu_status cornu_model_name_outputs(cornu_model *model, const char *names);
/* Choose optimizer, loss and metrics, in the form of a recipe's compile section, e.g.
   "{optimizer: adam, loss: categorical_crossentropy, metrics: [accuracy]}". */
CORNU_API cornu_status cornu_model_compile(cornu_model *model, const char *options);
CORNU_API void cornu_model_close(cornu_model *model);

/* Keras's table plus FLOPs, bytes and the memory that training needs at the recipe's batch. */
CORNU_API cornu_status cornu_model_summary(const cornu_model *model, char **text);
/* Shape without the batch dimension; `shape` has room for 8 numbers. Of several inputs or outputs
   it is that of their row: {numbers of all}. */
CORNU_API cornu_status cornu_model_input_shape(const cornu_model *model, int64_t *shape, int *rank);
CORNU_API cornu_status cornu_model_output_shape(const cornu_model *model, int64_t *shape,
                                                int *rank);
/* Class names, in the order of the outputs, or the names of both classes for a single binary
   output; 0 and NULL if they are not known. */
CORNU_API int cornu_model_class_count(const cornu_model *model);
CORNU_API const char *cornu_model_class_name(const cornu_model *model, int index);
/* Load weights by name from a .npz or .safetensors file, or in order from a Keras file (.keras,
   .h5, .hdf5, .weights.h5) or the .onnx file of a chain. The file must have every weight, in
   the right shape. */
CORNU_API cornu_status cornu_model_load_weights(cornu_model *model, const char *path);
/* Write weights, optimizer state, recipe and position to one .safetensors, .keras, .h5 or .hdf5
   file, atomically; a .weights.h5 file gets only weights and optimizer state. */
CORNU_API cornu_status cornu_model_save(const cornu_model *model, const char *path);

/* ---- data ------------------------------------------------------------------------------- */

typedef struct cornu_data cornu_data;
typedef struct cornu_folder_options cornu_folder_options; /* folders of pictures: images.h */
typedef struct cornu_ranks cornu_ranks;                   /* several processes: parallel.h */

typedef struct cornu_data_options {
    size_t size;
    /* The only place to look for a named set or a recipe's data: its folder, or the folder that
       contains it. NULL: the usual places. */
    const char *folder;
    bool allow_download; /* download (and check) a data set that is not on the machine */
    bool brief;          /* fewer notices about unusable pictures */
    bool other_data;     /* `folder` may hold other data than a built-in workload was made for;
                            cornu_model_adapt (model.h) then changes the model */
    double fraction;     /* use only this share of each class, always the same samples; 0: all */
    const cornu_folder_options *images; /* how to read pictures; NULL: as the recipe says */
    cornu_ranks *ranks;                 /* the ranks that will train with the data */
    /* Called while downloading; total is 0 if the server does not report it. May be NULL. */
    void (*on_progress)(void *user, const char *file, int64_t done, int64_t total);
    /* Called while files are downloaded, unpacked or decoded, also during training and
       evaluation. If it returns true, the call returns CORNU_STOPPED. May be NULL. */
    bool (*should_stop)(void *user);
    /* Called with one line that the user should know, until the data is closed. May be NULL. */
    void (*on_notice)(void *user, const char *line);
    void *user;
} cornu_data_options;

typedef enum cornu_split { CORNU_TRAIN = 0, CORNU_TEST = 1 } cornu_split;

/* Open a data set: a name ("mnist", "fashion_mnist", "cifar10", "cifar100"), a .npz file, or a
   folder (with a named set's files, train/CLASS/IMAGE, CLASS/IMAGE, or one such folder). */
CORNU_API cornu_status cornu_data_open(const char *what, const cornu_data_options *options,
                                       cornu_data **data);
/* Open the data set for a model: the one that options->folder names (a folder, an .npz file or a
   set's name); else the one that the model was trained on, which the model file records, if it
   still exists; else the one in the data section of its recipe. If a folder contains several
   sets and only one has the model's input shape, that one is opened, with a notice. */
CORNU_API cornu_status cornu_data_open_for_model(const cornu_model *model,
                                                 const cornu_data_options *options,
                                                 cornu_data **data);

/* Samples of a model of several inputs or outputs are rows in which the arrays stand one after
   another, in the order of cornu_model_input and cornu_model_output (model.h): `values` of shape
   {numbers of all inputs}, and `targets` of the numbers of all outputs. The target of an output
   whose loss takes class numbers is such a number, as a float; an output without loss and metrics
   has no target. cornu_rows_join makes such rows. */
typedef struct cornu_arrays {
    size_t size;
    int64_t count;         /* samples */
    int rank;              /* dimensions of one sample, up to 4 */
    bool fewer_classes;    /* allow fewer classes than the model has outputs */
    int64_t shape[4];      /* of one sample, e.g. {28, 28, 1} */
    const uint8_t *pixels; /* [count][shape], scaled as cornu_data_from_arrays says; or NULL */
    const float *values;   /* [count][shape], taken as they are; or NULL */
    const int32_t *labels; /* [count] class numbers; or NULL */
    const float *targets;  /* [count][target_size]; or NULL */
    int64_t target_size;   /* values per target */
    const float *weights;  /* [count] weight of each sample's loss; or NULL: 1 each */
    double scale;          /* factor for pixels; 0: as below */
    /* The number of weights at the end of each target (target_size includes them): one for the
       loss of each of several outputs, and `weights` is NULL; or 0 */
    int64_t output_weights;
} cornu_arrays;

/* Copy the caller's arrays into a data set; `test` may be NULL.

   In every data set a network's input is each uint8 pixel times the recipe's `scale`. Without
   `scale` the input is 0 to 255 if the model scales it itself (its first layer, apart from Reshape,
   Flatten and ZeroPadding2D, is Rescaling), else 0 to 1. cornu_fit says which in a notice,
   cornu_model_summary shows it, and a model file stores it. */
CORNU_API cornu_status cornu_data_from_arrays(const cornu_arrays *train, const cornu_arrays *test,
                                              cornu_data **data);
CORNU_API void cornu_data_close(cornu_data *data);

typedef struct cornu_data_info {
    size_t size;
    const char *name;   /* "mnist"; lives as long as the data */
    const char *folder; /* where the data was found */
    int64_t count[2];   /* samples of each cornu_split, without those found unreadable */
    int rank;
    bool generated;   /* random numbers of cornu_data_generate */
    int class_count;  /* 0 if targets are not classes */
    int64_t shape[8]; /* of one sample */
} cornu_data_info;

CORNU_API cornu_status cornu_data_info_get(const cornu_data *data, cornu_data_info *info);
CORNU_API const char *cornu_data_class_name(const cornu_data *data, int index);

/* ---- training --------------------------------------------------------------------------- */

/* Where to run; part of the options of all that runs a model, so its form is fixed. */
typedef struct cornu_where {
    const char *device;     /* "cpu" (default), "reference", "cuda:0", "opencl:0", "gpu" */
    const char *precision;  /* of matrix products: "fp32" (default); on GPUs also "tf32", "bf16" */
    bool exact_convolution; /* no Winograd kernels: sums as in the definition of convolution */
    int threads;            /* 0: one per physical core that the process may use */
} cornu_where;

#define CORNU_METRICS_MAX 8      /* those that `name` and `value` have room for */
#define CORNU_ALL_METRICS_MAX 64 /* of a model; the loss of each of several outputs is one */

/* Loss first, then the compiled metrics, in order. */
typedef struct cornu_scores {
    size_t size;
    int count;                               /* the first of them: 9 at most */
    const char *name[CORNU_METRICS_MAX + 1]; /* "loss", "accuracy", ...; live as the model does */
    double value[CORNU_METRICS_MAX + 1];
    int all_count; /* all of them, the first ones again */
    const char *all_name[CORNU_ALL_METRICS_MAX + 1];
    double all_value[CORNU_ALL_METRICS_MAX + 1];
} cornu_scores;

/* The state of a run, for callbacks. Only the library makes it, so it may grow at its end. */
typedef struct cornu_progress {
    int64_t epoch, epochs;          /* epoch counts from 0 */
    int64_t step, steps;            /* steps done in this epoch, steps per epoch (0: not known) */
    double seconds;                 /* time spent in this epoch */
    double step_loss;               /* loss of the last step only; NaN if not requested */
    const cornu_scores *scores;     /* running means of this epoch */
    const cornu_scores *validation; /* at the end of an epoch with validation */
    double learning_rate;
    double gather_seconds;  /* of `seconds` since the resume: reading and augmenting samples; 0 on
                               devices that do not measure it */
    int64_t resumed_step;   /* part of `step` and of `seconds` that an earlier run did, */
    double resumed_seconds; /* if this one resumed its epoch */
    /* cornu_fit: estimated seconds until the run ends, and half the width of the estimate's 95 %
       interval. NaN until a second has been measured, or if the amount of work is not known. */
    double left_seconds, left_error;
    bool left_at_most; /* the callback early_stopping may end it earlier */
} cornu_progress;

/* What a model gave for a batch, in training before the step: for the caller's own metrics, those
   of the compile section with the key `called`. Only the library makes it. */
typedef struct cornu_batch_outputs {
    bool begins;          /* the first batch of a pass, or after a resume within it: metrics start
                             afresh; the pass's value is then the mean over the samples of both parts */
    int64_t count;        /* samples */
    const float *outputs; /* [count][output_size], rows as cornu_predict gives them */
    int64_t output_size;
    const float *targets; /* [count][target_size]: values or class numbers; of several outputs those
                             of all, then weights if samples have one for each output */
    int64_t target_size;
    int value_count; /* of such metrics */
    double *values;  /* [value_count], in the order of the compile section; the function sets them:
                        each metric's value over the pass so far */
} cornu_batch_outputs;

typedef struct cornu_history cornu_history;
typedef struct cornu_saving cornu_saving; /* progress of writing a model file: trainer.h */

typedef struct cornu_fit_options {
    size_t size;
    cornu_where where;
    int64_t epochs;          /* 0: as the recipe says, else 1 */
    int64_t batch;           /* 0: as the recipe says, else 32 */
    int64_t steps_per_epoch; /* 0: as the recipe says, else the whole data set */
    uint64_t seed;           /* 0: as the recipe says, else 1 */
    /* A fit section (validation_split, shuffle, callbacks, ...) as YAML or JSON, used instead of
       the model's; its file names may have any path, and replace existing files */
    const char *section;
    const cornu_data *validation_data; /* each epoch ends with validation on its training split;
                                          NULL: as the fit section says */
    const char *save; /* model file written at the end, each epoch, and when stopped after a step */
    const char *save_stopped; /* without `save`: model file written when stopped after a step. The
                                 name is read only then; empty: no file */
    const char *log;          /* CSV file */
    const char *tensorboard;  /* folder for TensorBoard event files: train/ and validation/ */
    /* Folder for the files that the recipe names (csv_logger, checkpoint), created if it is
       missing; NULL: the current folder. A recipe's paths must be relative, without ".." and
       without symbolic links; they only replace earlier files of the same kind. */
    const char *output;
    bool log_steps;       /* one row per step instead of one per epoch */
    bool resume;          /* continue from the position in the model file that was opened */
    bool no_validation;   /* leave out the recipe's validation */
    bool each_step;       /* call on_step after every step, not about ten times a second */
    bool shard_optimizer; /* parallel.h says more of this and the next four */
    int64_t shards;       /* divide each batch into this many; 0: as the recipe says, else 1 */
    const char *gradient_dtype; /* "fp32", "bf16"; NULL: as the recipe says, else fp32 */
    cornu_ranks *ranks;         /* processes that train together; NULL: one */
    const char *callback_state; /* of an earlier run: cornu_history_callbacks (trainer.h) */
    /* Callbacks; each may be NULL. on_epoch_begin gets empty scores; on_validation_step is called
       before a validation's first batch (step 0), and after every batch (each_step) or some. */
    void (*on_step)(void *user, const cornu_progress *progress);
    void (*on_epoch_begin)(void *user, const cornu_progress *progress);
    void (*on_epoch)(void *user, const cornu_progress *progress);
    void (*on_validation_step)(void *user, const cornu_progress *progress);
    void (*on_save)(void *user, const cornu_saving *saving);
    void (*on_notice)(void *user, const char *line);
    bool (*should_stop)(void *user); /* called after each step and each epoch */
    void *user;
    bool recompute; /* compute activations again in the backward pass instead of keeping them: less
                       memory, more time, the same bits; also if the recipe says so */
    /* Called after each batch of training and validation if the model has metrics of the caller's
       own, which need it */
    void (*on_outputs)(void *user, const cornu_batch_outputs *batch);
} cornu_fit_options;

/* Train; `history` may be NULL. Callbacks may read and write the model's weights, set its
   learning rate, save it, evaluate it and predict with it. With an optimizer's use_ema a run that
   ends leaves the weights' moving averages as weights. Returns CORNU_STOPPED if should_stop,
   or that of the data, returned true; after at least one step the model file, if requested, has
   then been written, and `resume` continues from it. */
CORNU_API cornu_status cornu_fit(cornu_model *model, const cornu_data *data,
                                 const cornu_fit_options *options, cornu_history **history);

/* Random layers of a prediction. */
typedef enum cornu_draws {
    CORNU_DRAW_NONE,   /* pass their inputs on */
    CORNU_DRAW_IMAGES, /* those of images (RandomFlip, ...) draw, as Keras's do where they are
                          called */
    CORNU_DRAW_ALL     /* dropout and noise, too: as in training */
} cornu_draws;

typedef struct cornu_run_options {
    size_t size;
    cornu_where where;
    int64_t batch;     /* 0: as the recipe says, else 32 */
    cornu_split split; /* evaluate, predict on data: the split; CORNU_TRAIN is 0 */
    bool each_step;    /* evaluate: call on_step after every step, not about ten times a second */
    int64_t steps;     /* evaluate: batches at most; 0: all */
    int64_t top_k;     /* cornu_evaluate_report: k of cornu_report_info.top_k_accuracy; 0: 5 */
    void (*on_step)(void *user, const cornu_progress *progress); /* may be NULL */
    void (*on_notice)(void *user, const char *line);             /* evaluate; may be NULL */
    bool (*should_stop)(void *user);                             /* may be NULL */
    void *user;
    /* evaluate: as in cornu_fit_options */
    void (*on_outputs)(void *user, const cornu_batch_outputs *batch);
    /* predict: layers that only training changes, drawn by `seed`, `draw` and each sample's number.
       Batch normalization uses its moving statistics nevertheless. */
    cornu_draws draws;
    uint64_t seed;
    int64_t draw;
} cornu_run_options;

/* Mean loss and metrics over a split. */
CORNU_API cornu_status cornu_evaluate(cornu_model *model, const cornu_data *data,
                                      const cornu_run_options *options, cornu_scores *scores);
/* Compute outputs [count][output shape] from inputs [count][input shape]; of several inputs or
   outputs in rows, one after another, as in cornu_arrays. */
CORNU_API cornu_status cornu_predict(cornu_model *model, const float *inputs, int64_t count,
                                     const cornu_run_options *options, float *outputs);

/* One row per epoch. Columns: loss, metrics, val_loss, val_metrics, learning_rate, seconds. */
CORNU_API int cornu_history_epochs(const cornu_history *history);
CORNU_API int cornu_history_columns(const cornu_history *history);
CORNU_API const char *cornu_history_name(const cornu_history *history, int column);
CORNU_API double cornu_history_value(const cornu_history *history, int epoch, int column);
CORNU_API void cornu_history_close(cornu_history *history);

#ifdef __cplusplus
}
#endif
#endif
