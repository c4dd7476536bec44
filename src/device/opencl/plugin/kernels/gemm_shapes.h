/* Makes the kernels PRODUCT_square, _wide, _tall, _narrow, _flat and _small from the macros that
   gemm_body.h expects; the macros that define a product are undefined again. (No kernel's name
   begins with another's: Oclgrind would count the local memory of both.) */
#define TILE_M GEMM_M
#define TILE_N GEMM_N
#define ITEM_ROWS ITEM_M
#define SHAPE(name) JOIN(name, _square)
#include "device/opencl/plugin/kernels/gemm_body.h"

#define TILE_M (GEMM_M / 2)
#define TILE_N (GEMM_N * 2)
#define ITEM_ROWS ITEM_M
#define SHAPE(name) JOIN(name, _wide)
#include "device/opencl/plugin/kernels/gemm_body.h"

#define TILE_M (GEMM_M * 2)
#define TILE_N (GEMM_N / 2)
#define ITEM_ROWS ITEM_M
#define SHAPE(name) JOIN(name, _tall)
#include "device/opencl/plugin/kernels/gemm_body.h"

#if ITEM_N <= 8
#define TILE_M GEMM_M
#define TILE_N (GEMM_N / 2)
#define ITEM_ROWS ITEM_M
#define SHAPE(name) JOIN(name, _narrow)
#include "device/opencl/plugin/kernels/gemm_body.h"

#define TILE_M (GEMM_M / 2)
#define TILE_N GEMM_N
#define ITEM_ROWS ITEM_M
#define SHAPE(name) JOIN(name, _flat)
#include "device/opencl/plugin/kernels/gemm_body.h"

#define TILE_M (GEMM_M / 2)
#define TILE_N (GEMM_N / 2)
#if PRODUCT_K_GROUPS > 1
#define ITEM_ROWS ITEM_M
#else
#define ITEM_ROWS HALF_ITEM_M
#endif
#define SHAPE(name) JOIN(name, _small)
#include "device/opencl/plugin/kernels/gemm_body.h"
#endif

#undef PRODUCT
#undef PRODUCT_ACTIVATES
#undef PRODUCT_NEXT
#undef PRODUCT_END
#undef PRODUCT_K_GROUPS
#undef A_BY_DEPTH
#undef COPY_A
#undef A_WHOLE
#undef B_BY_COLUMN
#undef COPY_B
#undef B_WHOLE
