/* Sums and products with more digits than a float, as pairs of two floats: written once for devices
   whose doubles are slow or missing. It is written in the common subset of C17, CUDA C++ and OpenCL
   C. The including file defines

     RULE                qualifiers of a function
     sum2                high + low as its members x and y, |low| <= half a unit of high
     sum2_make(x, y)
     rule_fma(a, b, c)   a b + c, rounded once
     isfinite(a)

   Knuth's TwoSum: exact, whatever the order of a and b (The Art of Computer Programming 2, 4.2.2).
   Nothing here may be compiled with fast-math. It has sums alone, so that a compiler that contracts
   a product and a sum to an FMA finds none; where an argument is a product, the result is then the
   sum with the exact product. */
#ifndef DEVICE_RULES_SUM2_H
#define DEVICE_RULES_SUM2_H

RULE sum2 sum2_of(float a)
{
    return sum2_make(a, 0.0f);
}

RULE float sum2_value(sum2 a)
{
    return a.x + a.y;
}

/* The same for b + a. A sum that is not finite has 0 as its second number. */
RULE sum2 sum2_add(sum2 a, sum2 b)
{
    float s = a.x + b.x, v = s - a.x;
    float e = (a.x - (s - v)) + (b.x - v) + (a.y + b.y);
    float high = s + e;
    return isfinite(s) ? sum2_make(high, e - (high - s)) : sum2_make(s, 0.0f);
}

/* For long sums: a + b, with the rounding errors in the second number; sum2_settled() makes a sum2
   of the result. The first number alone says whether the sum is finite. */
RULE sum2 sum2_plus(sum2 a, float b)
{
    float s = a.x + b, v = s - a.x;
    return sum2_make(s, a.y + ((a.x - (s - v)) + (b - v)));
}

RULE sum2 sum2_settled(sum2 a)
{
    return sum2_add(sum2_of(a.x), sum2_of(isfinite(a.x) ? a.y : 0.0f));
}

/* The exact product of a and b. */
RULE sum2 sum2_product(float a, float b)
{
    float p = a * b;
    return isfinite(p) ? sum2_make(p, rule_fma(a, b, -p)) : sum2_make(p, 0.0f);
}

/* a b, accurate to a few units of the second number. */
RULE sum2 sum2_times(sum2 a, sum2 b)
{
    sum2 p = sum2_product(a.x, b.x);
    return sum2_settled(sum2_make(p.x, p.y + (a.x * b.y + a.y * b.x)));
}

RULE sum2 sum2_negative(sum2 a)
{
    return sum2_make(-a.x, -a.y);
}

#endif
