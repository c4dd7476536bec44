/* Devices whose memory is the host's: everything of device_ops but the list of kernels. The
   reference and the cpu device differ only in their kernels. */
#ifndef DEVICE_HOST_HOST_H
#define DEVICE_HOST_HOST_H

#include "base/threads.h"
#include "device/optimizer_step.h"
#include "device/rows.h"
#include "device/select.h"

typedef struct host_device host_device;
typedef struct kernel kernel;

/* One operation at run time. */
typedef struct op_run {
    const op *op;
    const plan *plan;
    const float *in[OP_INPUTS_MAX]; /* NULL where absent, or as in `tensors` */
    float *out[OP_OUTPUTS_MAX];     /* an in-place output is the same memory as its input */
    const op_group *group;          /* kernel.group: that it runs, of which `op` is the first */
    float *const *tensors; /* [plan->tensor_count] address of each tensor, for kernels of groups;
                              NULL: not allocated, since no kernel needs it (kernel.needs) */
    const kernel_info *const *kernels; /* [plan->op_count] kernel of each operation, NULL if an
                                          earlier group runs it; or NULL: not known */
    void *state;                       /* made by prepare */
    void *scratch; /* the bytes that prepare requested, 64-byte aligned; all operations share this
                      memory, so its contents do not survive a run */
    threads *pool;
    const step_input *input;
    bool deferred;         /* the work is left to the group's absorber in the next step, or to
                              kernel.flush; `run` keeps what it needs */
    const void *absorbed;  /* the state of the kernel whose deferred work this run does as well;
                              NULL:  of none */
    step_results *results; /* LOSS: host_add_loss; METRIC adds its sum over samples to .metrics,
                              TALLY to .tables; host_run does the rest */
} op_run;

/* A loss's mean over the rows of this step: into the step's loss, of which it may be a term. */
static inline void host_add_loss(const op_run *r, const op *o, double mean)
{
    const double batch = (double)r->plan->batch, term = mean * (double)loss_weight(o);
    step_results *to = r->results;
    to->last_loss = o->a.loss.further ? to->last_loss + term : term;
    to->loss += term * batch;
    if (o->a.loss.term && o->a.loss.slot >= 0)
        to->metrics[o->a.loss.slot] += mean * batch;
}

/* A penalty on weights, which the step's loss counts once the LOSS is there. */
static inline void host_add_penalty(const op_run *r, double value)
{
    r->results->last_loss += value;
    r->results->loss += value * (double)r->plan->batch;
}

/* What a row adds to the sum of `o`, a METRIC. */
static inline double host_metric_row(const op *o, const float *output, const float *target,
                                     int64_t n)
{
    const float *reals = o->a.metric.reals;
    if (o->a.metric.of_loss)
        return loss_row_of(o->a.metric.loss, o->a.metric.logits)(output, target, n, reals, NULL);
    return sum_row_of(o->a.metric.sum)(output, target, n, reals, o->a.metric.k);
}

/* Tensors of an operation: OP_IN(p, o, 0)->shape ... */
#define OP_IN(plan_, op_, i) (&(plan_)->tensors[(op_)->in[i]])
#define OP_OUT(plan_, op_, i) (&(plan_)->tensors[(op_)->out[i]])

/* One way to run an operation. */
struct kernel {
    KERNEL_INFO;
    /* True if it can run this operation; else *why is a short constant text. NULL: always. */
    bool (*accepts)(const plan *p, const op *o, const char **why);
    /* optional: make what `run` needs (sizes, tables); *scratch_bytes is raised to what it
       needs of op_run.scratch. CORNU_UNSUPPORTED: a refusal; the next kernel is asked. */
    cornu_status (*prepare)(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes);
    void (*release)(void *state);
    cornu_status (*run)(const op_run *r);
    /* DENSE_*, CONSTRAIN: W and its gradient are in panels (host_device.panels), not in rows. */
    bool panels;
    /* optional, for groups, whose internal tensors (plan_group_internal) have no memory unless
       this function requests it: change bytes[tensor_count] of tensors of which this kernel,
       together with the other chosen kernels (kernels[op_count], as in op_run), needs some bytes. A
       tensor that other operations read keeps the bytes that they need. */
    void (*needs)(const plan *p, const op_group *g, const kernel_info *const *kernels,
                  size_t *bytes);
    /* optional, for groups with an absorber: true if the group may be deferred to the next step,
       whose absorber's kernel then does both, so that their common data passes through the
       caches once. The bits must not depend on it. */
    bool (*defers)(const plan *p, const op_group *g);
    void (*flush)(void *state, threads *pool); /* with `defers`: run only the deferred work */
    const kernel *absorbs; /* optional: the kernel whose deferred groups it does as well */
    /* optional: its FLOPs if they differ from those of the operations (Winograd). */
    double (*flops)(const plan *p, const op *o);
    /* optional: bytes that it moves if they differ from plan_group_cost (codes of windows);
       `kernels` as in `needs`. */
    double (*bytes)(const plan *p, const op *o, const kernel_info *const *kernels);
    /* The kernel's tolerance if it differs from the operation's (ops.def). Such a kernel may
       make more elements NaN than the reference, never fewer. */
    double tolerance;
};

/* A device's kernels: for each kind of operation a NULL-ended list; the first that accepts is used.
 */
typedef const kernel *const *kernel_list;

enum { HOST_BLOCKS_MOST = 1 + OPTIMIZER_SLOTS_MAX };

struct host_device {
    device device;              /* .ops */
    const kernel_list *kernels; /* [OP_COUNT] */
    const char *forced;         /* device_options.kernel */
    bool panels; /* kernels of dense layers, their gradients and slots are stored in panels; only
                    kernels with this flag can read them */
    threads *pool;
    const cornu_model *model;
    float **variables;               /* [variable_count], each 64-byte aligned */
    float *blocks[HOST_BLOCKS_MOST]; /* memory of variables that share a block */
    int block_count;
    bool *in_block;     /* [variable_count]; NULL: none does */
    int moves;          /* number of moves of variables so far */
    tensor_form *forms; /* [variable_count] */
    int variable_count;
    unsigned char *arena, *scratch;
    size_t arena_bytes, scratch_bytes;
    int prepared_count; /* plans that share them */
    prepared *pending;  /* some of its last step's work is deferred; NULL: of none */
    step_results results;
    double *shown_tables; /* [results.table_count] as they were when results was called last */
};

/* The slots of device_ops; open is the device's own and calls host_open. */
cornu_status host_open(const device_ops *ops, const kernel_list *kernels,
                       const device_options *options, device **out);
void host_close(device *d);
cornu_status host_bind(device *d, const cornu_model *model);
cornu_status host_buffer_bytes(device *d, const plan *p, int64_t *bytes);
cornu_status host_prepare(device *d, const plan *p, prepared **out);
void host_release(device *d, prepared *p);
cornu_status host_run(device *d, prepared *p, const step_input *inputs, int steps);
cornu_status host_results(device *d, step_results *out, bool reset);
cornu_status host_synchronize(device *d);
cornu_status host_read(device *d, prepared *p, tensor_ref t, float *values, int64_t count);
cornu_status host_place(device *d, prepared *p, tensor_ref t, float *values);
cornu_status host_join(device *d, const int *variables, const int64_t *at, int count,
                       int64_t values, float **block);
void host_watch(device *d, prepared *p, void (*done)(void *context, int ops), void *context);
cornu_status host_read_variable(device *d, int variable, float *values, int64_t count);
cornu_status host_write_variable(device *d, int variable, const float *values, int64_t count);
cornu_status host_choices(device *d, const prepared *p, kernel_choice *out);
cornu_status host_time_operations(device *d, prepared *p, const step_input *input, double *seconds);
int64_t host_memory_free(const device *d);
double host_memory_probe(device *d);

/* The entries of every such device's table, except name, describe and open. */
#define HOST_DEVICE_SLOTS                                                                       \
    .close = host_close, .bind = host_bind, .buffer_bytes = host_buffer_bytes,                  \
    .prepare = host_prepare, .release = host_release, .run = host_run, .results = host_results, \
    .synchronize = host_synchronize, .read = host_read, .place = host_place, .join = host_join, \
    .watch = host_watch, .read_variable = host_read_variable,                                   \
    .write_variable = host_write_variable, .choices = host_choices,                             \
    .time_operations = host_time_operations, .memory_free = host_memory_free,                   \
    .memory_probe = host_memory_probe

/* One reference kernel per operation, indexed by op_kind: complete, plain C, single thread. */
extern const kernel reference_kernels[OP_COUNT];

/* ---- panels --------------------------------------------------------------------------------- */

/* The layout in which a device may keep the kernels W [in][units] of dense layers: panels of
   PANEL_COLUMNS columns, the last one narrower. Element (k, n) of a panel of width w that begins
   at column p is at p * in + k * w + n - p: the elements are those of the plain layout in
   another order, so that elementwise operations need not know the layout. */
enum { PANEL_COLUMNS = 48 };

void panels_pack(const float *plain, int64_t in, int64_t units, float *panels);
void panels_unpack(const float *panels, int64_t in, int64_t units, float *plain);

/* ---- updates -------------------------------------------------------------------------------- */

/* The constants of one step of `o`, an UPDATE of the plan of `r`, which may run a group that it
   belongs to. */
static inline optimizer_constants host_optimizer_step(const op_run *r, const op *o)
{
    const float *squares = o->in[5] == NO_TENSOR ? NULL : r->tensors[o->in[5]];
    int slot = o->a.update.norm_slot;
    double norm_squared = squares && slot >= 0 ? (double)squares[slot] : 0;
    for (int i = 0; squares && slot < 0 && i < o->a.update.norm_count; i++)
        norm_squared += (double)squares[i];
    return optimizer_step(o, r->input->learning_rate, r->input->iteration, norm_squared);
}

#endif
