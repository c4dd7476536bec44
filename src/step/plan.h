/* The plan: one training (evaluation, prediction) step as a list of operations over tensors. Built
   once per mode and batch size; devices only run plans. */
#ifndef STEP_PLAN_H
#define STEP_PLAN_H

#include "model/model.h"
#include "step/groups.h"
#include "step/samples.h"

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
    char name[24], shape[8]; /* "mean", "rows" ("": none is said) */
    bool optional;
} op_word;
/* Word number `i`; false behind the last. */
bool op_word_at(const char *words, int i, op_word *out);

typedef enum tensor_role {
    TENSOR_VARIABLE, /* lives from step to step: model->variables[variable] */
    TENSOR_BUFFER    /* lives within a step: in the plan's arena */
} tensor_role;

/* What a tensor is to products. Kernels, their gradients and optimizer slots may lie on a device in
   a layout of its own ("packed panels of 48 columns"); all others are row-major. */
typedef enum tensor_form {
    FORM_PLAIN,
    FORM_DENSE_KERNEL, /* [in][units] */
    FORM_CONV_KERNEL   /* [kernel height][kernel width][in / groups][out] */
} tensor_form;

/* All tensors hold 32-bit floats, row-major; dimension 0 is the batch for buffers. */
typedef struct tensor {
    char *name; /* "conv2d/output", "d conv2d/output", "conv2d/kernel" */
    tensor_role role;
    tensor_form form; /* passes/forms.c */
    int variable;     /* TENSOR_VARIABLE: index into model->variables; else -1 */
    shape shape;
    int64_t count;   /* elements */
    int first, last; /* TENSOR_BUFFER: first and last operation that touches it; last is
                        plan.op_count where it is read after the step */
    int alias; /* TENSOR_BUFFER: another tensor whose memory this one is (reshape); else NO_TENSOR
                */
    size_t offset; /* TENSOR_BUFFER: bytes from the arena's start, multiple of 64, where every
                      operation runs by itself (passes/memory.c) */
} tensor;

#define OP_INPUTS_MAX 6
#define OP_OUTPUTS_MAX 5

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
    window2d window; /* pools; CONV2D_*: the same place as conv.w */
    activation act;  /* ACTIVATION_* */
    struct {
        float rate;
        uint32_t stream;
    } dropout; /* stream: number of the layer */
    struct {
        float momentum, epsilon;
    } batch_norm;
    struct {
        float scale, offset;
    } scale;
    float reals[EMIT_REALS]; /* of emit_operation: what they are is in ops.def */
    struct {
        int64_t before[2], after[2];
    } pad;
    struct {
        loss_id id;
        bool logits;
    } loss;
    struct {
        metric_id id;
        int64_t k;
        int slot;
    } metric;
    struct {
        int slot;
    } norm;
    struct {
        optimizer optimizer;
        int norm_slot;         /* clipnorm: this variable's; global_clipnorm: -1, all are summed */
        int norm_count;        /* elements of s to sum for global_clipnorm */
        int64_t before, after; /* elements of w, first and last, that are left as they are */
        /* DENSE_UPDATE: */
        int64_t x, dy; /* places in a shard's factors */
        const struct update_span *ranges;
        int range_count;
    } update;
} op_attributes;

typedef struct op {
    op_kind kind;
    char *name;                                        /* of the layer or variable: "conv2d" */
    tensor_ref in[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX]; /* NO_TENSOR where absent */
    op_attributes a;
    double flops, bytes; /* cost.c */
} op;

typedef enum plan_mode { PLAN_TRAIN, PLAN_EVALUATE, PLAN_PREDICT } plan_mode;

/* What of a training step a plan holds. Where gradients of several shards of a batch are added
   before the update, one plan makes them, which stay readable behind its step, and another applies
   them: it has no samples (its batch is 0, unless it has factors), and they are written before its
   step. */
typedef enum plan_scope { SCOPE_STEP, SCOPE_GRADIENTS, SCOPE_UPDATES } plan_scope;

/* Elements of a variable, in the order in which the device keeps it. */
typedef struct update_span {
    int variable;
    int64_t first, count;
} update_span;

static inline double update_span_elements(const update_span *ranges, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (double)ranges[i].count;
    return sum;
}

/* Shard i of S has the samples n i / S to n (i + 1) / S - 1 of a batch of n: the first of them. */
static inline int64_t plan_shard_begin(int64_t batch, int64_t shards, int64_t i)
{
    return batch * i / shards;
}

/* What a shard's gradient is multiplied by before it is added, and what the sum is: where all have
   as many samples that alone, which is a pass less. */
static inline float plan_shard_scale(int64_t batch, int64_t shards, int64_t i)
{
    int64_t samples = plan_shard_begin(batch, shards, i + 1) - plan_shard_begin(batch, shards, i);
    return batch % shards == 0 ? 1 : (float)((double)samples / (double)batch);
}

static inline float plan_sum_scale(int64_t batch, int64_t shards)
{
    return batch % shards == 0 ? 1 / (float)shards : 1;
}

/* A dense kernel whose gradient no plan makes: SCOPE_GRADIENTS keeps its factors x and dy, whose
   product it is, SCOPE_UPDATES multiplies those of all shards (DENSE_UPDATE). */
typedef struct dense_factors {
    int variable;
    int64_t x, dy; /* where a shard's begin in its floats */
} dense_factors;
typedef struct plan_factors {
    const dense_factors *list;
    int count;
    int64_t shards, floats; /* floats: of one */
} plan_factors;

typedef struct plan_options {
    plan_mode mode;
    plan_scope scope; /* PLAN_TRAIN */
    int64_t batch;
    augmentation augment; /* PLAN_TRAIN */
    standardization standardize;
    bool weighted;            /* the samples have weights, which count in the loss */
    bool exact_convolution;   /* kernels may not use other sums than the definition's (Winograd) */
    bool keep_input_gradient; /* tests: also compute the gradient of the input */
    bool no_fusion;           /* fuse no activations */
    const update_span *updates; /* SCOPE_UPDATES: what is updated, in this order; NULL: all */
    int update_count;
    const plan_factors *factors; /* SCOPE_GRADIENTS and, with `updates`, SCOPE_UPDATES, whose
                                    `batch` is then that of all shards; NULL: none */
} plan_options;

/* Of plan_options.factors.list[i] in SCOPE_GRADIENTS. */
typedef struct kept_factors {
    tensor_ref x, dy;
} kept_factors;

typedef struct plan {
    plan_mode mode;
    plan_scope scope;
    int64_t batch;
    bool weighted;
    bool exact_convolution;
    tensor *tensors;
    int tensor_count;
    op *ops;
    int op_count;
    op_group *groups; /* in the order of their first operations */
    int group_count;
    tensor_ref input, target,
        output;                /* output: what predict returns; target: NO_TENSOR in predict */
    tensor_ref input_gradient; /* keep_input_gradient, else NO_TENSOR */
    tensor_ref *gradients;     /* [model->weight_count]: gradient of each weight, or NO_TENSOR */
    kept_factors *kept;        /* [factors->count]; NULL: there are none */
    tensor_ref factors;        /* SCOPE_UPDATES: of all shards, or NO_TENSOR */
    update_span *ranges;       /* of its DENSE_UPDATEs */
    int metric_count;
    size_t arena_bytes;       /* buffers, after sharing memory; as `offset` */
    size_t variable_bytes;    /* weights and slots */
    double flops, bytes;      /* of the whole step */
    const cornu_model *model; /* outlives the plan */
} plan;

cornu_status plan_build(const cornu_model *model, const plan_options *options, plan **out);
void plan_free(plan *p);
/* "32x3072 -> 32x3000" into text[OP_SHAPE_TEXT]: the first tensor that `o` reads and the first that
   it writes, once where both have one shape. */
enum { OP_SHAPE_TEXT = 96 };
char *op_shape_show(const plan *p, const op *o, char *text);
/* The form of each of the model's variables, slots included; the caller frees it. */
cornu_status plan_variable_forms(const cornu_model *model, tensor_form **out);
/* The group of this kind that begins with `o`, which lies in p->ops; NULL: there is none. */
const op_group *plan_group(const plan *p, const op *o, group_kind kind);
/* Its member; NULL: it has none. */
static inline const op *group_op(const plan *p, const op_group *g, group_role role)
{
    return g && g->member[role] >= 0 ? &p->ops[g->member[role]] : NULL;
}
/* Is `t` written by an operation of the group, read by a later one of it, and by nobody else? A
   kernel of the whole group need not write it. */
bool plan_group_internal(const plan *p, const op_group *g, tensor_ref t);
/* FLOPs, and bytes moved at least, of `o` or, if not NULL, of the group that begins with it: what
   is internal to that is not moved. */
void plan_group_cost(const plan *p, const op *o, const op_group *g, double *flops, double *bytes);
/* bytes[tensor_count]: what each buffer that is used takes, whole; 0 for variables and aliases. */
void plan_buffer_bytes(const plan *p, size_t *bytes);
/* Give each tensor of bytes[] > 0 a place in one arena, so that those whose lives do not overlap
   share memory: offsets[tensor_count], multiples of 64 bytes; an alias has its root's. */
cornu_status plan_place(const plan *p, const size_t *bytes, size_t *offsets, size_t *arena_bytes);
/* The tensor whose memory t is; NO_TENSOR of none. */
static inline tensor_ref plan_root(const plan *p, tensor_ref t)
{
    while (t != NO_TENSOR && p->tensors[t].alias != NO_TENSOR)
        t = p->tensors[t].alias;
    return t;
}

/* How many operations, from the first, have to run until `t` is whole. */
int plan_operations_to(const plan *p, tensor_ref t);

static inline bool op_updates(const op *o)
{
    return o->kind == OP_UPDATE || o->kind == OP_DENSE_UPDATE;
}

/* Rows and columns of a tensor seen as a matrix: all but the last dimension, the last. */
void tensor_matrix(const tensor *t, int64_t *rows, int64_t *columns);

#endif
