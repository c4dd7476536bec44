/* Winograd's F(4x4, 5x5): 4 x 4 outputs of a 5 x 5 correlation from 64 multiplications instead of
   400. Blocking: winograd.h.

   The interpolation points are the result of a search over quarters and sixteenths for the minimum
   error; measured are 6.0e-6 of the scale of y, 5.7e-6 of dx and 5.3e-6 of dw (14 x 14, 32 to 64
   channels). Measured there, batch 50, on two Cascade Lake cores, as direct FLOP/s over the rate of
   register-only FMA: y 2.1, dx 1.9, dw 1.8. F(2x2, 5x5), used before, reached 1.6, 1.4 and 1.2. */
#define TAPS 5
#define POINT_A 0.5625
#define POINT_B 1.0
#define POINT_C 2.0
#include "device/cpu/winograd/winograd_tiles.h"

const winograd_kernels ISA(cpu_winograd_5x5) = WINOGRAD_KERNELS;
