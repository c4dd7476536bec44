/* The random numbers of one image, as Keras's ImageDataGenerator draws them, and the values that
   all its pixels share. Plain numbers: C, CUDA C++ and OpenCL C pass the structs by value. */
#ifndef DEVICE_RULES_RANDOM_TRANSFORM_H
#define DEVICE_RULES_RANDOM_TRANSFORM_H

#include "step/augment.h"

/* Random numbers per image. Each option has its own, whatever the ranges are, so that switching one
   on does not change the others. */
enum { TRANSFORM_DRAWS = 10 };

typedef struct random_transform {
    double rotation, shear; /* degrees */
    double down, right;     /* pixels; the map is inverse: the image moves the other way */
    double zoom_x, zoom_y;
    float
        channel_shift; /* added to every number, then clamped to the image's minimum and maximum */
    float brightness;  /* factor, if `brightens` */
    float cval;
    fill_mode fill;
    bool flip_horizontal, flip_vertical; /* applied after the affine map */
    bool brightens;                      /* applied last; numbers become integers from 0 to 255 */
} random_transform;

/* Maps a pixel of the transformed image, before flips, to coordinates in the sample: source = m
   (row, column) + offset. */
typedef struct affine_map {
    double m[2][2], offset[2]; /* [row, column][...] */
    bool moves;                /* it is not the identity */
} affine_map;

/* The statistics of a whole image that channel shift and brightness need. */
typedef struct image_range {
    float least, largest; /* before the channel shift */
    float base, extent;   /* after it: the minimum, and the maximum minus the minimum */
    bool stretches;       /* brightness stretches the numbers to 0...255 and back */
} image_range;

#endif
