/* An OpenCL device, and how an operation gets onto its queue.

   A step is recorded once: each operation's kernel enqueues its work, which is recorded as a
   list of cl_kernels with their arguments. Every later step enqueues the list; only arguments of
   kind OPENCL_STEP are set again. */
#ifndef DEVICE_OPENCL_PLUGIN_OPENCL_H
#define DEVICE_OPENCL_PLUGIN_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include "device/accelerator/gpu.h"
#include "device/opencl/plugin/libraries.h"

/* The kernels: kernels/kernels.def. A unit is a file, which is one program. */
typedef enum opencl_unit {
#define UNIT(name) OPENCL_UNIT_##name,
#define KERNEL(unit, name)
#include "device/opencl/plugin/kernels/kernels.def"
    OPENCL_UNIT_COUNT
} opencl_unit;

typedef enum opencl_function {
#define UNIT(name)
#define KERNEL(unit, name) OPENCL_##name,
#include "device/opencl/plugin/kernels/kernels.def"
    OPENCL_FUNCTION_COUNT
} opencl_function;

/* How products and convolutions are divided among work-groups: tuning.c. Names of the fields in
   capitals are macros in the units that name them: OPENCL_BLOCKING. */
#define OPENCL_BLOCKING(X)                                                                        \
    X(gemm_m, GEMM_M)             /* rows of the output that a work-group computes */             \
    X(gemm_n, GEMM_N)             /* columns */                                                   \
    X(gemm_k, GEMM_K)             /* depth in local memory at once */                             \
    X(item_m, ITEM_M)             /* rows of one work-item: GEMM_M / ITEM_M work-items, times: */ \
    X(item_n, ITEM_N)             /* columns of one work-item: a vector's width, 4 to 16 */       \
    X(split_groups, SPLIT_GROUPS) /* with fewer work-groups k is divided, too */                  \
    X(winograd_channels,                                                                          \
      WINOGRAD_CHANNELS) /* Winograd's algorithm from these in * out / (in + out) channels on */
typedef struct opencl_blocking {
#define FIELD(field, macro) int field;
    OPENCL_BLOCKING(FIELD)
#undef FIELD
} opencl_blocking;

typedef struct opencl {
    gpu g; /* first: gpu_driver.close */
    const opencl_library *lib;
    cl_platform_id platform;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue, copies; /* all work, in order; concurrent copies */
    cl_program units[OPENCL_UNIT_COUNT];
    opencl_blocking blocking;
    char *tuning_source; /* source of the blocking: a file; NULL: built in */
    bool no_winograd;    /* the driver's compiler refuses those kernels */
    bool tried;          /* this variant has passed the self-test */
    char notice[512];    /* a problem that variant.c found; or "" */
    bool has_double;     /* cl_khr_fp64 */
    bool is_cpu;
    size_t group_most;  /* work-items of a work-group */
    size_t local_bytes; /* local memory of a work-group */
    int compute_units;
    struct opencl_core *core; /* core.h: allocations, marks, what is being recorded */
} opencl;

static inline opencl *opencl_of(const gpu *g)
{
    return (opencl *)(uintptr_t)g;
}

/* ---- launches ---------------------------------------------------------------------------------
 */

typedef enum opencl_argument_kind {
    OPENCL_ADDRESS, /* two arguments of the kernel: `global T *name`, `ulong name_at`: see IN, OUT
                       in kernels/common.h. 0 is NULL, 0 */
    OPENCL_INT,     /* int */
    OPENCL_LONG,    /* long */
    OPENCL_FLOAT,   /* float */
    OPENCL_STEP     /* a field of the step's gpu_step, set for every step */
} opencl_argument_kind;

typedef enum opencl_step_field {
    STEP_X,
    STEP_Y,
    STEP_WEIGHT,
    STEP_INDEX,
    STEP_SAMPLE,
    STEP_RESULTS, /* up to here addresses: two arguments each; of float [RESULT_FLOATS]
                     (kernels/shared.h) */
    STEP_SEED,
    STEP_ITERATION,
    STEP_EPOCH,
    STEP_FIRST, /* long (ulong) */
    STEP_LEARNING_RATE,
    STEP_ALPHA,
    STEP_GRADIENT_ALPHA,
    STEP_EPSILON,
    STEP_X_SCALE, /* float */
    STEP_X_BYTES,
    STEP_Y_LABELS /* int */
} opencl_step_field;

typedef struct opencl_argument {
    opencl_argument_kind kind;
    union {
        gpu_address address;
        int32_t i;
        int64_t l;
        float f;
        opencl_step_field field;
    };
} opencl_argument;
#define A_ADDRESS(a) ((opencl_argument){.kind = OPENCL_ADDRESS, .address = (a)})
#define A_INT(a) ((opencl_argument){.kind = OPENCL_INT, .i = (int32_t)(a)})
#define A_LONG(a) ((opencl_argument){.kind = OPENCL_LONG, .l = (a)})
#define A_FLOAT(a) ((opencl_argument){.kind = OPENCL_FLOAT, .f = (a)})
#define A_STEP(a) ((opencl_argument){.kind = OPENCL_STEP, .field = (a)})

/* Work-groups (0 counts as 1) and the work-items of each, in up to three dimensions. */
typedef struct opencl_grid {
    size_t groups[3], items[3];
} opencl_grid;

/* Enqueue kernel `function` with its arguments in the order of its parameters. */
cornu_status opencl_launch(gpu *g, opencl_function function, opencl_grid grid,
                           const opencl_argument *arguments, int count);
#define OPENCL_LAUNCH(g, function, grid, ...)                                \
    opencl_launch(g, function, grid, (const opencl_argument[]){__VA_ARGS__}, \
                  (int)(sizeof((opencl_argument[]){__VA_ARGS__}) / sizeof(opencl_argument)))

#endif
