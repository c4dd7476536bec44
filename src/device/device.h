/* Where a plan runs: the one table that a device fills in.

   A device keeps the variables (weights, slots) and the plans' buffers in any memory and any
   layout; only `read` and `write` use the plain row-major layout. `run` may return before the work
   is done; `results`, `read` and `synchronize` wait. Slots marked optional may stay NULL.

   One device handle serves one model: bind is called once, then any number of plans are prepared.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "step/plan.h"
#include <cornu/tables.h>
#include <string.h>

typedef struct device device;
typedef struct prepared prepared; /* a plan made ready on a device */

/* The operands of the products of dense and convolution layers; all other arithmetic is in 32-bit
   floats. */
typedef enum device_precision {
    PRECISION_FP32, /* exact: 32-bit operands and sums */
    PRECISION_TF32, /* operands rounded to 10 bits of fraction, sums in 32 bits */
    PRECISION_BF16  /* operands rounded to 7 bits of fraction, sums in 32 bits; cuDNN also rounds a
                       convolution's result to 7 bits */
} device_precision;

typedef struct device_options {
    int threads;                /* 0: default */
    device_precision precision; /* a precision that the device lacks fails with CORNU_UNSUPPORTED */
    const char *kernel; /* tests: use only the kernels with this name where they accept; NULL: the
                                   list's order */
    const char *tuning; /* device_tuning.text of this device; NULL: the user's tuning, else the
                           built-in one */
} device_options;

/* How the kernels of a tunable device divide their work. This decides the order of sums, and so
   their bits. */
enum { TUNING_TEXT = 256 };
typedef struct device_tuning {
    char text[TUNING_TEXT]; /* "gemm_m=64 gemm_n=64 ..."; "": nothing can be tuned */
    char source[512];       /* "built in", or the file that it was read from */
} device_tuning;

/* The input of one step, from the host. All memory pointed to must stay unchanged until the next
   call of results or synchronize; a device without `upload` has read it when `run` returns. */
typedef struct step_input {
    const sample_block *samples;
    const int64_t *index; /* [plan batch] indices of the samples */
    uint64_t seed;
    int64_t iteration; /* optimizer steps taken before this one; keys dropout */
    int64_t first; /* position of the first sample in the whole batch, of which this may be a few;
                      keys dropout */
    int64_t epoch; /* keys augmentation */
    float learning_rate;
} step_input;

/* Sums since the last reset; the host reads them when it prints a progress line. */
typedef struct step_results {
    int64_t samples;
    double loss;                       /* sum over steps of mean loss times batch */
    double metrics[MODEL_METRICS_MAX]; /* sums over rows */
    /* The numbers that TALLY adds to: of the prepared plan with most of them; from a device they
       are its own, until it is called again. */
    double *tables;
    int table_count;
    double last_loss;      /* of the last step alone */
    bool not_finite;       /* the loss of a step was NaN or infinite */
    double gather_seconds; /* spent on gathering and augmenting samples; 0: not measured */
} step_results;

/* The kernel that will run an operation, for explain. */
typedef struct kernel_choice {
    const char *kernel; /* "cpu/indirect"; "with 12": it runs within the kernel of operation 12,
                           counted from 1 (of the next step, if operation 12 comes before it) */
    const char *group;  /* the name of the group that runs as one; NULL: the operation alone */
    char
        refused[256]; /* "NAME: reason; NAME: reason" of the kernels before it in the list, or "" */
    size_t scratch_bytes; /* memory besides its tensors; the device allocates the maximum over all
                             operations */
    /* The actual work of the kernel, including the operations that run within it: Winograd
       multiplies less than a convolution's definition, and a fused kernel does not move tensors
       that stay in registers. Both 0 for an operation that runs within another's kernel. */
    double flops, bytes;
    int launches; /* of kernels on an accelerator per step; 0 on the host */
} kernel_choice;
/* Does it run within another operation's kernel ("with 12")? */
static inline bool op_is_fused(const kernel_choice *c)
{
    return strncmp(c->kernel, "with ", 5) == 0;
}

/* The device's measured peaks: its roofline (device/roofline.h). 0: it has no such unit, or the
   peak is unknown. */
typedef struct device_limits {
    double fma; /* FLOP/s of 32-bit multiply-adds (each is 2); with AMX the rate of the six products
        by which its tiles multiply floats */
    double tf32, bf16;     /* FLOP/s of matrix units */
    double read;           /* bytes/s, reading its memory */
    double update;         /* bytes/s, read and written, in place */
    double cache_update;   /* the same in its last-level cache */
    double cache_bytes;    /* size of that cache */
    double launch_seconds; /* accelerators: from the end of one kernel to the start of the next in a
                              graph */
    int threads;           /* number of host threads in the measurement */
    char isa[16];          /* the instruction set of `fma` on the host: "AVX-512", "AMX" */
} device_limits;

/* The device's current sensor readings; NAN: not available. */
typedef struct device_sensors {
    double watts, joules; /* joules: since an arbitrary moment; only differences have a meaning */
    double clock_mhz, memory_clock_mhz, celsius;
    bool throttled;
} device_sensors;

/* Shares of the time from the start of the first command to the end of the last; NAN: not
   available. */
typedef struct device_idle {
    double empty; /* the queue is empty: the device waits for the host */
    double
        between; /* from the end of a command to the start of the next, which is already queued */
} device_idle;

typedef struct device_ops {
    const char *name; /* the name in --device: "cpu", or with a number "cuda:0" */
    /* optional: the number of devices of this kind, at least 1 (the first may be unavailable);
       NULL: one, without a number. */
    int (*count)(void);
    /* Fill in all known facts about device `number` (zeroed before); never fails. */
    void (*describe)(int number, cornu_device_info *info);
    cornu_status (*open)(int number, const device_options *options, device **out);
    void (*close)(device *d);
    /* Allocate the model's variables and copy their values from the host. */
    cornu_status (*bind)(device *d, const cornu_model *model);
    /* optional: the plan's first operation without a kernel on this device; NULL: all have one. A
       device without this slot has a kernel for every operation. */
    const op *(*lacks)(const device *d, const plan *p);
    /* Bytes that `prepare` takes for the plan's buffers: less than plan.arena_bytes where kernels
       of groups leave tensors out. Allocates nothing; needs no `bind`. */
    cornu_status (*buffer_bytes)(device *d, const plan *p, int64_t *bytes);
    /* Choose kernels, allocate buffers and scratch memory. Fails, before allocating, where an
       operation has no kernel or memory does not suffice. All plans of the device share the
       buffers' memory (it grows to the largest). */
    cornu_status (*prepare)(device *d, const plan *p, prepared **out);
    void (*release)(device *d, prepared *p);
    /* optional: a copy of the samples in the device's memory; run works without it. */
    cornu_status (*upload)(device *d, const sample_block *samples);
    /* Run `steps` steps of the plan, one step_input each. */
    cornu_status (*run)(device *d, prepared *p, const step_input *inputs, int steps);
    /* Wait, read the sums, and with `reset` set them to 0. */
    cornu_status (*results)(device *d, step_results *out, bool reset);
    cornu_status (*synchronize)(device *d);
    /* Read a tensor of a prepared plan after a run, or a variable, in plain layout; `count` floats.
       A buffer can be read if the plan keeps it to the end (output, gradients with
       SCOPE_GRADIENTS). */
    cornu_status (*read)(device *d, prepared *p, tensor_ref t, float *values, int64_t count);
    /* optional on a device with `place`: fill a buffer before a run. */
    cornu_status (*write)(device *d, prepared *p, tensor_ref t, const float *values, int64_t count);
    /* optional, on the host's memory: from the next run on, the memory of a buffer that `read`
       accepts is at `values`, with as many floats, in the order of the device's layout. */
    cornu_status (*place)(device *d, prepared *p, tensor_ref t, float *values);
    /* optional, on the host's memory: from now on these variables are in one block of `values`
       floats, each at its offset in `at`, in the order of the device's layout, with zeros between
       them. The device owns the block. */
    cornu_status (*join)(device *d, const int *variables, const int64_t *at, int count,
                         int64_t values, float **block);
    /* optional: during the plan's next runs call `done` on the running thread, after each operation
       or group, with the number `ops` of the plan's operations that are complete; `done` NULL:
       stop. */
    void (*watch)(device *d, prepared *p, void (*done)(void *context, int ops), void *context);
    cornu_status (*read_variable)(device *d, int variable, float *values, int64_t count);
    cornu_status (*write_variable)(device *d, int variable, const float *values, int64_t count);
    /* The kernel of each operation. */
    cornu_status (*choices)(device *d, const prepared *p, kernel_choice *out);
    /* Run one step with a clock around each operation: seconds[op_count]; 0 for operations that run
       within another's kernel. */
    cornu_status (*time_operations)(device *d, prepared *p, const step_input *input,
                                    double *seconds);
    /* optional: the launch overhead in each operation's time, which empty kernels would take as
       well: seconds[op_count]; 0 where the clock is within the kernels. */
    cornu_status (*launch_gaps)(device *d, prepared *p, double *seconds);
    /* optional: seconds for which the host was busy launching the last timed step's operations
       (library calls can take long); they are in no operation's time. 0: unknown. */
    double (*host_seconds)(const device *d);
    /* Bytes free for variables, buffers and scratch memory. */
    int64_t (*memory_free)(const device *d);
    /* optional: measures for about a second. NULL: the limits of the device "cpu" apply. */
    cornu_status (*limits)(device *d, device_limits *out);
    /* optional: FLOP/s of a millisecond of multiply-adds; shows a throttled or shared machine. */
    double (*probe)(device *d);
    /* optional, on the host's memory: bytes/s of one pass of reading the model's variables (at most
       32 MB of them), the fastest of three; NAN without variables. Shows caches and memory that are
       shared. */
    double (*memory_probe)(device *d);
    /* optional: the device's own clock, in the order of its work: `seconds` NULL starts it, else
       waits for all work and returns the seconds since the start. */
    cornu_status (*timer)(device *d, double *seconds);
    /* optional: the device's idle times: `out` NULL begins to record them, else waits for all work
       and returns the times since then. */
    cornu_status (*idle)(device *d, device_idle *out);
    /* optional, all three or none. The current tuning: */
    cornu_status (*tuning)(device *d, device_tuning *out);
    /* A tuning to try in place of `from`: candidate `index` of stage `stage`; the candidates of a
       stage vary about one thing. False past a stage's last candidate, and for candidate 0 of the
       stage after the last. */
    bool (*tuning_candidate)(device *d, const char *from, int stage, int index,
                             char text[TUNING_TEXT]);
    /* Use this tuning whenever this device is opened with this driver, by writing it to the user's
       file. *kept: the file. */
    cornu_status (*tuning_keep)(device *d, const char *text, device_tuning *kept);
    /* optional */
    cornu_status (*sensors)(device *d, device_sensors *out);
    /* optional: a line about something that does not run as it should on this device, and its
       replacement; "": nothing. */
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
/* One device: a row of the table and its number. */
typedef struct device_id {
    const device_ops *ops;
    int number;
} device_id;
/* "cpu", "reference", "cuda:1", "cuda" (cuda:0), "opencl:0", "gpu" (the first GPU); NULL: "cpu".
   Unknown names and absent devices fail with CORNU_NOT_FOUND; the message lists the devices. */
cornu_status device_find(const char *name, device_id *out);
/* All devices in order, for `cornu devices`: false past the end. `info` says whether the device can
   be used. */
bool device_at(int index, device_id *id, cornu_device_info *info);

/* ---- a plan that does not fit into a device's memory ------------------------------------- */

/* "training", "evaluating", "predicting" */
const char *batch_plan_does(const plan *p);

/* Would this plan fit? */
typedef bool batch_fits(void *context, const plan *smaller);

/* Find the largest batch below p's whose plan fits, and say so in `text`: "the largest batch that
   fits is 12", or "not even batch 1 fits"; where recomputation admits a larger one, up to p's own,
   also "; with the option recompute, 40". */
enum { BATCH_ADVICE = 128 };
const char *batch_advice(const plan *p, batch_fits *fits, void *context, char text[BATCH_ADVICE]);

#endif
