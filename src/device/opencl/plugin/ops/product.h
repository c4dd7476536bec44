/* Matrix products (kernels/gemm.h), as dense layers and convolutions use them. */
#ifndef DEVICE_OPENCL_PLUGIN_PRODUCT_H
#define DEVICE_OPENCL_PLUGIN_PRODUCT_H

#include "device/opencl/plugin/ops/ops.h"

/* Shapes of tiles, in the order in which kernels.def has the kernels of a product. */
typedef enum product_shape {
    PRODUCT_SQUARE,
    PRODUCT_WIDE,
    PRODUCT_TALL,
    PRODUCT_NARROW,
    PRODUCT_FLAT,
    PRODUCT_SMALL
} product_shape;

/* The operands: `batch` products of [m][k] by [k][n]. */
typedef struct product_size {
    int64_t m, n, k, batch;
    int64_t c_stride;               /* from one row of C to the next */
    int64_t a_step, b_step, c_step; /* from one product's matrices to the next's, in elements */
    int64_t count;                  /* elements of all C together, which are contiguous */
    int64_t rest;                   /* number of the last ones of them: product_result.rest */
    int64_t b_column; /* from one column of B to the next; 0: columns are not to be divided */
    int64_t k_groups; /* PRODUCT_K_GROUPS of the kernels: kernels/gemm_body.h */
} product_size;

/* How it runs. */
typedef struct product {
    product_size size;
    product_shape shape;
    int64_t tiles_m, tiles_n, slices, slice_depth;
    int64_t whole; /* tiles, the first ones, whole rows of them, that go through all of k */
    int64_t first; /* first row of C after them: from there on the product writes partial sums of
                      the slices, which product_reduce adds to C */
    size_t scratch_bytes; /* scratch memory for the partial sums */
    double cost;          /* on a GPU: time on paper, in multiply-adds of one compute unit */
} product;

/* CORNU_UNSUPPORTED where sizes are beyond what kernels count in. */
cornu_status product_choose(const gpu *g, const product_size *size, product *out);

/* The cost of a launch that moves `bytes`, in the unit of product.cost. docs/opencl-gpus.md. */
double product_launch_cost(const gpu *g, double bytes);

#define PRODUCT_LINEAR ((activation){ACTIVATION_LINEAR, 0})

/* The output of a product: c = act(A B + bias), bias 0: none; bias is indexed through the batch. */
typedef struct product_result {
    gpu_address c, bias;
    activation act;
    gpu_address rest; /* address of the last product_size.rest elements, instead of in c */
} product_result;

/* The function of the product's shape, and its grid. */
static inline opencl_function product_function(const product *q, opencl_function square)
{
    return (opencl_function)((int)square + (int)q->shape);
}
opencl_grid product_grid(const gpu *g, const product *q);
static inline int64_t product_sliced(const product *q)
{
    return q->tiles_m * q->tiles_n - q->whole;
}
/* Numbers that each slice writes. */
static inline int64_t product_partials(const product *q)
{
    return product_sliced(q) ? q->size.count - q->first * q->size.c_stride : 0;
}
/* The parameters that all products have; r: a product_result. */
#define A_PRODUCT(q, a, b, r, scratch)                                                       \
    A_ADDRESS(a), A_ADDRESS(b), A_ADDRESS((r)->bias), A_ADDRESS((r)->c), A_ADDRESS(scratch), \
        A_INT((q)->size.m), A_INT((q)->size.n), A_INT((q)->size.k), A_INT((q)->tiles_n),     \
        A_INT((q)->whole), A_INT(product_sliced(q)), A_INT((q)->slice_depth),                \
        A_INT((q)->size.c_stride), A_LONG((q)->size.a_step), A_LONG((q)->size.b_step),       \
        A_LONG((q)->size.c_step), A_LONG(product_partials(q)), A_INT((r)->act.kind),         \
        A_FLOAT((r)->act.alpha)
/* Reduce the partial sums, if any, to C. */
cornu_status product_reduce(gpu *g, const product *q, const product_result *result,
                            gpu_address scratch);

/* Row-major matrices; strides in elements. */
typedef struct product_matrices {
    gpu_address a, b;
    int64_t a_stride, b_stride;
} product_matrices;
/* Multiply with OPENCL_product_nn_square (A B), _nt (A B') or _tn (A' B). */
cornu_status product_plain(gpu *g, opencl_function square, const product *q,
                           const product_matrices *from, const product_result *result,
                           gpu_address scratch);

static inline int64_t product_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* winograd.c */
extern const gpu_kernel opencl_winograd_forward, opencl_winograd_backward_data;

#endif
