/* Transforms of a sample's pixels: ImageDataGenerator's options as numbers. Accelerators' kernels
   take these structs as they are, so they hold no pointers. */
#ifndef STEP_AUGMENT_H
#define STEP_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

enum { AUGMENT_SHIFTS_MOST = 8, AUGMENT_CHANNELS_MOST = 4 };

/* Values beyond the border, as scipy.ndimage defines them for a side a b c d. */
typedef enum fill_mode {
    FILL_NEAREST,  /* a a | a b c d | d d */
    FILL_CONSTANT, /* cval everywhere */
    FILL_REFLECT,  /* b a | a b c d | d c */
    FILL_WRAP      /* c d=a | a b c d | d=a b: first and last pixel are one */
} fill_mode;

typedef struct shift_range {
    float most;      /* uniform in +-most; 0: none */
    int32_t choices; /* > 0: instead one of `choices` numbers, with either sign: */
    bool listed;     /* true: one of `value`; false: 0 to choices - 1 */
    bool pixels;     /* false: fractions of the side */
    float value[AUGMENT_SHIFTS_MOST];
} shift_range;

/* Random transforms, drawn per (seed, epoch, sample); all zero: none. */
typedef struct augmentation {
    float rotation_range; /* degrees, uniform in +- */
    float shear_range;    /* degrees, uniform in +- */
    float zoom_range[2];  /* zx, zy uniform in 1 + zoom_range[0] to 1 + zoom_range[1] */
    shift_range width_shift_range, height_shift_range;
    float channel_shift_range; /* in the samples' own units, uniform in +- */
    float brightness_range[2]; /* factor, uniform between the two; only if `brightens` */
    float cval;                /* for FILL_CONSTANT, in the samples' own units */
    fill_mode fill;
    bool brightens;
    bool horizontal_flip, vertical_flip; /* each with probability 1/2 */
} augmentation;

/* Applied to every sample after scaling, augmented or not: centering and division by the sample's
   own mean and deviation (over all pixels and channels), then by those of the training samples (per
   channel). 1e-6 is added to a deviation. All zero: none. */
typedef struct standardization {
    bool samplewise_center, samplewise_std; /* the second requires the first */
    bool featurewise_center, featurewise_std;
    int32_t channels; /* of mean and std; 0: not yet known */
    float mean[AUGMENT_CHANNELS_MOST], std[AUGMENT_CHANNELS_MOST];
} standardization;

static inline bool shift_any(const shift_range *s)
{
    return s->most != 0 || s->choices > 0;
}

/* Does the augmentation move pixels in other ways than flips? */
static inline bool augmentation_moves(const augmentation *a)
{
    return a->rotation_range != 0 || a->shear_range != 0 || a->zoom_range[0] != 0 ||
           a->zoom_range[1] != 0 || shift_any(&a->width_shift_range) ||
           shift_any(&a->height_shift_range);
}

static inline bool augmentation_any(const augmentation *a)
{
    return augmentation_moves(a) || a->channel_shift_range != 0 || a->brightens ||
           a->horizontal_flip || a->vertical_flip;
}

static inline bool standardization_any(const standardization *s)
{
    return s->samplewise_center || s->featurewise_center;
}

#endif
