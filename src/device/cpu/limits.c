/* The probes: FMA rate in registers, read bandwidth, in-place update bandwidth. Each kernel exists
   for AVX-512, AVX2 and plain vectors; the widest that this processor has is chosen at run time.
   With AMX, whose tiles multiply floats as six products of their bf16x3 terms
   (device/cpu/dense/dense_kernels_amx.c), the FMA rate is that of the tiles. */
#include "base/clock.h"
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/isa.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { PROBE_FLOATS_MAX = (256 << 20) / 4, PROBE_FLOATS_MIN = (16 << 20) / 4 };
enum { CACHE_PROBE_FLOATS = (4 << 20) / 4 };
/* Enough accumulators to hide 4 to 5 cycles of latency on two FMA units. */
enum { ACCUMULATORS = 12 };

typedef struct probe_kernels {
    const char *isa;
    double round_flops; /* of a round of `fma` */
    float (*fma)(int64_t rounds, float factor);
    float (*read)(const float *x, int64_t count);
    void (*update)(float *x, int64_t count);
} probe_kernels;

/* One set of kernels. `vector` is a GCC vector of floats, MULTIPLY_ADD(c, a, b) is c * a + b. The
   bandwidth kernels take 4 vectors at a time; `count` is a multiple of that. Returned sums keep the
   compiler from removing the work. */
#define PROBE_KERNELS(name, attributes, vector, MULTIPLY_ADD)                                      \
    attributes static float fma_##name(int64_t rounds, float factor)                               \
    {                                                                                              \
        vector a = (vector){0} + factor, b = (vector){0} + (1.0f - factor);                        \
        vector c0 = a + 0, c1 = a + 1, c2 = a + 2, c3 = a + 3, c4 = a + 4, c5 = a + 5;             \
        vector c6 = a + 6, c7 = a + 7, c8 = a + 8, c9 = a + 9, c10 = a + 10, c11 = a + 11;         \
        for (int64_t r = 0; r < rounds; r++) {                                                     \
            c0 = MULTIPLY_ADD(c0, a, b), c1 = MULTIPLY_ADD(c1, a, b);                              \
            c2 = MULTIPLY_ADD(c2, a, b), c3 = MULTIPLY_ADD(c3, a, b);                              \
            c4 = MULTIPLY_ADD(c4, a, b), c5 = MULTIPLY_ADD(c5, a, b);                              \
            c6 = MULTIPLY_ADD(c6, a, b), c7 = MULTIPLY_ADD(c7, a, b);                              \
            c8 = MULTIPLY_ADD(c8, a, b), c9 = MULTIPLY_ADD(c9, a, b);                              \
            c10 = MULTIPLY_ADD(c10, a, b), c11 = MULTIPLY_ADD(c11, a, b);                          \
        }                                                                                          \
        return (((c0 + c1) + (c2 + c3)) + ((c4 + c5) + (c6 + c7)) + ((c8 + c9) + (c10 + c11)))[0]; \
    }                                                                                              \
    attributes static float read_##name(const float *x, int64_t count)                             \
    {                                                                                              \
        const vector *v = (const vector *)(const void *)x;                                         \
        vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                             \
        for (const vector *end = v + count / (int64_t)(sizeof(vector) / 4); v < end; v += 4) {     \
            s0 += v[0];                                                                            \
            s1 += v[1];                                                                            \
            s2 += v[2];                                                                            \
            s3 += v[3];                                                                            \
        }                                                                                          \
        return (s0 + s1 + s2 + s3)[0];                                                             \
    }                                                                                              \
    attributes static void update_##name(float *x, int64_t count)                                  \
    {                                                                                              \
        vector *v = (vector *)(void *)x, factor = (vector){0} + 0.5f, step = (vector){0} + 0.25f;  \
        for (vector *end = v + count / (int64_t)(sizeof(vector) / 4); v < end; v++)                \
            v[0] = v[0] * factor + step;                                                           \
    }                                                                                              \
    static const probe_kernels kernels_##name = {.round_flops = ACCUMULATORS * sizeof(vector) / 2, \
                                                 .fma = fma_##name,                                \
                                                 .read = read_##name,                              \
                                                 .update = update_##name,

/* The probes are as fast in a debug build and with a sanitizer. In ISO mode GCC does not contract a
 * b + c; the portable probe needs the machine's FMA where the base instruction set has one. */
#if defined(__GNUC__) && !defined(__clang__)
#define OPTIMIZED noinline, optimize("O3", "fp-contract=fast"), no_sanitize("address", "undefined")
#else
#define OPTIMIZED noinline, no_sanitize("address", "undefined")
#endif
#define PLAIN __attribute__((OPTIMIZED))
#define PLAIN_MULTIPLY_ADD(c, a, b) ((c) * (a) + (b))
typedef float plain_vector __attribute__((vector_size(16), may_alias));
PROBE_KERNELS(plain, PLAIN, plain_vector, PLAIN_MULTIPLY_ADD).isa = "plain vectors"
}
;

#if defined(__x86_64__)
typedef float avx2_vector __attribute__((vector_size(32), may_alias));
#define AVX2 __attribute__((OPTIMIZED, target("avx2,fma")))
PROBE_KERNELS(avx2, AVX2, avx2_vector, _mm256_fmadd_ps).isa = "AVX2"
}
;
typedef float avx512_vector __attribute__((vector_size(64), may_alias));
#define AVX512 __attribute__((OPTIMIZED, target("avx512f")))
PROBE_KERNELS(avx512, AVX512, avx512_vector, _mm512_fmadd_ps).isa = "AVX-512"
}
;

/* A multiplication of tiles takes 16 cycles; six make 16 x 16 x 32 products of floats. */
enum { TILE_FLOPS = 2 * 16 * 16 * 32, TILE_ROUNDS = 16 };

static float fma_amx(int64_t rounds, float factor)
{
    __asm__ volatile("ldtilecfg %0\n\ttilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\t"
                     "tilezero %%tmm3\n\ttilezero %%tmm4" ::"m"(amx_tiles_whole));
    for (int64_t r = 0; r < rounds; r += TILE_ROUNDS)
        __asm__ volatile("tdpbf16ps %tmm4, %tmm3, %tmm0\n\ttdpbf16ps %tmm4, %tmm3, %tmm1\n\t"
                         "tdpbf16ps %tmm4, %tmm3, %tmm2\n\ttdpbf16ps %tmm4, %tmm3, %tmm0\n\t"
                         "tdpbf16ps %tmm4, %tmm3, %tmm1\n\ttdpbf16ps %tmm4, %tmm3, %tmm2");
    __asm__ volatile("tilerelease");
    return factor;
}

/* Read and update use AVX-512's kernels. */
static const probe_kernels kernels_amx = {.isa = "AMX",
                                          .round_flops = (double)TILE_FLOPS / TILE_ROUNDS,
                                          .fma = fma_amx,
                                          .read = read_avx512,
                                          .update = update_avx512};
#endif

static const probe_kernels *kernels_for_this_machine(void)
{
#if defined(__x86_64__)
    if (cpu_isa_runs(CPU_ISA_amx))
        return &kernels_amx;
    if (__builtin_cpu_supports("avx512f"))
        return &kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels_avx2;
#endif
    return &kernels_plain;
}

/* ---- FMA rate --------------------------------------------------------------------------- */

/* 20 microseconds on a fast core: losing a core for a while delays one task, not the whole
   probe. */
enum { TASK_ROUNDS = 8192, TASKS_PER_THREAD = 4 };

typedef struct fma_work {
    const probe_kernels *kernels;
    volatile float factor, sink;
} fma_work;

static void fma_task(void *context, int64_t task, int worker)
{
    fma_work *w = context;
    (void)worker;
    float result = w->kernels->fma(TASK_ROUNDS, w->factor);
    if (task < 0) /* never: keeps the result alive without a shared write */
        w->sink = result;
}

/* FLOP/s over at least `seconds`. */
static double fma_rate(threads *pool, double seconds)
{
    fma_work work = {.kernels = kernels_for_this_machine(), .factor = 0.999f};
    int64_t tasks = (int64_t)threads_count(pool) * TASKS_PER_THREAD;
    double flops_per_task = TASK_ROUNDS * work.kernels->round_flops;
    threads_run(pool, tasks, fma_task, &work); /* wakes the workers; not counted */
    double begin = clock_seconds(), now = begin, flops = 0;
    while (now - begin < seconds) {
        threads_run(pool, tasks, fma_task, &work);
        flops += flops_per_task * (double)tasks;
        now = clock_seconds();
    }
    return flops / (now - begin);
}

double cpu_limits_probe(threads *pool)
{
    return fma_rate(pool, 1e-3);
}

/* ---- bandwidth -------------------------------------------------------------------------- */

typedef struct memory_work {
    const probe_kernels *kernels;
    float *memory; /* [count] */
    int64_t count, tasks;
    int repeats;
    volatile float sink;
} memory_work;

static void task_range(const memory_work *w, int64_t task, int64_t *begin, int64_t *end)
{
    threads_range(w->count, w->tasks, task, 1024, begin, end);
}

/* Memory that was never written reads as one page of zeros, which stays in the first-level
   cache. */
static void write_task(void *context, int64_t task, int worker)
{
    memory_work *w = context;
    (void)worker;
    int64_t begin, end;
    task_range(w, task, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        w->memory[i] = 1;
}

static void read_task(void *context, int64_t task, int worker)
{
    memory_work *w = context;
    (void)worker;
    int64_t begin, end;
    task_range(w, task, &begin, &end);
    float sum = w->kernels->read(w->memory + begin, end - begin);
    if (task < 0)
        w->sink = sum;
}

static void update_task(void *context, int64_t task, int worker)
{
    memory_work *w = context;
    (void)worker;
    int64_t begin, end;
    task_range(w, task, &begin, &end);
    for (int i = 0; i < w->repeats; i++)
        w->kernels->update(w->memory + begin, end - begin);
}

/* Passes over the memory per second, the best of several. */
static double best_passes(threads *pool, memory_work *w, threads_work *task)
{
    double best = 0;
    for (int run = 0; run < 8; run++) {
        double begin = clock_seconds();
        threads_run(pool, w->tasks, task, w);
        double seconds = clock_seconds() - begin;
        double passes = seconds > 0 ? w->repeats / seconds : 0;
        best = passes > best ? passes : best;
    }
    return best;
}

static void raise_to(double *rate, double other)
{
    *rate = other > *rate ? other : *rate;
}

void cpu_limits_bandwidth(threads *pool, float *memory, int64_t count, device_limits *out)
{
    int64_t workers = threads_count(pool);
    memory_work w = {.kernels = kernels_for_this_machine(),
                     .memory = memory,
                     .count = count,
                     .tasks = workers * 16,
                     .repeats = 1};
    double bytes = 4.0 * (double)count;
    threads_run(pool, w.tasks, write_task, &w);
    out->read = best_passes(pool, &w, read_task) * bytes;
    out->update = best_passes(pool, &w, update_task) * bytes * 2;
    /* Each thread passes over its own range repeatedly: all traffic is with the cache. */
    w.count = CACHE_PROBE_FLOATS;
    w.tasks = workers;
    w.repeats = 16;
    out->cache_update = best_passes(pool, &w, update_task) * 4.0 * CACHE_PROBE_FLOATS * 2;
    raise_to(&out->cache_update, out->update);
}

static double last_level_cache(void)
{
    static const int names[] = {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE,
                                _SC_LEVEL2_CACHE_SIZE};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        long bytes = sysconf(names[i]);
        if (bytes > 0)
            return (double)bytes;
    }
    return 32e6; /* the kernel reports none: a usual size */
}

cornu_status cpu_limits_measure(threads *pool, device_limits *out)
{
    *out = (device_limits){.threads = threads_count(pool), .cache_bytes = last_level_cache()};
    snprintf(out->isa, sizeof out->isa, "%s", kernels_for_this_machine()->isa);
    int64_t count = PROBE_FLOATS_MAX;
    while (count > PROBE_FLOATS_MIN && count * 16 > memory_available())
        count /= 2; /* at most a quarter of the free memory */
    float *memory = NULL;
    TRY(memory_new_aligned((size_t)count * sizeof *memory, "bandwidth probe", &memory));
    cpu_limits_bandwidth(pool, memory, count, out);
    memory_free_aligned(memory);
    (void)fma_rate(pool, 3e-3); /* wide vectors reach their clock only after a while */
    for (int run = 0; run < 8; run++)
        raise_to(&out->fma, fma_rate(pool, 3e-3));
    return CORNU_OK;
}
