/* Primitives for the elementwise rules of device/rules in OpenCL. */
#ifndef DEVICE_OPENCL_RULES_H
#define DEVICE_OPENCL_RULES_H

typedef float rule_real;
#define rule_all(a) ((float)(a))
#define rule_product(a, b) ((a) * (b))
#define rule_quotient(a, b) ((a) / (b))
#define rule_sqrt(a) sqrt(a)
#define rule_select(mask, a, b) ((mask) ? (a) : (b))
#define rule_abs(a) fabs(a)
#define rule_tanh(a) tanh(a)
#define rule_erfc(a) erfc(a)
#define rule_exp(a) exp(a)
#define rule_exp_negative(a) exp(a)
#define rule_exp_coarse(a) exp(a)
#define rule_expm1_negative(a) expm1(a)

#endif
