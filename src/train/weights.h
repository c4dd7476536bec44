/* The weights of classes: class_weight of a fit section, as weights of samples. */
#ifndef TRAIN_WEIGHTS_H
#define TRAIN_WEIGHTS_H

#include "train/classes.h"

typedef struct class_weights {
    float *of;       /* [classes]: 1 where the section does not say */
    int64_t classes; /* up to the last that it names */
    float *samples;  /* [capacity]: those of the block that weigh was given last */
    int64_t capacity;
    const char
        *clash; /* a number in the section that is another class's name; lives as long as that
                 */
} class_weights;

/* {CLASS: WEIGHT}, a class being its number or its name in the list (which may be empty); NULL:
   none, and `weigh` does nothing. */
cornu_status class_weights_read(const doc *map, const class_list *classes, class_weights *out);
void class_weights_free(class_weights *w);
/* Give each of the block's samples the weight of its class, which is its class number or its
   largest target. The block's weights are w's own, until the next call. */
cornu_status class_weights_weigh(class_weights *w, sample_block *block);

#endif
