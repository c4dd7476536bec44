/* The arithmetic of TALLY, written once: each device includes this file after it has defined

     RULE            qualifiers of a function
     TALLY_FLOATS    a pointer to floats that are read
     tally_number    what the values are: double, or float
     tally_index     a signed number of 64 bits

   tally_NAME(t, i, v) is the bucket of element `i` of a row (of a whole row: i is 0), -1 where it
   does not count, and sets the numbers v[] that it adds to that bucket of each plane. */
enum { TALLY_PLANES_MOST = 4 };

typedef struct tally_view {
    TALLY_FLOATS output; /* the row */
    TALLY_FLOATS target;
    TALLY_FLOATS limits; /* [limit_count], rising */
    tally_index n, limit_count;
    tally_index k, column, by_column; /* model/compile.h: tally_spec */
    float reals[3];
    tally_number largest; /* of the row's outputs, for the rules that need it */
} tally_view;

RULE tally_number tally_largest(const tally_view *t)
{
    float most = t->output[0];
    for (tally_index i = 1; i < t->n; i++)
        most = t->output[i] > most ? t->output[i] : most;
    return (tally_number)most;
}

/* The index of the first maximum; a NaN is the maximum in column 0 and never elsewhere. */
RULE tally_index tally_first_largest(TALLY_FLOATS x, tally_index n)
{
    tally_index best = 0;
    for (tally_index i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

/* ---- outputs between thresholds ----------------------------------------------------------- */

/* Is output `i` among the k largest of its row? Of equal ones the first are. */
RULE int tally_is_among(const tally_view *t, tally_index i)
{
    tally_index before = 0;
    for (tally_index j = 0; j < t->n; j++)
        before += t->output[j] > t->output[i] || (t->output[j] >= t->output[i] && j < i);
    return before < t->k;
}

/* Bucket b of `count`: so many thresholds are below the output. */
RULE tally_index tally_between(const tally_view *t, tally_index i, tally_index b, tally_index count,
                               tally_number *v)
{
    const int positive = t->target[i] < 0 || t->target[i] > 0;
    v[0] = (tally_number)positive;
    v[1] = (tally_number)!positive;
    if (t->column >= 0 && t->column != i)
        return -1;
    if (t->k > 0 && !tally_is_among(t, i))
        b = 0;
    return t->by_column ? i * count + b : b;
}

/* Thresholds 0, 1 / s, 2 / s, ... 1 for s = real 0. As Keras: products in 32 bits decide; real 1 is
   1 where the first threshold is below every output. */
RULE tally_index tally_even(const tally_view *t, tally_index i, tally_number *v)
{
    const float o = t->output[i], inside = o > 0 ? (o < 1 ? o : 1.0f) : 0.0f;
    const float at = inside * t->reals[0];
    tally_index b = (tally_index)at;
    b += (float)b < at;
    if (b < (tally_index)t->reals[1])
        b = 1;
    return tally_between(t, i, b, (tally_index)t->reals[0] + 2, v);
}

RULE tally_index tally_limits(const tally_view *t, tally_index i, tally_number *v)
{
    tally_index low = 0, high = t->limit_count;
    while (low < high) {
        const tally_index middle = (low + high) / 2;
        if (t->output[i] > t->limits[middle])
            low = middle + 1;
        else
            high = middle;
    }
    return tally_between(t, i, low, t->limit_count + 1, v);
}

/* ---- labels ------------------------------------------------------------------------------- */

/* Bucket 2 i, or 2 i + 1 where the output says that the label is there: it is above real 0 or,
   where k is not 0, the row's largest and not 0. */
RULE tally_index tally_labels(const tally_view *t, tally_index i, tally_number *v)
{
    const float o = t->output[i];
    const int there =
        t->k ? (tally_number)o >= t->largest && (o < -1e-9f || o > 1e-9f) : o > t->reals[0];
    v[0] = (tally_number)t->target[i];
    v[1] = 1 - v[0];
    return 2 * i + there;
}

/* ---- confusion matrices ------------------------------------------------------------------- */

/* A class number as a float, -1 for one that is none of the k classes. */
RULE tally_index tally_class(const tally_view *t, float x)
{
    return x > -1 && x < (float)t->k ? (tally_index)x : -1;
}

/* Row: the target; column: what is found. Real 1 is a target that does not count; -1: none. */
RULE tally_index tally_cell(const tally_view *t, tally_index expected, tally_index found,
                            tally_number *v)
{
    v[0] = 1;
    return expected < 0 || found < 0 || found >= t->k || expected >= t->k ||
                   expected == (tally_index)t->reals[1]
               ? -1
               : expected * t->k + found;
}

RULE tally_index tally_classes(const tally_view *t, tally_index i, tally_number *v)
{
    return tally_cell(t, tally_class(t, t->target[i]), tally_class(t, t->output[i]), v);
}

/* Classes 0 and 1: the output is at least real 0. */
RULE tally_index tally_halves(const tally_view *t, tally_index i, tally_number *v)
{
    return tally_cell(t, tally_class(t, t->target[i]), t->output[i] >= t->reals[0], v);
}

RULE tally_index tally_best(const tally_view *t, tally_index i, tally_number *v)
{
    (void)i;
    return tally_cell(t, tally_first_largest(t->target, t->n), tally_first_largest(t->output, t->n),
                      v);
}

RULE tally_index tally_sparse_best(const tally_view *t, tally_index i, tally_number *v)
{
    (void)i;
    return tally_cell(t, tally_class(t, t->target[0]), tally_first_largest(t->output, t->n), v);
}

/* ---- moments ------------------------------------------------------------------------------ */

/* Of column i: the number of targets, their sum and sum of squares, and that of the errors. */
RULE tally_index tally_moments(const tally_view *t, tally_index i, tally_number *v)
{
    const tally_number target = (tally_number)t->target[i],
                       error = target - (tally_number)t->output[i];
    v[0] = 1;
    v[1] = target;
    v[2] = target * target;
    v[3] = error * error;
    return i;
}
