/* The plan under construction: what build.c, verbs.c, backward.c and updates.c share. */
#ifndef STEP_BUILDER_H
#define STEP_BUILDER_H

#include "step/build.h"

/* What is known of a tensor only while the plan is being built. */
typedef struct tensor_notes {
    tensor_ref gradient; /* of the loss with respect to it, or NO_TENSOR */
    tensor_ref reshaped; /* the alias that took its place (emit_reshape), or NO_TENSOR */
    bool needs_gradient; /* something before or in it is trained (or is the input, where kept) */
    bool used;           /* an operation of the forward pass reads it */
} tensor_notes;

struct step_builder {
    plan *plan;
    const plan_options *options;
    const layer *layer; /* at hand */
    int layer_number;
    tensor_notes *notes; /* [tensor_count] */
    size_t tensor_capacity, notes_capacity, op_capacity;
};

/* An operation without tensors. */
op op_new(op_kind kind);
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
/* Which of the options' factors are those `of` this variable; -1: none. */
int builder_factors(const step_builder *b, tensor_ref of);
/* Create the gradient of `t`: a buffer of its shape called "d NAME". */
cornu_status builder_gradient(step_builder *b, tensor_ref t, tensor_ref *out);

/* Append the backward pass and, but for SCOPE_GRADIENTS, the updates. The gradient of the output
   (or of the logits) has been created. */
cornu_status build_backward(step_builder *b, int forward_count);
/* Append the updates of the variables of operation `f` (or, with clipping by norm, nothing: then
   build_clipped_updates does it at the end). */
cornu_status build_updates(step_builder *b, const op *f);
cornu_status build_clipped_updates(step_builder *b);
/* SCOPE_UPDATES: gradients of all trained variables, which others write, and their updates. */
cornu_status build_only_updates(step_builder *b);

#endif
