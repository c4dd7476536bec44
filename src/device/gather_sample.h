/* Reading samples: what GATHER does on every device whose memory is the host's. */
#ifndef DEVICE_GATHER_SAMPLE_H
#define DEVICE_GATHER_SAMPLE_H

#include "device/device.h"

/* Does `input` fit the plan (shapes, targets, indices, class numbers)? Called once per step before
   any operation runs, so that gather_sample cannot fail. */
cornu_status gather_check(const plan *p, const step_input *input);

/* Write sample input->index[row] as the network sees it: x [input shape], scaled and, where the
   GATHER operation `o` says so, changed at random (keyed by seed, epoch and sample, so the result
   does not hang on the batch or the thread); t [target shape] (NULL: no target), class numbers as
   one-hot where the target has more than one column. Threads may call it at the same time. */
void gather_sample(const plan *p, const op *o, const step_input *input, int64_t row, float *x,
                   float *t);

/* The same for the target of sample `index` alone. */
void gather_target(const plan *p, const sample_block *s, int64_t index, float *t);

/* One random change of an image, as ImageDataGenerator draws it. */
typedef struct image_change {
    double rotation, shear; /* degrees */
    double down, right;     /* pixels; moved by inverse mapping: the image goes the other way */
    double zoom_x, zoom_y;
    bool flip_horizontal, flip_vertical; /* after all else */
} image_change;

/* The change of sample `index`. Every number is drawn whatever the ranges are, so that switching
   one change on leaves the others as they were. */
image_change gather_draw(const augmentation *a, const step_input *input, int64_t index);
/* The change without its flips as an inverse mapping from a place in the changed image to one in
   the sample, both relative to the centre: source = m (row, column) + offset. */
typedef struct image_transform {
    double m[2][2], offset[2];
    bool moves; /* is not the identity */
} image_transform;
image_transform gather_transform(const image_change *change);

/* x [height][width][channels]: the changed and scaled sample, by bilinear interpolation about the
   centre; beyond the border the nearest pixel counts. */
void gather_changed(const sample_block *s, int64_t index, const image_change *change, float *x);

#endif
