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

#endif
