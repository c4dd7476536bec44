#include "device/cuda/plugin/kernels/common.cuh"
#include "device/cuda/plugin/kernels/matmul.h"

extern "C" __global__ void __launch_bounds__(MATMUL_SIDE *MATMUL_SIDE) cornu_matmul(matmul_params p)
{
    __shared__ float left[MATMUL_SIDE][MATMUL_SIDE], right[MATMUL_SIDE][MATMUL_SIDE];
    const int i = threadIdx.x / MATMUL_SIDE, k = threadIdx.x % MATMUL_SIDE;
    const int64_t across = (p.columns + MATMUL_SIDE - 1) / MATMUL_SIDE;
    const int64_t down = (p.rows + MATMUL_SIDE - 1) / MATMUL_SIDE;
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        int64_t row, column;
        const int64_t product = divide(divide(tile, across, &column), down, &row);
        const float *x = p.a + product * p.rows * p.depth;
        const float *z = p.b + product * p.depth * p.columns;
        float sum = 0;
        row = row * MATMUL_SIDE + i;
        column = column * MATMUL_SIDE + k;
        for (int64_t at = 0; at < p.depth; at += MATMUL_SIDE) {
            const bool has_left = row < p.rows && at + k < p.depth;
            const bool has_right = column < p.columns && at + i < p.depth;
            float terms = 0;
            left[i][k] = has_left ? x[row * p.a_row + (at + k) * p.a_depth] : 0;
            right[i][k] = has_right ? z[(at + i) * p.b_depth + column * p.b_column] : 0;
            __syncthreads();
            for (int j = 0; j < MATMUL_SIDE; j++)
                terms += left[i][j] * right[j][k];
            sum += terms;
            __syncthreads();
        }
        if (row < p.rows && column < p.columns)
            p.y[(product * p.rows + row) * p.columns + column] = sum;
    }
}
