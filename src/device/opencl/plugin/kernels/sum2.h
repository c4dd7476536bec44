/* More of sum2 (common.h): for long sums, and products. */
#ifndef DEVICE_OPENCL_SUM2_H
#define DEVICE_OPENCL_SUM2_H

/* a + b with what is lost in sum2's second number; sum2_settled() makes a sum2 of a sum of these.
   The first number alone says whether the sum is finite. */
static inline sum2 sum2_plus(sum2 a, float b)
{
    float s = a.x + b, v = s - a.x;
    return (sum2)(s, a.y + ((a.x - (s - v)) + (b - v)));
}

static inline sum2 sum2_settled(sum2 a)
{
    return sum2_add(sum2_of(a.x), isfinite(a.x) ? sum2_of(a.y) : sum2_of(0.0f));
}

/* a b, right to a few units of the second number. */
static inline sum2 sum2_times(sum2 a, sum2 b)
{
    sum2 p = sum2_product(a.x, b.x);
    return sum2_settled((sum2)(p.x, p.y + (a.x * b.y + a.y * b.x)));
}

#endif
