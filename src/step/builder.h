/* The plan under construction (builder.c), shared by build.c, verbs.c and backward.c; and the
   passes that finish it. */
#ifndef STEP_BUILDER_H
#define STEP_BUILDER_H

#include "step/plan.h"

/* Facts about a tensor that are known only while the plan is built. */
typedef struct tensor_notes {
    tensor_ref gradient; /* gradient of the loss with respect to it, or NO_TENSOR */
    tensor_ref reshaped; /* the alias that replaced it (emit_reshape), or NO_TENSOR */
    bool needs_gradient; /* something before it or in it is trained (or it is the input, and
                            keep_input_gradient) */
    bool used;           /* an operation of the forward pass reads it */
} tensor_notes;

struct step_builder {
    plan *plan;
    const plan_options *options;
    const model_node *node; /* the current call */
    tensor_notes *notes;    /* [tensor_count] */
    size_t tensor_capacity, notes_capacity, op_capacity;
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
/* Another shape for the memory of `of`. */
cornu_status builder_alias(step_builder *b, tensor_ref of, const shape *s, tensor_ref *out,
                           const char *format, ...) __attribute__((format(printf, 5, 6)));
/* `s` with the batch in front. */
cornu_status builder_batched(const step_builder *b, const shape *s, shape *out);
/* Create the gradient of `t`: a buffer of its shape called "d NAME". */
cornu_status builder_gradient(step_builder *b, tensor_ref t, tensor_ref *out);

/* Append the backward pass and, except for SCOPE_GRADIENTS, the updates. The gradient of the output
   (or of the logits) already exists. */
cornu_status build_backward(step_builder *b, int forward_count);
/* Append the updates of the variables of operation `f`. With clipping by norm this appends nothing:
   build_clipped_updates then does it at the end. */
cornu_status build_updates(step_builder *b, const op *f);
cornu_status build_clipped_updates(step_builder *b);
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
/* Find the groups of operations that may run as one. All tensors of a group live from its first
   operation on (tensor.first does not change; pass_memory sees to it). */
cornu_status pass_groups(plan *p);
/* Assign every buffer its offset in the arena; buffers whose lives do not overlap share memory. */
cornu_status pass_memory(plan *p);
/* FLOPs and bytes of every operation and of the plan. */
void plan_cost(plan *p);

#endif
