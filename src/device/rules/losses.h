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
     row_abs(a), row_exp(a), row_log(a), row_log1p(a)
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

/* Per column z: max(z, 0) - z t + log(1 + exp(-|z|)), L is their mean; gradient (sigmoid(z) - t) /
   n. */
RULE row_number loss_binary_crossentropy_logits(const row_view *r)
{
    row_number value = 0, n = (row_number)row_count(r);
    for (ROW_EACH(i, r)) {
        row_number t = row_target(r, i), z = row_output(r, i), e = row_exp(-row_abs(z));
        row_number sigmoid = (z >= 0 ? 1 : e) / (1 + e);
        value += (z > 0 ? z : 0) - z * t + row_log1p(e);
        row_put_activated(r, i, sigmoid);
        row_put_gradient(r, i, (sigmoid - t) / n);
    }
    return row_count(r) > 0 ? value / n : 0;
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

/* |o - t|; the gradient where they are equal is 0, as TensorFlow's sign(0) */
RULE row_number loss_of_mean_absolute_error(row_number o, row_number t, row_number *g)
{
    row_number difference = o - t;
    *g = difference > 0 ? 1 : difference < 0 ? -1 : difference; /* a NaN stays a NaN */
    return row_abs(difference);
}
LOSS_MEAN(mean_absolute_error)
