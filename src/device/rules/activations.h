/* The activations' arithmetic, written once: each device includes this file with its own type of
   element. It is written in the common subset of C with GCC's vectors, CUDA C++ and OpenCL C. The
   including file defines

     RULE                      qualifiers of a function
     rule_real                 an element: a number or a vector of numbers
     rule_all(a)               the number `a` as an element
     rule_select(mask, a, b)   mask ? a : b, elementwise
     rule_abs(a), rule_sqrt(a), rule_tanh(a), rule_erfc(a), rule_log(a)
     rule_log1p_unit(a)        log(1 + a) for 0 <= a <= 1
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
                 x * rule_all(0.39894228040143267794) * rule_exp_negative(rule_all(-0.5) * x * x));
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

/* ---- activations that are operations of their own -------------------------------------------- */

/* Slopes at corners are TensorFlow's, except that of celu at 0, which is 1. */

/* alpha (exp(x / alpha) - 1) below 0 */
RULE rule_real activate_celu(rule_real x, rule_real alpha)
{
    return rule_select(x > 0, x, alpha * rule_expm1_negative(x / alpha));
}

RULE rule_real activate_celu_back(rule_real y, rule_real dy, rule_real alpha)
{
    return rule_select(y > 0, dy, dy * (y / alpha + 1));
}

RULE rule_real activate_exponential(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_exp_fast(x);
}

RULE rule_real activate_exponential_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return y * dy;
}

/* x, and 0 from -alpha to alpha */
RULE rule_real activate_hard_shrink(rule_real x, rule_real alpha)
{
    return rule_select(rule_abs(x) <= alpha, rule_all(0), x);
}

RULE rule_real activate_hard_shrink_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return rule_select(y == 0, rule_all(0), dy);
}

/* x from 0 to `most`, and these beyond */
RULE rule_real limited(rule_real x, rule_real most)
{
    return rule_select(x < 0, rule_all(0), rule_select(x > most, most, x));
}

/* dy where y is between 0 and `most`, not one of them */
RULE rule_real limited_back(rule_real y, rule_real dy, rule_real most)
{
    return rule_select(y > 0, rule_select(y < most, dy, rule_all(0)), rule_all(0));
}

/* (x + 3) / 6 from 0 to 1 */
RULE rule_real activate_hard_sigmoid(rule_real x, rule_real alpha)
{
    (void)alpha;
    return limited(x + 3, rule_all(6)) / 6;
}

RULE rule_real activate_hard_sigmoid_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return limited_back(y, dy / 6, rule_all(1));
}

/* x times the hard sigmoid */
RULE rule_real activate_hard_silu(rule_real x, rule_real alpha)
{
    return x * activate_hard_sigmoid(x, alpha);
}

RULE rule_real activate_hard_silu_back(rule_real x, rule_real dy, rule_real alpha)
{
    const rule_real sigmoid = activate_hard_sigmoid(x, alpha);
    return dy * sigmoid + activate_hard_sigmoid_back(sigmoid, x * dy, alpha);
}

/* x from -1 to 1 */
RULE rule_real activate_hard_tanh(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_select(x < -1, rule_all(-1), rule_select(x > 1, rule_all(1), x));
}

/* dy at -1 and 1, too */
RULE rule_real activate_hard_tanh_back(rule_real x, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return rule_select(rule_abs(x) <= 1, dy, rule_all(0));
}

/* log(1 + exp(x)), accurate relative to its own size far below 0, too */
RULE rule_real activate_softplus(rule_real x, rule_real alpha)
{
    const rule_real rest = rule_log1p_unit(rule_exp_negative(-rule_abs(x)));
    (void)alpha;
    return rule_select(x < 0, rest, x + rest);
}

/* sigmoid(x) = 1 - exp(-y) */
RULE rule_real activate_softplus_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return -rule_expm1_negative(-y) * dy;
}

/* log(sigmoid(x)) = -softplus(-x) */
RULE rule_real activate_log_sigmoid(rule_real x, rule_real alpha)
{
    return -activate_softplus(-x, alpha);
}

RULE rule_real activate_log_sigmoid_back(rule_real y, rule_real dy, rule_real alpha)
{
    return activate_softplus_back(-y, dy, alpha);
}

/* x t with t = tanh(softplus(x)) = 1 - 2 / ((1 + exp(x))^2 + 1), as a / b by e = exp(-|x|): no
   exponential overflows, and nothing is subtracted */
RULE rule_real mish_above(rule_real x, rule_real e)
{
    return rule_select(x < 0, e * (e + 2), 1 + 2 * e);
}

RULE rule_real mish_rest(rule_real x, rule_real e)
{
    return rule_select(x < 0, rule_all(2), 2 * e * e);
}

RULE rule_real activate_mish(rule_real x, rule_real alpha)
{
    const rule_real e = rule_exp_negative(-rule_abs(x)), above = mish_above(x, e);
    (void)alpha;
    return x * (above / (above + mish_rest(x, e)));
}

/* t + x (1 - t^2) sigmoid(x) */
RULE rule_real activate_mish_back(rule_real x, rule_real dy, rule_real alpha)
{
    const rule_real e = rule_exp_negative(-rule_abs(x)), above = mish_above(x, e);
    const rule_real rest = mish_rest(x, e), t = above / (above + rest);
    (void)alpha;
    return dy * (t + x * logistic(x, e) * (rest / (above + rest)) * (1 + t));
}

/* x from 0 to alpha, and these beyond */
RULE rule_real activate_relu6(rule_real x, rule_real alpha)
{
    return limited(x, alpha);
}

RULE rule_real activate_relu6_back(rule_real y, rule_real dy, rule_real alpha)
{
    return limited_back(y, dy, alpha);
}

/* scale x, and scale alpha (exp(x) - 1) below 0, with these numbers of TensorFlow's for the scale
   and for scale times alpha */
#define SELU_SCALE rule_all(1.0507009873554804934193349852946)
#define SELU_SCALE_ALPHA rule_all(1.7580993408473768599402175208123)

RULE rule_real activate_selu(rule_real x, rule_real alpha)
{
    (void)alpha;
    return rule_select(x < 0, SELU_SCALE_ALPHA * rule_expm1_negative(x), SELU_SCALE * x);
}

/* At 0 it is the scale. */
RULE rule_real activate_selu_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return rule_select(y < 0, dy * (y + SELU_SCALE_ALPHA), dy * SELU_SCALE);
}

#undef SELU_SCALE
#undef SELU_SCALE_ALPHA

/* x nearer to 0 by alpha, and 0 where it is no farther from it */
RULE rule_real activate_soft_shrink(rule_real x, rule_real alpha)
{
    return rule_select(x > alpha, x - alpha, rule_select(x >= -alpha, rule_all(0), x + alpha));
}

RULE rule_real activate_soft_shrink_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return rule_select(y == 0, rule_all(0), dy);
}

/* x / (1 + |x|) */
RULE rule_real activate_softsign(rule_real x, rule_real alpha)
{
    (void)alpha;
    return x / (1 + rule_abs(x));
}

RULE rule_real activate_softsign_back(rule_real x, rule_real dy, rule_real alpha)
{
    const rule_real one = 1 / (1 + rule_abs(x));
    (void)alpha;
    return dy * one * one;
}

/* 0 up to -1, x from 1 on, (x + 1)^2 / 4 between */
RULE rule_real activate_sparse_plus(rule_real x, rule_real alpha)
{
    const rule_real root = rule_all(0.5) * (x + 1);
    (void)alpha;
    return rule_select(x <= -1, rule_all(0), rule_select(x < 1, root * root, x));
}

RULE rule_real activate_sparse_plus_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return rule_select(y < 1, dy * rule_sqrt(y), dy);
}

/* (x + 1) / 2 from 0 to 1 */
RULE rule_real activate_sparse_sigmoid(rule_real x, rule_real alpha)
{
    (void)alpha;
    return limited(rule_all(0.5) * (x + 1), rule_all(1));
}

RULE rule_real activate_sparse_sigmoid_back(rule_real y, rule_real dy, rule_real alpha)
{
    (void)alpha;
    return limited_back(y, rule_all(0.5) * dy, rule_all(1));
}

/* (x + s) / 2 with s = sqrt(x^2 + alpha): alpha / 2 / (s - x) below 0, where nothing is lost */
RULE rule_real squareplus(rule_real x, rule_real s, rule_real alpha)
{
    return rule_all(0.5) * rule_select(x < 0, alpha / (s - x), x + s);
}

RULE rule_real activate_squareplus(rule_real x, rule_real alpha)
{
    return squareplus(x, rule_sqrt(x * x + alpha), alpha);
}

/* y / s; 0 at 0 if alpha is 0 */
RULE rule_real activate_squareplus_back(rule_real x, rule_real dy, rule_real alpha)
{
    const rule_real s = rule_sqrt(x * x + alpha);
    return dy * rule_select(s == 0, rule_all(0), squareplus(x, s, alpha) / s);
}

/* x - tanh(x); from -0.5 to 0.5, where the difference would lose its digits, by the Taylor series
   of tanh to x^15 (the next term is below 2e-7 of the result) */
RULE rule_real activate_tanh_shrink(rule_real x, rule_real alpha)
{
    const rule_real square = x * x;
    rule_real series = rule_all(-929569.0 / 638512875);
    series = series * square + rule_all(21844.0 / 6081075);
    series = series * square - rule_all(1382.0 / 155925);
    series = series * square + rule_all(62.0 / 2835);
    series = series * square - rule_all(17.0 / 315);
    series = series * square + rule_all(2.0 / 15);
    series = series * square - rule_all(1.0 / 3);
    (void)alpha;
    return rule_select(rule_abs(x) < rule_all(0.5), -(series * square * x), x - rule_tanh(x));
}

RULE rule_real activate_tanh_shrink_back(rule_real x, rule_real dy, rule_real alpha)
{
    const rule_real t = rule_tanh(x);
    (void)alpha;
    return dy * t * t;
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

/* x s with s = sigmoid(2 u) = (1 + tanh(u)) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3): an
   approximation of gelu */
#define GELU_FACTOR rule_all(1.5957691216057307117597842397375) /* 2 sqrt(2 / pi) */
#define GELU_CUBE rule_all(0.044715)

RULE rule_real activate_gelu_tanh(rule_real x, rule_real alpha)
{
    const rule_real twice = GELU_FACTOR * x * (1 + GELU_CUBE * x * x);
    (void)alpha;
    return x * logistic(twice, rule_exp_negative(-rule_abs(twice)));
}

/* s + x s (1 - s) 2 u' */
RULE rule_real activate_gelu_tanh_back(rule_real x, rule_real dy, rule_real alpha)
{
    const rule_real twice = GELU_FACTOR * x * (1 + GELU_CUBE * x * x);
    const rule_real s = logistic(twice, rule_exp_negative(-rule_abs(twice)));
    (void)alpha;
    return dy * s * (1 + x * (1 - s) * GELU_FACTOR * (1 + 3 * GELU_CUBE * x * x));
}

#undef GELU_FACTOR
#undef GELU_CUBE

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
