/* Initial values of weights: Keras's initializers. */
#ifndef MODEL_INITIALIZERS_H
#define MODEL_INITIALIZERS_H

#include "base/doc.h"
#include "base/philox.h"
#include "model/shape.h"

typedef enum initializer_kind {
#define INITIALIZER(id, class_name, name, function) INITIALIZER_##id,
#include "model/initializers.def"
#undef INITIALIZER
    INITIALIZER_COUNT
} initializer_kind;

typedef struct initializer {
    initializer_kind kind;
    double value; /* constant */
} initializer;

/* Fan in and fan out of a kernel as Keras computes them: dense [in][out]; convolution
   [kh][kw][in/groups][out] times the receptive field. */
void initializer_fans(const shape *s, double *fan_in, double *fan_out);
/* Fill values[shape_elements(s)] from the stream. */
void initializer_fill(const initializer *i, const shape *s, random_stream *r, float *values);
/* A name ("glorot_uniform", "zeros"), or Keras's {class_name, config}, or {constant: 0.1}. */
cornu_status initializer_read(const doc *d, initializer *out);
json_t *initializer_to_json(const initializer *i);
/* The rows with their options: a list for cornu_tables. */
json_t *initializer_table(void);

#endif
