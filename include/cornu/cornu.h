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

   Beside it, each for one subject: data.h (batches that come one by one, samples), images.h,
   trainer.h (a loop of one's own), report.h (scores, what outputs mean), exchange.h (PyTorch's
   names, ONNX), parallel.h (several processes), tables.h (layers, workloads, devices).

   Conventions
   - Every function that can fail returns a cornu_status; CORNU_OK is 0. cornu_last_error() then
     names the file, layer or option, the value found and the value expected. The library never
     prints, never exits, and installs no signal handler.
   - Handles are opaque. Every *_close accepts NULL. Strings returned through `char **` belong to
     the caller, who gives them back with cornu_free.
   - Options structs are zero-initialised by the caller; a zero field means the stated default.
   - Structs grow without breaking programs compiled before: a new field takes its place in
     `reserved`, where 0 means what was before it. In options a library refuses what it finds there
     and does not know (CORNU_INVALID); in what it fills in it leaves 0. Structs without a reserve
     are made by the library alone and grow at their end.
   - Images are NHWC: [samples][height][width][channels], 32-bit floats unless said otherwise.
   - A handle may be used by one thread at a time; different handles by different threads. */
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
    CORNU_NOT_FOUND = 2,     /* a file, data set, device or layer is not there */
    CORNU_BAD_FILE = 3,      /* a file is truncated, damaged or of another format */
    CORNU_IO = 4,            /* the operating system refused to read or write */
    CORNU_OUT_OF_MEMORY = 5, /* would need more memory than there is; nothing was allocated */
    CORNU_UNSUPPORTED = 6,   /* valid, but not something that cornu or the device can do */
    CORNU_DEVICE = 7,        /* the device failed */
    CORNU_STOPPED = 8,       /* the caller's should_stop asked for it; state is complete */
    CORNU_NOT_A_NUMBER = 9,  /* terminate_on_nan: the loss became NaN or infinite */
    CORNU_NETWORK = 10,      /* a download failed, or another rank does not answer */
    CORNU_INTERNAL = 11,     /* a bug in cornu */
    CORNU_RANK = 12 /* another rank failed; the message is that rank's, which says it, too */
} cornu_status;

CORNU_API const char *cornu_version(void);
/* Short name of a status: "invalid", "not found", ... */
CORNU_API const char *cornu_status_name(cornu_status status);
/* The message of the calling thread's last failed call; never NULL. */
CORNU_API const char *cornu_last_error(void);
/* Text from outside, such as the name of a file, class or layer, as a terminal may be shown it and
   on one line: control characters, marks that turn the direction of text, and bytes that are no
   UTF-8 become escapes such as \x1b, \n or \u202e; all else stays as it is. Writes at most `size`
   bytes with the zero at the end, cut before a character or escape; returns, as snprintf does, the
   length that all of it has. Messages and notices are made so already; tables are but for their
   ends of lines; names that cornu returns are not. */
CORNU_API size_t cornu_printable(const char *text, char *out, size_t size);
/* Release a string that cornu returned. */
CORNU_API void cornu_free(void *memory);

/* ---- models ----------------------------------------------------------------------------- */

typedef struct cornu_model cornu_model;

/* Open `what`: the id of a built-in workload ("mnist-cnn-2"; see cornu_workload_name), the path of
   a recipe (.yaml, .yml, .json), or the path of a model file (.safetensors, Keras's .keras, .h5,
   .hdf5, or .onnx: a chain of operators that cornu has, without a compile section). */
CORNU_API cornu_status cornu_model_open(const char *what, cornu_model **model);
/* The same from the text of a recipe; `name` stands in for the file name in messages. */
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
/* Choose another loss and other metrics, "{loss: mse, metrics: [mae]}", of a model that is
   compiled: its optimizer goes on with its state, where cornu_model_compile begins anew. */
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
/* Class names, in the order of the outputs, or of both classes where one output tells two; 0 and
   NULL where they are not known. */
CORNU_API int cornu_model_class_count(const cornu_model *model);
CORNU_API const char *cornu_model_class_name(const cornu_model *model, int index);
/* Others, as many as the outputs tell apart; or none (NULL, 0), and the next training takes its
   data's. Training on, and evaluating, data whose classes have names match these to the model's,
   and refuse those that it does not know. */
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
/* The learning rate from the next step on, in place of the optimizer's own, which must not be a
   schedule; also within the callbacks of cornu_fit. The callback learning_rate_schedule sets it
   anew at the beginning of each epoch. */
CORNU_API cornu_status cornu_model_set_learning_rate(cornu_model *model, double rate);
/* Replace the number that is the optimizer's learning rate, above 0, as if the recipe had said it:
   model files hold it, and the optimizer's state begins anew. CORNU_INVALID where the recipe has a
   schedule, or the callback learning_rate_schedule, which would leave nothing of it. */
CORNU_API cornu_status cornu_model_change_learning_rate(cornu_model *model, double rate);
/* Draw new initial weights from `seed`. */
CORNU_API cornu_status cornu_model_initialize(cornu_model *model, uint64_t seed);
/* Take weights by name from a .npz or .safetensors file, or in order from one of Keras's (.keras,
   .h5, .hdf5, .weights.h5) or an .onnx file that is a chain; every weight must be there and fit. */
CORNU_API cornu_status cornu_model_load_weights(cornu_model *model, const char *path);
/* Write weights, optimizer state, recipe and position to one .safetensors, .keras, .h5 or .hdf5
   file, atomically; to .weights.h5 weights and optimizer state alone. */
CORNU_API cornu_status cornu_model_save(const cornu_model *model, const char *path);

/* ---- data ------------------------------------------------------------------------------- */

typedef struct cornu_data cornu_data;

typedef struct cornu_ranks cornu_ranks; /* several processes that train together: parallel.h */

typedef struct cornu_data_options {
    /* Where to look for a named set or a recipe's data, and nowhere else: its folder, or one that
       holds it; CORNU_NOT_FOUND says what is there instead. NULL: the usual places. */
    const char *folder;
    bool allow_download;  /* download (and check) a data set that is not on the machine */
    int64_t image_height; /* image folders: resize to this; 0 is 150 */
    int64_t image_width;
    int64_t image_channels; /* image folders: 1 or 3; 0 is 3 */
    /* Image folders: how to resize: "nearest", "bilinear", "bicubic", "box", "hamming" or
       "lanczos", as Pillow does it; "bilinear_tf", "bicubic_tf" or "lanczos3_tf", as
       tf.image.resize does, rounded; NULL is what the recipe says, else nearest. */
    const char *interpolation;
    /* Image folders: this share becomes the test split, told by each file's name, so that others
       may come and go; 0 is what the recipe says, else none. */
    double validation_split;
    /* Image folders: a file that cannot be used is an error and not left out. */
    bool strict;
    /* Image folders: return once the files are listed, and decode them while they are used; else,
       and with `strict`, all are decoded first. */
    bool background;
    /* Image folders: where decoded pixels stay: NULL: in memory up to half of what is free, else in
       a file; "4GB": the same up to so much; "file": there, and in memory too up to half of what is
       free; "memory": in memory up to half of what is free, else as "off"; "off": nowhere, each
       file is decoded whenever it is needed. No choice changes a sample. Where there is no room for
       the file, "file" fails (CORNU_IO), and the others go on as "off", with a notice. */
    const char *cache;
    const char *cache_folder; /* of that file, NAME.pixels; NULL: the current folder */
    int workers; /* image folders: threads that decode; 0: as the recipe says, else as many as train
                  */
    /* Called while downloading; total is 0 where the server does not say. May be NULL. */
    void (*on_progress)(void *user, const char *file, int64_t done, int64_t total);
    /* Asked while files are downloaded, unpacked or decoded; with `background` also while training
       and evaluation wait for samples. Where it says true, the call returns CORNU_STOPPED. May be
       NULL. */
    bool (*should_stop)(void *user);
    /* One line about something worth knowing (a skipped file, say). May be NULL. With `background`
       also from later calls that use the data, until it is closed. */
    void (*on_notice)(void *user, const char *line);
    void *user;
    /* Image folders: of each picture take the largest part in the middle that has the proportions
       of the new size, so that resizing distorts nothing. */
    bool keep_aspect_ratio;
    /* Image folders: the ranks that will train with the data. With `background` each then decodes
       what cornu_fit needs of it, and nothing else. NULL: alone. */
    cornu_ranks *ranks;
    /* Image folders: all samples are taken, whatever the recipe's validation_split, which is for
       training: as to evaluate a model, or to predict, on other pictures. */
    bool whole;
    /* Image folders: one notice tells what was found, and of files that turn out unreadable later
       another one the first; else each is told. */
    bool brief;
    /* cornu_data_open_for_model with a built-in workload: `folder` may hold other data than it was
       published with, such as pictures of one's own, for which cornu_model_adapt changes the model.
       Where pictures come without a test split and the workload validates, a fifth becomes one. */
    bool other_data;
    /* This share of each split's samples alone, the same of each class (of samples without classes,
       of all) and at least one, as if drawn at random but always the same ones; 0: all. Not of
       cornu_data_from_files. */
    double fraction;
    uint64_t reserved[5]; /* 0 */
} cornu_data_options;

typedef enum cornu_split { CORNU_TRAIN = 0, CORNU_TEST = 1 } cornu_split;

/* Open a data set: a name ("mnist", "fashion_mnist", "cifar10", "cifar100"), a .npz file, or a
   folder (of a named set's files, of train/CLASS/IMAGE, of CLASS/IMAGE, or of one such folder;
   several are CORNU_INVALID, with their names). */
CORNU_API cornu_status cornu_data_open(const char *what, const cornu_data_options *options,
                                       cornu_data **data);
/* The data set for a model: what options->folder names (a folder, also an .npz file or a set's
   name); else what the model was trained on, as cornu_fit noted and the model file keeps it, where
   that is still there; else what its recipe describes (its data section). Of several sets in a
   folder the only one of the model's input shape is taken, and told. */
CORNU_API cornu_status cornu_data_open_for_model(const cornu_model *model,
                                                 const cornu_data_options *options,
                                                 cornu_data **data);

typedef struct cornu_arrays {
    int64_t count;         /* samples */
    int rank;              /* of one sample, up to 4 */
    int64_t shape[4];      /* of one sample, e.g. {28, 28, 1} */
    const uint8_t *pixels; /* [count][shape], scaled as cornu_data_from_arrays says; or NULL */
    const float *values;   /* [count][shape], taken as they are; or NULL */
    const int32_t *labels; /* [count] class numbers; or NULL */
    const float *targets;  /* [count][target_size]; or NULL */
    int64_t target_size;   /* of targets */
    const float *weights;  /* [count] of each sample's loss; or NULL: 1 each */
    double scale;          /* of pixels: a network sees them times this; 0: as below */
    bool fewer_classes;    /* than the outputs of a model that they train: no error */
    uint64_t reserved[7];  /* 0 */
} cornu_arrays;

/* Copy arrays of the caller into a data set; `test` may be NULL.

   What a network sees of uint8 pixels, of these arrays and of all data sets, is the pixel times
   the recipe's `scale`; without one 0 to 255 where the model scales them itself (its first layer,
   but for Reshape, Flatten and ZeroPadding2D, is Rescaling), else 0 to 1. cornu_fit says so in a
   notice, cornu_model_summary shows it, and a model file keeps it. */
CORNU_API cornu_status cornu_data_from_arrays(const cornu_arrays *train, const cornu_arrays *test,
                                              cornu_data **data);
CORNU_API void cornu_data_close(cornu_data *data);

typedef struct cornu_data_info {
    const char *name;   /* "mnist"; lives as long as the data */
    const char *folder; /* where it was found */
    int64_t count[2];   /* samples of each cornu_split; less those that turn out unreadable */
    int rank;
    int64_t shape[8]; /* of one sample */
    int class_count;  /* 0 where targets are not classes */
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
    int64_t step, steps;            /* steps done in this epoch, steps of an epoch (0: not known) */
    double seconds;                 /* spent in this epoch */
    double step_loss;               /* of the last step alone; NaN if not asked for */
    const cornu_scores *scores;     /* running means of this epoch */
    const cornu_scores *validation; /* at the end of an epoch, where there is validation */
    double learning_rate;
    double gather_seconds; /* taking samples and changing them at random, of the seconds spent since
                              the resume; 0 on devices that do not say */
    /* Of `step` and `seconds`: what an earlier run did of this epoch, where this one resumed it. */
    int64_t resumed_step;
    double resumed_seconds;
    /* cornu_fit: seconds until the run will have ended, with its validations and what it writes, by
       what it has taken so far; and by how much that may be wrong in 19 cases of 20, if the machine
       stays as busy as it was. NaN until a second has been measured, and where it is not known how
       much there is to do. */
    double left_seconds, left_error;
    bool left_at_most; /* it may end earlier: the callback early_stopping */
} cornu_progress;

/* How far the writing of a model file has come. */
typedef struct cornu_saving {
    const char *path;
    const char *temporary; /* the file in the same folder that becomes `path` when it is complete;
                              NULL before there is one, and once it is complete */
    int64_t done, total;   /* bytes */
    bool complete;         /* the file at `path` is the new one, and on the disk */
} cornu_saving;

/* Where training stands. */
typedef struct cornu_position {
    int64_t iterations;   /* optimizer steps taken */
    int64_t epoch;        /* the epoch at hand, from 0; as many as `epochs` at the end */
    int64_t step;         /* steps done in it */
    int64_t epochs;       /* that the run was to have; 0: never trained */
    uint64_t reserved[8]; /* 0 */
} cornu_position;
/* Of the model as it is now; may be asked from within should_stop. */
CORNU_API cornu_status cornu_model_position(const cornu_model *model, cornu_position *position);

typedef struct cornu_history cornu_history;

typedef struct cornu_fit_options {
    const char *device;      /* "cpu" (default), "reference", "cuda:0", "opencl:0", "gpu" */
    const char *precision;   /* of products: "fp32" (default); on GPUs also "tf32", "bf16" */
    bool exact_convolution;  /* no Winograd kernels: sums as a convolution is defined */
    int threads;             /* 0: one per physical core that the process may use */
    int64_t epochs;          /* 0: as the recipe says, else 1 */
    int64_t batch;           /* 0: as the recipe says, else 32 */
    int64_t steps_per_epoch; /* 0: as the recipe says, else the whole data set */
    uint64_t seed;           /* 0: as the recipe says, else 1 */
    const char *save; /* model file written at the end, each epoch, and when stopped after a step */
    const char *save_stopped; /* where `save` is NULL: model file written when stopped after a step.
                                 Its name is read only then, and may be empty: none */
    const char *log;          /* CSV file */
    bool log_steps;           /* a row a step instead of a row an epoch */
    /* Folder for the files that the recipe itself names (csv_logger, checkpoint), made where it is
       missing; NULL: the current one. A recipe's paths are relative, without "..", and go through
       no link; they replace nothing but earlier files of their kind. */
    const char *output;
    bool resume;        /* go on from the position in the model file that was opened */
    bool no_validation; /* leave out the recipe's validation */
    void (*on_step)(void *user, const cornu_progress *progress);  /* may be NULL */
    void (*on_epoch)(void *user, const cornu_progress *progress); /* may be NULL */
    void (*on_notice)(void *user, const char *line);              /* may be NULL */
    /* Before a model file is begun, when its temporary file is there, after every few MB, and when
       it is complete; also those of a checkpoint callback. May be NULL. */
    void (*on_save)(void *user, const cornu_saving *saving);
    bool (*should_stop)(void *user); /* asked after each step and each epoch; may be NULL */
    void *user;
    /* The fit section of a recipe (validation_split, validation_steps, shuffle, callbacks, ...) as
       YAML or JSON, in place of the model's own; NULL: that. Its files may lie anywhere, whatever
       `output` is, and replace what is there. */
    const char *section;
    bool each_step; /* on_step after every step, and not some ten times a second */
    /* Before an epoch's first step; `scores` are those of none. May be NULL. */
    void (*on_epoch_begin)(void *user, const cornu_progress *progress);
    /* Its training split validates at the end of each epoch, whatever the fit section says; NULL:
       as that says. */
    const cornu_data *validation_data;
    /* Before the first batch of a validation (step 0), and after each (each_step) or some. May be
       NULL. */
    void (*on_validation_step)(void *user, const cornu_progress *progress);
    /* Folder for event files that TensorBoard shows, as the callback `tensorboard` writes them:
       train/ and validation/; NULL: none. */
    const char *tensorboard;
    /* Divide each batch into so many shards, a power of two: their gradients are computed one after
       the other and added in a fixed tree, with the memory of one shard's activations at a time.
       Bits depend on this number. 0: as the recipe says, else 1; with ranks, how many these are. */
    int64_t shards;
    /* Train together with these, which all do the same; NULL: alone. Each has as many of a batch's
       shards as the others; bits do not depend on how many ranks there are. Rank 0 alone writes
       files; all return the same model. Where one of them fails, the others do (CORNU_RANK). */
    cornu_ranks *ranks;
    /* What the gradients of shards are rounded to wherever they are added, so that they can be sent
       so: "fp32" (exact), or "bf16", half the bytes, which changes bits, though not by how many
       ranks there are. NULL: as the recipe says, else "fp32". */
    const char *wire;
    /* Of several ranks each applies the optimizer to a part of the weights, and sends it to the
       others: no rank goes through all of them. Same bits. Within an epoch each has the optimizer's
       state of its part alone, so that its variables cannot be read, nor a whole model file be
       written by a callback of one rank. Of devices whose memory is the host's. */
    bool shard_optimizer;
    /* What the section's callbacks go on from, as cornu_history_callbacks gave it of an earlier run
       with the same list of callbacks, with null in place of one that begins anew; NULL: all of
       them do. With `resume` it is the model file that says so. */
    const char *callback_state;
    uint64_t reserved[2]; /* 0 */
} cornu_fit_options;

/* Train; `history` may be NULL. Within its callbacks the model's weights can be read and written,
   its learning rate set, the model saved, evaluated and asked for predictions. Returns
   CORNU_STOPPED when should_stop asked for it, or that of the data; after at least one step the
   model file, if any, has been written then and `resume` goes on from it. */
CORNU_API cornu_status cornu_fit(cornu_model *model, const cornu_data *data,
                                 const cornu_fit_options *options, cornu_history **history);

typedef struct cornu_run_options {
    const char *device;     /* as in cornu_fit_options */
    const char *precision;  /* as in cornu_fit_options */
    bool exact_convolution; /* as in cornu_fit_options */
    int threads;
    int64_t batch;     /* 0: as the recipe says, else 32 */
    cornu_split split; /* evaluate, predict on data: which samples; CORNU_TRAIN is 0 */
    int64_t steps;     /* evaluate: batches at most; 0: all */
    bool each_step;    /* evaluate: on_step after every step, and not some ten times a second */
    void (*on_step)(void *user, const cornu_progress *progress); /* may be NULL */
    bool (*should_stop)(void *user);                             /* may be NULL */
    void *user;
    int64_t top_k; /* cornu_evaluate_report: of cornu_report_info.top_k_accuracy; 0: 5 */
    /* evaluate: a line about something worth knowing, such as classes of the model that the data
       has no pictures of. May be NULL. */
    void (*on_notice)(void *user, const char *line);
    uint64_t reserved[6]; /* 0 */
} cornu_run_options;

/* Mean loss and metrics over a split. */
CORNU_API cornu_status cornu_evaluate(cornu_model *model, const cornu_data *data,
                                      const cornu_run_options *options, cornu_scores *scores);

/* Outputs [count][output shape] of `count` inputs [count][input shape]. */
CORNU_API cornu_status cornu_predict(cornu_model *model, const float *inputs, int64_t count,
                                     const cornu_run_options *options, float *outputs);
/* Would cornu_fit take this data: its shapes, its classes by number or name, its targets? What is
   wrong is CORNU_INVALID with cornu_fit's message. Nothing is changed. */
CORNU_API cornu_status cornu_fit_check(const cornu_model *model, const cornu_data *data);

/* One row an epoch. Columns: loss, metrics, val_loss, val_metrics, learning_rate, seconds. */
CORNU_API int cornu_history_epochs(const cornu_history *history);
CORNU_API int cornu_history_columns(const cornu_history *history);
CORNU_API const char *cornu_history_name(const cornu_history *history, int column);
CORNU_API double cornu_history_value(const cornu_history *history, int epoch, int column);
/* What the run's callbacks remember at its end, such as the best value so far: a list as JSON,
   [{"name": "checkpoint", "state": {...}}, ...], in the order of the fit section; lives as long as
   the history. NULL for NULL, and where there was no memory for it. */
CORNU_API const char *cornu_history_callbacks(const cornu_history *history);
/* Seconds that cornu_fit took in all: opening the device, plans and files besides the epochs. */
CORNU_API double cornu_history_seconds(const cornu_history *history);
CORNU_API void cornu_history_close(cornu_history *history);

#ifdef __cplusplus
}
#endif
#endif
