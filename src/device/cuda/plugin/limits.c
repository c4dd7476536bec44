/* Peak rates of the device, measured by its own clock with about a second of probes. */
#include "base/philox.h"
#include "device/cuda/plugin/core.h"
#include "device/cuda/plugin/kernels/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPEATS = 5, /* the fastest counts */
    PROBE_THREADS = 256,
    BLOCKS_PER_MULTIPROCESSOR = 8,
    EMPTY_KERNELS = 512,
    MATRIX_LEAST = 256,
    MATRIX_MOST = 4096,
    WORKSPACE = 32 << 20,
    NUMBERS = 1 << 20 /* bytes of random numbers; matrices repeat them */
};
static const double LONG_ENOUGH = 2e-3; /* seconds; shorter probes are made larger */

typedef struct probe {
    gpu *g;
    const cuda_gpu *c; /* the same */
    CUevent begin, end;
    gpu_memory memory;
    /* matrices */
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t operand, result;
    cublasLtMatmulHeuristicResult_t algorithm;
    int64_t n;
    size_t operand_bytes;
    CUgraphExec empties;
    int64_t rounds, count;
} probe;

typedef cornu_status probe_work(probe *b);

/* Seconds of `times` runs in a row, the minimum of REPEATS. */
static cornu_status seconds_of(probe *b, probe_work *work, int times, double *seconds)
{
    gpu *g = b->g;
    *seconds = INFINITY;
    for (int r = 0; r < REPEATS; r++) {
        float milliseconds = 0;
        TRY(CU(g, cuEventRecord(b->begin, b->c->stream)));
        for (int i = 0; i < times; i++)
            TRY(work(b));
        TRY(CU(g, cuEventRecord(b->end, b->c->stream)));
        TRY(CU(g, cuEventSynchronize(b->end)));
        TRY(CU(g, cuEventElapsedTime(&milliseconds, b->begin, b->end)));
        *seconds = fmin(*seconds, (double)milliseconds * 1e-3);
    }
    return CORNU_OK;
}

/* ---- multiply-adds, memory, launches ------------------------------------------------------ */

static cuda_grid whole_device(const cuda_gpu *c)
{
    return (cuda_grid){.x = (unsigned)(c->multiprocessors * BLOCKS_PER_MULTIPROCESSOR),
                       .threads = PROBE_THREADS};
}

static cornu_status run_fma(probe *b)
{
    probe_fma_params p = {.rounds = b->rounds, .scale = 0.5f, .offset = 1, .never = NAN};
    return cuda_launch(b->g, CUDA_probe_fma, whole_device(b->c), &p);
}

static cornu_status measure_fma(probe *b, double *rate)
{
    double seconds = 0;
    cuda_grid grid = whole_device(b->c);
    for (b->rounds = 1; b->rounds < INT32_MAX; b->rounds *= 4) {
        TRY(seconds_of(b, run_fma, 1, &seconds));
        if (seconds >= LONG_ENOUGH)
            break;
    }
    *rate = 2.0 * PROBE_CHAINS * PROBE_UNROLL * (double)b->rounds * grid.x * grid.threads / seconds;
    return CORNU_OK;
}

static cornu_status run_copy(probe *b)
{
    probe_copy_params p = {.x = (float *)b->memory.at, .count = b->count, .scale = 1};
    return cuda_launch(b->g, CUDA_probe_copy, whole_device(b->c), &p);
}

/* Bytes/s, read and written, in place over `bytes`. */
static cornu_status measure_copy(probe *b, double bytes, double *rate)
{
    double seconds = 0;
    int times = 1;
    b->count = (int64_t)(bytes / sizeof(float)) / 4 * 4;
    TRY(run_copy(b)); /* cold */
    for (; times < 1 << 16; times *= 4) {
        TRY(seconds_of(b, run_copy, times, &seconds));
        if (seconds >= LONG_ENOUGH)
            break;
    }
    *rate = 2.0 * (double)b->count * sizeof(float) * times / seconds;
    return CORNU_OK;
}

static cornu_status measure_memory(probe *b, device_limits *out)
{
    gpu *g = b->g;
    int cache = 0;
    double left;
    TRY(CU(g, cuDeviceGetAttribute(&cache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, b->c->id)));
    TRY(gpu_memory_left(g, &left));
    double large = fmin(fmax(8.0 * cache, 64e6), left / 2);
    TRY(gpu_memory_make_room(g, large));
    TRY(gpu_memory_new(g, (size_t)large, "memory to measure", &b->memory));
    TRY(CU(g, cuMemsetD8Async(b->memory.at, 0, b->memory.bytes, b->c->stream)));
    TRY(measure_copy(b, large, &out->update));
    out->read = out->update;
    out->cache_bytes = cache;
    /* Half of it: on some models each half serves one half of the chip. */
    if (cache > 0 && cache / 2.0 < large)
        TRY(measure_copy(b, cache / 2.0, &out->cache_update));
    gpu_memory_free(g, &b->memory);
    return CORNU_OK;
}

static cornu_status run_empties(probe *b)
{
    return CU(b->g, cuGraphLaunch(b->empties, b->c->stream));
}

static cornu_status measure_launch(probe *b, double *each)
{
    gpu *g = b->g;
    CUgraph graph = NULL;
    double seconds = 0;
    empty_params p = {0};
    TRY(CU(g, cuStreamBeginCapture(b->c->stream, CU_STREAM_CAPTURE_MODE_RELAXED)));
    cornu_status status = CORNU_OK;
    for (int i = 0; i < EMPTY_KERNELS && status == CORNU_OK; i++)
        status = cuda_launch(g, CUDA_empty, (cuda_grid){.x = 1, .threads = 32}, &p);
    CUresult ended = b->c->lib->cuStreamEndCapture(b->c->stream, &graph);
    if (status == CORNU_OK)
        status = cuda_check_on(g, ended, "cuStreamEndCapture");
    if (status == CORNU_OK)
        status = CU(g, cuGraphInstantiate(&b->empties, graph, 0));
    if (graph)
        (void)CU(g, cuGraphDestroy(graph));
    TRY(status);
    TRY(seconds_of(b, run_empties, 1, &seconds));
    *each = seconds / EMPTY_KERNELS;
    return CORNU_OK;
}

/* ---- matrix units ------------------------------------------------------------------------- */

static cornu_status run_product(probe *b)
{
    gpu *g = b->g;
    const float one = 1, zero = 0;
    gpu_address x = b->memory.at, y = x + b->operand_bytes, z = y + b->operand_bytes;
    gpu_address workspace = z + (size_t)(b->n * b->n) * sizeof(float);
    return BLASLT(g, cublasLtMatmul(b->c->blas, b->product, &one, (const void *)x, b->operand,
                                    (const void *)y, b->operand, &zero, (const void *)z, b->result,
                                    (void *)z, b->result, &b->algorithm.algo, (void *)workspace,
                                    WORKSPACE, b->c->stream));
}

static void free_product(probe *b)
{
    gpu *g = b->g;
    gpu_memory_free(g, &b->memory);
    if (b->product)
        (void)BLASLT(g, cublasLtMatmulDescDestroy(b->product));
    if (b->operand)
        (void)BLASLT(g, cublasLtMatrixLayoutDestroy(b->operand));
    if (b->result)
        (void)BLASLT(g, cublasLtMatrixLayoutDestroy(b->result));
    b->product = NULL;
    b->operand = b->result = NULL;
}

static cornu_status find_algorithm(probe *b)
{
    gpu *g = b->g;
    cublasLtMatmulPreference_t preference = NULL;
    size_t most = WORKSPACE;
    int found = 0;
    TRY(BLASLT(g, cublasLtMatmulPreferenceCreate(&preference)));
    cornu_status status =
        BLASLT(g, cublasLtMatmulPreferenceSetAttribute(
                      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most));
    if (status == CORNU_OK)
        status = BLASLT(g, cublasLtMatmulAlgoGetHeuristic(b->c->blas, b->product, b->operand,
                                                          b->operand, b->result, b->result,
                                                          preference, 1, &b->algorithm, &found));
    (void)BLASLT(g, cublasLtMatmulPreferenceDestroy(preference));
    if (status == CORNU_OK && found == 0)
        status = status_fail(CORNU_UNSUPPORTED, "device %s: no algorithm", g->name);
    return status;
}

/* Numbers of -1 to 1: with equal numbers a GPU switches less, draws less power, clocks higher, and
   gives a rate that no training reaches. */
static cornu_status fill_operands(probe *b, bool bf16)
{
    gpu *g = b->g;
    random_stream r = random_open(17, RANDOM_GENERATE, 0);
    size_t left = 2 * b->operand_bytes;
    float *numbers;
    TRY(memory_new(NUMBERS, 1, "numbers to multiply", &numbers));
    for (size_t i = 0; i < NUMBERS / sizeof *numbers; i++) {
        float pair[2] = {2 * random_uniform(&r) - 1, bf16 ? 2 * random_uniform(&r) - 1 : 0};
        uint32_t bits[2];
        memcpy(bits, pair, sizeof bits);
        bits[0] = bf16 ? bits[0] >> 16 | (bits[1] & 0xffff0000u) : bits[0];
        memcpy(&numbers[i], bits, sizeof *numbers);
    }
    cornu_status status = CORNU_OK;
    for (gpu_address to = b->memory.at; left > 0 && status == CORNU_OK; to += NUMBERS) {
        size_t bytes = left < NUMBERS ? left : NUMBERS;
        status = g->driver->copy_in(g, to, numbers, bytes, false);
        left -= bytes;
    }
    cornu_status done = g->driver->synchronize(g);
    free(numbers);
    return status == CORNU_OK ? done : status;
}

/* Z = X' Y, all n x n. */
static cornu_status make_product(probe *b, int64_t n, device_precision precision)
{
    gpu *g = b->g;
    bool bf16 = precision == PRECISION_BF16;
    cudaDataType type = bf16 ? CUDA_R_16BF : CUDA_R_32F;
    cublasComputeType_t compute = bf16 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
    cublasOperation_t transposed = CUBLAS_OP_T;
    uint64_t size = (uint64_t)n;
    b->n = n;
    b->operand_bytes = (size_t)(n * n) * (bf16 ? 2 : 4);
    size_t bytes = 2 * b->operand_bytes + (size_t)(n * n) * sizeof(float) + WORKSPACE;
    TRY(gpu_memory_make_room(g, (double)bytes));
    TRY(gpu_memory_new(g, bytes, "matrices to measure", &b->memory));
    TRY(fill_operands(b, bf16));
    TRY(BLASLT(g, cublasLtMatmulDescCreate(&b->product, compute, CUDA_R_32F)));
    TRY(BLASLT(g, cublasLtMatmulDescSetAttribute(b->product, CUBLASLT_MATMUL_DESC_TRANSA,
                                                 &transposed, sizeof transposed)));
    TRY(BLASLT(g, cublasLtMatrixLayoutCreate(&b->operand, type, size, size, n)));
    TRY(BLASLT(g, cublasLtMatrixLayoutCreate(&b->result, CUDA_R_32F, size, size, n)));
    return find_algorithm(b);
}

/* The rate at the largest size that is worth its time; 0 where cuBLASLt has no such product. */
static cornu_status measure_product(probe *b, device_precision precision, double *rate)
{
    *rate = 0;
    for (int64_t n = MATRIX_LEAST; n <= MATRIX_MOST; n *= 2) {
        double seconds = 0;
        cornu_status status = make_product(b, n, precision);
        if (status == CORNU_OK)
            status = run_product(b); /* cold */
        if (status == CORNU_OK)
            status = seconds_of(b, run_product, 1, &seconds);
        free_product(b);
        if (status != CORNU_OK && !b->c->context_lost)
            break; /* as in training, which continues with cornu's kernels */
        TRY(status);
        *rate = fmax(*rate, 2.0 * (double)n * (double)n * (double)n / seconds);
        if (seconds >= LONG_ENOUGH)
            break;
    }
    return CORNU_OK;
}

/* ---- all --------------------------------------------------------------------------------- */

cornu_status cuda_limits(gpu *g, device_limits *out)
{
    probe b = {.g = g, .c = cuda_of(g)};
    cornu_status status;
    TRY_GOTO(CU(g, cuEventCreate(&b.begin, CU_EVENT_DEFAULT)));
    TRY_GOTO(CU(g, cuEventCreate(&b.end, CU_EVENT_DEFAULT)));
    TRY_GOTO(measure_fma(&b, &out->fma));
    TRY_GOTO(measure_memory(&b, out));
    TRY_GOTO(measure_launch(&b, &out->launch_seconds));
    if (b.c->capability >= CUDA_MATRIX_UNITS) {
        TRY_GOTO(measure_product(&b, PRECISION_TF32, &out->tf32));
        TRY_GOTO(measure_product(&b, PRECISION_BF16, &out->bf16));
    }
done:
    gpu_memory_free(g, &b.memory);
    if (b.empties)
        (void)CU(g, cuGraphExecDestroy(b.empties));
    if (b.begin)
        (void)CU(g, cuEventDestroy(b.begin));
    if (b.end)
        (void)CU(g, cuEventDestroy(b.end));
    return status;
}
