/* The kernels PRODUCT_square, PRODUCT_wide and PRODUCT_tall of what gemm_body.h expects; what makes
   one product another is undefined again. (No kernel's name begins with another's: Oclgrind would
   count the local memory of both.) */
#define TILE_M GEMM_M
#define TILE_N GEMM_N
#define SHAPE(name) JOIN(name, _square)
#include "device/opencl/plugin/kernels/gemm_body.h"

#define TILE_M (GEMM_M / 2)
#define TILE_N (GEMM_N * 2)
#define SHAPE(name) JOIN(name, _wide)
#include "device/opencl/plugin/kernels/gemm_body.h"

#define TILE_M (GEMM_M * 2)
#define TILE_N (GEMM_N / 2)
#define SHAPE(name) JOIN(name, _tall)
#include "device/opencl/plugin/kernels/gemm_body.h"

#undef PRODUCT
#undef PRODUCT_ACTIVATES
#undef A_BY_DEPTH
#undef COPY_A
#undef A_WHOLE
#undef B_BY_COLUMN
#undef COPY_B
#undef B_WHOLE
