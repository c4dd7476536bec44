/* Winograd's F(4x4, 3x3): 4 x 4 outputs of a 3 x 3 correlation from 36 multiplications instead of
   144. Blocking: winograd.h.

   Error: at most 1e-4 of the output's largest magnitude on the published layers (winograd_test.c);
   measured are 3e-6 for y, 3e-6 for dx, 2e-6 for dw. Measured on a loaded Cascade Lake, one thread,
   batch 100, as direct FLOP/s over the rate of register-only FMA: y and dx 2.0 for 64 -> 64
   channels at 16 x 16, 1.4 for 32 -> 32 at 32 x 32, 1.8 for 128 -> 128 at 8 x 8; dw 1.4, 1.2 and
   1.5. */
#define TAPS 3
#define POINT_A 0.6875
#define POINT_B 1.5
#include "device/cpu/winograd/winograd_tiles.h"

const winograd_kernels ISA(cpu_winograd) = WINOGRAD_KERNELS;
