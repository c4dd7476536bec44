/* The gradient of a weight's element in operations that read it in several passes. OpenCL C; after
   shared.h. */
#ifndef DEVICE_OPENCL_PLUGIN_KERNELS_GRADIENT_H
#define DEVICE_OPENCL_PLUGIN_KERNELS_GRADIENT_H

#include "device/opencl/plugin/kernels/clip.h"

#include "device/rules/optimizers.h"

/* Every pass reads these; steps: of an update. */
#define GRADIENT                                                                  \
    OUT(float, w), IN(float, g), IN(float, squares), const int square_first,      \
        const int square_count, const float norm_most, const float clip_value,    \
        const float weight_decay, const float penalty_l1, const float penalty_l2, \
        const float learning_rate, const float gradient_alpha, const long steps,  \
        const ulong iteration

#define IS_NOT_ITS_STEP (steps > 1 && iteration % (ulong)steps != (ulong)(steps - 1))

/* Each work-item adds up the norm itself: no barrier. */
#define BEGIN                                                        \
    optimizer_constants constants = {.learning_rate = learning_rate, \
                                     .gradient_scale = 1,            \
                                     .clip_value = clip_value,       \
                                     .weight_decay = weight_decay,   \
                                     .penalty_l1 = penalty_l1,       \
                                     .penalty_l2 = penalty_l2};      \
    AT(w);                                                           \
    AT(g);                                                           \
    AT(squares);                                                     \
    if (squares)                                                     \
    constants.gradient_scale = clip_scale(squares, square_first, square_count, norm_most)

/* The gradient, clipped; *w: the weight, decayed. */
static inline float clipped(const optimizer_constants *c, float *w, float g)
{
    if (c->penalty_l1 > 0 || c->penalty_l2 > 0)
        g = rule_penalized(c->penalty_l1, c->penalty_l2, *w, g);
    rule_clip_and_decay(c, w, &g);
    return g;
}

#endif
