/* Where a plan runs: the one table that a device fills in.

   A device holds the variables (weights, slots) and the plans' buffers wherever it likes and in
   whatever layout it likes; only `read` and `write` speak of the plain row-major layout. `run` may
   return before the work is done; `results`, `read` and `synchronize` wait. Slots marked optional
   may stay NULL.

   One device handle serves one model: bind is called once, then any number of plans are prepared.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "step/plan.h"

typedef struct device device;
typedef struct prepared prepared; /* a plan made ready on a device */

typedef struct device_options {
    int threads; /* 0: default */
    const char *
        kernel; /* tests: use only kernels of this name where they accept; NULL: the list's order */
} device_options;

/* What one step reads from the host. Everything pointed to stays unchanged until the next call of
   results or synchronize. */
typedef struct step_input {
    const sample_block *samples;
    const int64_t *index; /* [plan batch] numbers of the samples */
    uint64_t seed;
    int64_t iteration; /* optimizer steps taken before this one; keys dropout */
    int64_t epoch;     /* keys augmentation */
    float learning_rate;
} step_input;

/* Sums since the last reset; the host reads them when a progress line is due. */
typedef struct step_results {
    int64_t samples;
    double loss;                       /* sum over steps of mean loss times batch */
    double metrics[MODEL_METRICS_MAX]; /* row sums */
    double last_loss;                  /* of the last step alone */
    bool not_finite;                   /* some step's loss was NaN or infinite */
} step_results;

/* How an operation will run, for explain. */
typedef struct kernel_choice {
    const char *kernel; /* "cpu/onednn_conv" */
    char
        refused[256]; /* "NAME: reason; NAME: reason" of the kernels before it in the list, or "" */
    size_t scratch_bytes;
} kernel_choice;

typedef struct device_ops {
    const char *name; /* what --device takes */
    /* Fill in name, description, libraries, available, reason, memory, threads; never fails. */
    void (*describe)(cornu_device_info *info);
    cornu_status (*open)(const device_options *options, device **out);
    void (*close)(device *d);
    /* Allocate the model's variables and take over their host values. */
    cornu_status (*bind)(device *d, const cornu_model *model);
    /* Choose kernels, allocate buffers and scratch memory. Refuses, before allocating, what does
       not fit. The arena is shared by all plans of the device (grown to the largest). */
    cornu_status (*prepare)(device *d, const plan *p, prepared **out);
    void (*release)(device *d, prepared *p);
    /* optional: a copy of the samples near the device; run works without it. */
    cornu_status (*hold)(device *d, const sample_block *samples);
    /* Run `steps` steps of the plan, one step_input each. */
    cornu_status (*run)(device *d, prepared *p, const step_input *inputs, int steps);
    /* Wait, read the sums, and with `reset` start them anew. */
    cornu_status (*results)(device *d, step_results *out, bool reset);
    cornu_status (*synchronize)(device *d);
    /* A tensor of a prepared plan after a run, or a variable, in plain layout; `count` floats. A
       buffer is readable if the plan keeps it to the end (output, gradients with keep_gradients).
     */
    cornu_status (*read)(device *d, prepared *p, tensor_ref t, float *values, int64_t count);
    cornu_status (*read_variable)(device *d, int variable, float *values, int64_t count);
    cornu_status (*write_variable)(device *d, int variable, const float *values, int64_t count);
    /* The kernel chosen for each operation. */
    cornu_status (*choices)(device *d, const prepared *p, kernel_choice *out);
    /* Run one step with a clock around each operation: seconds[op_count]. */
    cornu_status (*time_operations)(device *d, prepared *p, const step_input *input,
                                    double *seconds);
    /* Bytes that prepare would allocate beyond the plan's arena and variables: host or device
     * memory. */
    int64_t (*memory_free)(const device *d);
} device_ops;

struct device {
    const device_ops *ops; /* first member of every device's own struct */
};

/* devices.def: DEVICE(table), in the order of `cornu devices`. */
extern const device_ops *const device_table[]; /* NULL-ended */
/* The row called `name` (NULL: "cpu"); unknown names and absent devices fail with CORNU_NOT_FOUND
   and say what there is. */
cornu_status device_find(const char *name, const device_ops **out);

#endif
