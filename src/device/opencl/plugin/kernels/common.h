/* Definitions shared by all kernels: OpenCL C 1.2 that needs no extension. Every unit includes
   this first. Quoted includes are replaced by the files when cornu is built
   (cmake/opencl.cmake); a device's compiler sees one text. */
#ifndef DEVICE_OPENCL_COMMON_H
#define DEVICE_OPENCL_COMMON_H

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define HAS_DOUBLE 1
#else
#define HAS_DOUBLE 0
#endif

typedef char int8_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;

/* A kernel's tensors are parameters IN(float, x), OUT(float, y), whose bodies begin with AT(x);
   AT(y); A tensor begins x_at bytes into its buffer. NULL, 0 where the host has no address. */
#define IN(type, name) global const type *name, const ulong name##_at
#define OUT(type, name) global type *name, const ulong name##_at
#define AT(name) name = (name) + name##_at / sizeof(*(name))

/* KERNEL(scale, 256)(IN(float, x), ...): the kernel cornu_scale, whose work-groups have this many
   work-items, all in dimension 0; KERNEL3 says how many in each. */
#define KERNEL(name, items) KERNEL3(name, items, 1, 1)
#define KERNEL3(name, x, y, z) \
    kernel __attribute__((reqd_work_group_size(x, y, z))) void cornu_##name

/* All work-items walk over `count` items: for (EACH(i, count)) ... */
#define EACH(i, count)         \
    long i = get_global_id(0); \
    i < (count);               \
    i += get_global_size(0)

#define FENCE barrier(CLK_LOCAL_MEM_FENCE)

#define RULE static inline

/* ---- sums of more digits than a float has -------------------------------------------------------
 */

typedef float2 sum2;
#define sum2_make(x, y) ((sum2)((x), (y)))
#define rule_fma(a, b, c) fma(a, b, c)
#include "device/rules/sum2.h"

/* Sum over the work-group's first dimension (a power of two of work-items), in a fixed order,
   for every work-item; `partials` has one entry per work-item. */
static inline sum2 group_sum2(sum2 value, local sum2 *partials)
{
    int item = get_local_id(0);
    FENCE; /* partials may still be read from the call before */
    partials[item] = value;
    for (int half_ = get_local_size(0) / 2; half_ > 0; half_ /= 2) {
        FENCE;
        if (item < half_)
            partials[item] = sum2_add(partials[item], partials[item + half_]);
    }
    FENCE;
    return partials[0];
}

/* ---- places in an NHWC image ------------------------------------------------------------- */

/* at / by and the rest; 64-bit division is some 70 instructions, and rarely needed. */
static inline long divide(long at, long by, long *rest)
{
    long quotient;
    if (((at | by) >> 32) == 0)
        quotient = (long)((uint)at / (uint)by);
    else
        quotient = at / by;
    *rest = at - quotient * by;
    return quotient;
}

/* Sample, row, column and pack of channels, which is the innermost. */
typedef struct image_position {
    long n, row, column, pack;
} image_position;

static inline image_position position_of(long i, long height, long width, long packs)
{
    image_position at;
    long rest = divide(i, packs, &at.pack);
    rest = divide(rest, width, &at.column);
    at.n = divide(rest, height, &at.row);
    return at;
}

/* ---- four neighbouring elements ---------------------------------------------------------- */

/* Four elements at once: pack number i of a tensor of `count`, whose last pack may
   hold fewer. Tensors begin at multiples of 64 bytes. */
#define FOURS(count) (((count) + 3) / 4)

static inline float4 load4(global const float *x, long i, long count)
{
    long left = count - i * 4;
    if (left >= 4)
        return ((global const float4 *)x)[i];
    x += i * 4;
    return (float4)(x[0], left > 1 ? x[1] : 0.0f, left > 2 ? x[2] : 0.0f, 0.0f);
}

static inline void store4(global float *y, long i, long count, float4 v)
{
    long left = count - i * 4;
    if (left >= 4) {
        ((global float4 *)y)[i] = v;
        return;
    }
    y += i * 4;
    y[0] = v.x;
    if (left > 1)
        y[1] = v.y;
    if (left > 2)
        y[2] = v.z;
}

/* ---- primitives of device/rules ---------------------------------------------------------- */

typedef float rule_real;
#define rule_all(a) ((float)(a))
#define rule_product(a, b) ((a) * (b))
#define rule_quotient(a, b) ((a) / (b))
#define rule_sqrt(a) sqrt(a)
#define rule_pow(a, b) pow(a, b)
#define rule_select(mask, a, b) ((mask) ? (a) : (b))
#define rule_abs(a) fabs(a)
#define rule_tanh(a) tanh(a)
#define rule_erfc(a) erfc(a)
#define rule_exp_fast(a) exp(a)
#define rule_log(a) log(a)
#define rule_log1p_unit(a) log1p(a)
#define rule_exp_negative(a) exp(a)
#define rule_exp_coarse(a) exp(a)
#define rule_expm1_negative(a) expm1(a)

#endif
