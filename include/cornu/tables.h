/* Tables of cornu's layers, options, workloads and devices, and of the plan of a step; text that is
 * safe on a terminal. The conventions of cornu.h hold. */
#ifndef CORNU_TABLES_H
#define CORNU_TABLES_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Everything that a recipe may name, with options, as JSON: {"layers": [{"class_name": "Dense",
   "name": "dense", "aliases": [], "options": [{"name": "units", "type": "int", "required": true,
   "alias": false, "stands_for": null, "default": null, "choices": []}, ...]}, ...],
   "activations", "initializers", "regularizers", "constraints", "losses", "metrics", "optimizers",
   "schedules", "callbacks", "applications"}.
   Names and order are Keras's. An option of type "neutral" exists in Keras, and only the values
   in `choices` are accepted; one of type "ignored" has no effect. "alias": accepted, but not an
   option of the current Keras class; "stands_for" is the option that it is another name of
   ("alpha" of LeakyReLU: "negative_slope"), else null. "operation" of a layer is Keras's module
   where it has an operation of keras.ops in its place, else null. */
CORNU_API cornu_status cornu_tables(char **json);
/* Keras's configuration, as JSON, of a network that has a name, which is one of "applications" or
   Keras's ("mobilenet-v2", "MobileNetV2"): {"class_name": "Functional", "config": {...},
   "automatic": [names], "weights": address or null}. `options` are the arguments of Keras's
   function as YAML or JSON; NULL: none. "automatic" lists the layers whose names Keras counts
   across models, and "weights" is the address of its file of weights trained on ImageNet. A recipe
   may say `model: mobilenet-v2`, which cornu_model_parse reads. */
CORNU_API cornu_status cornu_application_config(const char *name, const char *options, char **json);
/* The recipes' names of these networks, in order; NULL past the end. */
CORNU_API const char *cornu_application_name(int index);
/* The learning rate that a schedule (a recipe's or Keras's, as text) gives step `step`, from 0. */
CORNU_API cornu_status cornu_schedule_rate(const char *schedule, int64_t step, double *rate);
/* The values that an initializer (as text) gives a weight of this shape: values[count], where
   `count` is the product of shape[rank]. Those of a seed are always the same. CORNU_INVALID where
   the initializer has none of this shape. */
CORNU_API cornu_status cornu_initializer_values(const char *initializer, const int64_t *shape,
                                                int rank, uint64_t seed, float *values,
                                                int64_t count);
/* The built-in workloads: their ids, in order; NULL past the end. */
CORNU_API const char *cornu_workload_name(int index);
/* The recipe of a built-in workload as YAML. */
CORNU_API cornu_status cornu_workload_recipe(const char *name, char **yaml);

typedef struct cornu_device_info {
    size_t size;
    char name[64];         /* value for --device: "cpu", "cuda:0", "opencl:0" */
    char description[256]; /* "Intel Xeon ... 2 cores, AVX-512" */
    char libraries[128];   /* "CUDA 12.4, cuBLASLt 12.4, cuDNN 9.1.0"; the cpu has none: "" */
    bool available;
    bool gpu; /* it is a GPU; OpenCL also drives CPUs */
    int threads;
    char reason[256];    /* why it is not available, or which library is missing; what to install */
    char bus_id[32];     /* GPUs: "0000:01:00.0"; else "" */
    char capability[16]; /* GPUs: compute capability, "9.0"; else "" */
    char driver[64];     /* GPUs: the driver's version; else "" */
    int64_t memory_bytes, memory_free_bytes;
} cornu_device_info;

/* Devices that this build knows, in order; false past the end, and without info->size. */
CORNU_API bool cornu_device_info_get(int index, cornu_device_info *info);
typedef struct cornu_explain_options {
    size_t size;
    cornu_where where;
    int64_t batch;        /* 0: as the recipe says, else 32 */
    bool run;             /* time each operation and relate it to the measured limits */
    bool shard_optimizer; /* as in cornu_fit_options */
    int ranks; /* the step of rank 0 of so many, a power of two, with what they send; 0: of one */
    const char *gradient_dtype;      /* of what ranks send: "fp32" (NULL) or "bf16" */
    bool (*should_stop)(void *user); /* may be NULL */
    void *user;
    bool recompute; /* as in cornu_fit_options */
} cornu_explain_options;

/* The plan of one training step as a table: operation, shape, kernel, why other kernels refused,
   FLOPs, bytes; with `run`, time and share of the measured limit. */
CORNU_API cornu_status cornu_explain(cornu_model *model, const cornu_explain_options *options,
                                     char **text);
/* For bug reports: versions of the program, its compiler, the libraries (at run time and at
   build time), the system, the processor, and the devices with their drivers. */
CORNU_API cornu_status cornu_versions(char **text);
/* The environment variables that cornu reads, as a table with their current values. */
CORNU_API cornu_status cornu_environment(char **text);

/* Make text from outside, such as the name of a file, class or layer, safe to show on one line
   of a terminal: control characters, characters that change the direction of text, and bytes
   that are not valid UTF-8 become escapes such as \x1b, \n or \u202e; all else is unchanged.
   Writes at most `size` bytes including the terminating zero, and never cuts within a character
   or escape. Returns the length of the complete result, as snprintf does. The library's messages
   and notices are already safe; so are its tables, which only add line ends; names that the
   library returns are not. */
CORNU_API size_t cornu_printable(const char *text, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
