/* cornu: train dense and convolutional image classifiers, from C.

   Train on Fashion-MNIST, which is Debian's package dataset-fashion-mnist, in seventeen lines:

     #include <cornu/cornu.h>
     #include <stdio.h>
     int main(void)
     {
         cornu_model *model = NULL;
         cornu_data *data = NULL;
         cornu_fit_options options = {.epochs = 5, .device = "cpu"};
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

   Other headers cover one subject each: data.h (streams of batches, samples), images.h,
   trainer.h (custom training loops), report.h (scores, the meaning of outputs), exchange.h
   (PyTorch's names, ONNX), parallel.h (several processes), tables.h (layers, workloads,
   devices).

   Conventions
   - Every function that can fail returns a cornu_status; CORNU_OK is 0. cornu_last_error() then
     names the file, layer or option, the value found and the value expected. The library never
     prints, never exits, and installs no signal handler.
   - Handles are opaque. Every *_close accepts NULL. Strings returned through `char **` belong to
     the caller, which frees them with cornu_free.
   - Options structs are zero-initialised by the caller; a zero field means the stated default.
   - Structs grow without breaking programs compiled before: a new field takes space from
     `reserved`, and its value 0 keeps the earlier behaviour. The library refuses options whose
     reserved fields are not 0 (CORNU_INVALID), and writes 0 to the reserved fields of structs
     that it fills in. Only the library makes structs without reserved fields; those grow at
     their end.
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

#define CORNU_VERSION "0.1.0"

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
/* Make text from outside, such as the name of a file, class or layer, safe to show on one line
   of a terminal: control characters, characters that change the direction of text, and bytes
   that are not valid UTF-8 become escapes such as \x1b, \n or \u202e; all else is unchanged.
   Writes at most `size` bytes including the terminating zero, and never cuts within a character
   or escape. Returns the length of the complete result, as snprintf does. The library's messages
   and notices are already safe; so are its tables, which only add line ends; names that the
   library returns are not. */
CORNU_API size_t cornu_printable(const char *text, char *out, size_t size);
/* Release a string that cornu returned. */
CORNU_API void cornu_free(void *memory);

/* ---- models ----------------------------------------------------------------------------- */

typedef struct cornu_model cornu_model;

/* Open `what`: the id of a built-in workload ("mnist-cnn-2"; see cornu_workload_name), the path of
   a recipe (.yaml, .yml, .json), or the path of a model file (.safetensors, Keras's .keras, .h5,
   .hdf5, or .onnx: a chain of operators that cornu has, without a compile section). */
CORNU_API cornu_status cornu_model_open(const char *what, cornu_model **model);
/* The same from the text of a recipe; messages use `name` as the file name. */
CORNU_API cornu_status cornu_model_parse(const char *text, const char *name, cornu_model **model);
/* Build a model layer by layer: an empty Sequential model for inputs of shape[rank], without the
   batch dimension, e.g. {28, 28, 1}. */
CORNU_API cornu_status cornu_model_new(const int64_t *shape, int rank, cornu_model **model);
/* Append a layer by its Keras class name with its Keras options as YAML or JSON, e.g.
   cornu_model_add(m, "Conv2D", "{filters: 32, kernel_size: 3, activation: relu}"). */
CORNU_API cornu_status cornu_model_add(cornu_model *model, const char *layer, const char *options);
/* Choose optimizer, loss and metrics, in the form of a recipe's compile section, e.g.
   "{optimizer: adam, loss: categorical_crossentropy, metrics: [accuracy]}". */
CORNU_API cornu_status cornu_model_compile(cornu_model *model, const char *options);
/* Replace the loss and metrics of a compiled model, e.g. "{loss: mse, metrics: [mae]}". The
   optimizer keeps its state; cornu_model_compile resets it. */
CORNU_API cornu_status cornu_model_change_loss(cornu_model *model, const char *options);
CORNU_API void cornu_model_close(cornu_model *model);

/* Keras's table plus FLOPs, bytes and the memory that training needs at the recipe's batch. */
CORNU_API cornu_status cornu_model_summary(const cornu_model *model, char **text);
/* Keras's to_json() of the model. */
CORNU_API cornu_status cornu_model_config(const cornu_model *model, char **json);
CORNU_API int64_t cornu_model_parameter_count(const cornu_model *model);
/* Shape without the batch dimension; `shape` has room for 8 numbers. */
CORNU_API cornu_status cornu_model_input_shape(const cornu_model *model, int64_t *shape, int *rank);
CORNU_API cornu_status cornu_model_output_shape(const cornu_model *model, int64_t *shape,
                                                int *rank);
/* Class names, in the order of the outputs, or the names of both classes for a single binary
   output; 0 and NULL if they are not known. */
CORNU_API int cornu_model_class_count(const cornu_model *model);
CORNU_API const char *cornu_model_class_name(const cornu_model *model, int index);
/* Replace the class names: one per class of the outputs. With (NULL, 0) the names are removed,
   and the next training uses its data's names. Training and evaluation match the names of the
   data's classes to the model's, and refuse a name that the model does not have. */
CORNU_API cornu_status cornu_model_set_class_names(cornu_model *model, const char *const *names,
                                                   int count);
/* The data set that the recipe names: "mnist", a path, or NULL. */
CORNU_API const char *cornu_model_data_name(const cornu_model *model);

typedef struct cornu_weight_info {
    const char *name; /* "conv2d/kernel"; lives as long as the model */
    int rank;
    int64_t shape[8];
    int64_t count; /* number of floats */
    bool trainable;
    uint64_t reserved[8]; /* 0 */
} cornu_weight_info;

CORNU_API int cornu_model_weight_count(const cornu_model *model);
CORNU_API cornu_status cornu_model_weight_info(const cornu_model *model, int index,
                                               cornu_weight_info *info);
/* Copy a weight out or in, row-major in Keras's layout; `count` must equal info.count. */
CORNU_API cornu_status cornu_model_get_weight(const cornu_model *model, int index, float *values,
                                              int64_t count);
CORNU_API cornu_status cornu_model_set_weight(cornu_model *model, int index, const float *values,
                                              int64_t count);
/* Set the learning rate from the next step on; the optimizer must not have a schedule. May be
   called within the callbacks of cornu_fit. The callback learning_rate_schedule sets the rate
   again at the beginning of each epoch. */
CORNU_API cornu_status cornu_model_set_learning_rate(cornu_model *model, double rate);
/* Replace the optimizer's learning rate, a number above 0, as if the recipe had given it: model
   files store it, and the optimizer's state is reset. CORNU_INVALID if the recipe has a
   schedule, or the callback learning_rate_schedule, which would override the number. */
CORNU_API cornu_status cornu_model_change_learning_rate(cornu_model *model, double rate);
/* Draw new initial weights from `seed`. */
CORNU_API cornu_status cornu_model_initialize(cornu_model *model, uint64_t seed);
/* Load weights by name from a .npz or .safetensors file, or in order from a Keras file (.keras,
   .h5, .hdf5, .weights.h5) or an .onnx file that is a chain. The file must have every weight, in
   the right shape. */
CORNU_API cornu_status cornu_model_load_weights(cornu_model *model, const char *path);
/* Write weights, optimizer state, recipe and position to one .safetensors, .keras, .h5 or .hdf5
   file, atomically; a .weights.h5 file gets only weights and optimizer state. */
CORNU_API cornu_status cornu_model_save(const cornu_model *model, const char *path);

/* ---- data ------------------------------------------------------------------------------- */

typedef struct cornu_data cornu_data;

typedef struct cornu_ranks cornu_ranks; /* several processes that train together: parallel.h */

typedef struct cornu_data_options {
    /* The only place to look for a named set or a recipe's data: its folder, or the folder that
       contains it. If it is not there, the message of CORNU_NOT_FOUND lists what is. NULL: the
       usual places. */
    const char *folder;
    bool allow_download;  /* download (and check) a data set that is not on the machine */
    int64_t image_height; /* image folders: resize to this; 0 is 150 */
    int64_t image_width;
    int64_t image_channels; /* image folders: 1 or 3; 0 is 3 */
    /* Image folders: how to resize: "nearest", "bilinear", "bicubic", "box", "hamming" or
       "lanczos" as in Pillow; "bilinear_tf", "bicubic_tf" or "lanczos3_tf" as in
       tf.image.resize, rounded; NULL: as the recipe says, else nearest. */
    const char *interpolation;
    /* Image folders: this share becomes the test split. Each file's name decides its split, so
       adding or removing files does not move the others; 0: as the recipe says, else none. */
    double validation_split;
    /* Image folders: an unusable file is an error; without this it is skipped. */
    bool strict;
    /* Image folders: return once the files are listed, and decode them during use. Without this,
       or with `strict`, all files are decoded before the call returns. */
    bool background;
    /* Image folders: where decoded pixels are cached. NULL: in memory, using up to half of the
       free memory, else in a file; "4GB": the same with this limit; "file": in a file, and also
       in memory up to half of the free memory; "memory": in memory up to half of the free
       memory, else as "off"; "off": no cache, each file is decoded whenever it is needed. The
       choice never changes a sample. If the file does not fit on the disk, "file" fails
       (CORNU_IO), and the others continue as "off", with a notice. */
    const char *cache;
    const char *cache_folder; /* folder of the cache file, NAME.pixels; NULL: the current folder */
    int workers; /* image folders: decoding threads; 0: as the recipe says, else as many as training
                    uses */
    /* Called while downloading; total is 0 if the server does not report it. May be NULL. */
    void (*on_progress)(void *user, const char *file, int64_t done, int64_t total);
    /* Called while files are downloaded, unpacked or decoded; with `background` also while
       training and evaluation wait for samples. If it returns true, the call returns
       CORNU_STOPPED. May be NULL. */
    bool (*should_stop)(void *user);
    /* Called with one line that the user should know, e.g. about a skipped file. May be NULL.
       With `background` later calls that use the data call it, too, until the data is closed. */
    void (*on_notice)(void *user, const char *line);
    void *user;
    /* Image folders: crop each picture to the largest centred area with the aspect ratio of the
       new size, so that resizing distorts nothing. */
    bool keep_aspect_ratio;
    /* Image folders: the ranks that will train with the data. With `background` each rank then
       decodes only the files that cornu_fit needs on it. NULL: one process. */
    cornu_ranks *ranks;
    /* Image folders: use all samples, and ignore the recipe's validation_split, which is for
       training: for evaluation or prediction on other pictures. */
    bool whole;
    /* Image folders: one notice says what was found, and one more names the first file that
       later proves unreadable. Without this each such file has a notice. */
    bool brief;
    /* cornu_data_open_for_model with a built-in workload: `folder` may contain other data than
       the workload was published with, such as the user's own pictures; cornu_model_adapt then
       changes the model. If pictures have no test split and the workload validates, a fifth of
       them becomes the test split. */
    bool other_data;
    /* Use only this share of each split's samples: the same share of each class (or of all
       samples, if there are no classes), and at least one. The choice is pseudo-random and
       always the same; 0: all. Does not apply to cornu_data_from_files. */
    double fraction;
    uint64_t reserved[5]; /* 0 */
} cornu_data_options;

typedef enum cornu_split { CORNU_TRAIN = 0, CORNU_TEST = 1 } cornu_split;

/* Open a data set: a name ("mnist", "fashion_mnist", "cifar10", "cifar100"), a .npz file, or a
   folder (with a named set's files, train/CLASS/IMAGE, CLASS/IMAGE, or one such folder; several
   such folders are CORNU_INVALID, and the message names them). */
CORNU_API cornu_status cornu_data_open(const char *what, const cornu_data_options *options,
                                       cornu_data **data);
/* Open the data set for a model: the one that options->folder names (a folder, an .npz file or a
   set's name); else the one that the model was trained on, which the model file records, if it
   still exists; else the one in the data section of its recipe. If a folder contains several
   sets and only one has the model's input shape, that one is opened, with a notice. */
CORNU_API cornu_status cornu_data_open_for_model(const cornu_model *model,
                                                 const cornu_data_options *options,
                                                 cornu_data **data);

typedef struct cornu_arrays {
    int64_t count;         /* samples */
    int rank;              /* dimensions of one sample, up to 4 */
    int64_t shape[4];      /* of one sample, e.g. {28, 28, 1} */
    const uint8_t *pixels; /* [count][shape], scaled as cornu_data_from_arrays says; or NULL */
    const float *values;   /* [count][shape], taken as they are; or NULL */
    const int32_t *labels; /* [count] class numbers; or NULL */
    const float *targets;  /* [count][target_size]; or NULL */
    int64_t target_size;   /* values per target */
    const float *weights;  /* [count] weight of each sample's loss; or NULL: 1 each */
    double scale;          /* factor for pixels; 0: as below */
    bool fewer_classes;    /* allow fewer classes than the model has outputs */
    uint64_t reserved[7];  /* 0 */
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
    const char *name;   /* "mnist"; lives as long as the data */
    const char *folder; /* where the data was found */
    int64_t count[2];   /* samples of each cornu_split, without those found unreadable */
    int rank;
    int64_t shape[8]; /* of one sample */
    int class_count;  /* 0 if targets are not classes */
    bool generated;
    uint64_t reserved[8]; /* 0 */
} cornu_data_info;

CORNU_API cornu_status cornu_data_info_get(const cornu_data *data, cornu_data_info *info);
CORNU_API const char *cornu_data_class_name(const cornu_data *data, int index);

/* ---- training --------------------------------------------------------------------------- */

#define CORNU_METRICS_MAX 8

/* Loss first, then the compiled metrics, in order. */
typedef struct cornu_scores {
    int count;
    const char
        *name[CORNU_METRICS_MAX + 1]; /* "loss", "accuracy", ...; live as long as the model */
    double value[CORNU_METRICS_MAX + 1];
    uint64_t reserved[8]; /* 0 */
} cornu_scores;

typedef struct cornu_progress {
    int64_t epoch, epochs;          /* epoch counts from 0 */
    int64_t step, steps;            /* steps done in this epoch, steps per epoch (0: not known) */
    double seconds;                 /* time spent in this epoch */
    double step_loss;               /* loss of the last step only; NaN if not requested */
    const cornu_scores *scores;     /* running means of this epoch */
    const cornu_scores *validation; /* at the end of an epoch with validation */
    double learning_rate;
    double gather_seconds; /* time for reading and augmenting samples, included in the seconds since
                              the resume; 0 on devices that do not measure it */
    /* The amounts of `step` and `seconds` that an earlier run contributed to this epoch, if this
       run resumed it. */
    int64_t resumed_step;
    double resumed_seconds;
    /* cornu_fit: estimated seconds until the run ends, including validation and writing files,
       from the time that it took so far; and the half-width of the estimate's 95 % interval, if
       the load of the machine does not change. NaN until a second has been measured, and if the
       amount of work is not known. */
    double left_seconds, left_error;
    bool left_at_most; /* the callback early_stopping may end it earlier */
} cornu_progress;

/* Progress of writing a model file. */
typedef struct cornu_saving {
    const char *path;
    const char *temporary; /* the file in the same folder that is renamed to `path` when complete;
                              NULL before it exists and afterwards */
    int64_t done, total;   /* bytes */
    bool complete;         /* the file at `path` is the new one, and is on the disk */
} cornu_saving;

/* The position of training. */
typedef struct cornu_position {
    int64_t iterations;   /* optimizer steps taken */
    int64_t epoch;        /* the current epoch, from 0; equal to `epochs` at the end */
    int64_t step;         /* steps done in this epoch */
    int64_t epochs;       /* epochs requested for the run; 0: never trained */
    uint64_t reserved[8]; /* 0 */
} cornu_position;
/* The model's current position; may be called within should_stop. */
CORNU_API cornu_status cornu_model_position(const cornu_model *model, cornu_position *position);

typedef struct cornu_history cornu_history;

typedef struct cornu_fit_options {
    const char *device;      /* "cpu" (default), "reference", "cuda:0", "opencl:0", "gpu" */
    const char *precision;   /* of matrix products: "fp32" (default); on GPUs also "tf32", "bf16" */
    bool exact_convolution;  /* no Winograd kernels: sums as in the definition of convolution */
    int threads;             /* 0: one per physical core that the process may use */
    int64_t epochs;          /* 0: as the recipe says, else 1 */
    int64_t batch;           /* 0: as the recipe says, else 32 */
    int64_t steps_per_epoch; /* 0: as the recipe says, else the whole data set */
    uint64_t seed;           /* 0: as the recipe says, else 1 */
    const char *save; /* model file written at the end, each epoch, and when stopped after a step */
    const char *save_stopped; /* if `save` is NULL: model file written when stopped after a step.
                                 The name is read only then; empty: no file */
    const char *log;          /* CSV file */
    bool log_steps;           /* one row per step instead of one per epoch */
    /* Folder for the files that the recipe names (csv_logger, checkpoint), created if it is
       missing; NULL: the current folder. A recipe's paths must be relative, without ".." and
       without symbolic links; they only replace earlier files of the same kind. */
    const char *output;
    bool resume;        /* continue from the position in the model file that was opened */
    bool no_validation; /* leave out the recipe's validation */
    void (*on_step)(void *user, const cornu_progress *progress);  /* may be NULL */
    void (*on_epoch)(void *user, const cornu_progress *progress); /* may be NULL */
    void (*on_notice)(void *user, const char *line);              /* may be NULL */
    /* Called before a model file is written, when its temporary file exists, after every few MB,
       and when it is complete; also for files of the checkpoint callback. May be NULL. */
    void (*on_save)(void *user, const cornu_saving *saving);
    bool (*should_stop)(void *user); /* called after each step and each epoch; may be NULL */
    void *user;
    /* A fit section (validation_split, validation_steps, shuffle, callbacks, ...) as YAML or
       JSON, used instead of the model's; NULL: the model's. Its file names may have any path,
       independent of `output`, and replace existing files. */
    const char *section;
    bool each_step; /* call on_step after every step, not about ten times a second */
    /* Called before an epoch's first step, with empty `scores`. May be NULL. */
    void (*on_epoch_begin)(void *user, const cornu_progress *progress);
    /* Each epoch ends with validation on this data's training split, whatever the fit section
       says; NULL: as the fit section says. */
    const cornu_data *validation_data;
    /* Called before the first batch of a validation (step 0), and after every batch (each_step)
       or some of them. May be NULL. */
    void (*on_validation_step)(void *user, const cornu_progress *progress);
    /* Folder for TensorBoard event files, as the callback `tensorboard` writes them: train/ and
       validation/; NULL: none. */
    const char *tensorboard;
    /* Divide each batch into this many shards (micro-batches), a power of two. Their gradients
       are computed one after the other and added in a fixed tree, with memory for one shard's
       activations. Results depend on this number in the last bits. 0: as the recipe says, else
       1, or the number of ranks. */
    int64_t shards;
    /* Train one model with all these ranks, each of which makes the same call; NULL: one
       process. Each rank computes the same number of a batch's shards; results are the same bits
       for any number of ranks. Only rank 0 writes files; all ranks return the same model. If one
       rank fails, the others fail with CORNU_RANK. */
    cornu_ranks *ranks;
    /* Gradient dtype: each shard's gradients are rounded to it before each addition, and
       all-reduced in it: "fp32" (exact), or "bf16", which halves the bytes and changes results,
       but equally for any number of ranks. NULL: as the recipe says, else "fp32". */
    const char *gradient_dtype;
    /* Each rank updates only its slice of the weights; an all-gather then sends the slices to
       the others. Results are the same bits. Within an epoch a rank has only its slice of the
       optimizer's state, so a callback of one rank can neither read the optimizer's variables
       nor write a complete model file. Only for devices that use the host's memory. */
    bool shard_optimizer;
    /* Initial state of the fit section's callbacks: the value of cornu_history_callbacks after
       an earlier run with the same list of callbacks, with null for each callback that starts
       afresh; NULL: all start afresh. With `resume` the state comes from the model file instead. */
    const char *callback_state;
    uint64_t reserved[2]; /* 0 */
} cornu_fit_options;

/* Train; `history` may be NULL. Callbacks may read and write the model's weights, set its
   learning rate, save it, evaluate it and predict with it. Returns CORNU_STOPPED if should_stop,
   or that of the data, returned true; after at least one step the model file, if requested, has
   then been written, and `resume` continues from it. */
CORNU_API cornu_status cornu_fit(cornu_model *model, const cornu_data *data,
                                 const cornu_fit_options *options, cornu_history **history);

typedef struct cornu_run_options {
    const char *device;     /* as in cornu_fit_options */
    const char *precision;  /* as in cornu_fit_options */
    bool exact_convolution; /* as in cornu_fit_options */
    int threads;
    int64_t batch;     /* 0: as the recipe says, else 32 */
    cornu_split split; /* evaluate, predict on data: the split; CORNU_TRAIN is 0 */
    int64_t steps;     /* evaluate: batches at most; 0: all */
    bool each_step;    /* evaluate: call on_step after every step, not about ten times a second */
    void (*on_step)(void *user, const cornu_progress *progress); /* may be NULL */
    bool (*should_stop)(void *user);                             /* may be NULL */
    void *user;
    int64_t top_k; /* cornu_evaluate_report: k of cornu_report_info.top_k_accuracy; 0: 5 */
    /* evaluate: called with one line that the user should know, e.g. that the data has no
       pictures of some classes of the model. May be NULL. */
    void (*on_notice)(void *user, const char *line);
    uint64_t reserved[6]; /* 0 */
} cornu_run_options;

/* Mean loss and metrics over a split. */
CORNU_API cornu_status cornu_evaluate(cornu_model *model, const cornu_data *data,
                                      const cornu_run_options *options, cornu_scores *scores);

/* Compute outputs [count][output shape] from inputs [count][input shape]. */
CORNU_API cornu_status cornu_predict(cornu_model *model, const float *inputs, int64_t count,
                                     const cornu_run_options *options, float *outputs);
/* Check that cornu_fit accepts this data: its shapes, its classes by number or name, its
   targets. Otherwise returns CORNU_INVALID with cornu_fit's message. Changes nothing. */
CORNU_API cornu_status cornu_fit_check(const cornu_model *model, const cornu_data *data);

/* One row per epoch. Columns: loss, metrics, val_loss, val_metrics, learning_rate, seconds. */
CORNU_API int cornu_history_epochs(const cornu_history *history);
CORNU_API int cornu_history_columns(const cornu_history *history);
CORNU_API const char *cornu_history_name(const cornu_history *history, int column);
CORNU_API double cornu_history_value(const cornu_history *history, int epoch, int column);
/* The state of the run's callbacks at its end, such as the best value so far, as a JSON list:
   [{"name": "checkpoint", "state": {...}}, ...], in the order of the fit section; lives as long
   as the history. NULL for NULL, and if there was no memory for it. */
CORNU_API const char *cornu_history_callbacks(const cornu_history *history);
/* Total seconds of cornu_fit: the epochs, and opening the device, plans and files. */
CORNU_API double cornu_history_seconds(const cornu_history *history);
CORNU_API void cornu_history_close(cornu_history *history);

#ifdef __cplusplus
}
#endif
#endif
