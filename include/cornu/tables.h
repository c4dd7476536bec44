/* What cornu knows: layers, options, workloads, devices; and how a step runs. The conventions are
 * those of cornu.h. */
#ifndef CORNU_TABLES_H
#define CORNU_TABLES_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The compile section of a model as JSON, in the form that cornu_model_compile takes; "null" where
 * it has none. */
CORNU_API cornu_status cornu_model_compile_config(const cornu_model *model, char **json);
/* The fit section of a model as JSON, as the recipe has it; "null" where it has none. */
CORNU_API cornu_status cornu_model_fit_config(const cornu_model *model, char **json);
/* Replace the data section of the model's recipe: how samples are scaled, changed at random and
   standardized (docs/recipes.md), as YAML or JSON; NULL: none. */
CORNU_API cornu_status cornu_model_set_data(cornu_model *model, const char *section);
/* All that a recipe may name, with options, as JSON: {"layers": [{"class_name": "Dense", "name":
   "dense", "aliases": [], "options": [{"name": "units", "type": "int", "required": true, "alias":
   false, "stands_for": null, "default": null, "choices": []}, ...]}, ...], "activations",
   "initializers", "losses", "metrics", "optimizers", "schedules", "callbacks"}. Names and order are
   Keras's. An option's type "neutral" is Keras's own and is taken only at one of `choices`;
   "ignored" has no effect. "alias": read, and not among what Keras's class takes today;
   "stands_for" is the option that it spells otherwise ("alpha" of LeakyReLU: "negative_slope"),
   null where it is one of its own. */
CORNU_API cornu_status cornu_tables(char **json);
/* The built-in workloads: their ids, in order; NULL past the end. */
CORNU_API const char *cornu_workload_name(int index);
/* The recipe of one, as YAML. */
CORNU_API cornu_status cornu_workload_recipe(const char *name, char **yaml);
/* Make a built-in workload, as it was opened, tell so many classes apart: its last layer with units
   gets as many. CORNU_INVALID for other models, and where it has weights by now. */
CORNU_API cornu_status cornu_model_set_outputs(cornu_model *model, int64_t classes);
/* Change a built-in workload that has no weights yet for data which was opened for it with
   options.other_data: its last layer gets a unit a class (cornu_model_set_outputs), and its recipe
   keeps which data that was. *told (may be NULL) is one line of what changed, or NULL. */
CORNU_API cornu_status cornu_model_adapt(cornu_model *model, const cornu_data *data, char **told);
typedef struct cornu_device_info {
    char name[64];         /* what --device takes: "cpu", "cuda:0", "opencl:0" */
    char description[256]; /* "Intel Xeon ... 2 cores, AVX-512" */
    char libraries[128];   /* "oneDNN 2.6.3" */
    bool available;
    char reason[256]; /* why it is not available, or what it has to do without; what to install */
    char bus_id[32];  /* GPUs: "0000:01:00.0"; else "" */
    char capability[16]; /* GPUs: compute capability, "9.0"; else "" */
    char driver[64];     /* GPUs: the driver's version; else "" */
    int64_t memory_bytes, memory_free_bytes;
    int threads;
    bool gpu;             /* it is a GPU; OpenCL also drives CPUs */
    uint64_t reserved[8]; /* 0 */
} cornu_device_info;

/* Devices that this build knows, in order; false past the end. */
CORNU_API bool cornu_device_info_get(int index, cornu_device_info *info);
typedef struct cornu_explain_options {
    const char *device;     /* as in cornu_fit_options */
    const char *precision;  /* as in cornu_fit_options */
    bool exact_convolution; /* as in cornu_fit_options */
    int threads;
    int64_t batch;                   /* 0: as the recipe says, else 32 */
    bool run;                        /* time each operation and relate it to the measured limits */
    bool (*should_stop)(void *user); /* may be NULL */
    void *user;
    uint64_t reserved[8]; /* 0 */
} cornu_explain_options;

/* The plan of one training step as a table: operation, shape, kernel, why others refused, FLOPs,
   bytes; with `run`, time and share of the measured limit. */
CORNU_API cornu_status cornu_explain(cornu_model *model, const cornu_explain_options *options,
                                     char **text);
/* Versions of the program, its compiler, the libraries while they run and as it was built with
   them, system, processor and devices with their drivers: for bug reports. */
CORNU_API cornu_status cornu_versions(char **text);
/* The environment variables that cornu reads, as a table with their present values. */
CORNU_API cornu_status cornu_environment(char **text);

#ifdef __cplusplus
}
#endif
#endif
