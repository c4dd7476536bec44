/* Keras's operations in its configurations: what x + y, x[:, 0] or ops.mean(x, axis=1) are there.
   Each becomes layers of cornu (keras_operations.c has a row of each class). */
#ifndef MODEL_KERAS_OPERATIONS_H
#define MODEL_KERAS_OPERATIONS_H

#include "model/model.h"

enum { OPERATION_ARGUMENTS_MAX = 4 };

typedef struct operation_row operation_row;

/* The call of an operation: {args: [...], kwargs: {...}} of its entry in a configuration. */
typedef struct operation_call {
    const operation_row *row;
    const doc *at, *config;                       /* the operation, and its options or NULL */
    const char *name;                             /* of the operation */
    const doc *argument[OPERATION_ARGUMENTS_MAX]; /* by the row's names; NULL: not given */
    int tensor_count[OPERATION_ARGUMENTS_MAX];    /* 0: the argument is no tensor */
    const int *nodes;                             /* of all tensors, one argument after the other */
    int count;
    int64_t output; /* of an operation of several, the one that is made */
} operation_call;

/* Is the entry of a configuration an operation? Its class may have the name of a layer. */
bool keras_operation_is(const doc *at);
/* Read a call; the nodes of its tensors are not known yet. */
cornu_status keras_operation_read(const doc *at, const char *name, const doc *node,
                                  operation_call *out);
/* Its tensors: number i, from 0, or NULL behind the last. */
const doc *keras_operation_tensor(const operation_call *c, int i);
/* Has it several outputs? Then each that is read is appended on its own. */
bool keras_operation_has_parts(const operation_call *c);
/* Append the layer that computes it, or output number c->output of it, from c->nodes. */
cornu_status keras_operation_append(cornu_model *m, const operation_call *c);

#endif
