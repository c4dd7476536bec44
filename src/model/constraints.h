/* What weights are kept to after each step of the optimizer: Keras's constraints. */
#ifndef MODEL_CONSTRAINTS_H
#define MODEL_CONSTRAINTS_H

#include "base/doc.h"
#include "model/shape.h"

typedef enum constraint_kind {
    CONSTRAINT_NONE,
#define CONSTRAINT(id, ...) CONSTRAINT_##id,
#include "model/constraints.def"
    CONSTRAINT_END
} constraint_kind;

/* Norms are of the elements along `axis`, which are multiplied by rate clip(norm, min_value,
   max_value) + (1 - rate) norm over the norm and 1e-7. */
typedef struct constraint {
    constraint_kind kind;
    double min_value, max_value, rate;
    int_list axis;
} constraint;

/* The weight as [outer][along][inner]: the norms are over the elements along the middle. Of
   CONSTRAINT_NON_NEG all are inner. Fails where the weight `name` has no such axes, or where they
   do not stand side by side. */
cornu_status constraint_extents(const constraint *c, const char *name, const shape *s,
                                int64_t extents[3]);
/* A name ("max_norm"), Keras's {class_name, config}, or {max_norm: {max_value: 3}}. */
cornu_status constraint_read(const doc *d, constraint *out);
/* For one that there is. */
json_t *constraint_to_json(const constraint *c);
/* The rows with their options: a list for cornu_tables. */
json_t *constraint_table(void);

#endif
