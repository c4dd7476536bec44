#include "base/statistics.h"
#include <math.h>
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

bool statistics_stable(const double *values, int count, int window, double tolerance)
{
    if (count <= window)
        return false;
    double *copy = malloc((size_t)count * sizeof *copy);
    if (!copy)
        return false; /* then the time limit ends it */
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
