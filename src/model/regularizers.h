/* Penalties on weights, which the loss counts: Keras's regularizers. */
#ifndef MODEL_REGULARIZERS_H
#define MODEL_REGULARIZERS_H

#include "base/doc.h"

typedef enum regularizer_kind {
    REGULARIZER_NONE,
#define REGULARIZER(id, ...) REGULARIZER_##id,
#include "model/regularizers.def"
    REGULARIZER_END
} regularizer_kind;

/* l1 times the sum of |w|, and l2 times the sum of w^2. Without one both are 0. */
typedef struct regularizer {
    regularizer_kind kind;
    double l1, l2;
} regularizer;

/* A name ("l2"), Keras's {class_name, config}, or {l2: {l2: 0.1}}. */
cornu_status regularizer_read(const doc *d, regularizer *out);
/* For one that there is. */
json_t *regularizer_to_json(const regularizer *r);
/* The rows with their options: a list for cornu_tables. */
json_t *regularizer_table(void);

#endif
