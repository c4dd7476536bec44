/* The own kernels, compiled by nvcc: CUDA_FATBIN is the file, CUDA_ARCHITECTURES for which compute
   capabilities: code for each, and PTX of the lowest, which drivers compile for all above it. */
#include "device/cuda/plugin/core.h"

/* The assembler includes the binary file directly; as C source it would be five times as long
   and slow to compile. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl cuda_fatbin\n"
        ".hidden cuda_fatbin\n"
        ".type cuda_fatbin, %object\n"
        "cuda_fatbin:\n"
        ".incbin \"" CUDA_FATBIN "\"\n"
        ".size cuda_fatbin, . - cuda_fatbin\n"
        ".previous\n");

static int lowest(void)
{
    static const int architectures[] = {CUDA_ARCHITECTURES};
    int least = architectures[0];
    for (size_t i = 1; i < sizeof architectures / sizeof *architectures; i++)
        least = architectures[i] < least ? architectures[i] : least;
    return least;
}

/* Minimum compute capabilities of toolkits: 5.0 for version 12, 7.5 for version 13. */
enum { CUDA_12_FROM = 50, CUDA_13_FROM = 75 };

cornu_status cuda_code_check(int capability)
{
    const int least = lowest(), major = capability / 10, minor = capability % 10;
    const bool too_new = CUDA_VERSION >= 13000 && capability < CUDA_13_FROM;
    if (capability >= least)
        return CORNU_OK;
    if (capability < CUDA_12_FROM)
        return status_fail(CORNU_UNSUPPORTED,
                           "found compute capability %d.%d; expected 5.0 or newer; its OpenCL "
                           "driver may do (--device opencl:0)",
                           major, minor);
    return status_fail(CORNU_UNSUPPORTED,
                       "found compute capability %d.%d; this build's kernels are for %d.%d and "
                       "newer: needs a build with %s (sm_%d), or its OpenCL driver (--device "
                       "opencl:0)",
                       major, minor, least / 10, least % 10,
                       too_new ? "CUDA 12" : "more of CORNU_CUDA_ARCHITECTURES", capability);
}
