/* Of measured times. */
#ifndef BASE_STATISTICS_H
#define BASE_STATISTICS_H

#include <stdbool.h>

typedef struct statistics {
    int rounds;
    double minimum, median, p95, noise; /* noise: (p95 - minimum) / median */
} statistics;

/* Sorts values; all zero for count 0. */
statistics statistics_of(double *values, int count);
/* Has the running median of `values` (in the order they were measured) changed by less than
   `tolerance` over the last `window` rounds? */
bool statistics_stable(const double *values, int count, int window, double tolerance);

#endif
