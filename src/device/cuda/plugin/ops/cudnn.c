/* Convolutions by cuDNN in the layouts of the device: NHWC images and [out][kh][kw][in / groups]
   weights, which cuDNN calls the NHWC layout of a filter. Where cuDNN is faster with NCHW,
   cornu's kernels transpose each operand and the result: for the weights' gradients in fp32
   (docs/experiments/cuda.md, G8). CORNU_CUDNN_LAYOUT sets one layout for all convolutions, so
   that both can be timed; an operation's time includes its transposes, some of which would not
   be needed if the images stayed transposed.

   Only algorithms that cuDNN calls deterministic are used; its heuristic chooses among them by
   the sizes and the GPU. "cudnn_winograd" has the Winograd algorithms, if the heuristic prefers
   one and exact convolution is not requested; "cudnn" has those that add the products of the
   definition. Fourier transforms would need NCHW. cuDNN's relu drops NaN
   (cudnnConvolutionBiasActivationForward refuses CUDNN_PROPAGATE_NAN), so cuDNN adds at most the
   bias. bf16: images, weights and the result are bfloat16, sums have 32 bits.

   cuDNN may be absent, or not work on this GPU: after any failure before a convolution has run
   once, the kernels of conv.c replace it. */
#include "base/env.h"
#include "device/cuda/plugin/core.h"
#include "device/cuda/plugin/ops/product.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cuDNN on one device, asked for by the first convolution, never before --------------- */

/* cuDNN 9.11 has no kernels for GPUs before Turing any more. */
enum { DROPPING_VERSION = 91100, DROPPED_BELOW = 75 };

cornu_status cuda_dnn_find(int capability, const cudnn_library **out)
{
    TRY(cudnn_library_get(out));
    if ((*out)->version < DROPPING_VERSION || capability >= DROPPED_BELOW)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "%s has no kernels for compute capability %d.%d; cuDNN 9.10 has",
                       (*out)->name, capability / 10, capability % 10);
}

static cornu_status open_handle(gpu *g)
{
    cuda_gpu *c = cuda_of(g);
    TRY(cuda_dnn_find(c->capability, &c->dnn.lib));
    cornu_status status = CUDNN(g, cudnnCreate(&c->dnn.handle));
    if (status != CORNU_OK)
        c->dnn.handle = NULL;
    else
        status = CUDNN(g, cudnnSetStream(c->dnn.handle, c->stream));
    return status == CORNU_OK ? CORNU_OK : status_prefix(status, "%s", c->dnn.lib->name);
}

/* A lack of memory is not remembered, as it may be temporary: the device must not choose other
   kernels because of it, as these give other bits. */
cornu_status cuda_dnn_open(gpu *g)
{
    cuda_dnn *dnn = &cuda_of(g)->dnn;
    if (dnn->handle)
        return CORNU_OK;
    if (!dnn->why[0]) {
        cornu_status status = open_handle(g);
        if (status == CORNU_OK)
            return CORNU_OK;
        cuda_dnn_close(g);
        if (status == CORNU_OUT_OF_MEMORY || g->state->lost[0])
            return status;
        snprintf(dnn->why, sizeof dnn->why, "%s", cornu_last_error());
        log_line("device %s: convolutions go by own kernels: %s", g->name, dnn->why);
    }
    return status_fail(CORNU_UNSUPPORTED, "%s", dnn->why);
}

void cuda_dnn_close(gpu *g)
{
    cuda_dnn *dnn = &cuda_of(g)->dnn;
    if (dnn->handle)
        GIVE_UP_CUDNN(g, cudnnDestroy(dnn->handle));
    dnn->handle = NULL;
}

/* ---- one convolution --------------------------------------------------------------------- */

/* One convolution: its descriptors and the algorithm that was chosen. */
typedef struct dnn_state {
    op_kind kind;
    cudnnTensorDescriptor_t x, y, b;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    cudnnActivationDescriptor_t identity;
    int algorithm;
    size_t workspace;
    bool adds_bias;   /* the convolution's call adds the bias */
    int64_t count[3]; /* elements of x, w, y */
    int64_t filters;
    size_t at[3], bytes; /* offsets in scratch: x, w, y for cuDNN; total size */
    bool nchw;           /* it gets them as [n][c][h][w], in floats */
    int64_t channels[3]; /* last dimension of x, w and y in their layout */
    int64_t places[3];   /* rows times columns of them */
} dnn_state;

/* True for a refusal by cuDNN, which comes before any launch. */
static inline bool cudnn_is_refusal(cudnnStatus_t status)
{
    return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED ||
           CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_BAD_PARAM;
}

/* As dnn_check, but all failures except a lack of memory are refusals. */
static inline cornu_status cudnn_ask(gpu *g, cudnnStatus_t result, const char *call)
{
    cornu_status status = dnn_check(cuda_of(g)->dnn.lib, -1, result, call);
    return status == CORNU_DEVICE ? CORNU_UNSUPPORTED : status;
}
#define ASK(g, call) cudnn_ask(g, cuda_of(g)->dnn.lib->call, #call)

/* ---- the choice of the algorithm --------------------------------------------------------- */

/* The choice of cuDNN's algorithm for a convolution: the heuristic's first deterministic one for
   the sizes and the GPU. */

enum { RESULTS = 16 };
#define WORKSPACE_MOST ((size_t)1 << 30)
#define WORKSPACE_SHARE                                                              \
    32 /* at most this fraction of the device's memory: of all, not of what is free, \
          so that the algorithm does not depend on what else runs there */

/* Bits of the algorithms' numbers, by the products that they add up. */
#define BIT(i) (1u << (i))
typedef struct algorithm_kinds {
    unsigned plain, winograd;
} algorithm_kinds;
static const algorithm_kinds
    kinds_forward = {BIT(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM) |
                         BIT(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) |
                         BIT(CUDNN_CONVOLUTION_FWD_ALGO_GEMM) |
                         BIT(CUDNN_CONVOLUTION_FWD_ALGO_DIRECT),
                     BIT(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD) |
                         BIT(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED)},
    kinds_data = {BIT(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0) | BIT(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1),
                  BIT(CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD) |
                      BIT(CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED)},
    kinds_weights = {BIT(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0) |
                         BIT(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1) |
                         BIT(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3),
                     BIT(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD) |
                         BIT(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED)};

/* Deterministic and there for every type and layout: asked for where the heuristic names nothing.
 */
static const int last_resort[OP_COUNT] = {
    [OP_CONV2D_FORWARD] = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
    [OP_CONV2D_BACKWARD_DATA] = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
    [OP_CONV2D_BACKWARD_WEIGHTS] = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};

static const cudnnMathType_t math_of[] = {[PRECISION_FP32] = CUDNN_FMA_MATH,
                                          [PRECISION_TF32] = CUDNN_DEFAULT_MATH,
                                          [PRECISION_BF16] = CUDNN_TENSOR_OP_MATH};

/* One row of the heuristics' three kinds of answers. */
typedef struct algorithm {
    int number;
    cudnnMathType_t math;
    bool winograd; /* else it adds up the definition's own products */
} algorithm;

/* The heuristics' answers come in three types that differ in name only. Those that may be taken, in
   their order. */
#define COLLECT(type, call, kinds)                                                               \
    do {                                                                                         \
        type##_t results[RESULTS];                                                               \
        int returned = 0;                                                                        \
        TRY(ASK(g, call));                                                                       \
        for (int i = 0; i < returned; i++)                                                       \
            if (results[i].status == CUDNN_STATUS_SUCCESS &&                                     \
                results[i].determinism == CUDNN_DETERMINISTIC &&                                 \
                ((kinds).plain | (kinds).winograd) & BIT(results[i].algo))                       \
                found[(*count)++] = (algorithm){(int)results[i].algo, results[i].mathType,       \
                                                ((kinds).winograd & BIT(results[i].algo)) != 0}; \
    } while (0)

static cornu_status ask_heuristic(gpu *g, const dnn_state *s, algorithm found[RESULTS], int *count)
{
    cudnnHandle_t dnn = cuda_of(g)->dnn.handle;
    if (s->kind == OP_CONV2D_FORWARD)
        COLLECT(cudnnConvolutionFwdAlgoPerf,
                cudnnGetConvolutionForwardAlgorithm_v7(dnn, s->x, s->w, s->conv, s->y, RESULTS,
                                                       &returned, results),
                kinds_forward);
    else if (s->kind == OP_CONV2D_BACKWARD_DATA)
        COLLECT(cudnnConvolutionBwdDataAlgoPerf,
                cudnnGetConvolutionBackwardDataAlgorithm_v7(dnn, s->w, s->y, s->conv, s->x, RESULTS,
                                                            &returned, results),
                kinds_data);
    else
        COLLECT(cudnnConvolutionBwdFilterAlgoPerf,
                cudnnGetConvolutionBackwardFilterAlgorithm_v7(dnn, s->x, s->y, s->conv, s->w,
                                                              RESULTS, &returned, results),
                kinds_weights);
    return CORNU_OK;
}

/* Make it the state's algorithm if its workspace is not too large. */
static cornu_status try_algorithm(gpu *g, const algorithm *a, size_t most, dnn_state *s)
{
    cudnnMathType_t math = g->precision == PRECISION_FP32 ? CUDNN_FMA_MATH : a->math;
    size_t bytes = 0;
    TRY(ASK(g, cudnnSetConvolutionMathType(s->conv, math)));
    if (s->kind == OP_CONV2D_FORWARD)
        TRY(ASK(g, cudnnGetConvolutionForwardWorkspaceSize(
                       cuda_of(g)->dnn.handle, s->x, s->w, s->conv, s->y,
                       (cudnnConvolutionFwdAlgo_t)a->number, &bytes)));
    else if (s->kind == OP_CONV2D_BACKWARD_DATA)
        TRY(ASK(g, cudnnGetConvolutionBackwardDataWorkspaceSize(
                       cuda_of(g)->dnn.handle, s->w, s->y, s->conv, s->x,
                       (cudnnConvolutionBwdDataAlgo_t)a->number, &bytes)));
    else
        TRY(ASK(g, cudnnGetConvolutionBackwardFilterWorkspaceSize(
                       cuda_of(g)->dnn.handle, s->x, s->y, s->conv, s->w,
                       (cudnnConvolutionBwdFilterAlgo_t)a->number, &bytes)));
    if (bytes > most)
        return status_fail(CORNU_UNSUPPORTED,
                           "found a workspace of %zu bytes; expected at most %zu", bytes, most);
    s->algorithm = a->number;
    s->workspace = bytes;
    return CORNU_OK;
}

/* The first that will do; `only`: of this number (-1: any); `most`: bytes of workspace. */
static cornu_status take_first(gpu *g, const algorithm *found, int count, int only, size_t most,
                               dnn_state *s)
{
    cornu_status status = status_fail(CORNU_UNSUPPORTED, "no deterministic algorithm");
    for (int i = 0; i < count && status == CORNU_UNSUPPORTED; i++)
        if (only < 0 || found[i].number == only)
            status = try_algorithm(g, &found[i], most, s);
    return status;
}

/* Choose among the Winograd algorithms that come before the first other one. */
static cornu_status choose_winograd(gpu *g, const algorithm *found, int count, size_t most,
                                    dnn_state *s)
{
    int preferred = 0;
    while (preferred < count && found[preferred].winograd)
        preferred++;
    s->adds_bias = false;
    if (preferred > 0)
        return take_first(g, found, preferred, -1, most, s);
    return status_fail(CORNU_UNSUPPORTED, "cuDNN's heuristic prefers the definition's products");
}

/* Only one algorithm adds a bias without an activation, so it comes first if there is a bias. */
static cornu_status choose_plain(gpu *g, algorithm *found, int count, size_t most, dnn_state *s)
{
    enum { WITH_BIAS = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM };
    int plain = 0;
    for (int i = 0; i < count; i++)
        if (!found[i].winograd)
            found[plain++] = found[i];
    found[plain++] = (algorithm){last_resort[s->kind], math_of[g->precision], false};
    cornu_status status = CORNU_UNSUPPORTED;
    if (s->adds_bias)
        status = take_first(g, found, plain, WITH_BIAS, most, s);
    if (status != CORNU_UNSUPPORTED)
        return status;
    s->adds_bias = false;
    return take_first(g, found, plain, -1, most, s);
}

/* The algorithm, its workspace and adds_bias of a state that is described. CORNU_UNSUPPORTED: cuDNN
   has none. */
static cornu_status cudnn_choose(gpu *g, bool winograd, dnn_state *s)
{
    algorithm found[RESULTS + 1];
    int count = 0;
    size_t most = 0;
    TRY(CU(g, cuDeviceTotalMem(&most, cuda_of(g)->id)));
    most = most / WORKSPACE_SHARE < WORKSPACE_MOST ? most / WORKSPACE_SHARE : WORKSPACE_MOST;
    TRY(ASK(g, cudnnSetConvolutionMathType(s->conv, math_of[g->precision])));
    TRY(ask_heuristic(g, s, found, &count));
    return winograd ? choose_winograd(g, found, count, most, s)
                    : choose_plain(g, found, count, most, s);
}

/* ---- what is accepted -------------------------------------------------------------------- */

/* Deterministic weights' gradients of no more channels, in fp32, are faster by the own kernel in
   every measured size (G9 of docs/experiments/cuda.md). */
#define CHANNELS_FEW 4

static bool accepts(const gpu *g, const plan *p, const op *o, const char **why)
{
    const window2d *w = &o->a.window;
    gpu_conv_roles r = gpu_conv_roles_of(p, o);
    *why = "few channels: the own kernel is faster";
    if (o->kind == OP_CONV2D_BACKWARD_WEIGHTS && g->precision == PRECISION_FP32 &&
        r.x->shape.dim[3] / w->groups <= CHANNELS_FEW)
        return false;
    *why = "more padding after than before";
    if (w->before[0] != w->after[0] || w->before[1] != w->after[1])
        return false;
    *why = "more than 2^31 - 1 elements";
    return r.x->count <= INT32_MAX && r.y->count <= INT32_MAX && r.w->count <= INT32_MAX;
}

/* A lower precision is defined as the rounding of the definition's factors, so Winograd needs
   fp32. */
static bool accepts_winograd(const gpu *g, const plan *p, const op *o, const char **why)
{
    const window2d *w = &o->a.window;
    if (p->exact_convolution)
        *why = "exact convolution is asked for";
    else if (g->precision != PRECISION_FP32)
        *why = "factors are rounded";
    else if (w->kernel[0] == 1 && w->kernel[1] == 1)
        *why = "1x1";
    else
        return accepts(g, p, o, why);
    return false;
}

/* ---- prepare ----------------------------------------------------------------------------- */

static void release(gpu *g, void *state)
{
    dnn_state *s = state;
    cudnnTensorDescriptor_t tensors[] = {s->x, s->y, s->b};
    for (int i = 0; i < 3; i++)
        if (tensors[i])
            GIVE_UP_CUDNN(g, cudnnDestroyTensorDescriptor(tensors[i]));
    if (s->w)
        GIVE_UP_CUDNN(g, cudnnDestroyFilterDescriptor(s->w));
    if (s->conv)
        GIVE_UP_CUDNN(g, cudnnDestroyConvolutionDescriptor(s->conv));
    if (s->identity)
        GIVE_UP_CUDNN(g, cudnnDestroyActivationDescriptor(s->identity));
    free(s);
}

static cornu_status describe_images(gpu *g, const shape *s, cudnnDataType_t type, bool nchw,
                                    cudnnTensorDescriptor_t *out)
{
    int n = (int)s->dim[0], h = (int)s->dim[1], w = (int)s->dim[2], c = (int)s->dim[3];
    TRY(ASK(g, cudnnCreateTensorDescriptor(out)));
    if (nchw)
        return ASK(g, cudnnSetTensor4dDescriptorEx(*out, type, n, c, h, w, c * h * w, h * w, w, 1));
    return ASK(g, cudnnSetTensor4dDescriptorEx(*out, type, n, c, h, w, h * w * c, 1, w * c, c));
}

static cornu_status describe_window(gpu *g, const window2d *w, dnn_state *s)
{
    TRY(ASK(g, cudnnCreateConvolutionDescriptor(&s->conv)));
    TRY(ASK(g, cudnnSetConvolution2dDescriptor(s->conv, (int)w->before[0], (int)w->before[1],
                                               (int)w->stride[0], (int)w->stride[1],
                                               (int)w->dilation[0], (int)w->dilation[1],
                                               CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT)));
    return ASK(g, cudnnSetConvolutionGroupCount(s->conv, (int)w->groups));
}

static cornu_status describe_bias(gpu *g, dnn_state *s)
{
    int filters = (int)s->filters;
    TRY(ASK(g, cudnnCreateTensorDescriptor(&s->b)));
    TRY(ASK(g, cudnnSetTensor4dDescriptorEx(s->b, CUDNN_DATA_FLOAT, 1, filters, 1, 1, filters, 1,
                                            filters, filters)));
    TRY(ASK(g, cudnnCreateActivationDescriptor(&s->identity)));
    return ASK(g, cudnnSetActivationDescriptor(s->identity, CUDNN_ACTIVATION_IDENTITY,
                                               CUDNN_NOT_PROPAGATE_NAN, 0));
}

/* bf16 stays as it is: its casts go another way. */
static cornu_status read_layout(const gpu *g, op_kind kind, bool *nchw)
{
    const char *asked = env_get(ENV_CUDNN_LAYOUT);
    if (asked)
        *nchw = strcmp(asked, "nchw") == 0 && g->precision != PRECISION_BF16;
    else
        *nchw = kind == OP_CONV2D_BACKWARD_WEIGHTS && g->precision == PRECISION_FP32;
    if (asked && strcmp(asked, "nchw") != 0 && strcmp(asked, "nhwc") != 0)
        return status_fail(CORNU_INVALID, "CORNU_CUDNN_LAYOUT: found %s; expected nhwc or nchw",
                           asked);
    return CORNU_OK;
}

static void keep_sizes(const gpu_conv_roles *r, dnn_state *s)
{
    const tensor *operands[] = {r->x, r->w, r->y};
    const int64_t *w = r->w->shape.dim; /* [kh][kw][in / groups][out] */
    for (int i = 0; i < 3; i++) {
        const int64_t *dim = operands[i]->shape.dim;
        s->count[i] = operands[i]->count;
        s->channels[i] = dim[3];
        s->places[i] = dim[1] * dim[2];
    }
    s->channels[1] = w[2];
    s->places[1] = w[0] * w[1];
    s->filters = w[3];
}

static cornu_status describe(gpu *g, const plan *p, const op *o, dnn_state *s)
{
    gpu_conv_roles r = gpu_conv_roles_of(p, o);
    const cudnnDataType_t type =
        g->precision == PRECISION_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    const int64_t *w = r.w->shape.dim; /* [kh][kw][in / groups][out] */
    const cudnnTensorFormat_t formats[] = {CUDNN_TENSOR_NHWC, CUDNN_TENSOR_NCHW};
    s->kind = o->kind;
    keep_sizes(&r, s);
    TRY(read_layout(g, o->kind, &s->nchw));
    TRY(describe_images(g, &r.x->shape, type, s->nchw, &s->x));
    TRY(describe_images(g, &r.y->shape, type, s->nchw, &s->y));
    TRY(ASK(g, cudnnCreateFilterDescriptor(&s->w)));
    TRY(ASK(g, cudnnSetFilter4dDescriptor(s->w, type, formats[s->nchw], (int)w[3], (int)w[2],
                                          (int)w[0], (int)w[1])));
    TRY(describe_window(g, &o->a.window, s));
    s->adds_bias = o->kind == OP_CONV2D_FORWARD && r.b && type == CUDNN_DATA_FLOAT &&
                   o->a.conv.act.kind == ACTIVATION_LINEAR;
    return s->adds_bias ? describe_bias(g, s) : CORNU_OK;
}

/* True if cuDNN gets copies of x, w and y. */
static bool is_staged(const gpu *g, const dnn_state *s)
{
    return g->precision == PRECISION_BF16 || s->nchw;
}

/* Workspace, followed by the copies of x, w and y; the column sums reuse this memory after all
   of them. */
static void assign_scratch(const gpu *g, const op *o, dnn_state *s)
{
    s->bytes = s->workspace;
    for (int i = 0; i < 3 && is_staged(g, s); i++) {
        s->at[i] = scratch_round(s->bytes);
        s->bytes = s->at[i] + (size_t)s->count[i] * (s->nchw ? sizeof(float) : sizeof(uint16_t));
    }
    if (o->kind == OP_CONV2D_BACKWARD_WEIGHTS && o->out[1] != NO_TENSOR) {
        size_t sums = cuda_column_sums_scratch(s->count[2] / s->filters, s->filters);
        s->bytes = s->bytes > sums ? s->bytes : sums;
    }
}

static cornu_status prepare_by(gpu *g, const plan *p, const op *o, bool winograd, void **state,
                               size_t *scratch_bytes)
{
    dnn_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    cornu_status status = describe(g, p, o, s);
    if (status == CORNU_OK)
        status = cudnn_choose(g, winograd, s);
    if (status != CORNU_OK) {
        release(g, s);
        return status;
    }
    assign_scratch(g, o, s);
    *scratch_bytes = s->bytes;
    *state = s;
    return CORNU_OK;
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    TRY(cuda_dnn_open(g));
    return prepare_by(g, p, o, false, state, scratch_bytes);
}

static cornu_status prepare_winograd(gpu *g, const plan *p, const op *o, void **state,
                                     size_t *scratch_bytes)
{
    cornu_status status = cuda_dnn_open(g);
    if (status == CORNU_UNSUPPORTED) /* "cudnn" says why */
        return status_fail(status, "cuDNN cannot be used");
    TRY(status);
    return prepare_by(g, p, o, true, state, scratch_bytes);
}

/* ---- run --------------------------------------------------------------------------------- */

static const float one = 1, zero = 0;

static const void *address(gpu_address p)
{
    return (const void *)(uintptr_t)p;
}

static void *room(gpu_address p)
{
    return (void *)(uintptr_t)p;
}

/* x, w or y (index) from [places][channels] to [channels][places], or back. */
static cornu_status transpose(const gpu_op *r, int index, gpu_address from, gpu_address to,
                              bool back)
{
    const dnn_state *s = r->state;
    int64_t channels = s->channels[index], places = s->places[index];
    const transpose_params p = {.x = device_floats(from),
                                .y = room(to),
                                .matrices = s->count[index] / (channels * places),
                                .rows = back ? channels : places,
                                .columns = back ? places : channels};
    int64_t tiles = (p.rows + TRANSPOSE_TILE - 1) / TRANSPOSE_TILE *
                    ((p.columns + TRANSPOSE_TILE - 1) / TRANSPOSE_TILE) * p.matrices;
    const cuda_grid grid = {.x = (unsigned)(tiles < TRANSPOSE_BLOCKS ? tiles : TRANSPOSE_BLOCKS),
                            .threads = TRANSPOSE_THREADS};
    return cuda_launch(r->g, CUDA_transpose, grid, &p);
}

/* x, w or y (index) as cuDNN gets it: as it is, or a copy in scratch, made if it is read. */
static cornu_status operand(const gpu_op *r, int index, gpu_address at, bool reads,
                            gpu_address *out)
{
    const dnn_state *s = r->state;
    *out = at;
    if (!is_staged(r->g, s))
        return CORNU_OK;
    *out = r->scratch + s->at[index];
    if (s->nchw)
        return reads ? transpose(r, index, at, *out, false) : CORNU_OK;
    return reads ? cuda_cast_bf16(r->g, at, *out, s->count[index]) : CORNU_OK;
}

/* The result out of `from`, where that is a copy, then bias and activation. */
static cornu_status run_epilogue(const gpu_op *r, int index, gpu_address from, gpu_address bias,
                                 activation act)
{
    const dnn_state *s = r->state;
    gpu_address to = r->out[0];
    int64_t count = s->count[index], columns = s->filters;
    if (from != to && s->nchw) {
        TRY(transpose(r, index, from, to, true));
    } else if (from != to) {
        widen_bf16_params p = {.x = address(from),
                               .bias = device_floats(bias),
                               .y = room(to),
                               .count = count,
                               .columns = columns};
        bool in_epilogue = product_slope(act, &p.slope);
        const cuda_grid grid = {.x = (unsigned)gpu_blocks(count, 2 * PRODUCT_THREADS, 0),
                                .threads = PRODUCT_THREADS};
        TRY(cuda_launch(r->g, CUDA_widen_bf16, grid, &p));
        if (in_epilogue)
            return CORNU_OK;
        bias = 0;
    }
    if (!bias && act.kind == ACTIVATION_LINEAR)
        return CORNU_OK;
    return cuda_bias_activation(r->g, to, bias, to, count / columns, columns, act);
}

/* Convolution and bias in one call. A refusal that the heuristic did not foresee comes before
   anything is launched: from then on they go one after the other. */
static cornu_status forward_with_bias(const gpu_op *r, bool *done)
{
    gpu *g = r->g;
    dnn_state *s = r->state;
    gpu_address x, w, y;
    TRY(operand(r, 0, r->in[0], true, &x));
    TRY(operand(r, 1, r->in[1], true, &w));
    TRY(operand(r, 2, r->out[0], false, &y));
    cudnnStatus_t status = cuda_of(g)->dnn.lib->cudnnConvolutionBiasActivationForward(
        cuda_of(g)->dnn.handle, &one, s->x, address(x), s->w, address(w), s->conv,
        (cudnnConvolutionFwdAlgo_t)s->algorithm, room(r->scratch), s->workspace, &zero, s->y,
        address(y), s->b, address(r->in[2]), s->identity, s->y, room(y));
    *done = s->adds_bias = !cudnn_is_refusal(status);
    if (*done)
        cuda_count_launch(g);
    if (!*done)
        return CORNU_OK;
    TRY(dnn_check(cuda_of(g)->dnn.lib, g->number, status, "cudnnConvolutionBiasActivationForward"));
    return s->nchw ? transpose(r, 2, y, r->out[0], true) : CORNU_OK;
}

static cornu_status forward(const gpu_op *r)
{
    gpu *g = r->g;
    const dnn_state *s = r->state;
    gpu_address x, w, y;
    if (s->adds_bias) {
        bool done;
        TRY(forward_with_bias(r, &done));
        if (done)
            return CORNU_OK;
    }
    TRY(operand(r, 0, r->in[0], true, &x));
    TRY(operand(r, 1, r->in[1], true, &w));
    TRY(operand(r, 2, r->out[0], false, &y));
    TRY(CUDNN(g,
              cudnnConvolutionForward(cuda_of(g)->dnn.handle, &one, s->x, address(x), s->w,
                                      address(w), s->conv, (cudnnConvolutionFwdAlgo_t)s->algorithm,
                                      room(r->scratch), s->workspace, &zero, s->y, room(y))));
    cuda_count_launch(g);
    return run_epilogue(r, 2, y, r->in[2], r->op->a.conv.act);
}

static const activation linear = {ACTIVATION_LINEAR, 0};

static cornu_status backward_data(const gpu_op *r)
{
    gpu *g = r->g;
    const dnn_state *s = r->state;
    gpu_address dx, w, dy;
    TRY(operand(r, 2, r->in[0], true, &dy));
    TRY(operand(r, 1, r->in[1], true, &w));
    TRY(operand(r, 0, r->out[0], false, &dx));
    TRY(CUDNN(g, cudnnConvolutionBackwardData(
                     cuda_of(g)->dnn.handle, &one, s->w, address(w), s->y, address(dy), s->conv,
                     (cudnnConvolutionBwdDataAlgo_t)s->algorithm, room(r->scratch), s->workspace,
                     &zero, s->x, room(dx))));
    cuda_count_launch(g);
    return run_epilogue(r, 0, dx, 0, linear);
}

static cornu_status backward_weights(const gpu_op *r)
{
    gpu *g = r->g;
    const dnn_state *s = r->state;
    gpu_address x, dw, dy;
    TRY(operand(r, 0, r->in[0], true, &x));
    TRY(operand(r, 2, r->in[1], true, &dy));
    TRY(operand(r, 1, r->out[0], false, &dw));
    TRY(CUDNN(g, cudnnConvolutionBackwardFilter(
                     cuda_of(g)->dnn.handle, &one, s->x, address(x), s->y, address(dy), s->conv,
                     (cudnnConvolutionBwdFilterAlgo_t)s->algorithm, room(r->scratch), s->workspace,
                     &zero, s->w, room(dw))));
    cuda_count_launch(g);
    TRY(run_epilogue(r, 1, dw, 0, linear));
    if (!r->out[1])
        return CORNU_OK;
    return cuda_column_sums(g, r->in[1], s->count[2] / s->filters, s->filters, r->scratch,
                            r->out[1]);
}

const gpu_kernel cuda_cudnn_forward = {.name = "cudnn",
                                       .accepts = accepts,
                                       .prepare = prepare,
                                       .release = release,
                                       .enqueue = forward,
                                       .try_first = true};
const gpu_kernel cuda_cudnn_winograd_forward = {.name = "cudnn_winograd",
                                                .accepts = accepts_winograd,
                                                .prepare = prepare_winograd,
                                                .release = release,
                                                .enqueue = forward,
                                                .try_first = true};
const gpu_kernel cuda_cudnn_backward_data = {.name = "cudnn",
                                             .accepts = accepts,
                                             .prepare = prepare,
                                             .release = release,
                                             .enqueue = backward_data,
                                             .try_first = true};
const gpu_kernel cuda_cudnn_winograd_backward_data = {.name = "cudnn_winograd",
                                                      .accepts = accepts_winograd,
                                                      .prepare = prepare_winograd,
                                                      .release = release,
                                                      .enqueue = backward_data,
                                                      .try_first = true};
const gpu_kernel cuda_cudnn_backward_weights = {.name = "cudnn",
                                                .accepts = accepts,
                                                .prepare = prepare,
                                                .release = release,
                                                .enqueue = backward_weights,
                                                .try_first = true};
const gpu_kernel cuda_cudnn_winograd_backward_weights = {.name = "cudnn_winograd",
                                                         .accepts = accepts_winograd,
                                                         .prepare = prepare_winograd,
                                                         .release = release,
                                                         .enqueue = backward_weights,
                                                         .try_first = true};
