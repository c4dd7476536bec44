/* The optimizers' rules as loops over a range of elements, shared by every device whose memory is
   the host's: no element depends on another, so any cut into ranges gives the same bits. In 32-bit
   floats and in the order of Keras 3 (keras/src/optimizers), so that the two stay together over
   many steps. */
#ifndef DEVICE_UPDATE_RULES_H
#define DEVICE_UPDATE_RULES_H

#include "model/optimizers.h"
#include <math.h>
#include <stdint.h>

/* What all elements of one variable share in one step. */
typedef struct update_factors {
    float learning_rate;
    float gradient_scale; /* clipping by norm: gradients are multiplied by this; else 1 */
    float clip_value;     /* gradients are cut to +-this; INFINITY: not at all */
    float weight_decay;   /* 0: none */
    float momentum, rho, epsilon;
    float rate_1, rate_2; /* Adam: 1 - beta_1, 1 - beta_2 */
    float alpha;          /* Adam: learning_rate sqrt(1 - beta_2^t) / (1 - beta_1^t) */
    bool nesterov, amsgrad, centered;
} update_factors;

/* `norm_squared`: the sum of squares to clip by (of this variable, or of all), ignored without
   clipping by norm. `iteration` counts from 0. A norm that is not finite makes the scale NaN, as in
   Keras, so that it is seen. */
static inline update_factors update_factors_of(const optimizer *o, float learning_rate,
                                               int64_t iteration, double norm_squared)
{
    update_factors f = {.learning_rate = learning_rate,
                        .gradient_scale = 1,
                        .clip_value = o->clipvalue > 0 ? (float)o->clipvalue : INFINITY,
                        .weight_decay = (float)o->weight_decay,
                        .momentum = (float)o->momentum,
                        .rho = (float)o->rho,
                        .epsilon = (float)o->epsilon,
                        .rate_1 = (float)(1 - o->beta_1),
                        .rate_2 = (float)(1 - o->beta_2),
                        .nesterov = o->nesterov,
                        .amsgrad = o->amsgrad,
                        .centered = o->centered};
    double most = o->clipnorm > 0 ? o->clipnorm : o->global_clipnorm;
    if (most > 0) {
        double norm = sqrt(norm_squared);
        f.gradient_scale = isfinite(norm) ? (float)(norm > most ? most / norm : 1) : NAN;
    }
    /* In floats as Keras does it: with beta_2 = 0.999 the first steps' 1 - beta_2^t differs from
       the exact value by up to 5e-5. */
    float t = (float)(iteration + 1);
    float power_1 = powf((float)o->beta_1, t), power_2 = powf((float)o->beta_2, t);
    if (o->id == OPTIMIZER_ADAM || o->id == OPTIMIZER_ADAMW)
        f.alpha = learning_rate * sqrtf(1 - power_2) / (1 - power_1);
    return f;
}

/* The gradient as the rule sees it. A NaN stays one. */
static inline float update_clip(const update_factors *f, float g)
{
    g *= f->gradient_scale;
    g = g > f->clip_value ? f->clip_value : g;
    return g < -f->clip_value ? -f->clip_value : g;
}

static inline float update_decay(const update_factors *f, float w)
{
    return w - w * f->weight_decay * f->learning_rate;
}

/* One rule: elements begin..end-1 of variable w with gradient g; slot[i] is the optimizer row's
   slot i, NULL where this configuration has none. */
typedef void update_rule(const update_factors *f, float *w, const float *g, float *const slot[],
                         int64_t begin, int64_t end);

/* v = momentum v - lr g; w += v, with nesterov w += momentum v - lr g */
static inline void update_sgd(const update_factors *f, float *w, const float *g,
                              float *const slot[], int64_t begin, int64_t end)
{
    const update_factors c = *f;
    float *v = slot[0];
    if (!v) {
        for (int64_t i = begin; i < end; i++)
            w[i] = update_decay(&c, w[i]) - update_clip(&c, g[i]) * c.learning_rate;
    } else if (c.nesterov) {
        for (int64_t i = begin; i < end; i++) {
            float step = update_clip(&c, g[i]) * c.learning_rate;
            v[i] = v[i] * c.momentum - step;
            w[i] = update_decay(&c, w[i]) + (v[i] * c.momentum - step);
        }
    } else {
        for (int64_t i = begin; i < end; i++) {
            v[i] = v[i] * c.momentum - update_clip(&c, g[i]) * c.learning_rate;
            w[i] = update_decay(&c, w[i]) + v[i];
        }
    }
}

/* m += (g - m)(1 - b1); v += (g^2 - v)(1 - b2); w -= m alpha / (sqrt(v) + epsilon); with amsgrad
   the largest v so far stands for v */
static inline void update_adam(const update_factors *f, float *w, const float *g,
                               float *const slot[], int64_t begin, int64_t end)
{
    const update_factors c = *f;
    float *m = slot[0], *v = slot[1], *largest = slot[2];
    if (c.amsgrad && largest) {
        for (int64_t i = begin; i < end; i++) {
            float gradient = update_clip(&c, g[i]);
            m[i] += (gradient - m[i]) * c.rate_1;
            v[i] += (gradient * gradient - v[i]) * c.rate_2;
            largest[i] = largest[i] > v[i] ? largest[i] : v[i];
            w[i] = update_decay(&c, w[i]) - m[i] * c.alpha / (sqrtf(largest[i]) + c.epsilon);
        }
    } else {
        for (int64_t i = begin; i < end; i++) {
            float gradient = update_clip(&c, g[i]);
            m[i] += (gradient - m[i]) * c.rate_1;
            v[i] += (gradient * gradient - v[i]) * c.rate_2;
            w[i] = update_decay(&c, w[i]) - m[i] * c.alpha / (sqrtf(v[i]) + c.epsilon);
        }
    }
}

/* v = rho v + (1 - rho) g^2; step = lr g / sqrt(v [- a^2] + epsilon), a the running mean of g
   (centered); with momentum: u = momentum u + step, w -= u */
static inline void update_rmsprop(const update_factors *f, float *w, const float *g,
                                  float *const slot[], int64_t begin, int64_t end)
{
    const update_factors c = *f;
    float *v = slot[0], *u = slot[1], *a = slot[2];
    for (int64_t i = begin; i < end; i++) {
        float gradient = update_clip(&c, g[i]);
        v[i] = c.rho * v[i] + (1 - c.rho) * (gradient * gradient);
        float denominator = v[i] + c.epsilon;
        if (a) {
            a[i] = c.rho * a[i] + (1 - c.rho) * gradient;
            denominator = v[i] - a[i] * a[i] + c.epsilon;
        }
        float step = c.learning_rate * gradient / sqrtf(denominator);
        if (u)
            u[i] = step = c.momentum * u[i] + step;
        w[i] = update_decay(&c, w[i]) - step;
    }
}

static update_rule *const update_rules[OPTIMIZER_COUNT] = {
    [OPTIMIZER_SGD] = update_sgd,
    [OPTIMIZER_ADAM] = update_adam,
    [OPTIMIZER_ADAMW] = update_adam,
    [OPTIMIZER_RMSPROP] = update_rmsprop,
};

#endif
