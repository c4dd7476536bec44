/* The activations' rules on vectors, for the files that are compiled once per instruction set. */
#ifndef DEVICE_CPU_ELEMENTWISE_VEC_RULES_H
#define DEVICE_CPU_ELEMENTWISE_VEC_RULES_H

#include "device/cpu/vec.h"

#define RULE VEC_INLINE
typedef vec rule_real;
#define rule_all(a) vec_all((float)(a))
#define rule_select(mask, a, b) vec_select(mask, a, b)
#define rule_abs(a) vec_abs(a)
#define rule_sqrt(a) vec_sqrt(a)
#define rule_tanh(a) vec_tanh(a)
#define rule_erfc(a) vec_erfc(a)
#define rule_exp_fast(a) vec_exp(a)
#define rule_log(a) vec_log(a)
#define rule_log1p_unit(a) vec_log1p_unit(a)
#define rule_exp_negative(a) vec_exp_negative(a)
#define rule_exp_coarse(a) (vec_expm1_negative(a) + 1.0f)
#define rule_expm1_negative(a) vec_expm1_negative(a)
#include "device/rules/activations.h"

#endif
