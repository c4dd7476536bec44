/* The optimizers' arithmetic, written once: each device includes this file with its own type of
   element. The order of operations is that of Keras 3 (keras/src/optimizers), so that the two agree
   over many steps. It is written in the common subset of C with GCC's vectors, CUDA C++ and OpenCL
   C. The including file defines

     RULE                        qualifiers of a function
     rule_real                   an element: a float or a vector of floats
     rule_product(a, b)          a b, rounded separately where the device needs the reference's bits
     rule_quotient(a, b)         a / b for b >= 0
     rule_sqrt(a), rule_pow(a, b)  b a float
     rule_select(mask, a, b)     mask ? a : b, elementwise

   A rule updates element w by gradient g. slot[i] is the optimizer row's slot i
   (model/optimizers.def), where bit i of `form` is set; a kernel for vectors passes `form` as a
   constant. RULE_FORMS_NAME lists the forms that have a function of their own, for speed. */
#include "device/rules/optimizer_constants.h"
#include "device/rules/penalty.h"

/* Clips the gradient and decays the weight. A NaN stays a NaN. */
RULE void rule_clip_and_decay(const optimizer_constants *c, rule_real *w, rule_real *g)
{
    *g = *g * c->gradient_scale;
    *g = rule_select(*g > c->clip_value, rule_all(c->clip_value), *g);
    *g = rule_select(*g < -c->clip_value, rule_all(-c->clip_value), *g);
    *w = *w - rule_product(*w * c->weight_decay, c->learning_rate);
}

/* v = momentum v - lr g; w += v, with nesterov w += momentum v - lr g */
#define RULE_FORMS_sgd(X, id) X(id, sgd, 0) X(id, sgd, 1) X(id, sgd, 9)
RULE void rule_sgd(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                   rule_real *slot)
{
    if (form & OPTIMIZER_FORM_NESTEROV) {
        rule_real step = rule_product(g, c->learning_rate);
        slot[0] = rule_product(slot[0], c->momentum) - step;
        *w = *w + (rule_product(slot[0], c->momentum) - step);
    } else if (form & 1) {
        slot[0] = rule_product(slot[0], c->momentum) - rule_product(g, c->learning_rate);
        *w = *w + slot[0];
    } else {
        *w = *w - rule_product(g, c->learning_rate);
    }
}

/* m += (g - m)(1 - b1); v += (g^2 - v)(1 - b2); w -= m alpha / (sqrt(v) + epsilon); amsgrad uses
   the largest v so far in place of v */
#define RULE_FORMS_adam(X, id) X(id, adam, 3) X(id, adam, 7)
RULE void rule_adam(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                    rule_real *slot)
{
    slot[0] = slot[0] + rule_product(g - slot[0], c->rate_1);
    slot[1] = slot[1] + rule_product(rule_product(g, g) - slot[1], c->rate_2);
    rule_real v = slot[1];
    if (form & 4)
        v = slot[2] = rule_select(slot[2] > slot[1], slot[2], slot[1]);
    *w = *w - rule_quotient(slot[0] * c->factors.alpha, rule_sqrt(v) + c->epsilon);
}

/* v = rho v + (1 - rho) g^2; step = lr g / sqrt(v [- a^2] + epsilon), a the running mean of g
   (centered); with momentum: u = momentum u + step, w -= u */
#define RULE_FORMS_rmsprop(X, id) \
    X(id, rmsprop, 1) X(id, rmsprop, 3) X(id, rmsprop, 5) X(id, rmsprop, 7)
RULE void rule_rmsprop(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                       rule_real *slot)
{
    rule_real v = rule_product(c->rho, slot[0]) + rule_product(1 - c->rho, g * g);
    slot[0] = v;
    if (form & 4) {
        slot[2] = rule_product(c->rho, slot[2]) + rule_product(1 - c->rho, g);
        v = v - rule_product(slot[2], slot[2]);
    }
    rule_real step = rule_quotient(c->learning_rate * g, rule_sqrt(v + c->epsilon));
    if (form & 2)
        slot[1] = step = rule_product(c->momentum, slot[1]) + step;
    *w = *w - step;
}

/* v += g^2; w -= lr g / sqrt(v + epsilon) */
#define RULE_FORMS_adagrad(X, id) X(id, adagrad, 1)
RULE void rule_adagrad(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                       rule_real *slot)
{
    (void)form;
    slot[0] = slot[0] + rule_product(g, g);
    *w = *w - rule_quotient(g * c->learning_rate, rule_sqrt(slot[0] + c->epsilon));
}

/* v = rho v + (1 - rho) g^2; d = g sqrt(u + epsilon) / sqrt(v + epsilon); u = rho u + (1 - rho)
   d^2; w -= lr d */
#define RULE_FORMS_adadelta(X, id) X(id, adadelta, 3)
RULE void rule_adadelta(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                        rule_real *slot)
{
    (void)form;
    slot[0] = rule_product(c->rho, slot[0]) + rule_product(1 - c->rho, g * g);
    rule_real d =
        rule_quotient(rule_sqrt(slot[1] + c->epsilon) * g, rule_sqrt(slot[0] + c->epsilon));
    slot[1] = rule_product(c->rho, slot[1]) + rule_product(1 - c->rho, d * d);
    *w = *w - rule_product(d, c->learning_rate);
}

/* m += (g - m)(1 - b1); u = max(b2 u, |g|); w -= m alpha / (u + epsilon) */
#define RULE_FORMS_adamax(X, id) X(id, adamax, 3)
RULE void rule_adamax(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                      rule_real *slot)
{
    (void)form;
    rule_real size = rule_select(g < 0.0f, -g, g), before = slot[1] * (1 - c->rate_2);
    slot[0] = slot[0] + rule_product(g - slot[0], c->rate_1);
    slot[1] = rule_select(before > size, before, size);
    *w = *w - rule_quotient(slot[0] * c->factors.alpha, slot[1] + c->epsilon);
}

/* The moments of Adam; w -= (m alpha + g gradient_alpha) / (sqrt(v) + epsilon), where the step's
   factors have the schedule of the momentum (device/optimizer_step.h) */
#define RULE_FORMS_nadam(X, id) X(id, nadam, 3)
RULE void rule_nadam(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                     rule_real *slot)
{
    (void)form;
    slot[0] = slot[0] + rule_product(g - slot[0], c->rate_1);
    slot[1] = slot[1] + rule_product(rule_product(g, g) - slot[1], c->rate_2);
    rule_real m =
        rule_product(slot[0], c->factors.alpha) + rule_product(g, c->factors.gradient_alpha);
    *w = *w - rule_quotient(m, rule_sqrt(slot[1]) + c->factors.epsilon);
}

/* w -= lr sign(b1 m + (1 - b1) g); m = b2 m + (1 - b2) g. The sign of 0 is 0. */
#define RULE_FORMS_lion(X, id) X(id, lion, 1)
RULE void rule_lion(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                    rule_real *slot)
{
    (void)form;
    rule_real x = rule_product(slot[0], 1 - c->rate_1) + rule_product(g, c->rate_1);
    rule_real sign =
        rule_select(x > 0.0f, rule_all(1.0f), rule_select(x < 0.0f, rule_all(-1.0f), x));
    slot[0] = rule_product(slot[0], 1 - c->rate_2) + rule_product(g, c->rate_2);
    *w = *w - sign * c->learning_rate;
}

/* n = a + g^2; z += g + 2 shrinkage w - (n^p - a^p) w / lr; a = n;
   w = (clip(z, l1) - z) / (n^p / lr + 2 l2 + beta / lr) */
#define RULE_FORMS_ftrl(X, id) X(id, ftrl, 3)
RULE void rule_ftrl(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                    rule_real *slot)
{
    (void)form;
    rule_real sum = slot[0] + rule_product(g, g), before, after;
    const rule_real rate = rule_all(c->learning_rate);
    if (c->power == 0.5f) {
        before = rule_sqrt(slot[0]);
        after = rule_sqrt(sum);
    } else {
        before = rule_pow(slot[0], c->power);
        after = rule_pow(sum, c->power);
    }
    rule_real change = rule_product(rule_quotient(after - before, rate), *w);
    slot[1] = slot[1] + ((g + rule_product(*w, 2 * c->shrinkage)) - change);
    slot[0] = sum;
    rule_real clipped = rule_select(slot[1] > c->l1, rule_all(c->l1), slot[1]);
    clipped = rule_select(clipped < -c->l1, rule_all(-c->l1), clipped);
    const float l2 = c->l2 + c->beta / (2 * c->learning_rate);
    *w = rule_quotient(clipped - slot[1], rule_quotient(after, rate) + 2 * l2);
}

/* The moments of Adam; LAYERWISE then does the step */
#define RULE_FORMS_lamb(X, id) X(id, lamb, 3)
RULE void rule_lamb(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                    rule_real *slot)
{
    (void)form;
    (void)w;
    slot[0] = slot[0] + rule_product(g - slot[0], c->rate_1);
    slot[1] = slot[1] + rule_product(rule_product(g, g) - slot[1], c->rate_2);
}

/* FACTORED_UPDATE does the step: it needs sums over the weight. */
#define RULE_FORMS_adafactor(X, id) X(id, adafactor, 7)
RULE void rule_adafactor(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                         rule_real *slot)
{
    (void)c, (void)form, (void)w, (void)g, (void)slot;
}

/* AdamW's step, by the factors; MATRIX_UPDATE does that on matrices. */
#define RULE_FORMS_muon(X, id) X(id, muon, 3)
RULE void rule_muon(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                    rule_real *slot)
{
    rule_adam(c, form, w, g, slot);
}

/* z, which begins as w before it decays, and v of Adam: z -= lr g / (sqrt(v / (1 - b2^t)) +
   epsilon); x = (w - (1 - b1) z) / b1, by the new z as Keras on TensorFlow has it; x += (z - x) /
   t; w = (1 - b1) z + b1 x. The shares are a float's differences, as Keras's are. */
#define RULE_FORMS_schedule_free(X, id) X(id, schedule_free, 3)
RULE void rule_schedule_free(const optimizer_constants *c, int form, rule_real *w, rule_real g,
                             rule_real *slot)
{
    const float share = 1 - c->rate_1, other = 1 - share, rate_2 = 1 - (1 - c->rate_2);
    const float newest = c->factors.epsilon; /* 1 / t */
    rule_real z = slot[0];
    (void)form;
    if (newest == 1)
        z = c->weight_decay > 0
                ? rule_quotient(*w, rule_all(1 - c->weight_decay * c->learning_rate))
                : *w;
    slot[1] = slot[1] + rule_product(rule_product(g, g) - slot[1], rate_2);
    rule_real size =
        rule_sqrt(rule_quotient(slot[1], rule_all(c->factors.gradient_alpha))) + c->epsilon;
    slot[0] = z - rule_quotient(rule_product(g, c->factors.alpha), size);
    rule_real x = rule_quotient(*w - rule_product(slot[0], other), rule_all(share));
    x = rule_product(x, 1 - newest) + rule_product(slot[0], newest);
    *w = rule_product(slot[0], other) + rule_product(x, share);
}
