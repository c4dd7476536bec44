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
#include <string.h>

typedef struct device device;
typedef struct prepared prepared; /* a plan made ready on a device */

/* What the products of dense and convolution layers are computed in; all else is 32-bit floats. */
typedef enum device_precision {
    PRECISION_FP32, /* exact: 32-bit operands and sums */
    PRECISION_TF32, /* operands rounded to 10 bits of fraction, sums in 32 bits */
    PRECISION_BF16  /* operands rounded to 7 bits of fraction, sums in 32 bits; cuDNN rounds a
                       convolution's result to 7 bits, too */
} device_precision;

typedef struct device_options {
    int threads;                /* 0: default */
    device_precision precision; /* what a device does not have fails with CORNU_UNSUPPORTED */
    const char *
        kernel; /* tests: use only kernels of this name where they accept; NULL: the list's order */
    const char *tuning; /* device_tuning.text of such a device; NULL: the user's, else built in */
} device_options;

/* How the kernels of a device that can be tuned divide their work: the order of sums, and with it
   their bits, follows from it. */
enum { TUNING_TEXT = 256 };
typedef struct device_tuning {
    char text[TUNING_TEXT]; /* "gemm_m=64 gemm_n=64 ..."; "": there is nothing to tune */
    char source[512];       /* "built in", or the file that it is from */
} device_tuning;

/* What one step reads from the host. Everything pointed to stays unchanged until the next call of
   results or synchronize; a device without `upload` has read it when `run` returns. */
typedef struct step_input {
    const sample_block *samples;
    const int64_t *index; /* [plan batch] numbers of the samples */
    uint64_t seed;
    int64_t iteration; /* optimizer steps taken before this one; keys dropout */
    int64_t first;     /* the first sample's place in the step's whole batch, of which this may be a
                          shard; keys dropout */
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
    double gather_seconds;             /* of gathering and augmenting samples; 0: not measured */
} step_results;

/* How an operation will run, for explain. */
typedef struct kernel_choice {
    const char *kernel; /* "cpu/onednn_conv"; "with 12": it runs within operation 12's, from 1; of
                           the next step, if that one comes before it */
    const char *group;  /* the name of the group that it runs as one; NULL: the operation alone */
    char
        refused[256]; /* "NAME: reason; NAME: reason" of the kernels before it in the list, or "" */
    size_t scratch_bytes; /* memory besides its tensors'; the device has the largest for all */
    /* What the kernel really does, with the operations that run within it: Winograd multiplies less
       than a convolution's definition, a fused kernel does not move what stays in registers. Both 0
       for an operation that runs within another's kernel. */
    double flops, bytes;
    int launches; /* of kernels on an accelerator per step; 0 on the host */
} kernel_choice;
/* Does it run within another operation's kernel ("with 12")? */
static inline bool op_is_fused(const kernel_choice *c)
{
    return strncmp(c->kernel, "with ", 5) == 0;
}

/* What the device does at most, measured: its roofline (device/roofline.h). 0: it has no such unit,
   or it is not known. */
typedef struct device_limits {
    double fma;            /* FLOP/s of 32-bit multiply-adds (each is 2); with AMX those of the six
                              products by which its tiles multiply floats */
    double tf32, bf16;     /* FLOP/s of matrix units */
    double read;           /* bytes/s, reading its memory */
    double update;         /* bytes/s, read and written, in place */
    double cache_update;   /* the same in its last-level cache */
    double cache_bytes;    /* size of that cache */
    double launch_seconds; /* accelerators: from one kernel to the next in a graph */
    int threads;           /* of the host that were measured */
    char isa[16];          /* the instruction set of `fma` on the host: "AVX-512", "AMX" */
} device_limits;

/* What the device says of itself right now; NAN: it does not. */
typedef struct device_sensors {
    double watts, joules; /* joules: since some fixed moment; differences count */
    double clock_mhz, memory_clock_mhz, celsius;
    bool throttled;
} device_sensors;

/* Shares of the time from the start of the first to the end of the last command; NAN: it does not
 * say. */
typedef struct device_idle {
    double empty; /* nothing is queued: it waits for the host */
    double
        between; /* from the end of a command to the start of the next, which is queued already */
} device_idle;

typedef struct device_ops {
    const char *name; /* what --device takes: "cpu", or with a number "cuda:0" */
    /* optional: how many devices of this kind there are, at least 1 (the first may not be
       available); NULL: one, without a number. */
    int (*count)(void);
    /* Fill in everything that is known of device `number` (zeroed before); never fails. */
    void (*describe)(int number, cornu_device_info *info);
    cornu_status (*open)(int number, const device_options *options, device **out);
    void (*close)(device *d);
    /* Allocate the model's variables and take over their host values. */
    cornu_status (*bind)(device *d, const cornu_model *model);
    /* optional: the plan's first operation that the device has no kernel for; NULL, or no slot:
       it has one for all. */
    const op *(*lacks)(const device *d, const plan *p);
    /* Bytes of memory that `prepare` takes for the plan's buffers: less than plan.arena_bytes where
       kernels of groups leave tensors out. Allocates nothing; needs no `bind`. */
    cornu_status (*buffer_bytes)(device *d, const plan *p, int64_t *bytes);
    /* Choose kernels, allocate buffers and scratch memory. Refuses, before allocating, what it
       lacks a kernel for and what does not fit. The buffers' memory is shared by all plans of the
       device (grown to the largest). */
    cornu_status (*prepare)(device *d, const plan *p, prepared **out);
    void (*release)(device *d, prepared *p);
    /* optional: a copy of the samples in the device's memory; run works without it. */
    cornu_status (*upload)(device *d, const sample_block *samples);
    /* Run `steps` steps of the plan, one step_input each. */
    cornu_status (*run)(device *d, prepared *p, const step_input *inputs, int steps);
    /* Wait, read the sums, and with `reset` start them anew. */
    cornu_status (*results)(device *d, step_results *out, bool reset);
    cornu_status (*synchronize)(device *d);
    /* A tensor of a prepared plan after a run, or a variable, in plain layout; `count` floats. A
       buffer is readable if the plan keeps it to the end (output, gradients with SCOPE_GRADIENTS).
     */
    cornu_status (*read)(device *d, prepared *p, tensor_ref t, float *values, int64_t count);
    /* optional where there is `place`: fill a buffer before a run. */
    cornu_status (*write)(device *d, prepared *p, tensor_ref t, const float *values, int64_t count);
    /* optional, where memory is the host's: from the next run on a buffer that `read` would take
       lies at `values`, in as many floats, in the order in which the device keeps it. */
    cornu_status (*place)(device *d, prepared *p, tensor_ref t, float *values);
    /* optional, where memory is the host's: from now on these variables lie in one block of
       `values` floats, each where `at` says, in the order in which the device keeps it, and zeros
       between them. The block is the device's. */
    cornu_status (*join)(device *d, const int *variables, const int64_t *at, int count,
                         int64_t values, float **block);
    /* optional: during the plan's next runs tell on the running thread, behind each operation or
       group, that the plan's first `ops` operations are done; `done` NULL: no more. */
    void (*watch)(device *d, prepared *p, void (*done)(void *context, int ops), void *context);
    cornu_status (*read_variable)(device *d, int variable, float *values, int64_t count);
    cornu_status (*write_variable)(device *d, int variable, const float *values, int64_t count);
    /* The kernel chosen for each operation. */
    cornu_status (*choices)(device *d, const prepared *p, kernel_choice *out);
    /* Run one step with a clock around each operation: seconds[op_count]; 0 for those that run
       within another's kernel. */
    cornu_status (*time_operations)(device *d, prepared *p, const step_input *input,
                                    double *seconds);
    /* optional: how much of each operation's time there is its launches', which empty kernels would
       take as well: seconds[op_count]; 0 where the clock is within the kernels. */
    cornu_status (*launch_gaps)(device *d, prepared *p, double *seconds);
    /* optional: seconds for which the last timed step's operations kept the host, which libraries'
       calls do for long; in no operation's time. 0: not known. */
    double (*host_seconds)(const device *d);
    /* Bytes that are free for variables, buffers and scratch memory. */
    int64_t (*memory_free)(const device *d);
    /* optional: about a second of probes. NULL: those of the device "cpu" are its own. */
    cornu_status (*limits)(device *d, device_limits *out);
    /* optional: FLOP/s of a millisecond of multiply-adds; shows a throttled or shared machine. */
    double (*probe)(device *d);
    /* optional, where memory is the host's: bytes/s of reading the model's variables (at most 32 MB
       of them) through once, the fastest of three times; NAN without variables. Shows caches and
       memory that are shared. */
    double (*memory_probe)(device *d);
    /* optional: the device's own clock, in the order of its work: `seconds` NULL starts it, else
       waits for all work and gives the seconds since the start. */
    cornu_status (*timer)(device *d, double *seconds);
    /* optional: when it does no work: `out` NULL begins to note it, else waits for all work and
       gives that since then. */
    cornu_status (*idle)(device *d, device_idle *out);
    /* optional, all three or none. What is used: */
    cornu_status (*tuning)(device *d, device_tuning *out);
    /* What is worth trying in place of `from`: number `index` of stage `stage`, which are about one
       thing each. False past a stage's last; of the stage behind the last number 0 is none. */
    bool (*tuning_candidate)(device *d, const char *from, int stage, int index,
                             char text[TUNING_TEXT]);
    /* Use it whenever this device is opened with this driver: in the user's file. *kept: where. */
    cornu_status (*tuning_keep)(device *d, const char *text, device_tuning *kept);
    /* optional */
    cornu_status (*sensors)(device *d, device_sensors *out);
    /* optional: a line on what does not run as it should on this device, and what does instead;
       "": nothing. */
    const char *(*notice)(const device *d);
} device_ops;

struct device {
    const device_ops *ops; /* first member of every device's own struct */
};

/* devices.def: DEVICE(table), in the order of `cornu devices`. */
extern const device_ops *const device_table[]; /* NULL-ended */
/* "fp32" (NULL), "tf32", "bf16". */
cornu_status device_precision_find(const char *name, device_precision *out);
const char *device_precision_name(device_precision precision);
/* The instruction set of the cpu device's kernels here, "avx512": the widest that the processor
   has, or that of CORNU_ISA. */
cornu_status device_isa(const char **name);
/* One device: a row and its number. */
typedef struct device_id {
    const device_ops *ops;
    int number;
} device_id;
/* "cpu", "reference", "cuda:1", "cuda" (cuda:0), "opencl:0", "gpu" (the first GPU); NULL: "cpu".
   Unknown names and absent devices fail with CORNU_NOT_FOUND and say what there is. */
cornu_status device_find(const char *name, device_id *out);
/* All devices in order, for `cornu devices`: false past the end. `info` says whether it can be
 * used. */
bool device_at(int index, device_id *id, cornu_device_info *info);

#endif
