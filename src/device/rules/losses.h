/* The losses' arithmetic, written once: each device includes this file. One or several lanes work
   side by side on a row, which is the last dimension. It is written in the common subset of C17,
   CUDA C++ and OpenCL C. The including file defines

     RULE                        qualifiers of a function
     row_number, row_index       a double, a 64-bit integer
     row_view                    a row from the view of one of its lanes
     for (ROW_EACH(i, r))        loop over this lane's columns
     row_count(r), row_lane(r)   the row's columns, 0 for lanes that have no row; the lane's number
     row_output(r, i)            a row_number, for any lane's column
     row_target(r, i)            the same; a class number is row_target(r, 0)
     row_sum(r, a)               sum over the lanes, for all of them; every lane must call it
     row_largest(r, a)           likewise
     row_put_gradient(r, i, g)   store g = dL / d output i, where gradients are wanted
     row_put_activated(r, i, p)  for a loss on logits: p is their softmax or sigmoid, for a kernel
                                 that fuses the activation with the loss
     row_real(r, i)              number i of the loss's options (losses.def)
     row_abs(a), row_sqrt(a), row_exp(a), row_log(a), row_log1p(a)
     row_power(a, b)             a^b
     row_exp_negative(a)         exp(a) for a <= 0, with an error of at most 1e-7

   loss_NAME(r) is this lane's partial sum of the row's loss: the caller adds the lanes' values.
   loss_NAME_logits(r): the same where the outputs are logits. */
#include "device/rules/softmax.h"

/* Keras's epsilon, and 1 - epsilon, as the 32-bit floats that TensorFlow clips probabilities to.
   The gradient of a clipped value is 0; on the bounds themselves it passes. */
#define LOSS_CLIP_LOW ((row_number)1e-7f)
#define LOSS_CLIP_HIGH ((row_number)(float)(1.0 - 1e-7))

RULE row_number loss_clip(row_number x)
{
    return x < LOSS_CLIP_LOW ? LOSS_CLIP_LOW : x > LOSS_CLIP_HIGH ? LOSS_CLIP_HIGH : x;
}

RULE int loss_passes(row_number x)
{
    return x >= LOSS_CLIP_LOW && x <= LOSS_CLIP_HIGH;
}

/* 1, -1 or 0, as TensorFlow's sign; a NaN stays a NaN. */
RULE row_number loss_sign(row_number x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

/* sigmoid(z) from e = exp(-|z|) */
RULE row_number loss_sigmoid(row_number z, row_number e)
{
    return (z >= 0 ? 1 : e) / (1 + e);
}

/* The row's class, or -1: a class number outside 0..n-1 is never read as an index; data sets are
   checked when they are read. */
RULE row_index loss_class(const row_view *r)
{
    if (row_count(r) == 0 ||
        !(row_target(r, 0) >= 0 && row_target(r, 0) < (row_number)row_count(r)))
        return -1;
    return (row_index)row_target(r, 0);
}

RULE row_number loss_of_no_class(const row_view *r)
{
    for (ROW_EACH(i, r))
        row_put_gradient(r, i, NAN);
    return row_count(r) > 0 ? NAN : 0;
}

/* p = o / sum(o), c = clip(p), L = -sum(t log c).
   dL/do_j = (g_j - sum_i(g_i p_i)) / sum(o) with g_i = -t_i / c_i where p_i is not clipped, else 0.
 */
RULE row_number loss_categorical_crossentropy(const row_view *r)
{
    row_number sum = 0, value = 0, mean = 0;
    for (ROW_EACH(i, r))
        sum += row_output(r, i);
    sum = row_sum(r, sum);
    for (ROW_EACH(i, r)) {
        row_number p = row_output(r, i) / sum;
        value -= row_target(r, i) * row_log(loss_clip(p));
        if (loss_passes(p))
            mean -= row_target(r, i);
    }
    mean = row_sum(r, mean);
    for (ROW_EACH(i, r)) {
        row_number p = row_output(r, i) / sum;
        row_number g = loss_passes(p) ? -row_target(r, i) / p : 0;
        row_put_gradient(r, i, (g - mean) / sum);
    }
    return value;
}

/* L = sum(t (logsumexp(z) - z)); the gradient is softmax(z) - t, as in TensorFlow's kernel, which
   is exact for targets that sum to 1. */
RULE row_number loss_categorical_crossentropy_logits(const row_view *r)
{
    row_exponentials e = row_exponentials_of(r);
    row_number value = 0, logarithm = row_log(e.sum);
    for (ROW_EACH(i, r)) {
        row_number t = row_target(r, i), p = row_softmax(&e, row_output(r, i));
        value += t * (logarithm - (row_output(r, i) - e.largest));
        row_put_activated(r, i, p);
        row_put_gradient(r, i, p - t);
    }
    return value;
}

/* Keras on TensorFlow: c = clip(o), then softmax cross-entropy on log(c), that is
   L = log(sum(c)) - log(c_t). dL/do_j = 1 / sum(c) - [j = t] / c_t where o_j is not clipped. */
RULE row_number loss_sparse_categorical_crossentropy(const row_view *r)
{
    row_index t = loss_class(r);
    row_number sum = 0, c;
    for (ROW_EACH(i, r))
        sum += loss_clip(row_output(r, i));
    sum = row_sum(r, sum);
    if (t < 0)
        return loss_of_no_class(r);
    c = loss_clip(row_output(r, t));
    for (ROW_EACH(i, r))
        row_put_gradient(r, i, loss_passes(row_output(r, i)) ? 1 / sum - (i == t ? 1 / c : 0) : 0);
    return row_lane(r) == 0 ? row_log(sum) - row_log(c) : 0;
}

/* L = logsumexp(z) - z_t; gradient softmax(z) - [j = t]. */
RULE row_number loss_sparse_categorical_crossentropy_logits(const row_view *r)
{
    row_index t = loss_class(r);
    row_exponentials e = row_exponentials_of(r);
    row_number value = 0;
    for (ROW_EACH(i, r)) {
        row_number p = row_softmax(&e, row_output(r, i));
        if (i == t)
            value = row_log(e.sum) - (row_output(r, i) - e.largest);
        row_put_activated(r, i, p);
        row_put_gradient(r, i, i == t ? p - 1 : p);
    }
    return t < 0 ? loss_of_no_class(r) : value;
}

/* Keras 3.15: L = (1 - o_t^q) / q; gradient -o_t^(q - 1), of the other outputs 0. */
RULE row_number loss_categorical_generalized_cross_entropy(const row_view *r)
{
    row_index t = loss_class(r);
    row_number q = row_real(r, 0), p;
    if (t < 0)
        return loss_of_no_class(r);
    p = row_output(r, t);
    for (ROW_EACH(i, r))
        row_put_gradient(r, i, i == t ? -row_power(p, q - 1) : 0);
    return row_lane(r) == 0 ? (1 - row_power(p, q)) / q : 0;
}

/* ---- focal cross-entropies --------------------------------------------------------------- */

/* x^gamma, and its derivative, which is 0 for gamma 0 where x is 0, too. */
RULE row_number loss_focus(row_number x, row_number gamma, row_number *slope)
{
    *slope = gamma > 0 || gamma < 0 ? gamma * row_power(x, gamma - 1) : 0;
    return row_power(x, gamma);
}

/* -alpha t (1 - c)^gamma log(c) of the share p = o / sum, with c = clip(p); *g: with respect to
   p. */
RULE row_number loss_of_focal_share(const row_view *r, row_number p, row_number t, row_number *g)
{
    row_number c = loss_clip(p), slope, weight = t * row_real(r, 0);
    row_number focus = loss_focus(1 - c, row_real(r, 1), &slope), logarithm = row_log(c);
    *g = loss_passes(p) ? weight * (slope * logarithm - focus / c) : 0;
    return -weight * focus * logarithm;
}

/* p = o / sum(o); dL/do_j = (g_j - sum_i(g_i p_i)) / sum(o). Options: alpha, gamma. */
RULE row_number loss_categorical_focal_crossentropy(const row_view *r)
{
    row_number sum = 0, value = 0, mean = 0, g;
    for (ROW_EACH(i, r))
        sum += row_output(r, i);
    sum = row_sum(r, sum);
    for (ROW_EACH(i, r)) {
        row_number p = row_output(r, i) / sum;
        value += loss_of_focal_share(r, p, row_target(r, i), &g);
        mean += g * p;
    }
    mean = row_sum(r, mean);
    for (ROW_EACH(i, r)) {
        (void)loss_of_focal_share(r, row_output(r, i) / sum, row_target(r, i), &g);
        row_put_gradient(r, i, (g - mean) / sum);
    }
    return value;
}

/* p = softmax(z); dL/dz_j = p_j (g_j - sum_i(g_i p_i)). */
RULE row_number loss_categorical_focal_crossentropy_logits(const row_view *r)
{
    row_exponentials e = row_exponentials_of(r);
    row_number value = 0, mean = 0, g;
    for (ROW_EACH(i, r)) {
        row_number p = row_softmax(&e, row_output(r, i));
        value += loss_of_focal_share(r, p, row_target(r, i), &g);
        mean += g * p;
    }
    mean = row_sum(r, mean);
    for (ROW_EACH(i, r)) {
        row_number p = row_softmax(&e, row_output(r, i));
        (void)loss_of_focal_share(r, p, row_target(r, i), &g);
        row_put_activated(r, i, p);
        row_put_gradient(r, i, p * (g - mean));
    }
    return value;
}

/* w (1 - p_t)^gamma with p_t = t p + (1 - t) (1 - p), and w = 1 or, with class balancing,
   alpha t + (1 - alpha) (1 - t); *slope: its derivative with respect to p. */
RULE row_number loss_binary_focus(const row_view *r, row_number p, row_number t, row_number *slope)
{
    row_number alpha = row_real(r, 0), weight = 1, focus;
    if (row_real(r, 2) > 0)
        weight = t * alpha + (1 - t) * (1 - alpha);
    focus = loss_focus(1 - (t * p + (1 - t) * (1 - p)), row_real(r, 1), slope);
    *slope *= weight * (1 - 2 * t);
    return weight * focus;
}

/* L = mean(focus b) with b the binary cross-entropy of the clipped output; the focus is that of
   the output itself. Options: alpha, gamma, class balancing (1 or 0). */
RULE row_number loss_binary_focal_crossentropy(const row_view *r)
{
    row_number value = 0, n = (row_number)row_count(r), slope;
    for (ROW_EACH(i, r)) {
        row_number t = row_target(r, i), o = row_output(r, i), c = loss_clip(o);
        row_number b = -(t * row_log(c) + (1 - t) * row_log(1 - c));
        row_number db = loss_passes(o) ? (1 - t) / (1 - c) - t / c : 0;
        row_number focus = loss_binary_focus(r, o, t, &slope);
        value += focus * b;
        row_put_gradient(r, i, (focus * db + slope * b) / n);
    }
    return row_count(r) > 0 ? value / n : 0;
}

/* b = max(z, 0) - z t + log(1 + exp(-|z|)), whose gradient is p - t with p = sigmoid(z). */
RULE row_number loss_binary_focal_crossentropy_logits(const row_view *r)
{
    row_number value = 0, n = (row_number)row_count(r), slope;
    for (ROW_EACH(i, r)) {
        row_number t = row_target(r, i), z = row_output(r, i), e = row_exp(-row_abs(z));
        row_number p = loss_sigmoid(z, e), b = (z > 0 ? z : 0) - z * t + row_log1p(e);
        row_number focus = loss_binary_focus(r, p, t, &slope);
        value += focus * b;
        row_put_activated(r, i, p);
        row_put_gradient(r, i, (focus * (p - t) + slope * b * (e / ((1 + e) * (1 + e)))) / n);
    }
    return row_count(r) > 0 ? value / n : 0;
}

/* ---- sums over the columns --------------------------------------------------------------- */

/* Per column z: max(z, 0) - z t + log(1 + exp(-|z|)), L is their mean; gradient (sigmoid(z) - t) /
   n. */
RULE row_number loss_binary_crossentropy_logits(const row_view *r)
{
    row_number value = 0, n = (row_number)row_count(r);
    for (ROW_EACH(i, r)) {
        row_number t = row_target(r, i), z = row_output(r, i), e = row_exp(-row_abs(z));
        row_number sigmoid = loss_sigmoid(z, e);
        value += (z > 0 ? z : 0) - z * t + row_log1p(e);
        row_put_activated(r, i, sigmoid);
        row_put_gradient(r, i, (sigmoid - t) / n);
    }
    return row_count(r) > 0 ? value / n : 0;
}

/* L = max(0, 1 + max((1 - t) o) - sum(t o)). Where columns share the maximum, so do they its
   gradient, as in TensorFlow; a loss of 0 on the margin itself has one. */
RULE row_number loss_categorical_hinge(const row_view *r)
{
    row_number positive = 0, negative = -INFINITY, count = 0, value;
    for (ROW_EACH(i, r)) {
        row_number other = (1 - row_target(r, i)) * row_output(r, i);
        positive += row_target(r, i) * row_output(r, i);
        negative = other > negative ? other : negative;
    }
    positive = row_sum(r, positive);
    negative = row_largest(r, negative);
    for (ROW_EACH(i, r))
        count += (1 - row_target(r, i)) * row_output(r, i) >= negative;
    count = row_sum(r, count);
    value = negative - positive + 1;
    for (ROW_EACH(i, r)) {
        row_number t = row_target(r, i);
        row_number share = (1 - t) * row_output(r, i) >= negative ? (1 - t) / count : 0;
        row_put_gradient(r, i, value >= 0 ? share - t : 0);
    }
    return row_lane(r) != 0 || row_count(r) == 0 ? 0 : value < 0 ? 0 : value;
}

/* 1 / the length of a vector, at most 1 / epsilon, from its squared length; *passes: below that. */
RULE row_number loss_inverse_length(row_number squares, int *passes)
{
    row_number most = 1 / LOSS_CLIP_LOW, inverse = 1 / row_sqrt(squares);
    *passes = !(inverse > most);
    return *passes ? inverse : most;
}

/* L = -sum(t o) / (|t| |o|); the gradient of a length that epsilon replaces is 0. */
RULE row_number loss_cosine_similarity(const row_view *r)
{
    row_number product = 0, outputs = 0, targets = 0, of_output, of_target, along;
    int passes, ignored;
    for (ROW_EACH(i, r)) {
        product += row_target(r, i) * row_output(r, i);
        outputs += row_output(r, i) * row_output(r, i);
        targets += row_target(r, i) * row_target(r, i);
    }
    of_output = loss_inverse_length(row_sum(r, outputs), &passes);
    of_target = loss_inverse_length(row_sum(r, targets), &ignored);
    product = row_sum(r, product) * of_output * of_target;
    along = passes ? product * of_output : 0;
    for (ROW_EACH(i, r))
        row_put_gradient(r, i,
                         of_output * (along * row_output(r, i) - of_target * row_target(r, i)));
    return row_lane(r) == 0 && row_count(r) > 0 ? -product : 0;
}

/* L = sum(t log(t / o)), both clipped to epsilon..1. */
RULE row_number loss_kl_divergence(const row_view *r)
{
    row_number value = 0;
    for (ROW_EACH(i, r)) {
        row_number o = row_output(r, i), t = row_target(r, i);
        row_number c = o < LOSS_CLIP_LOW ? LOSS_CLIP_LOW : o > 1 ? 1 : o;
        t = t < LOSS_CLIP_LOW ? LOSS_CLIP_LOW : t > 1 ? 1 : t;
        value += t * row_log(t / c);
        row_put_gradient(r, i, o >= LOSS_CLIP_LOW && o <= 1 ? -t / c : 0);
    }
    return value;
}

/* ---- means over the columns ------------------------------------------------------------- */

/* loss_NAME() from loss_of_NAME(output, target, gradient), the loss of one column. */
#define LOSS_MEAN(name)                                                      \
    RULE row_number loss_##name(const row_view *r)                           \
    {                                                                        \
        row_number value = 0, n = (row_number)row_count(r), g;               \
        for (ROW_EACH(i, r)) {                                               \
            value += loss_of_##name(row_output(r, i), row_target(r, i), &g); \
            row_put_gradient(r, i, g / n);                                   \
        }                                                                    \
        return row_count(r) > 0 ? value / n : 0;                             \
    }

/* c = clip(o): -t log c - (1 - t) log(1 - c) */
RULE row_number loss_of_binary_crossentropy(row_number o, row_number t, row_number *g)
{
    row_number c = loss_clip(o);
    *g = loss_passes(o) ? (1 - t) / (1 - c) - t / c : 0;
    return -(t * row_log(c) + (1 - t) * row_log(1 - c));
}
LOSS_MEAN(binary_crossentropy)

/* (o - t)^2 */
RULE row_number loss_of_mean_squared_error(row_number o, row_number t, row_number *g)
{
    row_number difference = o - t;
    *g = 2 * difference;
    return difference * difference;
}
LOSS_MEAN(mean_squared_error)

/* o, which is a loss already */
RULE row_number loss_of_values(row_number o, row_number t, row_number *g)
{
    (void)t;
    *g = 1;
    return o;
}
LOSS_MEAN(values)

/* |o - t|; the gradient where they are equal is 0 */
RULE row_number loss_of_mean_absolute_error(row_number o, row_number t, row_number *g)
{
    row_number difference = o - t;
    *g = loss_sign(difference);
    return row_abs(difference);
}
LOSS_MEAN(mean_absolute_error)

/* 100 |o - t| / max(|t|, epsilon) */
RULE row_number loss_of_mean_absolute_percentage_error(row_number o, row_number t, row_number *g)
{
    row_number difference = o - t, of = row_abs(t) < LOSS_CLIP_LOW ? LOSS_CLIP_LOW : row_abs(t);
    *g = 100 * loss_sign(difference) / of;
    return 100 * (row_abs(difference) / of);
}
LOSS_MEAN(mean_absolute_percentage_error)

/* (log(1 + max(o, epsilon)) - log(1 + max(t, epsilon)))^2 */
RULE row_number loss_of_mean_squared_logarithmic_error(row_number o, row_number t, row_number *g)
{
    row_number c = o < LOSS_CLIP_LOW ? LOSS_CLIP_LOW : o;
    row_number difference = row_log1p(c) - row_log1p(t < LOSS_CLIP_LOW ? LOSS_CLIP_LOW : t);
    *g = o < LOSS_CLIP_LOW ? 0 : 2 * difference / (1 + c);
    return difference * difference;
}
LOSS_MEAN(mean_squared_logarithmic_error)

/* d = o - t: log(cosh(d)) = |d| + log(1 + exp(-2 |d|)) - log(2), with the gradient tanh(d) */
RULE row_number loss_of_log_cosh(row_number o, row_number t, row_number *g)
{
    row_number difference = o - t, size = row_abs(difference), e = row_exp(-2 * size);
    *g = loss_sign(difference) * (1 - e) / (1 + e);
    return size + row_log1p(e) - (row_number)0.693147180559945309;
}
LOSS_MEAN(log_cosh)

/* o - t log(o + epsilon) */
RULE row_number loss_of_poisson(row_number o, row_number t, row_number *g)
{
    row_number above = o + LOSS_CLIP_LOW;
    *g = 1 - t / above;
    return o - t * row_log(above);
}
LOSS_MEAN(poisson)

/* 1 - s o, at least 0, for the sign s of the target, which 0 or -1 says is negative; *g: with
   respect to o, also on the margin itself. Keras reads 0 so where a batch has no targets but 0 and
   1, and data_check_samples accepts 0 only there. */
RULE row_number loss_margin(row_number o, row_number t, row_number *g)
{
    row_number sign = t < 0 || t > 0 ? t : -1, margin = 1 - sign * o;
    *g = margin >= 0 ? -sign : 0;
    return margin < 0 ? 0 : margin;
}

RULE row_number loss_of_hinge(row_number o, row_number t, row_number *g)
{
    return loss_margin(o, t, g);
}
LOSS_MEAN(hinge)

RULE row_number loss_of_squared_hinge(row_number o, row_number t, row_number *g)
{
    row_number margin = loss_margin(o, t, g);
    *g *= 2 * margin;
    return margin * margin;
}
LOSS_MEAN(squared_hinge)

/* d = o - t: d^2 / 2 where |d| <= delta, else delta |d| - delta^2 / 2. Option: delta. */
RULE row_number loss_huber(const row_view *r)
{
    row_number value = 0, n = (row_number)row_count(r), delta = row_real(r, 0);
    for (ROW_EACH(i, r)) {
        row_number difference = row_output(r, i) - row_target(r, i), size = row_abs(difference);
        int inside = size <= delta;
        value += inside ? difference * difference / 2 : delta * size - delta * delta / 2;
        row_put_gradient(r, i, (inside ? difference : delta * loss_sign(difference)) / n);
    }
    return row_count(r) > 0 ? value / n : 0;
}
