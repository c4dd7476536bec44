/* Reading samples: the GATHER operation on every device whose memory is the host's. */
#ifndef DEVICE_GATHER_SAMPLE_H
#define DEVICE_GATHER_SAMPLE_H

#include "device/device.h"
#include "device/rules/random_transform.h"

/* Does `input` fit the plan (shapes, targets, indices, class numbers)? Called once per step before
   any operation runs, so that gather_sample cannot fail. */
cornu_status gather_check(const plan *p, const step_input *input);

/* Write sample input->index[row] as the network sees it. x [input shape]: scaled and, where the
   GATHER operation `o` says so, randomly transformed and standardized. The random numbers are keyed
   by seed, epoch and sample, so the result does not depend on the batch or the thread. t [target
   shape] (NULL: no target): class numbers become one-hot where the target has more than one column.
   Threads may call it at the same time. */
void gather_sample(const plan *p, const op *o, const step_input *input, int64_t row, float *x,
                   float *t);

/* The same for the target of sample `index` alone. */
void gather_target(const plan *p, const sample_block *s, int64_t index, float *t);

/* The weight of sample `index` in the loss. */
static inline float gather_weight(const sample_block *s, int64_t index)
{
    return s->weight ? s->weight[index] : 1;
}

/* The random transform of sample `index`. */
random_transform gather_draw(const augmentation *a, const step_input *input, int64_t index);

/* x [height][width][channels]: the transformed sample in its own units, by bilinear
   interpolation. */
void gather_augmented(const sample_block *s, int64_t index, const random_transform *transform,
                      float *x);

/* x [count], pixels in the samples' own units: scaled, then standardized. The last dimension has
   `channels`. */
void gather_standardize(const standardization *st, float scale, int64_t channels, int64_t count,
                        float *x);
/* If standardization needs no whole sample, it is x * factor[c] + shift[c] for channel c. This
   fills in the statistics' `channels` of them, or the first alone where it is the same for all
   channels. */
void gather_channel_scales(const standardization *st, float scale, float *factor, float *shift);

#endif
