/* The optimizers' rules on ranges of elements. device/update_rules.h says what they compute; here
   they are for vectors, for UPDATE and for kernels that hand gradients on while they are in cache.
 */
#ifndef DEVICE_CPU_KERNELS_UPDATE_H
#define DEVICE_CPU_KERNELS_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

/* update_factors' numbers; `plain`: the gradient is taken as it is and weights do not decay. */
typedef struct update_constants {
    float learning_rate, gradient_scale, clip_value, weight_decay;
    float momentum, rho, epsilon, rate_1, rate_2, alpha;
    bool nesterov, amsgrad, plain;
} update_constants;

/* w[count] and its slots, from gradient g; slot[i] is NULL where the configuration has none. */
typedef void update_range(const update_constants *c, const float *g, float *w, float *const slot[],
                          int64_t count);

typedef struct update_kernels {
    update_range *sgd, *adam, *rmsprop;
} update_kernels;

#endif
