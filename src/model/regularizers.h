/* Penalties on weights, which the loss counts: Keras's regularizers. */
#ifndef MODEL_REGULARIZERS_H
#define MODEL_REGULARIZERS_H

#include "base/doc.h"
#include "model/emit.h"

typedef enum regularizer_kind {
    REGULARIZER_NONE,
#define REGULARIZER(id, ...) REGULARIZER_##id,
#include "model/regularizers.def"
    REGULARIZER_END
} regularizer_kind;

/* l1 times the sum of |w|, and l2 times the sum of w^2. Without one both are 0.
   REGULARIZER_ORTHOGONAL: factor times the mean of |cosine| over pairs of rows or columns. */
typedef struct regularizer {
    regularizer_kind kind;
    double l1, l2;
    double factor;
    int mode;
} regularizer;
enum { ORTHOGONAL_ROWS, ORTHOGONAL_COLUMNS };

/* A name ("l2"), Keras's {class_name, config}, or {l2: {l2: 0.1}}. */
cornu_status regularizer_read(const doc *d, regularizer *out);
/* For one that there is. */
json_t *regularizer_to_json(const regularizer *r);
/* Fail where REGULARIZER_ORTHOGONAL has no pairs: a weight of this shape is no matrix, or has one
   row. */
cornu_status orthogonal_check(const regularizer *r, const char *name, const shape *s);
/* Describe it of a weight, as one sample (rows, columns): the penalty is *factor times the mean of
 *value. */
cornu_status orthogonal_emit(const regularizer *r, step_builder *b, tensor_ref w, tensor_ref *value,
                             double *factor);
/* The rows with their options: a list for cornu_tables. */
json_t *regularizer_table(void);

#endif
