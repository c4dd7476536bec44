/* Instruction sets: files called *_kernels.c are compiled once for each instruction set except amx,
   for which there are *_kernels_amx.c. The widest that the processor has is chosen at run time;
   CORNU_ISA overrides the choice. */
#ifndef DEVICE_CPU_ISA_H
#define DEVICE_CPU_ISA_H

#include "base/status.h"
#include <stdint.h>

/* CPU_ISAS(X): X(name) for each instruction set of this build, widest first. `base` is the minimum
   of the architecture (SSE2, NEON). */
#if defined(__x86_64__)
#define CPU_ISAS(X) X(amx) X(avx512) X(avx2) X(base)
#else
#define CPU_ISAS(X) X(base)
#endif

typedef enum cpu_isa {
#define CPU_ISA_ENUM(name) CPU_ISA_##name,
    CPU_ISAS(CPU_ISA_ENUM)
#undef CPU_ISA_ENUM
        CPU_ISA_COUNT
} cpu_isa;

/* The instruction set with AMX, for products with AMX kernels. */
#if defined(__x86_64__)
#define CPU_ISA_WITH_AMX CPU_ISA_amx
#else
#define CPU_ISA_WITH_AMX CPU_ISA_COUNT /* never chosen */
#endif

/* "amx", "avx512", "avx2", "base"; NULL past the end. */
const char *cpu_isa_name(int isa);
/* Does this processor have the instructions that the kernels of `isa` need? */
bool cpu_isa_runs(cpu_isa isa);
/* The instruction set to use: CORNU_ISA, read at each call, or the widest that runs. An unknown
   name fails with CORNU_INVALID, one that this processor lacks with CORNU_UNSUPPORTED. Kernels call
   this when they are prepared, and keep the answer in their state. */
cornu_status cpu_isa_choose(cpu_isa *out);

/* In a *_kernels.c file: NAME_avx512, NAME_avx2 or NAME_base; in a *_kernels_amx.c: NAME_amx. */
#ifdef CPU_ISA
#define CPU_JOIN_(name, isa) name##_##isa
#define CPU_JOIN(name, isa) CPU_JOIN_(name, isa)
#define ISA(name) CPU_JOIN(name, CPU_ISA)
#endif

/* Declares the exports of each copy of a kernels file, and `name[CPU_ISA_COUNT]`, pointers to all
   of them: CPU_ISA_TABLE(dense_kernels, cpu_dense) in another .c file. Matrix products with AMX
   kernels of their own, on top of AVX-512, declare these themselves. */
#define CPU_ISA_DECLARE_(type, name, isa) extern const type name##_##isa;
#if defined(__x86_64__)
#define CPU_ISA_TABLE(type, name)                                                                 \
    CPU_ISA_DECLARE_(type, name, avx512)                                                          \
    CPU_ISA_DECLARE_(type, name, avx2)                                                            \
    CPU_ISA_DECLARE_(type, name, base)                                                            \
    static const type *const name[CPU_ISA_COUNT] = {&name##_avx512, &name##_avx512, &name##_avx2, \
                                                    &name##_base}
#else
#define CPU_ISA_TABLE(type, name)      \
    CPU_ISA_DECLARE_(type, name, base) \
    static const type *const name[CPU_ISA_COUNT] = {&name##_base}
#endif

/* ---- AMX --------------------------------------------------------------------------------- */

/* The eight AMX tiles: each is a register that holds a matrix. */

/* The configuration for ldtilecfg: all AMX tiles at their largest size, 16 rows of 64 bytes. */
static const struct {
    uint8_t palette, start_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_tiles_whole = {.palette = 1,
                     .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                     .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

#endif
