/* Products of small matrices in cache, for kernels that make one large product out of many. Rows of
   each matrix are its stride apart, in floats; columns are a multiple of VEC_FLOATS. */
#ifndef DEVICE_CPU_WINOGRAD_SMALL_GEMM_KERNELS_H
#define DEVICE_CPU_WINOGRAD_SMALL_GEMM_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/* Cache lines (of 16 floats) that are prefetched during a product, as far as there is time. */
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
    small_gemm_lines
        prefetch_l1[2]; /* into the first-level cache: the operands of the next product */
    small_gemm_lines prefetch_l2[2]; /* into the second-level cache */
} small_gemm;

typedef struct small_gemm_kernels {
    /* c[rows][columns] = a[rows][depth] b[depth][columns]. */
    void (*multiply)(const small_gemm *g);
    /* c[rows][columns] = a[depth][rows]' b[depth][columns], or added to the content of c. */
    void (*multiply_transposed)(const small_gemm *g, bool add);
} small_gemm_kernels;

/* `count` products of one shape: `first`, then each with a, b and c a fixed number of floats
   further. Of the prefetches of `first` only prefetch_l2[0] is used. */
typedef struct small_gemm_batch {
    small_gemm first;
    int64_t count, a_step, b_step, c_step;
} small_gemm_batch;

/* The same products by AMX. B is packed by pack_b. Rows of a are read up to a whole vector, and the
   memory after the depth may hold anything but NaN and infinity. c has room for a multiple of
   SMALL_GEMM_PACKED_ROWS rows, and rows after the last are overwritten as well. */
enum { SMALL_GEMM_PACKED_ROWS = 16 };

typedef struct small_gemm_amx {
    /* Size of the packed B. */
    int64_t (*floats)(int64_t depth, int64_t columns);
    /* Pack rows first to first + 7 and first + 16 to first + 23 of B, one after the other; rows at
       `depth` and beyond are zeros. Call it with 0, 8, 32, 40, 64, ... up to the depth rounded up
       to 32. */
    void (*pack_b)(const float *b, int64_t stride, int64_t first, int64_t depth, int64_t columns,
                   float *to);
    void (*multiply)(const small_gemm_batch *s);
} small_gemm_amx;

#endif
