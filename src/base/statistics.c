#include "base/statistics.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_median(const double *values, int count)
{
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

statistics statistics_of(double *values, int count)
{
    statistics s = {.rounds = count};
    if (count <= 0)
        return s;
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    s.minimum = values[0];
    s.median = sorted_median(values, count);
    s.p95 = values[(int)ceil(0.95 * count) - 1]; /* nearest rank */
    s.noise = s.median > 0 ? (s.p95 - s.minimum) / s.median : 0;
    return s;
}

double statistics_median(double *values, int count)
{
    if (count <= 0)
        return NAN;
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return sorted_median(values, count);
}

/* ---- slopes ------------------------------------------------------------------------------ */

enum { SLOPE_POINTS = 512, SLOPE_PAIRS = 11 };

/* Write the slopes into out[points * (points - 1) / 2]; returns how many. */
static int slopes_between(const double *x, const double *y, int count, int points, double apart,
                          double *out)
{
    int pairs = 0;
    for (int a = 0; a < points; a++)
        for (int b = 0; b < a; b++) {
            int64_t i = (int64_t)a * count / points, j = (int64_t)b * count / points;
            if (fabs(x[i] - x[j]) > apart)
                out[pairs++] = (y[i] - y[j]) / (x[i] - x[j]);
        }
    return pairs;
}

double statistics_slope(const double *x, const double *y, int count, double apart,
                        double *deviation)
{
    int points = count < SLOPE_POINTS ? count : SLOPE_POINTS;
    double slope = NAN, n = points;
    *deviation = NAN;
    double *slopes = malloc((size_t)points * (size_t)(points + 1) / 2 * sizeof *slopes + 1);
    int pairs = slopes ? slopes_between(x, y, count, points, apart, slopes) : 0;
    if (pairs >= SLOPE_PAIRS) {
        slope = statistics_median(slopes, pairs);
        /* Kendall's S has a variance of n (n - 1) (2 n + 5) / 18; half of S is a number of
           pairs. */
        double share = sqrt((2 * n + 5) / (18 * n * (n - 1)));
        int off = (int)ceil(fmin(share, 0.5) * (pairs - 1));
        int low = (pairs - 1) / 2 - off, high = pairs / 2 + off;
        *deviation = (slopes[high < pairs ? high : pairs - 1] - slopes[low > 0 ? low : 0]) / 2;
    }
    free(slopes);
    return slope;
}

bool statistics_stable(const double *values, int count, int window, double tolerance)
{
    if (count <= window)
        return false;
    double *copy = malloc((size_t)count * sizeof *copy);
    if (!copy)
        return false; /* the time limit ends it then */
    double low = INFINITY, high = -INFINITY;
    for (int n = count - window; n <= count; n++) {
        memcpy(copy, values, (size_t)n * sizeof *copy);
        double median = statistics_of(copy, n).median;
        low = fmin(low, median);
        high = fmax(high, median);
    }
    free(copy);
    return high - low < tolerance * low;
}
