/* TALLY by the rules of device/rules/tallies.h in doubles: for devices whose memory is the host's.
 */
#ifndef DEVICE_TALLY_H
#define DEVICE_TALLY_H

#include "step/plan.h"

/* The operands of a TALLY. */
typedef struct tally_rows {
    const tally_spec *what;
    const float *output; /* [rows][n] */
    const float *target; /* [rows][targets] */
    const float *weight; /* [rows / rows_per_sample], or NULL */
    const float *limits; /* [limit_count] */
    int64_t rows, n, targets, rows_per_sample, limit_count;
} tally_rows;

tally_rows tally_rows_of(const plan *p, const op *o, const float *const in[OP_INPUTS_MAX]);
/* Numbers of the operation's table. */
static inline int64_t tally_count(const op *o)
{
    return o->a.tally.what.planes * o->a.tally.what.buckets;
}
/* Count rows begin to end - 1 in table[tally_count]. */
void tally_add_rows(const tally_rows *t, int64_t begin, int64_t end, double *table);

#endif
