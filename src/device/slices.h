/* SLICE and INSERT: a slice, and a whole that has it at every step-th index of a dimension. */
#ifndef DEVICE_SLICES_H
#define DEVICE_SLICES_H

#include "step/plan.h"

/* The slice as runs of neighbours, which are neighbours in the whole, too. All but `count` and
   `runs` are numbers of floats. */
typedef struct slice_runs {
    int64_t count;  /* of all runs */
    int64_t runs;   /* of each outer index */
    int64_t floats; /* of a run */
    int64_t outer;  /* of the whole, of each outer index */
    int64_t first;  /* before the first run of an outer index */
    int64_t step;   /* from one run to the next within an outer index */
} slice_runs;
slice_runs slice_runs_of(const plan *p, const op *o);

/* Where in the whole run `i` begins. */
static inline int64_t slice_run_at(const slice_runs *s, int64_t i)
{
    return i / s->runs * s->outer + s->first + i % s->runs * s->step;
}

#endif
