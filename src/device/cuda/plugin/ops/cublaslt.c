/* Dense layers by cuBLASLt. It expects column-major matrices, which are the transposes of
   cornu's in the same memory, so that its matrix A is always the operation's second input and B
   the first:

     forward           y'  = W' x'    A = W  [units x in]       B = x  [in x rows]
     backward data     dx' = W dy'    A = W, transposed         B = dy [units x rows]
     backward weights  dW' = dy' x    A = dy [units x rows]     B = x, transposed

   The results are the same bits each time: cuBLAS's guide promises that on GPUs of one model
   while only one stream is active, and for cublasLtMatmul with a workspace from the caller in
   any case, including split-K (a counter in the workspace, or a separate kernel, keeps the
   order). Both conditions are met here, and the heuristic chooses the algorithm only from the
   sizes and the GPU.

   cuBLASLt's relu is not used: its max(x, 0) turns NaN into 0, and training would not notice.

   An algorithm from the heuristic may still fail when it runs; after any failure before a
   product has run once, the kernels of dense.c replace it. */
#include "device/cuda/plugin/ops/product.h"
#include <stdlib.h>

#define WORKSPACE_MOST ((uint64_t)32 << 20) /* NVIDIA's recommendation for its largest GPUs */
#define ALIGNMENT 16                        /* bytes; all tensors have at least this */
enum { RESULTS = 8 };

typedef struct blas_state {
    gpu_dense_size size;
    cublasLtMatmulDesc_t description;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace;
    bool in_epilogue;         /* the bias is added, or its gradient summed, by cuBLASLt */
    int64_t a_count, b_count; /* elements */
    size_t a_at, b_at, bytes; /* offsets in scratch: A and B in bfloat16; total size */
} blas_state;

static bool accepts(const gpu *g, const plan *p, const op *o, const char **why)
{
    (void)g;
    gpu_dense_size s = gpu_dense_size_of(p, o);
    *why = "more than 2^31 - 1 rows or columns";
    return s.rows <= INT32_MAX && s.in <= INT32_MAX && s.units <= INT32_MAX;
}

/* ---- prepare ----------------------------------------------------------------------------- */

static void release(gpu *g, void *state)
{
    blas_state *s = state;
    if (s->description)
        GIVE_UP(g, cublasLtMatmulDescDestroy(s->description));
    cublasLtMatrixLayout_t layouts[] = {s->a, s->b, s->c};
    for (int i = 0; i < 3; i++)
        if (layouts[i])
            GIVE_UP(g, cublasLtMatrixLayoutDestroy(layouts[i]));
    free(s);
}

static cornu_status set(gpu *g, blas_state *s, cublasLtMatmulDescAttributes_t what,
                        const void *value, size_t size)
{
    return BLASLT(g, cublasLtMatmulDescSetAttribute(s->description, what, value, size));
}

static cornu_status describe(gpu *g, op_kind kind, blas_state *s)
{
    static const cublasComputeType_t compute[] = {[PRECISION_FP32] = CUBLAS_COMPUTE_32F,
                                                  [PRECISION_TF32] = CUBLAS_COMPUTE_32F_FAST_TF32,
                                                  [PRECISION_BF16] = CUBLAS_COMPUTE_32F};
    const cudaDataType_t type = g->precision == PRECISION_BF16 ? CUDA_R_16BF : CUDA_R_32F;
    bool data = kind == OP_DENSE_BACKWARD_DATA, weights = kind == OP_DENSE_BACKWARD_WEIGHTS;
    const cublasOperation_t transpose_a = data ? CUBLAS_OP_T : CUBLAS_OP_N,
                            transpose_b = weights ? CUBLAS_OP_T : CUBLAS_OP_N;
    uint64_t rows = (uint64_t)s->size.rows, in = (uint64_t)s->size.in;
    uint64_t units = (uint64_t)s->size.units;
    uint64_t a_columns = weights ? rows : in, b_rows = data ? units : in;
    uint64_t c_rows = data ? in : units, c_columns = weights ? in : rows;
    s->a_count = (int64_t)(units * a_columns);
    s->b_count = (int64_t)(b_rows * rows);
    TRY(BLASLT(g, cublasLtMatmulDescCreate(&s->description, compute[g->precision], CUDA_R_32F)));
    TRY(set(g, s, CUBLASLT_MATMUL_DESC_TRANSA, &transpose_a, sizeof transpose_a));
    TRY(set(g, s, CUBLASLT_MATMUL_DESC_TRANSB, &transpose_b, sizeof transpose_b));
    TRY(BLASLT(g, cublasLtMatrixLayoutCreate(&s->a, type, units, a_columns, (int64_t)units)));
    TRY(BLASLT(g, cublasLtMatrixLayoutCreate(&s->b, type, b_rows, rows, (int64_t)b_rows)));
    return BLASLT(
        g, cublasLtMatrixLayoutCreate(&s->c, CUDA_R_32F, c_rows, c_columns, (int64_t)c_rows));
}

static cornu_status make_preference(gpu *g, cublasLtMatmulPreference_t *out)
{
    const uint64_t workspace = WORKSPACE_MOST;
    const uint64_t exact = ~(uint64_t)CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK;
    const uint32_t alignment = ALIGNMENT;
    static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    TRY(BLASLT(g, cublasLtMatmulPreferenceCreate(out)));
    TRY(BLASLT(g,
               cublasLtMatmulPreferenceSetAttribute(*out, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                    &workspace, sizeof workspace)));
    for (int i = 0; i < 4; i++)
        TRY(BLASLT(g, cublasLtMatmulPreferenceSetAttribute(*out, alignments[i], &alignment,
                                                           sizeof alignment)));
    /* 32-bit factors are multiplied as such: no tensor units, whatever they emulate. */
    if (g->precision == PRECISION_FP32)
        TRY(BLASLT(g, cublasLtMatmulPreferenceSetAttribute(*out, CUBLASLT_MATMUL_PREF_IMPL_MASK,
                                                           &exact, sizeof exact)));
    return CORNU_OK;
}

/* The heuristic's first algorithm with this epilogue; CORNU_UNSUPPORTED if there is none. */
static cornu_status find_algorithm(gpu *g, blas_state *s, cublasLtMatmulPreference_t preference,
                                   cublasLtEpilogue_t epilogue)
{
    cublasLtMatmulHeuristicResult_t results[RESULTS] = {0};
    /* The heuristic looks at the address of the bias for its alignment only. */
    const void *bias = epilogue == CUBLASLT_EPILOGUE_DEFAULT ? NULL : (const void *)ALIGNMENT;
    int count = 0;
    TRY(set(g, s, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    TRY(set(g, s, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    cublasStatus_t status = cuda_of(g)->lib->cublasLtMatmulAlgoGetHeuristic(
        cuda_of(g)->blas, s->description, s->a, s->b, s->c, s->c, preference, RESULTS, results,
        &count);
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; i++) {
        if (results[i].state != CUBLAS_STATUS_SUCCESS || results[i].workspaceSize > WORKSPACE_MOST)
            continue;
        s->algorithm = results[i].algo;
        s->workspace = results[i].workspaceSize;
        s->in_epilogue = epilogue != CUBLASLT_EPILOGUE_DEFAULT;
        return CORNU_OK;
    }
    if (status == CUBLAS_STATUS_ALLOC_FAILED)
        return blas_check(cuda_of(g)->lib, g->number, status, "cublasLtMatmulAlgoGetHeuristic");
    return status_fail(CORNU_UNSUPPORTED, "no algorithm (%s)",
                       cuda_of(g)->lib->cublasLtGetStatusString(status));
}

/* The epilogue for the bias or its gradient. The sums of the gradient are not products, so
   cuBLASLt computes them only if it does not round its inputs. */
static cublasLtEpilogue_t wanted_epilogue(const gpu *g, const op *o)
{
    if (o->kind == OP_DENSE_FORWARD && o->in[2] != NO_TENSOR &&
        o->a.dense.act.kind == ACTIVATION_LINEAR)
        return CUBLASLT_EPILOGUE_BIAS;
    if (o->kind == OP_DENSE_BACKWARD_WEIGHTS && o->out[1] != NO_TENSOR &&
        g->precision == PRECISION_FP32)
        return CUBLASLT_EPILOGUE_BGRADA;
    return CUBLASLT_EPILOGUE_DEFAULT;
}

static cornu_status choose(gpu *g, const op *o, blas_state *s)
{
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtEpilogue_t epilogue = wanted_epilogue(g, o);
    cornu_status status;
    TRY_GOTO(make_preference(g, &preference));
    status = find_algorithm(g, s, preference, epilogue);
    if (status == CORNU_UNSUPPORTED && epilogue != CUBLASLT_EPILOGUE_DEFAULT)
        status = find_algorithm(g, s, preference, CUBLASLT_EPILOGUE_DEFAULT);
done:
    if (preference)
        GIVE_UP(g, cublasLtMatmulPreferenceDestroy(preference));
    return status;
}

/* Workspace, followed by the factors in bfloat16; the column sums reuse this memory after both. */
static void assign_scratch(const gpu *g, const op *o, blas_state *s)
{
    s->bytes = s->workspace;
    if (g->precision == PRECISION_BF16) {
        s->a_at = scratch_round(s->bytes);
        s->b_at = scratch_round(s->a_at + (size_t)s->a_count * sizeof(uint16_t));
        s->bytes = s->b_at + (size_t)s->b_count * sizeof(uint16_t);
    }
    if (o->kind == OP_DENSE_BACKWARD_WEIGHTS && o->out[1] != NO_TENSOR && !s->in_epilogue) {
        size_t sums = cuda_column_sums_scratch(s->size.rows, s->size.units);
        s->bytes = s->bytes > sums ? s->bytes : sums;
    }
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    blas_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "dense layer", &s));
    s->size = gpu_dense_size_of(p, o);
    cornu_status status = describe(g, o->kind, s);
    if (status == CORNU_OK)
        status = choose(g, o, s);
    if (status != CORNU_OK) {
        release(g, s);
        return status;
    }
    assign_scratch(g, o, s);
    *scratch_bytes = s->bytes;
    *state = s;
    return CORNU_OK;
}

/* ---- run --------------------------------------------------------------------------------- */

/* `bias`: what the epilogue reads or writes. */
static cornu_status run_matmul(const gpu_op *r, gpu_address bias)
{
    static const float one = 1, zero = 0;
    gpu *g = r->g;
    blas_state *s = r->state;
    gpu_address a = r->in[1], b = r->in[0];
    if (g->precision == PRECISION_BF16) {
        TRY(cuda_cast_bf16(g, a, r->scratch + s->a_at, s->a_count));
        TRY(cuda_cast_bf16(g, b, r->scratch + s->b_at, s->b_count));
        a = r->scratch + s->a_at;
        b = r->scratch + s->b_at;
    }
    if (s->in_epilogue) {
        const void *address = (const void *)(uintptr_t)bias;
        TRY(set(g, s, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address, sizeof address));
    }
    void *c = (void *)(uintptr_t)r->out[0], *workspace = (void *)(uintptr_t)r->scratch;
    TRY(BLASLT(g, cublasLtMatmul(cuda_of(g)->blas, s->description, &one, (const void *)(uintptr_t)a,
                                 s->a, (const void *)(uintptr_t)b, s->b, &zero, c, s->c, c, s->c,
                                 &s->algorithm, workspace, s->workspace, cuda_of(g)->stream)));
    cuda_count_launch(g);
    return CORNU_OK;
}

static cornu_status forward(const gpu_op *r)
{
    const blas_state *s = r->state;
    activation act = r->op->a.dense.act;
    gpu_address left = s->in_epilogue ? 0 : r->in[2]; /* bias that is still to be added */
    TRY(run_matmul(r, r->in[2]));
    if (!left && act.kind == ACTIVATION_LINEAR)
        return CORNU_OK;
    return cuda_bias_activation(r->g, r->out[0], left, r->out[0], s->size.rows, s->size.units, act);
}

static cornu_status backward_data(const gpu_op *r)
{
    return run_matmul(r, 0);
}

static cornu_status backward_weights(const gpu_op *r)
{
    const blas_state *s = r->state;
    TRY(run_matmul(r, r->out[1]));
    if (!r->out[1] || s->in_epilogue)
        return CORNU_OK;
    return cuda_column_sums(r->g, r->in[1], s->size.rows, s->size.units, r->scratch, r->out[1]);
}

const gpu_kernel cuda_cublaslt_forward = {.name = "cublaslt",
                                          .accepts = accepts,
                                          .prepare = prepare,
                                          .release = release,
                                          .enqueue = forward,
                                          .try_first = true};
const gpu_kernel cuda_cublaslt_backward_data = {.name = "cublaslt",
                                                .accepts = accepts,
                                                .prepare = prepare,
                                                .release = release,
                                                .enqueue = backward_data,
                                                .try_first = true};
const gpu_kernel cuda_cublaslt_backward_weights = {.name = "cublaslt",
                                                   .accepts = accepts,
                                                   .prepare = prepare,
                                                   .release = release,
                                                   .enqueue = backward_weights,
                                                   .try_first = true};
