/* Initial values of weights: Keras's initializers. */
#ifndef MODEL_INITIALIZERS_H
#define MODEL_INITIALIZERS_H

#include "base/doc.h"
#include "base/philox.h"
#include "model/shape.h"

typedef enum initializer_kind {
#define INITIALIZER(id, ...) INITIALIZER_##id,
#include "model/initializers.def"
    INITIALIZER_COUNT
} initializer_kind;

/* The options of VarianceScaling, in the order of their choices. */
typedef enum initializer_fan { FAN_IN, FAN_OUT, FAN_AVERAGE } initializer_fan;
typedef enum initializer_distribution {
    DISTRIBUTION_TRUNCATED,
    DISTRIBUTION_UNIFORM,
    DISTRIBUTION_UNTRUNCATED,
    DISTRIBUTION_NORMAL /* the first's other name */
} initializer_distribution;

typedef struct initializer {
    initializer_kind kind;
    double value;           /* constant */
    double mean, stddev;    /* random_normal; truncated_normal: before it is truncated */
    double minval, maxval;  /* random_uniform */
    double gain;            /* identity, orthogonal */
    double scale;           /* variance_scaling, and these: */
    int mode, distribution; /* initializer_fan, initializer_distribution */
} initializer;

/* Fan in and fan out of a kernel as Keras computes them: dense [in][out]; convolution
   [kh][kw][in/groups][out] times the receptive field. */
void initializer_fans(const shape *s, double *fan_in, double *fan_out);
/* Fail where the initializer has no values of this shape, that of the weight `name`. */
cornu_status initializer_check(const initializer *i, const char *name, const shape *s);
/* Fill values[shape_elements(s)] from the stream, for a shape that was checked. */
cornu_status initializer_fill(const initializer *i, const shape *s, random_stream *r,
                              float *values);
/* A name ("glorot_uniform", "zeros"), or Keras's {class_name, config}, or {constant: 0.1}. */
cornu_status initializer_read(const doc *d, initializer *out);
json_t *initializer_to_json(const initializer *i);
/* The rows with their options: a list for cornu_tables. */
json_t *initializer_table(void);

#endif
