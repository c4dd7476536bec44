/* Products of small matrices that lie in cache, for kernels that make one large product out of
   many. Rows of each are its stride apart, in floats; columns are a multiple of VEC_FLOATS. */
#ifndef DEVICE_CPU_KERNELS_SMALL_GEMM_H
#define DEVICE_CPU_KERNELS_SMALL_GEMM_H

#include <stdbool.h>
#include <stdint.h>

/* Lines of the cache (of 16 floats) that are brought near during a product, as far as there is
   time. */
typedef struct small_gemm_lines {
    const float *from;
    int64_t count;
} small_gemm_lines;

typedef struct small_gemm {
    const float *a;
    int64_t a_stride;
    const float *b;
    int64_t b_stride;
    float *c;
    int64_t c_stride;
    int64_t rows, columns, depth;
    small_gemm_lines next[2]; /* into the first-level cache: the operands of the product to come */
    small_gemm_lines soon[2]; /* into the second-level cache */
} small_gemm;

typedef struct small_gemm_kernels {
    /* c[rows][columns] = a[rows][depth] b[depth][columns]. */
    void (*multiply)(const small_gemm *g);
    /* c[rows][columns] = a[depth][rows]' b[depth][columns], or added to what c holds. */
    void (*multiply_transposed)(const small_gemm *g, bool add);
} small_gemm_kernels;

#endif
