/* Statistics of measured times. */
#ifndef BASE_STATISTICS_H
#define BASE_STATISTICS_H

#include <stdbool.h>

typedef struct statistics {
    int rounds;
    double minimum, median, p95, noise; /* noise: (p95 - minimum) / median */
} statistics;

/* Sorts values; all zero for count 0. */
statistics statistics_of(double *values, int count);
/* Sorts values; NAN for count 0. */
double statistics_median(double *values, int count);
/* The slope of y over x by Theil and Sen: the median of the slopes between any two points whose x
   differ by more than `apart`. Of more than 512 points, 512 evenly spaced ones are used. *deviation
   is the slope's standard deviation, from the order of those slopes (Sen, "Estimates of the
   regression coefficient based on Kendall's tau", J. Am. Stat. Assoc. 63, 1968). Both are NAN with
   fewer than 11 such pairs, or without memory. */
double statistics_slope(const double *x, const double *y, int count, double apart,
                        double *deviation);
/* Has the running median of `values` (in the order measured) changed by less than `tolerance` over
   the last `window` rounds? */
bool statistics_stable(const double *values, int count, int window, double tolerance);

#endif
