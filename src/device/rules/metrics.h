/* The metrics' arithmetic, written once: each device includes this file after the definitions that
   device/rules/losses.h needs, and also defines

     row_metric                  a metric's value: a double, or two floats: quotients must be exact
     row_share(a, b)             a / b as a row_metric, for whole numbers
     row_first_output(r)         the index of the first maximum of the outputs, as TensorFlow's
                                 argmax: a NaN is the maximum in column 0 and never elsewhere. Every
                                 lane must call it; a row without columns may give any number
     row_first_target(r)         the same for the targets
     row_is_finite(a)

   metric_NAME(r, k) is this lane's partial sum of the row's contribution, usually 0 or 1: the
   caller adds the lanes' values. */

/* A row's whole value, hits / of, which exactly one lane returns. */
RULE row_metric metric_whole(const row_view *r, row_number hits, row_index of)
{
    int tells = row_count(r) > 0 && row_lane(r) == 0;
    return row_share(tells ? hits : 0, tells ? of : 1);
}

/* The class of a sparse target, -1 for none. */
RULE row_index metric_class(const row_view *r)
{
    return row_count(r) > 0 ? (row_index)row_target(r, 0) : -1;
}

/* The fraction of outputs on their target's side of the threshold, the rule's number 0. */
RULE row_metric metric_binary_accuracy(const row_view *r, row_index k)
{
    row_number hits = 0;
    (void)k;
    for (ROW_EACH(i, r)) {
        row_number predicted = row_output(r, i) > row_real(r, 0) ? 1 : 0;
        hits += !(predicted < row_target(r, i)) && !(predicted > row_target(r, i));
    }
    hits = row_sum(r, hits); /* whole numbers: one division */
    return metric_whole(r, hits, row_count(r));
}

/* The fraction of outputs that equal their targets. */
RULE row_metric metric_accuracy(const row_view *r, row_index k)
{
    row_number hits = 0;
    (void)k;
    for (ROW_EACH(i, r))
        hits += row_output(r, i) >= row_target(r, i) && row_output(r, i) <= row_target(r, i);
    hits = row_sum(r, hits);
    return metric_whole(r, hits, row_count(r));
}

RULE row_metric metric_categorical_accuracy(const row_view *r, row_index k)
{
    row_index expected = row_first_target(r), found = row_first_output(r);
    (void)k;
    return metric_whole(r, found == expected, 1);
}

RULE row_metric metric_sparse_categorical_accuracy(const row_view *r, row_index k)
{
    row_index found = row_first_output(r);
    (void)k;
    return metric_whole(r, found == metric_class(r), 1);
}

/* tf.math.in_top_k: a hit where fewer than k outputs are greater than the target's, so that ties
   count as hits; no hit where an output is not finite. */
RULE row_metric metric_in_top_k(const row_view *r, row_index expected, row_index k)
{
    row_number greater = 0, unknown = 0;
    int valid = expected >= 0 && expected < row_count(r);
    row_number own = valid ? row_output(r, expected) : 0;
    for (ROW_EACH(i, r)) {
        unknown += !row_is_finite(row_output(r, i));
        greater += row_output(r, i) > own;
    }
    greater = row_sum(r, greater);
    unknown = row_sum(r, unknown);
    return metric_whole(r, valid && unknown < 1 && greater < (row_number)k, 1);
}

RULE row_metric metric_top_k_categorical_accuracy(const row_view *r, row_index k)
{
    return metric_in_top_k(r, row_first_target(r), k);
}

RULE row_metric metric_sparse_top_k_categorical_accuracy(const row_view *r, row_index k)
{
    return metric_in_top_k(r, metric_class(r), k);
}

/* ---- counts ------------------------------------------------------------------------------ */

/* The columns whose target is, or is not, 0, and whose output is above the threshold or not; of
   column k alone if that is not negative. */
RULE row_metric metric_count(const row_view *r, row_index k, int target, int output)
{
    row_number count = 0;
    for (ROW_EACH(i, r)) {
        int is_target = row_target(r, i) < 0 || row_target(r, i) > 0;
        int is_output = row_output(r, i) > row_real(r, 0);
        count += is_target == target && is_output == output && (k < 0 || i == k);
    }
    count = row_sum(r, count);
    return metric_whole(r, count, 1);
}

RULE row_metric metric_true_positives(const row_view *r, row_index k)
{
    return metric_count(r, k, 1, 1);
}

RULE row_metric metric_true_negatives(const row_view *r, row_index k)
{
    return metric_count(r, k, 0, 0);
}

RULE row_metric metric_false_positives(const row_view *r, row_index k)
{
    return metric_count(r, k, 0, 1);
}

RULE row_metric metric_false_negatives(const row_view *r, row_index k)
{
    return metric_count(r, k, 1, 0);
}

/* ---- correlations ------------------------------------------------------------------------ */

/* Means and variances of a row's outputs (o) and targets (t), and the mean of (o - o's mean)
   (t - t's mean). */
typedef struct metric_moments {
    row_number o, t, o_variance, t_variance, covariance;
} metric_moments;

RULE metric_moments metric_moments_of(const row_view *r)
{
    metric_moments m;
    row_number o = 0, t = 0, oo = 0, tt = 0, ot = 0, n = (row_number)row_count(r);
    for (ROW_EACH(i, r)) {
        o += row_output(r, i);
        t += row_target(r, i);
    }
    m.o = row_sum(r, o) / n;
    m.t = row_sum(r, t) / n;
    for (ROW_EACH(i, r)) {
        row_number from_o = row_output(r, i) - m.o, from_t = row_target(r, i) - m.t;
        oo += from_o * from_o;
        tt += from_t * from_t;
        ot += from_o * from_t;
    }
    m.o_variance = row_sum(r, oo) / n;
    m.t_variance = row_sum(r, tt) / n;
    m.covariance = row_sum(r, ot) / n;
    return m;
}

RULE row_metric metric_pearson_correlation(const row_view *r, row_index k)
{
    metric_moments m = metric_moments_of(r);
    (void)k;
    return metric_whole(r, m.covariance / (row_sqrt(m.o_variance) * row_sqrt(m.t_variance)), 1);
}

/* Keras 3.15 takes the targets, too, from the outputs' mean, which changes nothing: the outputs'
   differences from it have the sum 0. */
RULE row_metric metric_concordance_correlation(const row_view *r, row_index k)
{
    metric_moments m = metric_moments_of(r);
    row_number between = m.t - m.o, all = m.o_variance + m.t_variance + between * between;
    (void)k;
    return metric_whole(r, 2 * m.covariance / (all + LOSS_CLIP_LOW), 1);
}

/* 1 for each row: weighted means are divided by the sum of the weights. */
RULE row_metric metric_rows(const row_view *r, row_index k)
{
    (void)k;
    return metric_whole(r, 1, 1);
}
