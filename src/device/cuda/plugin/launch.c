/* Calls of the driver and their errors, and the own kernels: compiled by nvcc, loaded, launched.
   CUDA_FATBIN is nvcc's file, CUDA_ARCHITECTURES for which compute capabilities: code for each, and
   PTX of the lowest, which drivers compile for all above it. */
#include "device/cuda/plugin/core.h"

cornu_status cuda_check_on(const gpu *g, CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return CORNU_OK;
    cornu_status status = cuda_check(cuda_of(g)->lib, g->number, result, call);
    if (!cuda_is_lost(result))
        return status;
    cuda_of(g)->context_lost = true;
    return gpu_lose(g, status);
}

/* ---- code -------------------------------------------------------------------------------- */

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

/* ---- kernels ----------------------------------------------------------------------------- */

static const char *const function_names[CUDA_FUNCTION_COUNT] = {
#define KERNEL(name, barrier) "cornu_" #name,
#include "device/cuda/plugin/kernels/kernels.def"
#undef KERNEL
};

/* kernels.cu compiled: code for several models of GPU. */
extern const unsigned char cuda_fatbin[];

cornu_status cuda_load_kernels(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    CUresult result = c->lib->cuModuleLoadData(&c->module, cuda_fatbin);
    if (result != CUDA_SUCCESS) {
        c->module = NULL;
        cornu_status status = cuda_check_on(g, result, "cuModuleLoadData");
        return status_prefix(status, "kernels for compute capability %d.%d", c->capability / 10,
                             c->capability % 10);
    }
    for (int i = 0; i < CUDA_FUNCTION_COUNT; i++) {
        cornu_status status =
            CU(g, cuModuleGetFunction(&c->functions[i], c->module, function_names[i]));
        if (status != CORNU_OK)
            return status_prefix(status, "%s", function_names[i]);
    }
    return CORNU_OK;
}

cornu_status cuda_launch(gpu *g, cuda_function function, cuda_grid grid, const void *params)
{
    cuda_gpu *c = cuda_of(g);
    void *arguments[] = {(void *)(uintptr_t)params};
    g->launches++;
    CUresult result = c->lib->cuLaunchKernel(c->functions[function], grid.x ? grid.x : 1,
                                             grid.y ? grid.y : 1, grid.z ? grid.z : 1, grid.threads,
                                             1, 1, grid.shared_bytes, c->stream, arguments, NULL);
    if (result == CUDA_SUCCESS)
        return CORNU_OK;
    cornu_status status = cuda_check_on(g, result, "cuLaunchKernel");
    return status_prefix(status, "%s", function_names[function]);
}

void cuda_count_launch(gpu *g)
{
    g->launches++;
}
