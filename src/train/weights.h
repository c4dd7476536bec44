/* The weights of classes: class_weight of a fit section, as weights of samples. */
#ifndef TRAIN_WEIGHTS_H
#define TRAIN_WEIGHTS_H

#include "base/doc.h"
#include "step/samples.h"

typedef struct class_weights {
    float *of;       /* [classes]: 1 where the section does not say */
    int64_t classes; /* up to the last that it names */
    float *samples;  /* [capacity]: those of the block that weigh was given last */
    int64_t capacity;
} class_weights;

/* {CLASS: WEIGHT}; NULL: none, and `weigh` does nothing. */
cornu_status class_weights_read(const doc *map, class_weights *out);
void class_weights_free(class_weights *w);
/* Give each of the block's samples the weight of its class, which is its class number or its
   largest target. The block's weights are w's own, until the next call. */
cornu_status class_weights_weigh(class_weights *w, sample_block *block);

#endif
