/* A loss of the caller's own, or one that is made of operations: a network of operations from an
   output's target and the output to losses, their mean being the loss. It has no weights and
   belongs to no session; a plan takes its operations in behind those of the output (step/build.c).
 */
#ifndef MODEL_TRACED_LOSS_H
#define MODEL_TRACED_LOSS_H

#include "base/doc.h"
#include "model/model.h"

typedef struct traced_loss {
    cornu_model *network; /* inputs: the target, the output; NULL: circle_emit */
    loss own;             /* without a network */
    json_t *written;      /* what the compile section has */
    target_kind targets;
    int reduction; /* loss_reduction */
} traced_loss;

/* Is the loss that is written there one? It then has the key "traced". */
bool traced_loss_is(const doc *d);
/* {class_name: ..., config: ..., traced: {model: {...}, targets: values, reduction: sum}}, where
   class_name and config are the caller's own, as Keras writes them; for outputs of this shape.
   model_outputs_free frees *out, also what is there of it where this fails. */
cornu_status traced_loss_read(const doc *d, const shape *output, traced_loss **out);
/* The same for one of Keras's that is made of operations (LOSS_COMPOSED in losses.def). */
cornu_status traced_loss_compose(const doc *at, const loss *l, const shape *output,
                                 traced_loss **out);
/* Describe Circle, with its target and the output: *value is the loss of each sample. */
cornu_status circle_emit(const loss *l, step_builder *b, tensor_ref target, tensor_ref output,
                         tensor_ref *value);
/* Is the loss of a sample that of all samples of its batch? */
bool traced_loss_is_of_batch(const traced_loss *t);
/* The name that messages have: "my_loss". */
const char *traced_loss_name(const traced_loss *t);

#endif
