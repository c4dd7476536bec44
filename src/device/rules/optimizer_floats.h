/* The words of the optimizers' rules, one float at a time. */
#ifndef DEVICE_RULES_OPTIMIZER_FLOATS_H
#define DEVICE_RULES_OPTIMIZER_FLOATS_H

#include <math.h>

#define RULE static inline
typedef float rule_real;
#define rule_all(a) (a)
#define rule_product(a, b) ((a) * (b))
#define rule_quotient(a, b) ((a) / (b))
#define rule_sqrt(a) sqrtf(a)
#define rule_pow(a, b) powf(a, b)
#define rule_select(mask, a, b) ((mask) ? (a) : (b))

#endif
