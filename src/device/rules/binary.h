/* Operations of two numbers: y = f(a, b), and how its gradient dy goes on to a and to b. Written
   once for all devices, in the common subset of C17 with GCC's vectors, CUDA C++ and OpenCL C. The
   including file defines

     RULE                      qualifiers of a function
     rule_real                 float, double, or a vector of floats
     rule_all(a)               the number as a rule_real
     rule_select(mask, a, b)   mask ? a : b, elementwise; a mask is what a comparison gives

   Each row of model/binaries.def has three functions here: binary_RULE, binary_RULE_da,
   binary_RULE_db. Comparisons give 1 or 0. Where a and b are equal, maximum and minimum pass the
   whole gradient to a, and where one of them is NaN, to b, as TensorFlow does. */
#ifndef DEVICE_RULES_BINARY_H
#define DEVICE_RULES_BINARY_H

#define BINARY_RULE(name, y, da, db)                                          \
    RULE rule_real binary_##name(rule_real a, rule_real b)                    \
    {                                                                         \
        return y;                                                             \
    }                                                                         \
    RULE rule_real binary_##name##_da(rule_real a, rule_real b, rule_real dy) \
    {                                                                         \
        (void)a, (void)b, (void)dy;                                           \
        return da;                                                            \
    }                                                                         \
    RULE rule_real binary_##name##_db(rule_real a, rule_real b, rule_real dy) \
    {                                                                         \
        (void)a, (void)b, (void)dy;                                           \
        return db;                                                            \
    }

BINARY_RULE(add, a + b, dy, dy)
BINARY_RULE(subtract, a - b, dy, -dy)
BINARY_RULE(multiply, (a * b), (b * dy), (a * dy))
BINARY_RULE(divide, a / b, dy / b, (-a / b / b * dy))
/* a + b is NaN where one of them is */
BINARY_RULE(maximum, rule_select(a > b, a, rule_select(b >= a, b, a + b)),
            rule_select(a >= b, dy, rule_all(0)), rule_select(a >= b, rule_all(0), dy))
BINARY_RULE(minimum, rule_select(a < b, a, rule_select(b <= a, b, a + b)),
            rule_select(a <= b, dy, rule_all(0)), rule_select(a <= b, rule_all(0), dy))
/* The slope is 0 where a is, as in TensorFlow for Keras's PReLU. */
BINARY_RULE(prelu, rule_select(a > 0, a, (a * b)),
            rule_select(a > 0, dy, rule_select(a < 0, (b * dy), rule_all(0))),
            rule_select(a < 0, (a * dy), rule_all(0)))
BINARY_RULE(keep, rule_select(b != rule_all(0), a, rule_all(0)),
            rule_select(b != rule_all(0), dy, rule_all(0)), rule_all(0))

#define COMPARISON(name, is_true) \
    BINARY_RULE(name, rule_select(is_true, rule_all(1), rule_all(0)), rule_all(0), rule_all(0))

COMPARISON(greater, a > b)
COMPARISON(greater_equal, a >= b)
COMPARISON(less, a < b)
COMPARISON(less_equal, a <= b)
COMPARISON(equal, a == b)
COMPARISON(not_equal, a != b)

#undef COMPARISON
#undef BINARY_RULE

#endif
