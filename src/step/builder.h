/* The plan under construction (builder.c), shared by build.c, verbs.c and backward.c; and the
   passes that finish it. */
#ifndef STEP_BUILDER_H
#define STEP_BUILDER_H

#include "step/plan.h"

/* Facts about a tensor that are known only while the plan is built. */
typedef struct tensor_notes {
    tensor_ref gradient; /* sum of the contributions so far to the gradient of the loss with respect
                            to it, or NO_TENSOR. Tensors that share memory share this, too: it is
                            noted for their root, and has the shape of one of them. */
    bool lent;           /* a gradient: it is that of several tensors, and stays as it is */
    int contributions;   /* roots: to the gradient */
    int first_reader;    /* the first operation of the forward pass that reads it; -1: none */
    bool needs_gradient; /* something before it or in it is trained (or it is the input, and
                            keep_input_gradient) */
} tensor_notes;

/* A contribution to the gradient of a tensor that has one already. */
typedef struct contribution {
    tensor_ref of; /* root */
    tensor_ref value;
} contribution;

struct step_builder {
    plan *plan;
    const plan_options *options;
    const model_node *node;  /* the current call */
    const emit_frame *frame; /* the layer within it that is described; NULL: none */
    uint32_t frames;         /* so many were, in this call */
    bool as_one;             /* one sample is described, whatever the batch: a weight */
    bool in_loss;            /* it belongs to a loss of the caller's own */
    tensor_notes *notes;     /* [tensor_count] */
    contribution *sums;      /* not yet added to their gradients */
    int sum_count;
    void *names; /* a tree of the tensors' names */
    tensor_ref *constants;
    size_t constant_count, constant_capacity, constant_bytes;
    size_t tensor_capacity, notes_capacity, op_capacity, sum_capacity;
};

/* An operation without tensors. */
op op_new(op_kind kind);
/* The model's variables become the plan's first tensors, in the same order. */
cornu_status builder_add_variables(step_builder *b);
/* Append a copy of `o` under the name of its layer or variable. */
cornu_status builder_add(step_builder *b, const op *o, const char *name);
/* A new buffer of this shape (batch included); the name is printf-like. Fails where the shape holds
   too many elements. */
cornu_status builder_buffer(step_builder *b, const shape *s, tensor_ref *out, const char *format,
                            ...) __attribute__((format(printf, 4, 5)));
/* A constant with a copy of these values, or an equal one that is there; `s` begins with 1, for the
   batch. Fails where the plan's constants would be more than STEP_CONSTANTS_MOST bytes. */
enum { STEP_CONSTANTS_MOST = 64 << 20 };
cornu_status builder_constant(step_builder *b, const shape *s, const float *values,
                              tensor_ref *out);
/* Give a tensor another name, which this takes. */
cornu_status builder_rename(step_builder *b, tensor_ref t, char *name);
/* Free what was needed for building; not the plan. */
void builder_free(step_builder *b);
/* Another shape for the memory of `of`. */
cornu_status builder_alias(step_builder *b, tensor_ref of, const shape *s, tensor_ref *out,
                           const char *format, ...) __attribute__((format(printf, 5, 6)));
/* `s` with the batch in front. */
cornu_status builder_batched(const step_builder *b, const shape *s, shape *out);
/* Create a buffer of the shape of `t` for an operation that computes the gradient of `t` as one of
   its readers has it. The first, called "d NAME", is the gradient; build_backward adds further ones
   to it. */
cornu_status builder_gradient(step_builder *b, tensor_ref t, tensor_ref *out);

/* The penalty on this weight in training and evaluation: none of one that is not trained. */
penalty builder_penalty(const step_builder *b, int weight);
/* Append the backward pass and, except for SCOPE_GRADIENTS, the updates. The gradient of the output
   (or of the logits) already exists. */
cornu_status build_backward(step_builder *b, int forward_count);
/* SCOPE_UPDATES: gradients of all trained variables, which are written from outside, and their
   updates. */
cornu_status build_only_updates(step_builder *b);

/* ---- the passes, in order; each is one file of passes/ ---- */

/* Fuse an activation into the dense or convolution before it, where its derivative is computable
   from its output. */
cornu_status pass_fuse_activation(plan *p);
/* Set every tensor's form. */
void pass_forms(plan *p);
/* The same for SCOPE_UPDATES, which has no products: `forms` are those of plan_variable_forms. */
void forms_of_updates(plan *p, const tensor_form *forms);
/* In a finished plan, drop activations that the backward pass needs after the forward pass, and add
   operations that compute them again, where that lowers the peak of live buffers. The plan must be
   finished again. */
cornu_status pass_recompute(plan *p);
/* Find the groups of operations that may run as one. All tensors of a group live from its first
   operation on (tensor.first does not change; pass_memory sees to it). */
cornu_status pass_groups(plan *p);
/* Assign every buffer its offset in the arena; buffers whose lives do not overlap share memory. */
cornu_status pass_memory(plan *p);
/* FLOPs and bytes of every operation and of the plan. */
void plan_cost(plan *p);

#endif
