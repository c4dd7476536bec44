#include "device/cuda/plugin/kernels/binary.h"
#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/rules.cuh"
#include "device/rules/binary.h"

static __device__ inline float binary(int kind, float a, float b)
{
    switch (kind) {
#define BINARY(id, name, rule, ...) \
    case BINARY_##id:               \
        return binary_##rule(a, b);
#include "model/binaries.def"
    }
    return NAN;
}

static __device__ inline float binary_back(int kind, int of, float a, float b, float dy)
{
    switch (kind) {
#define BINARY(id, name, rule, ...) \
    case BINARY_##id:               \
        return of == 0 ? binary_##rule##_da(a, b, dy) : binary_##rule##_db(a, b, dy);
#include "model/binaries.def"
    }
    return NAN;
}

/* The tensors' elements at a place. */
typedef struct binary_place {
    int64_t a, b, y;
} binary_place;

/* Move to place number i of these dimensions. */
static __device__ inline binary_place move(binary_place at, const int64_t *size,
                                           const binary_steps &steps, int64_t i)
{
    for (int d = BINARY_DIMENSIONS - 1; d >= 0; d--) {
        int64_t index;
        if (size[d] == 1)
            continue;
        i = divide(i, size[d], &index);
        at.a += index * steps.a[d];
        at.b += index * steps.b[d];
        at.y += index * steps.y[d];
    }
    return at;
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    cornu_binary_forward(binary_forward_params p)
{
    const binary_place begin = {0, 0, 0};
    for (EACH(i, p.count)) {
        const binary_place at = move(begin, p.size, p.steps, i);
        p.y[i] = binary(p.kind, p.a[at.a], p.b[at.b]);
    }
}

/* Term number i of the element of dx whose first one is at `begin`. */
static __device__ inline float binary_term(const binary_backward_params &p, binary_place begin,
                                           int64_t i)
{
    const binary_place at = move(begin, p.repeated, p.steps, i);
    return binary_back(p.kind, p.of, p.a[at.a], p.b[at.b], p.dy[at.y]);
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    cornu_binary_backward(binary_backward_params p)
{
    const binary_place first = {0, 0, 0};
    for (EACH(i, p.count)) {
        const binary_place begin = move(first, p.kept, p.steps, i);
        sum2 sum = sum2_of(binary_term(p, begin, 0));
        for (int64_t k = 1; k < p.terms; k++)
            sum = sum2_plus(sum, binary_term(p, begin, k));
        p.dx[i] = sum2_value(sum2_settled(sum));
    }
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    cornu_binary_backward_sums(binary_backward_sums_params p)
{
    __shared__ sum2 shared[WARP];
    const binary_place first = {0, 0, 0};
    for (int64_t i = blockIdx.x; i < p.count; i += gridDim.x) {
        const binary_place begin = move(first, p.kept, p.steps, i);
        sum2 sum = sum2_of(0);
        for (int64_t k = threadIdx.x; k < p.terms; k += blockDim.x)
            sum = sum2_plus(sum, binary_term(p, begin, k));
        sum = block_sum(sum2_settled(sum), shared);
        if (threadIdx.x == 0)
            p.dx[i] = sum2_value(sum);
    }
}
