/* The optimizers' arithmetic, written once: each device includes this file with its own type of
   element. The order of operations is that of Keras 3 (keras/src/optimizers), so that the two agree
   over many steps. It is written in the common subset of C with GCC's vectors, CUDA C++ and OpenCL
   C. The including file defines

     RULE                        qualifiers of a function
     rule_real                   an element: a float or a vector of floats
     rule_product(a, b)          a b, rounded separately where the device needs the reference's bits
     rule_quotient(a, b)         a / b for b >= 0
     rule_sqrt(a)
     rule_select(mask, a, b)     mask ? a : b, elementwise

   A rule updates element w by gradient g. slot[i] is the optimizer row's slot i
   (model/optimizers.def), where bit i of `form` is set; a kernel for vectors passes `form` as a
   constant. RULE_FORMS_NAME lists the forms that have a function of their own, for speed. */
#include "device/rules/optimizer_constants.h"

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
    *w = *w - rule_quotient(slot[0] * c->alpha, rule_sqrt(v) + c->epsilon);
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
