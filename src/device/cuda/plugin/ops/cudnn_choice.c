/* The choice of cuDNN's algorithm for a convolution: the heuristic's first deterministic one for
   the sizes and the GPU. */
#include "device/cuda/plugin/ops/cudnn.h"

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

cornu_status cudnn_choose(gpu *g, bool winograd, dnn_state *s)
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
