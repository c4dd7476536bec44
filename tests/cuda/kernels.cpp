/* The plug-in's own kernels, compiled for the host: their very source, with what CUDA C++ has
   beyond C++ given by a few names. One thread runs at a time (launch.c). */
#include "simulated.h"

/* Makes __global__, __launch_bounds__ and so on mean nothing, and float4 and so on what they are.
 */
#include <vector_types.h>

#include <vector_functions.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#undef __launch_bounds__
#define __launch_bounds__(...)
#define threadIdx simulated_thread
#define blockIdx simulated_block
#define blockDim simulated_block_size
#define gridDim simulated_grid_size
#define warpSize 32

/* One block runs at a time, so its shared memory may be static; launch.c fills the section with NaN
   before each block. AddressSanitizer watches the ends of arrays instead, where it is on. */
#undef __shared__
#ifdef __SANITIZE_ADDRESS__
#define __shared__ static
#else
#define __shared__ static __attribute__((section("simulated_shared")))
#endif

static inline void __syncthreads()
{
    simulated_barrier();
}

static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    simulated_exchange("__syncwarp", mask, 0, 0);
}

static inline int simulated_lane()
{
    const simulated_index &t = simulated_thread, &b = simulated_block_size;
    return (int)(((t.z * b.y + t.y) * b.x + t.x) % warpSize);
}

template <class T>
static inline T simulated_shuffle(const char *operation, unsigned mask, T value, int source)
{
    unsigned long long bits = 0;
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles take 32 or 64 bits");
    memcpy(&bits, &value, sizeof value);
    bits = simulated_exchange(operation, mask, bits, source);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <class T> static inline T __shfl_sync(unsigned mask, T value, int source)
{
    return simulated_shuffle("__shfl_sync", mask, value, source & 31);
}

template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int bits)
{
    return simulated_shuffle("__shfl_xor_sync", mask, value, simulated_lane() ^ bits);
}

template <class T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned by)
{
    int lane = simulated_lane(), source = lane + (int)by;
    return simulated_shuffle("__shfl_down_sync", mask, value, source < warpSize ? source : lane);
}

template <class T> static inline T __shfl_up_sync(unsigned mask, T value, unsigned by)
{
    int lane = simulated_lane(), source = lane - (int)by;
    return simulated_shuffle("__shfl_up_sync", mask, value, source >= 0 ? source : lane);
}

template <class T> static inline T __ldg(const T *address)
{
    return *address;
}

static inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}

static inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}

static inline double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}

static inline double sinpi(double x)
{
    return sin(x * 3.14159265358979323846);
}

static inline double cospi(double x)
{
    return cos(x * 3.14159265358979323846);
}

static inline float __fmul_rn(float a, float b)
{
    volatile float product = a * b; /* never part of a fused multiply-add */
    return product;
}

static inline float __fadd_rn(float a, float b)
{
    volatile float sum = a + b;
    return sum;
}

static inline float __fsub_rn(float a, float b)
{
    volatile float difference = a - b;
    return difference;
}

static inline float __fdiv_rn(float a, float b)
{
    return a / b;
}

static inline float __fsqrt_rn(float x)
{
    return sqrtf(x);
}

static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}

static inline float __int_as_float(int bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline int __float_as_int(float x)
{
    int bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline unsigned __float_as_uint(float x)
{
    return (unsigned)__float_as_int(x);
}

static inline float __uint_as_float(unsigned bits)
{
    return __int_as_float((int)bits);
}

#include "device/cuda/plugin/kernels/kernels.cu"

#define KERNEL(name, barrier)                         \
    static void run_##name(const void *params)        \
    {                                                 \
        cornu_##name(*(const name##_params *)params); \
    }                                                 \
    static_assert(sizeof(name##_params) <= 4096, "a kernel's parameters: at most 4 KB");
#include "device/cuda/plugin/kernels/kernels.def"
#undef KERNEL

const simulated_kernel simulated_kernels[] = {
#define KERNEL(name, barrier) {"cornu_" #name, barrier, sizeof(name##_params), run_##name},
#include "device/cuda/plugin/kernels/kernels.def"
#undef KERNEL
    {nullptr, false, 0, nullptr}};
