/* The simulated libcublasLt: matrix products as documented, with sums in double. */
#pragma GCC visibility push(default)
#include "simulated.h"
#include <cublasLt.h>
#pragma GCC visibility pop
#include "rounding.h"
#include <stdlib.h>

static const char is_handle[] = "cuBLASLt handle", is_desc[] = "cuBLASLt operation",
                  is_layout[] = "cuBLASLt layout", is_preference[] = "cuBLASLt preference";
static const uint64_t ALGO_MAGIC = 0x53494d554c415445u;

typedef struct layout {
    cudaDataType type;
    int64_t rows, columns, ld;
} layout;

typedef struct operation {
    cublasComputeType_t compute;
    int32_t transposed[2]; /* A, B: cublasOperation_t */
    uint32_t epilogue;
    void *bias, *aux;
    int64_t aux_ld;
    int32_t bias_type; /* -1: D's */
} operation;

typedef struct preference {
    uint64_t workspace;
    uint32_t alignment[4]; /* A, B, C, D */
} preference;

/* One product as it is enqueued. */
typedef struct product {
    operation o;
    layout a, b, d;
    const void *a_at, *b_at, *c_at;
    void *d_at, *workspace;
    size_t workspace_bytes;
    float alpha, beta;
    int64_t m, n, k;
} product;

static cublasStatus_t enter(const char *function, bool needs_context)
{
    cublasStatus_t s = (cublasStatus_t)simulated_enter(function);
    if (s == CUBLAS_STATUS_SUCCESS && needs_context && !simulated_has_context())
        s = CUBLAS_STATUS_NOT_INITIALIZED;
    return s;
}

static cublasStatus_t leave(cublasStatus_t status)
{
    simulated_leave();
    return status;
}

/* ---- objects ------------------------------------------------------------------------------- */

static cublasStatus_t make(const char *function, const char *kind, const void *value, size_t size,
                           void *out)
{
    cublasStatus_t s = enter(function, kind == is_handle);
    void *made = s == CUBLAS_STATUS_SUCCESS ? malloc(size) : NULL;
    if (made) {
        memcpy(made, value, size);
        simulated_track(made, kind);
        memcpy(out, &made, sizeof made);
    } else if (s == CUBLAS_STATUS_SUCCESS) {
        s = CUBLAS_STATUS_ALLOC_FAILED;
    }
    return leave(s);
}

static cublasStatus_t destroy(const char *function, const char *kind, void *object)
{
    cublasStatus_t s = enter(function, false);
    if (s == CUBLAS_STATUS_SUCCESS && !simulated_is(object, kind))
        s = CUBLAS_STATUS_INVALID_VALUE;
    if (s == CUBLAS_STATUS_SUCCESS) {
        simulated_forget(object);
        free(object);
    }
    return leave(s);
}

cublasStatus_t CUBLASWINAPI cublasLtCreate(cublasLtHandle_t *handle)
{
    return make(__func__, is_handle, &ALGO_MAGIC, sizeof ALGO_MAGIC, handle);
}

cublasStatus_t CUBLASWINAPI cublasLtDestroy(cublasLtHandle_t handle)
{
    return destroy(__func__, is_handle, handle);
}

size_t CUBLASWINAPI cublasLtGetVersion(void)
{
    return CUBLAS_VERSION;
}

const char *CUBLASWINAPI cublasLtGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "the functionality is not supported";
    default:
        return "an internal operation failed";
    }
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                                     cublasComputeType_t compute,
                                                     cudaDataType_t scale)
{
    operation o = {.compute = compute, .epilogue = CUBLASLT_EPILOGUE_DEFAULT, .bias_type = -1};
    if (scale != CUDA_R_32F)
        return CUBLAS_STATUS_INVALID_VALUE;
    return make(__func__, is_desc, &o, sizeof o, desc);
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    return destroy(__func__, is_desc, desc);
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out,
                                                       cudaDataType type, uint64_t rows,
                                                       uint64_t columns, int64_t ld)
{
    layout l = {type, (int64_t)rows, (int64_t)columns, ld};
    return make(__func__, is_layout, &l, sizeof l, out);
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
    return destroy(__func__, is_layout, l);
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    preference p = {.alignment = {256, 256, 256, 256}};
    return make(__func__, is_preference, &p, sizeof p, out);
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    return destroy(__func__, is_preference, p);
}

/* ---- attributes ---------------------------------------------------------------------------- */

/* Copy `size` bytes where the attribute has exactly that size. */
static cublasStatus_t set(void *to, size_t own, const void *from, size_t size)
{
    if (!from || size != own)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, from, size);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_operation(operation *o, cublasLtMatmulDescAttributes_t attribute,
                                    const void *from, size_t size)
{
    int32_t pointer_mode = 0;
    cublasStatus_t s;
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return set(&o->transposed[0], sizeof(int32_t), from, size);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return set(&o->transposed[1], sizeof(int32_t), from, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return set(&o->epilogue, sizeof o->epilogue, from, size);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return set(&o->bias, sizeof o->bias, from, size);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
        return set(&o->bias_type, sizeof o->bias_type, from, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
        return set(&o->aux, sizeof o->aux, from, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
        return set(&o->aux_ld, sizeof o->aux_ld, from, size);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
        s = set(&pointer_mode, sizeof pointer_mode, from, size);
        return pointer_mode == CUBLASLT_POINTER_MODE_HOST ? s : CUBLAS_STATUS_NOT_SUPPORTED;
    default:
        simulated_complain("cublasLtMatmulDescSetAttribute: attribute %d is not simulated",
                           (int)attribute);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                           cublasLtMatmulDescAttributes_t attribute,
                                                           const void *from, size_t size)
{
    cublasStatus_t s = enter(__func__, false);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = simulated_is(desc, is_desc)
                ? set_operation((operation *)(void *)desc, attribute, from, size)
                : CUBLAS_STATUS_INVALID_VALUE;
    return leave(s);
}

static cublasStatus_t set_preference(preference *p, cublasLtMatmulPreferenceAttributes_t attribute,
                                     const void *from, size_t size)
{
    uint64_t ignored;
    switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
        return set(&p->workspace, sizeof p->workspace, from, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
        return set(&p->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
                   sizeof(uint32_t), from, size);
    case CUBLASLT_MATMUL_PREF_IMPL_MASK:
        return set(&ignored, sizeof ignored, from, size);
    case CUBLASLT_MATMUL_PREF_SEARCH_MODE:
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
        return set(&ignored, sizeof(uint32_t), from, size);
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t attribute, const void *from,
    size_t size)
{
    cublasStatus_t s = enter(__func__, false);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = simulated_is(p, is_preference)
                ? set_preference((preference *)(void *)p, attribute, from, size)
                : CUBLAS_STATUS_INVALID_VALUE;
    return leave(s);
}

/* ---- what is possible ---------------------------------------------------------------------- */

static bool is_known_epilogue(uint32_t e)
{
    return e == CUBLASLT_EPILOGUE_DEFAULT || e == CUBLASLT_EPILOGUE_RELU ||
           e == CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_RELU_BIAS ||
           e == CUBLASLT_EPILOGUE_BGRADA || e == CUBLASLT_EPILOGUE_BGRADB;
}

static bool layout_is_sound(const layout *l)
{
    return l->rows > 0 && l->columns > 0 && l->ld >= l->rows && l->rows <= INT32_MAX &&
           l->columns <= INT32_MAX;
}

static cublasStatus_t describe(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                               cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                               cublasLtMatrixLayout_t d, product *p)
{
    if (!simulated_is(desc, is_desc) || !simulated_is(a, is_layout) ||
        !simulated_is(b, is_layout) || !simulated_is(c, is_layout) || !simulated_is(d, is_layout))
        return CUBLAS_STATUS_INVALID_VALUE;
    const layout *of_c = (const layout *)(void *)c;
    p->o = *(const operation *)(void *)desc;
    p->a = *(const layout *)(void *)a;
    p->b = *(const layout *)(void *)b;
    p->d = *(const layout *)(void *)d;
    if (p->o.transposed[0] > CUBLAS_OP_T || p->o.transposed[1] > CUBLAS_OP_T)
        return CUBLAS_STATUS_INVALID_VALUE;
    p->m = p->o.transposed[0] ? p->a.columns : p->a.rows;
    p->k = p->o.transposed[0] ? p->a.rows : p->a.columns;
    p->n = p->o.transposed[1] ? p->b.rows : p->b.columns;
    int64_t k = p->o.transposed[1] ? p->b.columns : p->b.rows;
    if (!layout_is_sound(&p->a) || !layout_is_sound(&p->b) || !layout_is_sound(&p->d) ||
        k != p->k || p->d.rows != p->m || p->d.columns != p->n || of_c->rows != p->m ||
        of_c->columns != p->n || of_c->ld != p->d.ld || of_c->type != p->d.type) {
        simulated_complain("cuBLASLt: layouts that do not fit: A %ldx%ld, B %ldx%ld, D %ldx%ld",
                           (long)p->a.rows, (long)p->a.columns, (long)p->b.rows, (long)p->b.columns,
                           (long)p->d.rows, (long)p->d.columns);
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    bool floats = p->a.type == CUDA_R_32F && p->b.type == CUDA_R_32F && p->d.type == CUDA_R_32F;
    bool halves = p->a.type == CUDA_R_16BF && p->b.type == CUDA_R_16BF &&
                  (p->d.type == CUDA_R_32F || p->d.type == CUDA_R_16BF);
    bool plain = p->o.compute == CUBLAS_COMPUTE_32F || p->o.compute == CUBLAS_COMPUTE_32F_PEDANTIC;
    bool fast = p->o.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                p->o.compute == CUBLAS_COMPUTE_32F_FAST_16BF;
    if (!((floats && (plain || fast)) || (halves && plain)) || !is_known_epilogue(p->o.epilogue) ||
        simulated_number("SIMULATED_CUBLAS_NOT_SUPPORTED", 0))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

/* One that wants a workspace where one is allowed, and one that wants none. */
cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t wish, int most, cublasLtMatmulHeuristicResult_t results[],
    int *count)
{
    product p = {0};
    cublasStatus_t s = enter(__func__, true);
    if (s == CUBLAS_STATUS_SUCCESS &&
        (!simulated_is(handle, is_handle) || !simulated_is(wish, is_preference) || most < 1))
        s = CUBLAS_STATUS_INVALID_VALUE;
    if (s == CUBLAS_STATUS_SUCCESS)
        s = describe(desc, a, b, c, d, &p);
    *count = 0;
    if (s == CUBLAS_STATUS_SUCCESS) {
        const preference *w = (const preference *)(void *)wish;
        const uint64_t sizes[2] = {w->workspace < 4096 ? w->workspace : 4096, 0};
        for (int i = 0; i < 2 && i < most; i++) {
            cublasLtMatmulHeuristicResult_t *r = &results[(*count)++];
            memset(r, 0, sizeof *r);
            r->workspaceSize = sizes[i];
            r->wavesCount = 0.5f;
            r->algo.data[0] = ALGO_MAGIC;
            r->algo.data[1] = sizes[i];
            for (int k = 0; k < 4; k++)
                r->algo.data[2 + k] = w->alignment[k];
        }
    }
    return leave(s);
}

/* ---- products ------------------------------------------------------------------------------ */

static precision precision_of(const product *p)
{
    if (p->o.compute == CUBLAS_COMPUTE_32F_FAST_TF32)
        return TF32;
    return p->o.compute == CUBLAS_COMPUTE_32F_FAST_16BF ? BF16 : EXACT;
}

/* op(X) as [rows][columns] of floats, rounded; by_columns: as [columns][rows]. */
static float *operand(const void *at, const layout *l, bool transposed, bool by_columns,
                      precision rounding)
{
    float *out = malloc((size_t)(l->rows * l->columns) * sizeof *out);
    if (!out)
        abort();
    for (int64_t j = 0; j < l->columns; j++)
        for (int64_t i = 0; i < l->rows; i++) {
            float x = round_to(element(at, l->type == CUDA_R_16BF, i + j * l->ld), rounding);
            out[transposed != by_columns ? i + j * l->rows : i * l->columns + j] = x;
        }
    return out;
}

static float bias_at(const product *p, int64_t i)
{
    int32_t type = p->o.bias_type < 0 ? (int32_t)p->d.type : p->o.bias_type;
    return element(p->o.bias, type == CUDA_R_16BF, i);
}

static void write_row(const product *p, int64_t i, const double *sums)
{
    bool bf16 = p->d.type == CUDA_R_16BF;
    bool bias =
        p->o.epilogue == CUBLASLT_EPILOGUE_BIAS || p->o.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
    bool relu =
        p->o.epilogue == CUBLASLT_EPILOGUE_RELU || p->o.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
    for (int64_t j = 0; j < p->n; j++) {
        float value = (float)((double)p->alpha * sums[j]);
        if (p->beta != 0)
            value += p->beta * element(p->c_at, bf16, i + j * p->d.ld);
        if (bias)
            value += bias_at(p, i);
        /* NVIDIA does not say what becomes of NaN: here it is lost, so nobody builds on it. */
        if (relu)
            value = value > 0 ? value : 0;
        set_element(p->d_at, bf16, i + j * p->d.ld, value);
    }
}

/* Sums over k of A's rows or of B's columns: [count][k]. */
static void gradient_of_bias(const product *p, const float *rows, int64_t count, bool by_columns)
{
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int64_t k = 0; k < p->k; k++)
            sum += (double)rows[by_columns ? k * count + i : i * p->k + k];
        set_element(p->o.bias, p->d.type == CUDA_R_16BF, i, (float)sum);
    }
}

static bool are_equal(const float *x, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (x[i] != x[0])
            return false;
    return count > 1;
}

static void multiply(const void *data)
{
    const product *p = data;
    precision rounding = precision_of(p);
    float *a = operand(p->a_at, &p->a, p->o.transposed[0], false, rounding); /* [m][k] */
    float *b = operand(p->b_at, &p->b, p->o.transposed[1], false, rounding); /* [k][n] */
    if (simulated_number("SIMULATED_CUBLAS_NO_CONSTANTS", 0) &&
        (are_equal(a, p->m * p->k) || are_equal(b, p->k * p->n)))
        simulated_complain("cublasLtMatmul: found a matrix of equal numbers");
    double *sums = malloc((size_t)p->n * sizeof *sums);
    if (!sums)
        abort();
    simulated_spoil(p->workspace, p->workspace_bytes);
    for (int64_t i = 0; i < p->m; i++) {
        memset(sums, 0, (size_t)p->n * sizeof *sums);
        for (int64_t k = 0; k < p->k; k++) {
            double x = (double)a[i * p->k + k];
            for (int64_t j = 0; j < p->n; j++)
                sums[j] += x * (double)b[k * p->n + j];
        }
        write_row(p, i, sums);
    }
    if (p->o.epilogue == CUBLASLT_EPILOGUE_BGRADA)
        gradient_of_bias(p, a, p->m, false);
    if (p->o.epilogue == CUBLASLT_EPILOGUE_BGRADB)
        gradient_of_bias(p, b, p->n, true);
    free(sums);
    free(b);
    free(a);
}

static bool check_matrix(const char *name, const void *at, const layout *l, uint64_t alignment)
{
    size_t size = l->type == CUDA_R_16BF ? 2 : 4;
    if (!simulated_is_device(at, (size_t)((l->columns - 1) * l->ld + l->rows) * size)) {
        simulated_complain("cublasLtMatmul: %s is not all in one allocation", name);
        return false;
    }
    if (alignment > 0 && (uintptr_t)at % alignment != 0) {
        simulated_complain("cublasLtMatmul: %s at %p: the heuristic was told it lies at a multiple "
                           "of %lu",
                           name, at, (unsigned long)alignment);
        return false;
    }
    return true;
}

static bool check_bias(const product *p)
{
    uint32_t e = p->o.epilogue;
    if (e == CUBLASLT_EPILOGUE_DEFAULT || e == CUBLASLT_EPILOGUE_RELU)
        return true;
    int64_t count = e == CUBLASLT_EPILOGUE_BGRADB ? p->n : p->m;
    if (simulated_is_device(p->o.bias, (size_t)count * 2))
        return true;
    simulated_complain("cublasLtMatmul: its bias is not in device memory");
    return false;
}

static cublasStatus_t check(const product *p, const uint64_t *algo)
{
    if (algo[0] != ALGO_MAGIC || p->workspace_bytes < algo[1])
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!check_matrix("A", p->a_at, &p->a, algo[2]) ||
        !check_matrix("B", p->b_at, &p->b, algo[3]) ||
        (p->beta != 0 && !check_matrix("C", p->c_at, &p->d, algo[4])) ||
        !check_matrix("D", p->d_at, &p->d, algo[5]) || !check_bias(p))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (algo[1] > 0 &&
        (!simulated_is_device(p->workspace, p->workspace_bytes) || (uintptr_t)p->workspace % 16)) {
        simulated_complain("cublasLtMatmul: its workspace is not in device memory");
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                           const void *alpha, const void *a,
                                           cublasLtMatrixLayout_t a_layout, const void *b,
                                           cublasLtMatrixLayout_t b_layout, const void *beta,
                                           const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                                           cublasLtMatrixLayout_t d_layout,
                                           const cublasLtMatmulAlgo_t *algo, void *workspace,
                                           size_t workspace_bytes, cudaStream_t stream)
{
    product p = {.a_at = a, .b_at = b, .c_at = c, .d_at = d, .workspace = workspace};
    cublasStatus_t s = enter(__func__, true);
    if (s == CUBLAS_STATUS_SUCCESS &&
        (!simulated_is(handle, is_handle) || !algo || !alpha || !beta))
        s = CUBLAS_STATUS_INVALID_VALUE;
    if (s == CUBLAS_STATUS_SUCCESS)
        s = describe(desc, a_layout, b_layout, c_layout, d_layout, &p);
    if (s == CUBLAS_STATUS_SUCCESS) {
        memcpy(&p.alpha, alpha, sizeof p.alpha);
        memcpy(&p.beta, beta, sizeof p.beta);
        p.workspace_bytes = workspace_bytes;
        s = check(&p, algo->data);
    }
    if (s == CUBLAS_STATUS_SUCCESS &&
        simulated_enqueue((CUstream)stream, multiply, &p, sizeof p) != CUDA_SUCCESS)
        s = CUBLAS_STATUS_EXECUTION_FAILED;
    return leave(s);
}
