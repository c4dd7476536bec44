/* Operations on arrays of floats by a pool of threads. */
#ifndef PARALLEL_FLOATS_H
#define PARALLEL_FLOATS_H

#include "base/threads.h"

void floats_scale(threads *pool, float *values, int64_t count, float factor);
/* to[i] = (to[i] + from[i]) * factor; with `from` NULL it is floats_scale. */
void floats_add_scaled(threads *pool, float *to, const float *from, int64_t count, float factor);
/* to[i] += from[i]; `rounds`: both are rounded to bfloat16 before. */
void floats_add(threads *pool, float *to, const float *from, int64_t count, bool rounds);
/* Round values to bfloat16. */
void floats_round(threads *pool, float *values, int64_t count);

#endif
