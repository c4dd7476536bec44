/* Microkernels of RESAMPLE. */
#include "device/cpu/elementwise/resample_kernels.h"
#include "device/cpu/vec.h"

enum { TERMS = 4 }; /* whose weights stay in registers: those of twice as large an image */

/* One vector of the sum of `terms` rows. */
VEC_INLINE vec sum_vector(const resample_term *t, int terms, float start, const float *x,
                          int64_t count, int64_t at, int64_t elements)
{
    vec sum = vec_all(start);
    UNROLL(4)
    for (int i = 0; i < terms; i++)
        sum += vec_load_count(x + t[i].line * count + at, elements) * t[i].weight;
    return sum;
}

VEC_INLINE void sum_terms(const resample_term *t, int terms, float start, const float *x, float *y,
                          int64_t count)
{
    const int64_t rest = count % VEC_FLOATS, whole = count - rest;
    for (int64_t i = 0; i < whole; i += VEC_FLOATS)
        vec_store(y + i, sum_vector(t, terms, start, x, count, i, VEC_FLOATS));
    if (rest)
        vec_store_first(y + whole, sum_vector(t, terms, start, x, count, whole, rest), rest);
}

VEC_INLINE void copy(const float *x, float *y, int64_t count)
{
    const int64_t rest = count % VEC_FLOATS, whole = count - rest;
    for (int64_t i = 0; i < whole; i += VEC_FLOATS)
        vec_store(y + i, vec_load(x + i));
    if (rest)
        vec_store_first(y + whole, vec_load_first(x + whole, rest), rest);
}

static void sums(const resample_table *t, int64_t begin, int64_t end, const float *x, float *y,
                 int64_t count)
{
    for (int64_t i = begin; i < end; i++, y += count) {
        const resample_term *term = t->terms + t->first[i];
        const int terms = t->first[i + 1] - t->first[i];
        const float start = t->start[i];
        if (terms == 1 && term->weight == 1 && start == 0)
            copy(x + term->line * count, y, count);
        else if (terms == 1)
            sum_terms(term, 1, start, x, y, count);
        else if (terms == 2)
            sum_terms(term, 2, start, x, y, count);
        else if (terms == 3)
            sum_terms(term, 3, start, x, y, count);
        else if (terms == TERMS)
            sum_terms(term, TERMS, start, x, y, count);
        else
            sum_terms(term, terms, start, x, y, count);
    }
}

const resample_kernels ISA(cpu_resample) = {.sums = sums};
