/* Softmax of a row, written once for the devices that have no kernel of their own for it. The
   including file defines the same names as for device/rules/losses.h. */
#ifndef DEVICE_RULES_SOFTMAX_H
#define DEVICE_RULES_SOFTMAX_H

/* For a row's outputs: the maximum, the sum of exp(output - maximum), and 1 / sum. */
typedef struct row_exponentials {
    row_number largest, sum, inverse;
} row_exponentials;

RULE row_exponentials row_exponentials_of(const row_view *r)
{
    row_exponentials e;
    e.largest = -INFINITY;
    e.sum = 0;
    for (ROW_EACH(i, r))
        e.largest = row_output(r, i) > e.largest ? row_output(r, i) : e.largest;
    e.largest = row_largest(r, e.largest);
    for (ROW_EACH(i, r))
        e.sum += row_exp_negative(row_output(r, i) - e.largest);
    e.sum = row_sum(r, e.sum);
    e.inverse = 1 / e.sum;
    return e;
}

RULE row_number row_softmax(const row_exponentials *e, row_number x)
{
    return row_exp_negative(x - e->largest) * e->inverse;
}

/* dx = y (dy - sum(dy y)); the row's outputs are y, its targets are dy */
RULE void row_softmax_back(const row_view *r)
{
    row_number sum = 0;
    for (ROW_EACH(i, r))
        sum += row_target(r, i) * row_output(r, i);
    sum = row_sum(r, sum);
    for (ROW_EACH(i, r))
        row_put_gradient(r, i, row_output(r, i) * (row_target(r, i) - sum));
}

#endif
