/* Modules, and kernels run over their grid: one thread after another; the threads of kernels that
   wait for each other are fibers. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 1024, WARP = 32, SHARED_PLAIN = 49152, SHARED_MOST = 232448 };

struct CUmod_st {
    CUfunction functions;
};

struct CUfunc_st {
    CUfunction next;
    const simulated_kernel *kernel;
    unsigned shared_most;
};

typedef struct launch {
    const simulated_kernel *kernel;
    simulated_index grid, block;
    unsigned shared;
    _Alignas(16) unsigned char params[];
} launch;

simulated_index simulated_thread, simulated_block, simulated_block_size, simulated_grid_size;
unsigned char *simulated_shared_memory;

/* ---- the threads of a block ---------------------------------------------------------------- */

typedef enum thread_state { READY, AT_BARRIER, AT_EXCHANGE, ENDED } thread_state;

static const launch *running;
static unsigned current; /* thread of the block */
static thread_state states[THREADS_MAX];
static const char *operations[THREADS_MAX];
static unsigned long long exchanged[2][THREADS_MAX];
static unsigned parity[THREADS_MAX / WARP];
static bool backwards;

static void set_thread(unsigned number)
{
    const simulated_index *b = &running->block;
    current = number;
    simulated_thread = (simulated_index){number, 0, 0};
    if (number >= b->x)
        simulated_thread =
            (simulated_index){number % b->x, number / b->x % b->y, number / b->x / b->y};
}

static void diverged(const char *what)
{
    simulated_complain("kernel %s, block %u %u %u: %s", running->kernel->name, simulated_block.x,
                       simulated_block.y, simulated_block.z, what);
    fail_device(CUDA_ERROR_LAUNCH_FAILED);
}

static void pause_thread(thread_state state)
{
    states[current] = state;
    fiber_yield();
}

void simulated_barrier(void)
{
    if (running->kernel->barrier)
        pause_thread(AT_BARRIER);
    else
        diverged("its threads wait for each other; expected barrier 1 in kernels.def");
}

unsigned long long simulated_exchange(const char *operation, unsigned mask,
                                      unsigned long long value, int source)
{
    unsigned warp = current / WARP, side = parity[warp], self = current;
    if (!running->kernel->barrier) {
        diverged("its threads exchange values; expected barrier 1 in kernels.def");
        return value;
    }
    if (mask != 0xffffffffu)
        diverged("an exchange within part of a warp");
    exchanged[side][self] = value;
    operations[self] = operation;
    pause_thread(AT_EXCHANGE);
    return exchanged[side][warp * WARP + (unsigned)source % WARP];
}

static void thread_body(void)
{
    running->kernel->run(running->params);
}

static bool all_are(unsigned first, unsigned count, thread_state state)
{
    for (unsigned i = first; i < first + count; i++)
        if (states[i] != state)
            return false;
    return true;
}

static bool same_operation(unsigned first)
{
    for (unsigned i = first + 1; i < first + WARP; i++)
        if (operations[i] != operations[first] && strcmp(operations[i], operations[first]) != 0)
            return false;
    return true;
}

static void run_lanes(unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned number = first + (backwards ? count - 1 - i : i);
        set_thread(number);
        if (states[number] == READY && !fiber_resume(number))
            states[number] = ENDED;
    }
}

/* Until all its lanes have ended or are at the block's barrier. */
static bool run_warp(unsigned first, unsigned count)
{
    for (;;) {
        run_lanes(first, count);
        if (count < WARP || !all_are(first, WARP, AT_EXCHANGE))
            break;
        if (!same_operation(first))
            return diverged("lanes of a warp make different exchanges"), false;
        parity[first / WARP] ^= 1;
        memset(states + first, READY, WARP * sizeof *states);
    }
    for (unsigned i = first; i < first + count; i++)
        if (states[i] == AT_EXCHANGE)
            return diverged("some lanes of a warp exchange values, others do not"), false;
    return true;
}

static void run_fibers(unsigned count)
{
    unsigned warps = (count + WARP - 1) / WARP;
    fibers_start(count, thread_body);
    do {
        memset(states, READY, count * sizeof *states);
        for (unsigned i = 0; i < warps; i++) {
            unsigned first = (backwards ? warps - 1 - i : i) * WARP;
            if (!run_warp(first, count - first < WARP ? count - first : WARP))
                return;
        }
    } while (all_are(0, count, AT_BARRIER));
    if (!all_are(0, count, ENDED))
        diverged("some threads have ended, others wait at a barrier");
}

/* ---- the blocks of a grid ------------------------------------------------------------------ */

/* Shared memory begins as NaN in every block: kernels.cpp puts static arrays into this section. */
extern unsigned char __start_simulated_shared[], __stop_simulated_shared[];
__asm__(".pushsection simulated_shared, \"aw\"\n.skip 64\n.popsection\n");

static void run_block(const launch *l)
{
    unsigned count = l->block.x * l->block.y * l->block.z;
    memset(__start_simulated_shared, 0xff,
           (size_t)(__stop_simulated_shared - __start_simulated_shared));
    if (l->shared > 0)
        memset(simulated_shared_memory, 0xff, l->shared);
    if (l->kernel->barrier) {
        run_fibers(count);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        set_thread(backwards ? count - 1 - i : i);
        l->kernel->run(l->params);
    }
}

/* Is this fault, "wrong" or "bounds", planted into the kernel? SIMULATED_CUDA_FAULT=KERNEL:FAULT */
static bool has_fault(const simulated_kernel *kernel, const char *fault)
{
    const char *planted = getenv("SIMULATED_CUDA_FAULT"), *name = kernel->name + strlen("cornu_");
    size_t length = strlen(name);
    return planted && strncmp(planted, name, length) == 0 && planted[length] == ':' &&
           strcmp(planted + length + 1, fault) == 0;
}

static void run_grid(const void *data)
{
    const launch *l = data;
    const char *order = getenv("SIMULATED_CUDA_ORDER");
    unsigned long long count = (unsigned long long)l->grid.x * l->grid.y * l->grid.z;
    if (has_fault(l->kernel, "wrong"))
        count--; /* the last block's results are missing */
    backwards = order && strcmp(order, "backwards") == 0;
    running = l;
    simulated_block_size = l->block;
    simulated_grid_size = l->grid;
    simulated_shared_memory =
        l->shared > 0 ? aligned_alloc(128, (l->shared + 127u) / 128 * 128) : NULL;
    for (unsigned long long i = 0; i < count && failed_device() == CUDA_SUCCESS; i++) {
        unsigned long long b = backwards ? count - 1 - i : i;
        simulated_block =
            (simulated_index){(unsigned)(b % l->grid.x), (unsigned)(b / l->grid.x % l->grid.y),
                              (unsigned)(b / l->grid.x / l->grid.y)};
        run_block(l);
    }
    if (has_fault(l->kernel, "bounds"))
        memory_overrun(l->params, l->kernel->params);
    free(simulated_shared_memory);
    simulated_shared_memory = NULL;
}

/* ---- modules ------------------------------------------------------------------------------- */

static bool is_image(const void *image)
{
    return fatbin_is(image) || memcmp(image, "\177ELF", 4) == 0;
}

static bool has_code(const void *image)
{
    return !fatbin_is(image) || fatbin_suits(image, device_capability(device_current()));
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!image || !is_image(image)))
        r = CUDA_ERROR_INVALID_IMAGE;
    if (r == CUDA_SUCCESS && !has_code(image))
        r = CUDA_ERROR_NO_BINARY_FOR_GPU;
    CUmodule made = r == CUDA_SUCCESS ? calloc(1, sizeof *made) : NULL;
    if (made) {
        simulated_track(made, is_module);
        *module = made;
    } else if (r == CUDA_SUCCESS) {
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return leave(r);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && !simulated_is(module, is_module))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS) {
        streams_run_all();
        while (module->functions) {
            CUfunction f = module->functions;
            module->functions = f->next;
            simulated_forget(f);
            free(f);
        }
        simulated_forget(module);
        free(module);
    }
    return leave(r);
}

static CUresult get_function(CUfunction *function, CUmodule module, const char *name)
{
    const simulated_kernel *k = simulated_kernels;
    while (k->name && strcmp(k->name, name) != 0)
        k++;
    if (!k->name)
        return CUDA_ERROR_NOT_FOUND;
    CUfunction f = malloc(sizeof *f);
    if (!f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *f = (struct CUfunc_st){.next = module->functions, .kernel = k, .shared_most = SHARED_PLAIN};
    module->functions = f;
    simulated_track(f, is_function);
    *function = f;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = simulated_is(module, is_module) ? get_function(function, module, name)
                                            : CUDA_ERROR_INVALID_HANDLE;
    return leave(r);
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && !simulated_is(function, is_function))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
        value >= 0 && value <= SHARED_MOST)
        function->shared_most = (unsigned)value > SHARED_PLAIN ? (unsigned)value : SHARED_PLAIN;
    else if (r == CUDA_SUCCESS && attribute != CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        r = CUDA_ERROR_INVALID_VALUE;
    return leave(r);
}

/* ---- launches ------------------------------------------------------------------------------ */

static CUresult check_launch(CUfunction function, const launch *l)
{
    unsigned long long threads = (unsigned long long)l->block.x * l->block.y * l->block.z;
    if (!simulated_is(function, is_function))
        return CUDA_ERROR_INVALID_HANDLE;
    if (threads == 0 || threads > THREADS_MAX || l->block.z > 64 || l->grid.x == 0 ||
        l->grid.y == 0 || l->grid.z == 0 || l->grid.x > 0x7fffffffu || l->grid.y > 65535 ||
        l->grid.z > 65535 || l->shared > function->shared_most) {
        simulated_complain("cuLaunchKernel: %s: a grid of %ux%ux%u blocks of %ux%ux%u threads with "
                           "%u bytes of shared memory",
                           function->kernel->name, l->grid.x, l->grid.y, l->grid.z, l->block.x,
                           l->block.y, l->block.z, l->shared);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult start(CUfunction function, const launch *form, CUstream handle, void **params)
{
    const simulated_kernel *k = function->kernel;
    size_t size = sizeof *form + k->params;
    launch *l = calloc(1, size);
    if (!l)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *l = *form;
    l->kernel = k;
    memcpy(l->params, params[0], k->params);
    CUresult r = simulated_enqueue(handle, run_grid, l, size);
    free(l);
    return r;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                CUstream handle, void **params, void **extra)
{
    const launch form = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = check_launch(function, &form);
    if (r == CUDA_SUCCESS && (!params || extra))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = start(function, &form, handle, params);
    return leave(r);
}
