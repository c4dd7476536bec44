#include "device/cpu/isa.h"
#include "base/env.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const char *const names[] = {
#define NAME(name) #name,
    CPU_ISAS(NAME)
#undef NAME
        NULL};

const char *cpu_isa_name(int isa)
{
    return isa >= 0 && isa < CPU_ISA_COUNT ? names[isa] : NULL;
}

#if defined(__x86_64__)
/* Does the processor have AMX tiles, with products of bfloat16? */
static bool amx_there(void)
{
#if !defined(__clang__) && __GNUC__ >= 11
    return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16");
#else /* other compilers' checks lack these bits; a virtual machine traps at each CPUID \ */
    enum { BF16 = 1u << 22, AMX_TILES = 1u << 24 }; /* bits of leaf 7 */
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & BF16) && (d & AMX_TILES);
#endif
}

/* Linux lets a process use the AMX tiles' 8 KB of registers only after a request; a repeated
   request returns the same answer (Linux's Documentation/arch/x86/xstate.rst). */
static bool amx_runs(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return amx_there() && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

bool cpu_isa_runs(cpu_isa isa)
{
    __builtin_cpu_init();
    switch (isa) {
    case CPU_ISA_amx:
        return cpu_isa_runs(CPU_ISA_avx512) && amx_runs();
    case CPU_ISA_avx512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    case CPU_ISA_avx2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    default:
        return true;
    }
}
#else
bool cpu_isa_runs(cpu_isa isa)
{
    (void)isa;
    return true;
}
#endif

static cornu_status unknown(const char *wanted)
{
    text list = {0};
    char *all = NULL;
    for (int i = 0; names[i]; i++)
        text_add(&list, "%s%s", i ? ", " : "", names[i]);
    TRY(text_take(&list, &all));
    cornu_status status =
        status_fail(CORNU_INVALID, "CORNU_ISA: found %s; expected one of %s", wanted, all);
    free(all);
    return status;
}

cornu_status cpu_isa_choose(cpu_isa *out)
{
    const char *wanted = env_get(ENV_ISA);
    for (int i = 0; i < CPU_ISA_COUNT; i++) {
        *out = (cpu_isa)i;
        if (wanted && strcmp(wanted, names[i]) == 0)
            return cpu_isa_runs(*out)
                       ? CORNU_OK
                       : status_fail(CORNU_UNSUPPORTED,
                                     "CORNU_ISA: found %s, which this processor lacks", wanted);
        if (!wanted && cpu_isa_runs(*out))
            return CORNU_OK;
    }
    return unknown(wanted);
}
