/* What all kernels share: OpenCL C 1.2 that needs no extension. Every unit includes this first.
   Quoted includes are replaced by the files when cornu is built (cmake/opencl.cmake); a device's
   compiler sees one text. */
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

/* ---- sums of more digits than a float has -------------------------------------------------------
   high + low, |low| <= half a unit of high. Knuth's TwoSum: exact, whatever the order of a and b
   (The Art of Computer Programming 2, 4.2.2). Nothing here may be compiled with fast-math. */
typedef float2 sum2;

static inline sum2 sum2_of(float a)
{
    return (sum2)(a, 0.0f);
}

static inline sum2 sum2_add(sum2 a, sum2 b)
{
    float s = a.x + b.x, v = s - a.x;
    float e = (a.x - (s - v)) + (b.x - v) + (a.y + b.y);
    float high = s + e;
    return isfinite(s) ? (sum2)(high, e - (high - s)) : (sum2)(s, 0.0f);
}

/* The exact product of a and b. */
static inline sum2 sum2_product(float a, float b)
{
    float p = a * b;
    return isfinite(p) ? (sum2)(p, fma(a, b, -p)) : (sum2)(p, 0.0f);
}

static inline float sum2_value(sum2 a)
{
    return a.x + a.y;
}

/* Sum over the work-group's first dimension (a power of two of work-items), in a fixed order, for
   every work-item; `partials`: as many as it has work-items. */
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
