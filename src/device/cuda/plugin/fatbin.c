/* The own kernels, compiled by nvcc: GPU_FATBIN is the file. The assembler takes it as it is; as C
   source it would be five times as long and slow to compile. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl gpu_fatbin\n"
        ".hidden gpu_fatbin\n"
        ".type gpu_fatbin, %object\n"
        "gpu_fatbin:\n"
        ".incbin \"" GPU_FATBIN "\"\n"
        ".size gpu_fatbin, . - gpu_fatbin\n"
        ".previous\n");
