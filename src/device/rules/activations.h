/* The activations' arithmetic, written once: each device includes this file with its own type of
   element. It is written in the common subset of C with GCC's vectors, CUDA C++ and OpenCL C. The
   including file defines

     RULE                      qualifiers of a function
     rule_real                 an element: a number or a vector of numbers
     rule_all(a)               the number `a` as an element
     rule_select(mask, a, b)   mask ? a : b, elementwise
     rule_abs(a), rule_sqrt(a), rule_tanh(a), rule_erfc(a), rule_exp(a), rule_log(a)
     rule_exp_fast(a)          exp(a) to 3 units in the last place
     rule_exp_negative(a)      exp(a) for a <= 0
     rule_exp_coarse(a)        the same, with an error of a rounding of 1: small results may be lost
     rule_expm1_negative(a)    exp(a) - 1 for a <= 0

   The last three may return any number for a > 0. activate_NAME(x, alpha) is the output y of
   activation NAME (model/activations.def). activate_NAME_back(v, dy, alpha) is dx; v is the output,
   or the input where the row says that the derivative needs it. A NaN in x gives a NaN in y. */

RULE rule_real activate_linear(rule_real x, rule_real alpha)
{
    (void)alpha;
    return x;
}

RULE rule_real activate_linear_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)y, (void)alpha;
    return dy;
}

RULE rule_real activate_relu(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_select(x < 0, rule_all(0), x);
}

RULE rule_real activate_relu_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return rule_select(y > 0, dy, rule_all(0));
}

/* alpha x below 0 */
RULE rule_real activate_leaky_relu(rule_real x, rule_real alpha)
{
    return rule_select(x > 0, x, alpha * x);
}

RULE rule_real activate_leaky_relu_back(rule_real y, rule_real dy, rule_real alpha)
{
    return rule_select(y > 0, dy, alpha * dy);
}

/* alpha (exp(x) - 1) below 0 */
RULE rule_real activate_elu(rule_real x, rule_real alpha)
{
    return rule_select(x > 0, x, alpha * rule_expm1_negative(x));
}

RULE rule_real activate_elu_back(rule_real y, rule_real dy, rule_real alpha)
{
    return rule_select(y > 0, dy, dy * (y + alpha));
}

/* x P(x), P the normal distribution function: 0.5 erfc(-x / sqrt 2) */
RULE rule_real activate_gelu(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_all(0.5) * x * rule_erfc(x * rule_all(-0.70710678118654752440));
}

/* P(x) + x P'(x), P'(x) = exp(-x^2 / 2) / sqrt(2 pi) */
RULE rule_real activate_gelu_back(rule_real x, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return dy * (rule_all(0.5) * rule_erfc(x * rule_all(-0.70710678118654752440)) +
                 x * rule_all(0.39894228040143267794) * rule_exp(rule_all(-0.5) * x * x));
}

/* 1 / (1 + exp(-x)) by e = exp(-|x|) */
RULE rule_real logistic(rule_real x, rule_real e)
{
    rule_real y = 1 / (1 + e);
    return rule_select(x < 0, e * y, y);
}

RULE rule_real activate_sigmoid(rule_real x, rule_real alpha)
{
    (void)alpha;
    return logistic(x, rule_exp_coarse(-rule_abs(x)));
}

RULE rule_real activate_sigmoid_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return dy * y * (1 - y);
}

RULE rule_real activate_tanh(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_tanh(x);
}

RULE rule_real activate_tanh_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return dy * (1 - y * y);
}

/* x s with s = sigmoid(x), accurate relative to its own size far below 0, too */
RULE rule_real activate_silu(rule_real x, rule_real alpha)
{
    (void)alpha;
    return x * logistic(x, rule_exp_negative(-rule_abs(x)));
}

/* s + x s (1 - s) */
RULE rule_real activate_silu_back(rule_real x, rule_real dy, rule_real alpha)
{
    rule_real s = logistic(x, rule_exp_negative(-rule_abs(x)));
    (void)alpha;
    return dy * s * (1 + x * (1 - s));
}

/* ---- functions that are no activations ---------------------------------------------------- */

/* As in TensorFlow, a gradient of 0 passes through reciprocal, rsqrt and sqrt as 0 also where their
   slope is infinite, but not through the others. */

RULE rule_real activate_absolute(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_abs(x);
}

/* dy with the sign of x; 0 where x is 0, as TensorFlow has it */
RULE rule_real activate_absolute_back(rule_real x, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return rule_select(x > 0, dy, rule_select(x < 0, -dy, x * dy));
}

/* x, and alpha below it: x itself, whatever their sizes */
RULE rule_real activate_at_least(rule_real x, rule_real alpha)
{
    return rule_select(x < alpha, alpha, x);
}

RULE rule_real activate_at_least_back(rule_real x, rule_real dy, rule_real alpha)
{
    return rule_select(x >= alpha, dy, rule_all(0));
}

/* x, and alpha above it */
RULE rule_real activate_at_most(rule_real x, rule_real alpha)
{
    return rule_select(x > alpha, alpha, x);
}

RULE rule_real activate_at_most_back(rule_real x, rule_real dy, rule_real alpha)
{
    return rule_select(x <= alpha, dy, rule_all(0));
}

RULE rule_real activate_exp(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_exp_fast(x);
}

RULE rule_real activate_exp_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return y * dy;
}

/* 1 / sqrt(x), at most 1 / alpha: of a sum of squares, what keras.utils.normalize multiplies by */
RULE rule_real activate_inverse_norm(rule_real x, rule_real alpha)
{
    const rule_real norm = rule_sqrt(x);
    return rule_all(1) / rule_select(norm < alpha, alpha, norm);
}

/* -y^3 / 2; 0 where y is the limit */
RULE rule_real activate_inverse_norm_back(rule_real y, rule_real dy, rule_real alpha)
{
    return rule_select(y * alpha < rule_all(0.9999), rule_all(-0.5) * y * y * y * dy, rule_all(0));
}

RULE rule_real activate_log(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_log(x);
}

RULE rule_real activate_log_back(rule_real x, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return dy / x;
}

RULE rule_real activate_reciprocal(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_all(1) / x;
}

RULE rule_real activate_reciprocal_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return rule_select(dy == 0, rule_all(0), -(y * dy) * y);
}

RULE rule_real activate_rsqrt(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_all(1) / rule_sqrt(x);
}

RULE rule_real activate_rsqrt_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return rule_select(dy == 0, rule_all(0), rule_all(-0.5) * (y * dy) * y * y);
}

RULE rule_real activate_sqrt(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_sqrt(x);
}

RULE rule_real activate_sqrt_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return rule_select(dy == 0, rule_all(0), rule_all(0.5) * dy / y);
}

RULE rule_real activate_square(rule_real x, rule_real alpha)
{
    (void)alpha;
    return x * x;
}

RULE rule_real activate_square_back(rule_real x, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return 2 * x * dy;
}
