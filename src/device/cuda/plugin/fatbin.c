/* The own kernels, compiled by nvcc: CUDA_FATBIN is the file. The assembler takes it as it is; as C
   source it would be five times as long and slow to compile. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl cuda_fatbin\n"
        ".hidden cuda_fatbin\n"
        ".type cuda_fatbin, %object\n"
        "cuda_fatbin:\n"
        ".incbin \"" CUDA_FATBIN "\"\n"
        ".size cuda_fatbin, . - cuda_fatbin\n"
        ".previous\n");
