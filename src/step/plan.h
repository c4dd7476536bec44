/* The plan: one training (evaluation, prediction) step as a list of operations over tensors. Built
   once per mode and batch size; devices only run plans. */
#ifndef STEP_PLAN_H
#define STEP_PLAN_H

#include "model/model.h"
#include "step/samples.h"
#include <cornu/images.h>

typedef enum op_kind {
#define OP(id, name, inputs, outputs, flops, tolerance) OP_##id,
#include "step/ops.def"
    OP_COUNT
} op_kind;

typedef struct op_info {
    const char *name, *inputs, *outputs;
    double tolerance;
} op_info;
extern const op_info op_infos[OP_COUNT];

/* One word of op_info.inputs or .outputs. */
typedef struct op_word {
    char name[24], shape[8]; /* "mean", "rows" ("": none given) */
    bool optional;
} op_word;
/* Word number `i`; false after the last. */
bool op_word_at(const char *words, int i, op_word *out);

typedef enum tensor_role {
    TENSOR_VARIABLE, /* lives from step to step: model->variables[variable] */
    TENSOR_CONSTANT, /* never changes: its values are the plan's */
    TENSOR_BUFFER    /* lives within a step: in the plan's arena */
} tensor_role;

/* The role of a tensor in products. Kernels, their gradients and optimizer slots may have a
   device's own layout ("packed panels of 48 columns"); all others are row-major. */
typedef enum tensor_form {
    FORM_PLAIN,
    FORM_DENSE_KERNEL, /* [in][units] */
    FORM_CONV_KERNEL   /* [kernel height][kernel width][in / groups][out] */
} tensor_form;

/* All tensors hold 32-bit floats, row-major; dimension 0 is the batch for buffers, and 1 for
   constants. */
typedef struct tensor {
    char *name; /* "conv2d/output", "d conv2d/output", "conv2d/kernel" */
    tensor_role role;
    tensor_form form; /* passes/forms.c */
    int variable;     /* TENSOR_VARIABLE: index into model->variables; else -1 */
    float *values;    /* TENSOR_CONSTANT: [count]; else NULL */
    shape shape;
    int64_t count;   /* elements */
    int first, last; /* TENSOR_BUFFER: first and last operation that touches it; last is
                        plan.op_count where the tensor is read after the step */
    int alias; /* TENSOR_BUFFER: the tensor whose memory this one shares (reshape); else NO_TENSOR
                */
    size_t offset; /* TENSOR_BUFFER: bytes from the arena's start, multiple of 64, for a device that
                      runs every operation by itself (passes/memory.c) */
} tensor;

#define OP_INPUTS_MAX 7
#define OP_OUTPUTS_MAX 5

/* l1 |w| + l2 w^2 of each element of a weight, which a loss counts. */
typedef struct penalty {
    float l1, l2;
} penalty;

static inline bool penalty_any(penalty of)
{
    return of.l1 > 0 || of.l2 > 0;
}

typedef union op_attributes {
    struct {
        augmentation augment;
        standardization standardize;
    } gather;
    struct {
        activation act;
    } dense; /* DENSE_FORWARD: fused activation */
    struct {
        window2d w;
        activation act;
    } conv;          /* CONV2D_*: act only forward; see .window */
    window2d window; /* pools; CONV2D_*: the same memory as conv.w */
    activation act;  /* ACTIVATION_* */
    struct {
        float rate;
        uint32_t stream;
    } dropout; /* stream: number of the node */
    struct {
        drawing how;
        uint32_t stream; /* number of the node */
    } draw;
    resampling resample; /* RESAMPLE_* */
    recoloring recolor;  /* RECOLOR_* */
    struct {
        float momentum, epsilon;
    } batch_norm;
    struct {
        float scale, offset;
    } scale;
    struct {
        int axis; /* the batch is 0 */
        int64_t begin, step;
        bool partial;
    } slice;
    struct {
        binary_kind kind;
        int of; /* BINARY_BACKWARD: the input whose gradient it is */
    } binary;
    struct {
        bool transposed[2]; /* a, b */
    } matmul;
    recurrence recurrent;    /* RECURRENT_* */
    int order[SHAPE_MAX];    /* TRANSPOSE: of the input's dimensions */
    float reals[EMIT_REALS]; /* of emit_operation: their meaning is in ops.def */
    struct {
        int64_t before[2], after[2];
    } pad;
    struct {
        loss_id id;
        bool logits;
        float reals[ROW_REALS]; /* the rule's numbers */
        bool summed;            /* over the rows, not their mean */
        bool term;              /* of a sum that is the step's loss: */
        bool further;           /* a term, and not the first */
        float weight;           /* a term's factor in the sum */
        int slot;               /* of a term: the metric that is its own loss; -1: none */
    } loss;
    struct {
        row_sum sum; /* or, of a loss's values: */
        bool of_loss, logits;
        loss_id loss;
        float reals[ROW_REALS]; /* the rule's numbers */
        int64_t k;
        int slot;
        bool whole; /* the sum itself is wanted, not its mean over rows */
    } metric;
    penalty penalty;
    struct {
        tally_spec what;
        int table; /* the first of its numbers in step_results' tables */
    } tally;
    int64_t accumulate; /* ACCUMULATE: steps of an update */
    struct {
        float momentum;
        int64_t accumulate; /* steps of an update; 0: each is one */
        int64_t overwrite;  /* 0: never */
    } average;
    struct {
        bool non_neg; /* or by norms: */
        float least, most, rate;
        int64_t extents[3];
    } constrain;
    struct {
        int slot;
        penalty penalty;
    } norm;
    struct {
        optimizer optimizer;
        int norm_slot;  /* clipnorm: this variable's; global_clipnorm: -1, the sum of all */
        int norm_count; /* elements of s to sum for global_clipnorm */
        int64_t before,
            after; /* number of elements of w, at its start and end, that are not updated */
        penalty penalty;
        int64_t extents[3]; /* FACTORED_UPDATE, MATRIX_UPDATE */
    } update;
} op_attributes;

typedef struct op {
    op_kind kind;
    char *name;                                        /* of the layer or variable: "conv2d" */
    tensor_ref in[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX]; /* NO_TENSOR where absent */
    op_attributes a;
    double flops, bytes; /* cost.c */
    bool recomputed;     /* a copy of an earlier operation, for the backward pass */
} op;

/* The share of a loss in the step's. */
static inline float loss_weight(const op *o)
{
    return o->a.loss.term ? o->a.loss.weight : 1;
}

/* What a sum over `rows` rows adds to the results, which count samples. */
static inline double metric_result(const op *o, double sum, int64_t batch, int64_t rows)
{
    return o->a.metric.whole ? sum : sum * (double)batch / (double)rows;
}

/* The factor of each row's loss in their mean. */
static inline float loss_row_factor(const op *o, int64_t rows)
{
    return o->a.loss.summed ? (float)rows : 1;
}

/* FACTORED_UPDATE: the output of the weight's own shape. */
enum { FACTORED_VELOCITY = 3 };

/* Is it of the optimizer's step, after all updates? */
static inline bool op_follows_updates(op_kind kind)
{
    return kind == OP_LAYERWISE || kind == OP_AVERAGE || kind == OP_CONSTRAIN;
}

/* Does the optimizer's step on a variable do this? */
static inline bool op_is_of_step(op_kind kind)
{
    return kind == OP_ACCUMULATE || kind == OP_SQUARE_SUM || kind == OP_UPDATE ||
           kind == OP_FACTORED_UPDATE || kind == OP_MATRIX_UPDATE || op_follows_updates(kind);
}

/* INSERT into a new tensor, whose other elements become 0. */
static inline bool insert_spreads(const op *o)
{
    return o->kind == OP_INSERT && o->in[1] == NO_TENSOR && !o->a.slice.partial;
}

typedef enum plan_mode { PLAN_TRAIN, PLAN_EVALUATE, PLAN_PREDICT } plan_mode;

/* The scope of a training plan: the whole step, or a half of it where something happens to the
   gradients in between. SCOPE_GRADIENTS makes gradients, which can be read after its run, and
   SCOPE_UPDATES applies gradients that are written before its run. SCOPE_UPDATES has no samples
   (its batch is 0). */
typedef enum plan_scope { SCOPE_STEP, SCOPE_GRADIENTS, SCOPE_UPDATES } plan_scope;

/* Fused groups: operations of a plan that a device may run as one, so that tensors used only within
   the group are never written. A pass finds them once for all devices (passes/groups.c); a kernel
   says which kind it takes. Groups overlap: a device takes the first for which it has a kernel. */
typedef enum group_kind {
    GROUP_NONE, /* an operation alone */
#define GROUP(id, name) GROUP_##id,
#include "step/groups.def"
#undef GROUP
    GROUP_COUNT
} group_kind;

typedef enum group_role {
    ROLE_FPROP,
    ROLE_POOL,
    ROLE_ACTIVATION,
    ROLE_LOSS,
    ROLE_METRICS, /* the first metric; they extend to the end of the group */
    ROLE_WGRAD,
    ROLE_DGRAD,
    ROLE_UPDATE_KERNEL,
    ROLE_UPDATE_BIAS,
    ROLE_NORM,
    ROLE_ADD,
    ROLE_VALUES, /* ATTENTION: the last product */
    ROLE_SCALE,
    ROLE_COUNT
} group_role;

/* Operations of a group, and of a HEAD. */
enum { GROUP_OPS_MAX = 6, HEAD_OPS_MAX = 5 };

typedef struct op_group {
    group_kind kind;
    int first, count;       /* operations of the plan */
    int member[ROLE_COUNT]; /* index of the operation; -1: absent */
    /* CONV_POOL and CONV_BACKWARD: the group of the other pass that is the only other reader of the
       convolution's output. If the two kernels agree on a shorter form, the output need not be
       written. An index into plan.groups; -1: none. */
    int partner;
    /* DENSE_BACKWARD: the DENSE_FORWARD that is the only reader of the kernel, so that the update
       can be deferred to its next run; -1: none. */
    int absorber;
} op_group;

/* "convolution + max-pool" */
extern const char *const group_names[GROUP_COUNT];

/* A transfer between processes, beside the operations: it begins as soon as the first `after` of
   these are complete, and goes on while others run. Devices take no notice. */
typedef enum collective_kind {
#define COLLECTIVE(id, name) COLLECTIVE_##id,
#include "step/collectives.def"
#undef COLLECTIVE
    COLLECTIVE_COUNT
} collective_kind;

typedef struct collective {
    collective_kind kind;
    char *name;        /* of the variable, or the first of several */
    int after;         /* operations */
    int64_t at, count; /* floats of the step's block (parallel/distribution.h) */
    bool bf16;         /* sent as bfloat16 */
} collective;
extern const char *const collective_names[COLLECTIVE_COUNT];

typedef struct plan_options {
    plan_mode mode;
    plan_scope scope; /* PLAN_TRAIN */
    int64_t batch;
    augmentation augment; /* PLAN_TRAIN */
    standardization standardize;
    weighting weighted;     /* PLAN_TRAIN, PLAN_EVALUATE */
    bool exact_convolution; /* kernels may not compute other sums than the definition's (as Winograd
                             does) */
    bool keep_input_gradient; /* tests: also compute the gradient of the input */
    bool no_fusion;           /* fuse no activations */
    bool recompute; /* PLAN_TRAIN: drop activations, and compute them again in the backward pass */
    bool whole;     /* also compute what no output of the model depends on */
    cornu_draws draws; /* PLAN_PREDICT: random layers */
} plan_options;

typedef struct plan {
    plan_mode mode;
    plan_scope scope;
    int64_t batch;
    weighting weighted;
    bool exact_convolution;
    bool recompute;
    cornu_draws draws;
    tensor *tensors;
    int tensor_count;
    op *ops;
    int op_count;
    op_group *groups; /* in the order of their first operations */
    int group_count;
    collective *collectives; /* in the order of `after`; NULL: none */
    int collective_count;
    /* The rows that GATHER fills, of several inputs and targets one after another; and the result
       of predict, of several outputs likewise. target: NO_TENSOR in predict; output: of several
       NO_TENSOR in training. */
    tensor_ref input, target, output;
    tensor_ref input_gradient; /* with keep_input_gradient, else NO_TENSOR */
    tensor_ref *gradients;     /* [model->weight_count]: gradient of each weight, or NO_TENSOR */
    int table_count;           /* numbers of step_results' tables */
    size_t arena_bytes;        /* of all buffers, with memory sharing; see `offset` */
    size_t variable_bytes;     /* weights and slots */
    double flops, bytes;       /* of the whole step */
    const cornu_model *model;  /* must outlive the plan */
} plan;

cornu_status plan_build(const cornu_model *model, const plan_options *options, plan **out);
void plan_free(plan *p);
/* For passes that rewrite a finished plan: append a copy of an operation, or a collective, with a
   copy of the name; then plan_finish finds lives, groups, places and costs anew. */
cornu_status plan_add_op(plan *p, const op *o);
cornu_status plan_add_collective(plan *p, const collective *c, const char *name);
cornu_status plan_finish(plan *p);
/* Floats of the block that the collectives of a half step may send after this number of operations.
 */
int64_t plan_ready(const plan *p, int operations);
/* Write "32x3072 -> 32x3000" into text[OP_SHAPE_TEXT]: the first tensor that `o` reads and the
   first that it writes, or one of them where the shapes are equal. */
enum { OP_SHAPE_TEXT = 96 };
char *op_shape_show(const plan *p, const op *o, char *text);
/* The form of each of the model's variables, slots included; the caller frees it. */
cornu_status plan_variable_forms(const cornu_model *model, tensor_form **out);
/* The group of this kind that begins with `o`, an operation in p->ops; NULL: none. */
const op_group *plan_group(const plan *p, const op *o, group_kind kind);
/* The group's member in this role; NULL: none. */
static inline const op *group_op(const plan *p, const op_group *g, group_role role)
{
    return g && g->member[role] >= 0 ? &p->ops[g->member[role]] : NULL;
}
/* Is `t` written by an operation of the group, read by a later one of it, and by no other
   operation? A kernel of the whole group need not write it. */
bool plan_group_internal(const plan *p, const op_group *g, tensor_ref t);
/* FLOPs and minimum bytes moved of `o` or, if `g` is not NULL, of the group that begins with it:
   tensors internal to the group are not moved. */
void plan_group_cost(const plan *p, const op *o, const op_group *g, double *flops, double *bytes);
/* bytes[tensor_count]: the whole size of each buffer that is used; 0 for variables and aliases. */
void plan_buffer_bytes(const plan *p, size_t *bytes);
/* Assign each tensor with bytes[] > 0 an offset in one arena, so that those whose lives do not
   overlap share memory: offsets[tensor_count], multiples of 64 bytes; an alias has its root's. */
cornu_status plan_place(const plan *p, const size_t *bytes, size_t *offsets, size_t *arena_bytes);
/* The tensor that owns t's memory; NO_TENSOR for NO_TENSOR. */
static inline tensor_ref plan_root(const plan *p, tensor_ref t)
{
    while (t != NO_TENSOR && p->tensors[t].alias != NO_TENSOR)
        t = p->tensors[t].alias;
    return t;
}

/* Does it copy a dense layer's whole kernel, or write one? */
static inline bool op_copies_kernel(const plan *p, const op *o)
{
    return (o->kind == OP_SLICE && p->tensors[o->in[0]].form == FORM_DENSE_KERNEL) ||
           (o->kind == OP_INSERT && p->tensors[o->out[0]].form == FORM_DENSE_KERNEL);
}

/* The number of operations, from the first, that must run before `t` is complete. */
int plan_operations_to(const plan *p, tensor_ref t);

/* Rows and columns of a tensor as a matrix: the last dimension is the columns, all others the
   rows. */
void tensor_matrix(const tensor *t, int64_t *rows, int64_t *columns);

#endif
