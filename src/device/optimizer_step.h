/* The constants of one step of an optimizer, for device/rules/optimizers.h. */
#ifndef DEVICE_OPTIMIZER_STEP_H
#define DEVICE_OPTIMIZER_STEP_H

#include "device/rules/optimizer_constants.h"
#include "step/plan.h"
#include <math.h>

/* The factor of gradients for clipping by norm. A norm that is not finite makes it NaN, as in
   Keras, so that the error is visible. */
static inline float optimizer_gradient_scale(const optimizer *o, double norm_squared)
{
    double most = o->clipnorm > 0 ? o->clipnorm : o->global_clipnorm;
    if (!(most > 0))
        return 1;
    double norm = sqrt(norm_squared);
    return isfinite(norm) ? (float)(norm > most ? most / norm : 1) : NAN;
}

/* The product over the steps 1...t of beta_1 (1 - 0.96^i / 2): Keras's variable u_product of Nadam
   after step t. The later factors are beta_1 itself, to a float's precision. */
static inline double optimizer_momentum_product(const optimizer *o, int64_t t)
{
    double product = pow(o->beta_1, (double)t), decay = 1;
    for (int64_t i = 0; i < t && decay > 1e-9; i++) {
        decay *= 0.96;
        product *= 1 - 0.5 * decay;
    }
    return product;
}

/* Dozat 2016: the momentum's own schedule, beta_1 (1 - 0.96^t / 2), and a step of it ahead. */
static inline optimizer_factors optimizer_nadam_factors(const optimizer *o, float learning_rate,
                                                        int64_t t, float root)
{
    double now = o->beta_1 * (1 - 0.5 * pow(0.96, (double)t));
    double next = o->beta_1 * (1 - 0.5 * pow(0.96, (double)(t + 1)));
    double product = optimizer_momentum_product(o, t), rate = (double)(learning_rate * root);
    return (optimizer_factors){.alpha = (float)(rate * next / (1 - product * next)),
                               .gradient_alpha = (float)(rate * (1 - now) / (1 - product)),
                               .epsilon = (float)o->epsilon * root};
}

/* In floats as Keras does it: with beta_2 = 0.999 the first steps' 1 - beta_2^t differs from the
   exact value by up to 5e-5. */
static inline optimizer_factors optimizer_factors_at(const optimizer *o, float learning_rate,
                                                     int64_t iteration)
{
    iteration = optimizer_updates_before(o, iteration);
    float t = (float)(iteration + 1);
    float power_1 = powf((float)o->beta_1, t), power_2 = powf((float)o->beta_2, t);
    if (o->id == OPTIMIZER_NADAM)
        return optimizer_nadam_factors(o, learning_rate, iteration + 1, sqrtf(1 - power_2));
    if (o->id == OPTIMIZER_LAMB)
        return (optimizer_factors){.alpha = 1 - power_1, .gradient_alpha = 1 - power_2};
    if (o->id == OPTIMIZER_SCHEDULE_FREE_ADAMW)
        return (optimizer_factors){
            .alpha =
                learning_rate * (o->warmup_steps > 0 ? fminf(t / (float)o->warmup_steps, 1) : 1),
            .gradient_alpha = 1 - power_2,
            .epsilon = 1 / t};
    if (o->id == OPTIMIZER_ADAFACTOR)
        return (optimizer_factors){.alpha = fminf(learning_rate, 1 / sqrtf(t)),
                                   .gradient_alpha = 1 - powf(t, (float)o->beta_2_decay)};
    if (o->id == OPTIMIZER_MUON)
        learning_rate *= (float)o->adam_lr_ratio;
    if (o->id == OPTIMIZER_ADAMAX)
        return (optimizer_factors){.alpha = learning_rate / (1 - power_1)};
    return (optimizer_factors){.alpha = learning_rate * sqrtf(1 - power_2) / (1 - power_1)};
}

/* The steps of an update; `accumulate` is 0 where each is one. */
static inline int64_t optimizer_update_steps(int64_t accumulate)
{
    return accumulate > 0 ? accumulate : 1;
}

/* The momentum of the average that AVERAGE `o` keeps, in step `iteration`. */
static inline float optimizer_average_momentum(const op *o, int64_t iteration)
{
    const int64_t steps = optimizer_update_steps(o->a.average.accumulate);
    return iteration < steps ? 0 : o->a.average.momentum;
}

/* Do the weights become their averages in that step? */
static inline bool optimizer_overwrites(const op *o, int64_t iteration)
{
    const int64_t steps = optimizer_update_steps(o->a.average.accumulate);
    const int64_t each = o->a.average.overwrite;
    return each > 0 && (iteration / steps + 1) % each == 0;
}

/* The slots of UPDATE `o`. */
static inline int optimizer_form(const op *o)
{
    int form = 0;
    for (int i = 0; i < OPTIMIZER_SLOTS_MAX; i++)
        form |= o->out[1 + i] == NO_TENSOR ? 0 : 1 << i;
    return form | (form & 1 && o->a.update.optimizer.nesterov ? OPTIMIZER_FORM_NESTEROV : 0);
}

/* MATRIX_UPDATE: the factors of the step's size, sqrt(the larger of rows and columns) and rms_rate,
   or 1 and 1. */
static inline float optimizer_matrix_root(const op *o)
{
    const int64_t rows = o->a.update.extents[1], columns = o->a.update.extents[2];
    return o->a.update.optimizer.rms_rate < 0 ? 1 : sqrtf((float)(rows > columns ? rows : columns));
}

static inline float optimizer_matrix_share(const op *o)
{
    const double rate = o->a.update.optimizer.rms_rate;
    return rate < 0 ? 1 : (float)rate;
}

/* The constants of UPDATE `o`. `norm_squared`: the sum of squares to clip by (of this variable, or
   of all), ignored without clipping by norm. `iteration` counts from 0. */
static inline optimizer_constants optimizer_step(const op *o, float learning_rate,
                                                 int64_t iteration, double norm_squared)
{
    const optimizer *how = &o->a.update.optimizer;
    optimizer_constants c = {.learning_rate = learning_rate,
                             .gradient_scale = optimizer_gradient_scale(how, norm_squared),
                             .clip_value = how->clipvalue > 0 ? (float)how->clipvalue : INFINITY,
                             .weight_decay = (float)how->weight_decay,
                             .momentum = (float)how->momentum,
                             .rho = (float)how->rho,
                             .epsilon = (float)how->epsilon,
                             .rate_1 = (float)(1 - how->beta_1),
                             .rate_2 = (float)(1 - how->beta_2),
                             .factors = optimizer_factors_at(how, learning_rate, iteration),
                             .power = (float)-how->learning_rate_power,
                             .l1 = (float)how->l1_regularization_strength,
                             .l2 = (float)how->l2_regularization_strength,
                             .shrinkage = (float)how->l2_shrinkage_regularization_strength,
                             .beta = (float)how->beta,
                             .penalty_l1 = o->a.update.penalty.l1,
                             .penalty_l2 = o->a.update.penalty.l2,
                             .form = optimizer_form(o),
                             .penalized = penalty_any(o->a.update.penalty)};
    c.plain = c.gradient_scale == 1 && isinf(c.clip_value) && c.weight_decay == 0 && !c.penalized;
    return c;
}

#endif
