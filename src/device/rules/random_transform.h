/* What is drawn for one image, as Keras's ImageDataGenerator draws it, and what all its pixels
   share. Plain numbers: C, CUDA C++ and OpenCL C alike pass them by value. */
#ifndef DEVICE_RULES_RANDOM_TRANSFORM_H
#define DEVICE_RULES_RANDOM_TRANSFORM_H

#include "step/augment.h"

/* Random numbers of an image. Each option has its own, whatever the ranges are, so that switching
   one on leaves the others as they were. */
enum { TRANSFORM_DRAWS = 10 };

typedef struct random_transform {
    double rotation, shear; /* degrees */
    double down, right;     /* pixels; moved by inverse mapping: the image goes the other way */
    double zoom_x, zoom_y;
    float channel_shift; /* added to every number, within the image's least and largest */
    float brightness;    /* factor, where brightens */
    float cval;
    fill_mode fill;
    bool flip_horizontal, flip_vertical; /* behind the affine map */
    bool brightens;                      /* last; numbers become whole ones from 0 to 255 */
} random_transform;

/* From a pixel of the transformed image, before flips, to coordinates in the sample:
   source = m (row, column) + offset. */
typedef struct affine_map {
    double m[2][2], offset[2]; /* [row, column][...] */
    bool moves;                /* is not the identity */
} affine_map;

/* What channel shift and brightness need to know of a whole image. */
typedef struct image_range {
    float least, largest; /* before the channel shift */
    float base, extent;   /* after it: the least, and the largest less that */
    bool stretches;       /* brightness stretches the numbers to 0...255 and back */
} image_range;

#endif
