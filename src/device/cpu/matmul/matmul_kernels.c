/* Microkernels of MATMUL, once per instruction set. */
#include "device/cpu/matmul/matmul_kernels.h"
#include "device/cpu/vec.h"

static float dot(const float *a, const float *b, int64_t count)
{
    vec sums = {0};
    float sum = 0;
    int64_t i = 0;
    for (; i + VEC_FLOATS <= count; i += VEC_FLOATS)
        sums += vec_load(a + i) * vec_load(b + i);
    if (i < count)
        sums += vec_load_first(a + i, count - i) * vec_load_first(b + i, count - i);
    for (int v = 0; v < VEC_FLOATS; v++)
        sum += sums[v];
    return sum;
}

const matmul_kernels ISA(cpu_matmul_kernels) = {.dot = dot};
