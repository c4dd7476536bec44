/* Activations of whole rows (ACTIVATION_OF_ROWS in model/activations.def), written once for all
   devices. The including file defines the same names as for device/rules/losses.h.

   activate_row_NAME(r): y of the row's outputs x; the lanes store it as the row's gradient.
   activate_row_NAME_back(r): dx, stored likewise, where the row's outputs are y, or x where the
   derivative needs that, and its targets dy. */
#ifndef DEVICE_RULES_ROW_ACTIVATIONS_H
#define DEVICE_RULES_ROW_ACTIVATIONS_H

#include "device/rules/softmax.h"

RULE void activate_row_softmax(const row_view *r)
{
    row_exponentials e = row_exponentials_of(r);
    for (ROW_EACH(i, r))
        row_put_gradient(r, i, row_softmax(&e, row_output(r, i)));
}

RULE void activate_row_softmax_back(const row_view *r)
{
    row_softmax_back(r);
}

/* x - log(sum(exp(x))) */
RULE void activate_row_log_softmax(const row_view *r)
{
    row_exponentials e = row_exponentials_of(r);
    row_number logarithm = row_log(e.sum);
    for (ROW_EACH(i, r))
        row_put_gradient(r, i, row_output(r, i) - e.largest - logarithm);
}

/* dx = dy - exp(y) sum(dy) */
RULE void activate_row_log_softmax_back(const row_view *r)
{
    row_number sum = 0;
    for (ROW_EACH(i, r))
        sum += row_target(r, i);
    sum = row_sum(r, sum);
    for (ROW_EACH(i, r))
        row_put_gradient(r, i, row_target(r, i) - row_exp_negative(row_output(r, i)) * sum);
}

/* By how much the row's larger numbers exceed x, all together. */
RULE row_number sparsemax_excess(const row_view *r, row_number x)
{
    row_number excess = 0;
    for (row_index i = 0; i < row_count(r); i++)
        excess += row_output(r, i) > x ? row_output(r, i) - x : 0;
    return excess;
}

/* The numbers of the support that stand at element i or after it where the row is sorted, the
   largest first: of `count` numbers. */
RULE row_number sparsemax_weight(const row_view *r, row_index i, row_number count)
{
    row_number x = row_output(r, i), before = 0;
    for (row_index k = 0; k < row_count(r); k++)
        before += row_output(r, k) > x || (row_output(r, k) >= x && k < i) ? 1 : 0;
    return count - before;
}

typedef struct sparsemax_limit {
    row_number count, value;
} sparsemax_limit;

/* An element is in the support if what exceeds it is less than 1. The limit is Keras 3's, which
   adds up the sums of the sorted numbers, not, as Martins and Astudillo (2016), the numbers: only
   supports of one element have the sum 1. */
RULE sparsemax_limit sparsemax_limit_of(const row_view *r)
{
    sparsemax_limit l;
    row_number sum = 0;
    l.count = 0;
    for (ROW_EACH(i, r))
        l.count += sparsemax_excess(r, row_output(r, i)) < 1 ? 1 : 0;
    l.count = row_sum(r, l.count);
    for (ROW_EACH(i, r))
        if (sparsemax_excess(r, row_output(r, i)) < 1)
            sum += row_output(r, i) * sparsemax_weight(r, i, l.count);
    l.value = (row_sum(r, sum) - 1) / l.count;
    return l;
}

/* max(x - limit, 0) */
RULE void activate_row_sparsemax(const row_view *r)
{
    sparsemax_limit l = sparsemax_limit_of(r);
    for (ROW_EACH(i, r)) {
        row_number above = row_output(r, i) - l.value;
        row_put_gradient(r, i, above < 0 ? 0 : above);
    }
}

/* dx = dy where x is not below the limit, less the limit's gradient */
RULE void activate_row_sparsemax_back(const row_view *r)
{
    sparsemax_limit l = sparsemax_limit_of(r);
    row_number sum = 0;
    for (ROW_EACH(i, r))
        sum += row_output(r, i) < l.value ? 0 : row_target(r, i);
    sum = row_sum(r, sum) / l.count;
    for (ROW_EACH(i, r)) {
        row_number x = row_output(r, i), g = x < l.value ? 0 : row_target(r, i);
        if (sparsemax_excess(r, x) < 1)
            g -= sum * sparsemax_weight(r, i, l.count);
        row_put_gradient(r, i, g);
    }
}

#endif
