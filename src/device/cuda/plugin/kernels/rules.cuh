/* Primitives for the elementwise rules of device/rules on CUDA. */
#ifndef DEVICE_CUDA_RULES_CUH
#define DEVICE_CUDA_RULES_CUH

#include "device/cuda/plugin/kernels/common.cuh"

typedef float rule_real;
#define rule_all(a) ((float)(a))
#define rule_product(a, b) times(a, b)
#define rule_quotient(a, b) ((a) / (b))
#define rule_sqrt(a) sqrtf(a)
#define rule_select(mask, a, b) ((mask) ? (a) : (b))
#define rule_abs(a) fabsf(a)
#define rule_tanh(a) tanhf(a)
#define rule_erfc(a) erfcf(a)
#define rule_exp(a) expf(a)
#define rule_exp_negative(a) expf(a)
#define rule_exp_coarse(a) expf(a)
#define rule_expm1_negative(a) expm1f(a)

#endif
