#include "device/opencl/plugin/kernels/common.h"

/* Products of plain row-major matrices, and the kernels that add their slices. */
#include "device/opencl/plugin/kernels/gemm.h"
#include "device/opencl/plugin/kernels/shared.h"

#define PRODUCT_PARAMETERS , const int a_stride, const int b_stride
#define PRODUCT_BEGIN
#define A_ALIGNED (a_stride % PIECE == 0 && a_step % PIECE == 0)
#define B_ALIGNED (b_stride % PIECE == 0 && b_step % PIECE == 0)
#define FULL_ROWS_OF_A (A_ALIGNED && row + TILE_M <= m && from + GEMM_K <= end)
#define FULL_ROWS_OF_B (B_ALIGNED && column + TILE_N <= n && from + GEMM_K <= end)
#define COPY_ROW_OF_A(to, i, q, whole)                                                       \
    copy_columns(to, a + (long)(row + (i)) * a_stride + from + (q),                          \
                 row + (i) < m ? end - from - (q) : 0, whole)
#define COPY_ROW_OF_B(to, q, j, whole)                                                       \
    copy_columns(to, b + (long)(from + (q)) * b_stride + column + (j),                       \
                 from + (q) < end ? n - column - (j) : 0, whole)

/* C = A B */
#define PRODUCT product_nn
#define PRODUCT_ACTIVATES 1
#define PRODUCT_K_GROUPS 1
#define A_BY_DEPTH 0
#define COPY_A COPY_ROW_OF_A
#define A_WHOLE FULL_ROWS_OF_A
#define B_BY_COLUMN 0
#define COPY_B COPY_ROW_OF_B
#define B_WHOLE FULL_ROWS_OF_B
#include "device/opencl/plugin/kernels/gemm_shapes.h"

/* C = A B' */
#define PRODUCT product_nt
#define PRODUCT_ACTIVATES 0
#define PRODUCT_K_GROUPS 1
#define A_BY_DEPTH 0
#define COPY_A COPY_ROW_OF_A
#define A_WHOLE FULL_ROWS_OF_A
#define B_BY_COLUMN 1
#define COPY_B(j, q, whole)                                                                  \
    read4(b + (long)(column + (j)) * b_stride + from + (q),                                  \
          column + (j) < n ? end - from - (q) : 0, whole)
#define B_WHOLE FULL_ROWS_OF_B
#include "device/opencl/plugin/kernels/gemm_shapes.h"

/* C = A' B */
#define PRODUCT product_tn
#define PRODUCT_ACTIVATES 0
#define PRODUCT_K_GROUPS 1
#define A_BY_DEPTH 1
#define COPY_A(to, i, q, whole)                                                              \
    copy_columns(to, a + (long)(from + (q)) * a_stride + row + (i),                          \
                 from + (q) < end ? m - row - (i) : 0, whole)
#define A_WHOLE FULL_ROWS_OF_A
#define B_BY_COLUMN 0
#define COPY_B COPY_ROW_OF_B
#define B_WHOLE FULL_ROWS_OF_B
#include "device/opencl/plugin/kernels/gemm_shapes.h"

/* y[i] = act(sum of partials[slice][i] over the slices + bias[i % width]); from number `first` on they
   go to `rest` */
KERNEL(reduce_slices, WORK_ITEMS)
(IN(float, partials), IN(float, bias), OUT(float, y), const int count, const int width,
 const int slices, const int act, const float alpha, const int first, OUT(float, rest))
{
    AT(partials);
    AT(y);
    AT(rest);
    for (EACH(i, count)) {
        float sum = partials[i];
        for (int slice = 1; slice < slices; slice++)
            sum += partials[(long)slice * count + i];
        if (bias)
            sum += bias[bias_at / sizeof(float) + (int)i % width];
        *(i < first ? y + i : rest + (i - first)) = activate(act, alpha, sum);
    }
}

/* The same of few numbers and many slices: each work-item adds some of a number's slices up. */
KERNEL(reduce_many_slices, WORK_ITEMS)
(IN(float, partials), IN(float, bias), OUT(float, y), const int count, const int width,
 const int slices, const int act, const float alpha, const int first, OUT(float, rest))
{
    local float sums[WORK_ITEMS];
    const int item = get_local_id(0), i = (int)get_group_id(0) * REDUCE_NUMBERS + item % REDUCE_NUMBERS;
    float sum = 0;
    AT(partials);
    AT(y);
    AT(rest);
    for (int slice = item / REDUCE_NUMBERS; i < count && slice < slices;
         slice += WORK_ITEMS / REDUCE_NUMBERS)
        sum += partials[(long)slice * count + i];
    sums[item] = sum;
    for (int half_ = WORK_ITEMS / 2; half_ >= REDUCE_NUMBERS; half_ /= 2) {
        FENCE;
        if (item < half_)
            sums[item] += sums[item + half_];
    }
    if (item >= REDUCE_NUMBERS || i >= count)
        return;
    sum = sums[item];
    if (bias)
        sum += bias[bias_at / sizeof(float) + i % width];
    *(i < first ? y + i : rest + (i - first)) = activate(act, alpha, sum);
}
