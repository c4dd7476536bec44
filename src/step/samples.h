/* Samples in memory: data sets provide them and gather_samples reads them. */
#ifndef STEP_SAMPLES_H
#define STEP_SAMPLES_H

#include "model/shape.h"
#include "step/augment.h"

typedef enum sample_type { SAMPLE_U8, SAMPLE_F32, SAMPLE_I32 } sample_type;

/* Bytes per number. */
static inline size_t sample_size(sample_type type)
{
    return type == SAMPLE_U8 ? sizeof(uint8_t) : sizeof(float);
}

/* Several inputs of a model stand in x, and several targets in y (as SAMPLE_F32, also class
   numbers), one after another: then x_shape and y_shape are those of the row. */
typedef struct sample_block {
    int64_t count;
    shape x_shape;       /* of one sample, NHWC without N */
    sample_type x_type;  /* SAMPLE_U8 or SAMPLE_F32 */
    const void *x;       /* [count][x_shape] */
    float x_scale;       /* the network sees x * x_scale */
    shape y_shape;       /* of one target; rank 0 for class numbers */
    sample_type y_type;  /* SAMPLE_I32: class numbers 0..classes-1; SAMPLE_F32: values */
    const void *y;       /* [count][y_shape]; NULL without targets (predict) */
    const float *weight; /* [count]: factor of each sample's loss; NULL: 1 */
    /* So many numbers at the end of each target are such factors, one for the loss of each of
       several outputs; 0: none */
    int64_t output_weights;
} sample_block;

/* The weights of samples in losses. */
typedef enum weighting {
    WEIGHTS_NONE,
    WEIGHTS_OF_SAMPLES, /* sample_block.weight, in all losses */
    WEIGHTS_OF_OUTPUTS  /* a number of the target for each output's loss */
} weighting;

static inline weighting samples_weighting(const sample_block *s)
{
    return s->output_weights ? WEIGHTS_OF_OUTPUTS : s->weight ? WEIGHTS_OF_SAMPLES : WEIGHTS_NONE;
}

#endif
