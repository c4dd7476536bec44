#include "device/opencl/plugin/kernels/common.h"

/* MATMUL: y = a b of `count` pairs of matrices (device/matmul.h). A group computes a tile of y, of
   which each work-item has an element. */
#include "device/opencl/plugin/kernels/shared.h"

KERNEL(matmul, WORK_ITEMS)
(IN(float, a), IN(float, b), OUT(float, y), const long tiles, const long rows, const long depth,
 const long columns, const long a_row, const long a_depth, const long b_depth, const long b_column)
{
    local float left[MATMUL_SIDE][MATMUL_SIDE], right[MATMUL_SIDE][MATMUL_SIDE];
    const int i = get_local_id(0) / MATMUL_SIDE, k = get_local_id(0) % MATMUL_SIDE;
    const long across = (columns + MATMUL_SIDE - 1) / MATMUL_SIDE;
    const long down = (rows + MATMUL_SIDE - 1) / MATMUL_SIDE;
    AT(a);
    AT(b);
    AT(y);
    for (long tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        long row, column;
        const long product = divide(divide(tile, across, &column), down, &row);
        global const float *x = a + product * rows * depth, *z = b + product * depth * columns;
        float sum = 0.0f;
        row = row * MATMUL_SIDE + i;
        column = column * MATMUL_SIDE + k;
        for (long at = 0; at < depth; at += MATMUL_SIDE) {
            float terms = 0.0f;
            left[i][k] = row < rows && at + k < depth ? x[row * a_row + (at + k) * a_depth] : 0.0f;
            right[i][k] =
                column < columns && at + i < depth ? z[(at + i) * b_depth + column * b_column] : 0.0f;
            FENCE;
            for (int j = 0; j < MATMUL_SIDE; j++)
                terms += left[i][j] * right[j][k];
            sum += terms;
            FENCE;
        }
        if (row < rows && column < columns)
            y[(product * rows + row) * columns + column] = sum;
    }
}
