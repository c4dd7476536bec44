/* Convolutions by cuDNN, on images and weights as they lie: NHWC, and [out][kh][kw][in / groups],
   which is what cuDNN calls NHWC of a filter.

   Of its algorithms only those are taken that add up the definition's own products (no Winograd, no
   Fourier transform) and that cuDNN calls deterministic; which of them, its heuristic says from the
   sizes and the GPU. Its relu drops NaN (cudnnConvolutionBiasActivationForward refuses
   CUDNN_PROPAGATE_NAN), so that at most the bias is left to it. bf16: images, weights and the
   result are bfloat16, sums 32 bits. */
#include "device/cuda/plugin/ops/conv.h"
#include "device/cuda/plugin/ops/product.h"
#include <stdlib.h>

enum { RESULTS = 16 };
#define WORKSPACE_MOST ((size_t)1 << 30)
#define WORKSPACE_SHARE                                                              \
    32 /* at most this fraction of the device's memory: of all, not of what is free, \
          so that the algorithm does not depend on what else runs there */
#define BIT(i) (1u << (i))
#define PLAIN_FORWARD                                        \
    (BIT(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM) |         \
     BIT(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) | \
     BIT(CUDNN_CONVOLUTION_FWD_ALGO_GEMM) | BIT(CUDNN_CONVOLUTION_FWD_ALGO_DIRECT))
#define PLAIN_DATA (BIT(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0) | BIT(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1))
#define PLAIN_WEIGHTS                                                                      \
    (BIT(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0) | BIT(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1) | \
     BIT(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3))

/* Deterministic and there for every type and layout: asked for where the heuristic names nothing.
 */
static const int last_resort[OP_COUNT] = {
    [OP_CONV2D_FORWARD] = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
    [OP_CONV2D_BACKWARD_DATA] = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
    [OP_CONV2D_BACKWARD_WEIGHTS] = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};

/* One row of the heuristics' three kinds of answers. */
typedef struct algorithm {
    int number;
    cudnnStatus_t status;
    cudnnDeterminism_t determinism;
    cudnnMathType_t math;
} algorithm;

typedef struct dnn_state {
    op_kind kind;
    cudnnTensorDescriptor_t x, y, b;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    cudnnActivationDescriptor_t identity;
    int algorithm;
    size_t workspace;
    bool adds_bias;   /* in the convolution's call */
    int64_t count[3]; /* elements of x, w, y */
    int64_t filters;
    size_t at[3], bytes; /* in scratch: x, w, y in bfloat16; all of it */
} dnn_state;

static bool accepts(const gpu *g, const plan *p, const op *o, const char **why)
{
    (void)g;
    const window2d *w = &o->a.window;
    conv_roles r = conv_roles_of(p, o);
    *why = "more padding after than before";
    if (w->before[0] != w->after[0] || w->before[1] != w->after[1])
        return false;
    *why = "more than 2^31 - 1 elements";
    return r.x->count <= INT32_MAX && r.y->count <= INT32_MAX && r.w->count <= INT32_MAX;
}

/* ---- prepare ----------------------------------------------------------------------------- */

static void release(gpu *g, void *state)
{
    dnn_state *s = state;
    cudnnTensorDescriptor_t tensors[] = {s->x, s->y, s->b};
    for (int i = 0; i < 3; i++)
        if (tensors[i])
            GIVE_UP(g, cudnnDestroyTensorDescriptor(tensors[i]));
    if (s->w)
        GIVE_UP(g, cudnnDestroyFilterDescriptor(s->w));
    if (s->conv)
        GIVE_UP(g, cudnnDestroyConvolutionDescriptor(s->conv));
    if (s->identity)
        GIVE_UP(g, cudnnDestroyActivationDescriptor(s->identity));
    free(s);
}

static bool is_refusal(cudnnStatus_t status)
{
    return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED ||
           CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_BAD_PARAM;
}

/* As dnn_check, but what cuDNN does not have is CORNU_UNSUPPORTED. */
static cornu_status ask(gpu *g, cudnnStatus_t status, const char *call)
{
    if (is_refusal(status))
        return status_fail(CORNU_UNSUPPORTED, "%s", cuda_of(g)->lib->cudnnGetErrorString(status));
    return dnn_check(cuda_of(g)->lib, g->number, status, call);
}
#define ASK(g, call) ask(g, cuda_of(g)->lib->call, #call)

static cornu_status describe_images(gpu *g, const shape *s, cudnnDataType_t type,
                                    cudnnTensorDescriptor_t *out)
{
    int n = (int)s->dim[0], h = (int)s->dim[1], w = (int)s->dim[2], c = (int)s->dim[3];
    TRY(ASK(g, cudnnCreateTensorDescriptor(out)));
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

static cornu_status describe(gpu *g, const plan *p, const op *o, dnn_state *s)
{
    conv_roles r = conv_roles_of(p, o);
    const cudnnDataType_t type =
        g->precision == PRECISION_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    const int64_t *w = r.w->shape.dim; /* [kh][kw][in / groups][out] */
    s->kind = o->kind;
    s->filters = w[3];
    s->count[0] = r.x->count;
    s->count[1] = r.w->count;
    s->count[2] = r.y->count;
    TRY(describe_images(g, &r.x->shape, type, &s->x));
    TRY(describe_images(g, &r.y->shape, type, &s->y));
    TRY(ASK(g, cudnnCreateFilterDescriptor(&s->w)));
    TRY(ASK(g, cudnnSetFilter4dDescriptor(s->w, type, CUDNN_TENSOR_NHWC, (int)w[3], (int)w[2],
                                          (int)w[0], (int)w[1])));
    TRY(describe_window(g, &o->a.window, s));
    s->adds_bias = o->kind == OP_CONV2D_FORWARD && r.b && type == CUDNN_DATA_FLOAT &&
                   o->a.conv.act.kind == ACTIVATION_LINEAR;
    return s->adds_bias ? describe_bias(g, s) : CORNU_OK;
}

/* The heuristics' answers come in three types that differ in name only. `plain`: those that add up
   the definition's own products. */
#define COLLECT(type, call, plain)                                                            \
    do {                                                                                      \
        type##_t results[RESULTS];                                                            \
        int returned = 0;                                                                     \
        TRY(ASK(g, call));                                                                    \
        for (int i = 0; i < returned; i++)                                                    \
            if ((plain)&BIT(results[i].algo))                                                 \
                found[(*count)++] = (algorithm){(int)results[i].algo, results[i].status,      \
                                                results[i].determinism, results[i].mathType}; \
    } while (0)

static cornu_status ask_heuristic(gpu *g, const dnn_state *s, algorithm found[RESULTS], int *count)
{
    if (s->kind == OP_CONV2D_FORWARD)
        COLLECT(cudnnConvolutionFwdAlgoPerf,
                cudnnGetConvolutionForwardAlgorithm_v7(cuda_of(g)->dnn, s->x, s->w, s->conv, s->y,
                                                       RESULTS, &returned, results),
                PLAIN_FORWARD);
    else if (s->kind == OP_CONV2D_BACKWARD_DATA)
        COLLECT(cudnnConvolutionBwdDataAlgoPerf,
                cudnnGetConvolutionBackwardDataAlgorithm_v7(cuda_of(g)->dnn, s->w, s->y, s->conv,
                                                            s->x, RESULTS, &returned, results),
                PLAIN_DATA);
    else
        COLLECT(cudnnConvolutionBwdFilterAlgoPerf,
                cudnnGetConvolutionBackwardFilterAlgorithm_v7(cuda_of(g)->dnn, s->x, s->y, s->conv,
                                                              s->w, RESULTS, &returned, results),
                PLAIN_WEIGHTS);
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
                       cuda_of(g)->dnn, s->x, s->w, s->conv, s->y,
                       (cudnnConvolutionFwdAlgo_t)a->number, &bytes)));
    else if (s->kind == OP_CONV2D_BACKWARD_DATA)
        TRY(ASK(g, cudnnGetConvolutionBackwardDataWorkspaceSize(
                       cuda_of(g)->dnn, s->w, s->y, s->conv, s->x,
                       (cudnnConvolutionBwdDataAlgo_t)a->number, &bytes)));
    else
        TRY(ASK(g, cudnnGetConvolutionBackwardFilterWorkspaceSize(
                       cuda_of(g)->dnn, s->x, s->y, s->conv, s->w,
                       (cudnnConvolutionBwdFilterAlgo_t)a->number, &bytes)));
    if (bytes > most)
        return status_fail(CORNU_UNSUPPORTED,
                           "found a workspace of %zu bytes; expected at most %zu", bytes, most);
    s->algorithm = a->number;
    s->workspace = bytes;
    return CORNU_OK;
}

/* The first of `found` that will do; `most`: bytes of workspace. */
static cornu_status take_first(gpu *g, const algorithm *found, int count, bool only_with_bias,
                               size_t most, dnn_state *s)
{
    cornu_status status = status_fail(CORNU_UNSUPPORTED, "no deterministic algorithm");
    for (int i = 0; i < count && status == CORNU_UNSUPPORTED; i++) {
        const algorithm *a = &found[i];
        bool adds_bias = a->number == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
        if (a->status == CUDNN_STATUS_SUCCESS && a->determinism == CUDNN_DETERMINISTIC &&
            (adds_bias || !only_with_bias))
            status = try_algorithm(g, a, most, s);
    }
    return status;
}

static cornu_status choose(gpu *g, dnn_state *s)
{
    static const cudnnMathType_t math[] = {[PRECISION_FP32] = CUDNN_FMA_MATH,
                                           [PRECISION_TF32] = CUDNN_DEFAULT_MATH,
                                           [PRECISION_BF16] = CUDNN_TENSOR_OP_MATH};
    algorithm found[RESULTS + 1];
    int count = 0;
    size_t most = 0;
    TRY(CU(g, cuDeviceTotalMem(&most, cuda_of(g)->id)));
    most = most / WORKSPACE_SHARE < WORKSPACE_MOST ? most / WORKSPACE_SHARE : WORKSPACE_MOST;
    TRY(ASK(g, cudnnSetConvolutionMathType(s->conv, math[g->precision])));
    TRY(ask_heuristic(g, s, found, &count));
    found[count++] = (algorithm){last_resort[s->kind], CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC,
                                 math[g->precision]};
    /* Only one algorithm adds a bias without an activation. */
    cornu_status status = CORNU_UNSUPPORTED;
    if (s->adds_bias)
        status = take_first(g, found, count, true, most, s);
    if (status != CORNU_UNSUPPORTED)
        return status;
    s->adds_bias = false;
    return take_first(g, found, count, false, most, s);
}

/* Workspace, and behind it x, w and y in bfloat16; the column sums come after all are used. */
static void assign_scratch(const gpu *g, const op *o, dnn_state *s)
{
    s->bytes = s->workspace;
    for (int i = 0; i < 3 && g->precision == PRECISION_BF16; i++) {
        s->at[i] = scratch_round(s->bytes);
        s->bytes = s->at[i] + (size_t)s->count[i] * sizeof(uint16_t);
    }
    if (o->kind == OP_CONV2D_BACKWARD_WEIGHTS && o->out[1] != NO_TENSOR) {
        size_t sums = cuda_column_sums_scratch(s->count[2] / s->filters, s->filters);
        s->bytes = s->bytes > sums ? s->bytes : sums;
    }
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    dnn_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    cornu_status status = describe(g, p, o, s);
    if (status == CORNU_OK)
        status = choose(g, s);
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

static const float one = 1, zero = 0;

static const void *address(gpu_address p)
{
    return (const void *)(uintptr_t)p;
}

static void *room(gpu_address p)
{
    return (void *)(uintptr_t)p;
}

/* x, w or y (index) as cuDNN gets it: as it is, or its bfloat16 in scratch, cast if it is read. */
static cornu_status operand(const gpu_op *r, int index, gpu_address at, bool reads,
                            gpu_address *out)
{
    const dnn_state *s = r->state;
    *out = at;
    if (r->g->precision != PRECISION_BF16)
        return CORNU_OK;
    *out = r->scratch + s->at[index];
    return reads ? cuda_cast_bf16(r->g, at, *out, s->count[index]) : CORNU_OK;
}

/* The result out of `from`, where that is bfloat16, then bias and activation. */
static cornu_status run_epilogue(const gpu_op *r, int index, gpu_address from, gpu_address bias,
                                 activation act)
{
    const dnn_state *s = r->state;
    gpu_address to = r->out[0];
    int64_t count = s->count[index], columns = s->filters;
    if (from != to) {
        widen_bf16_params p = {.x = address(from),
                               .bias = device_floats(bias),
                               .y = room(to),
                               .count = count,
                               .columns = columns};
        bool in_epilogue = product_slope(act, &p.slope);
        const cuda_grid grid = {.x = cuda_blocks(count, 2 * PRODUCT_THREADS, 0),
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
    cudnnStatus_t status = cuda_of(g)->lib->cudnnConvolutionBiasActivationForward(
        cuda_of(g)->dnn, &one, s->x, address(r->in[0]), s->w, address(r->in[1]), s->conv,
        (cudnnConvolutionFwdAlgo_t)s->algorithm, room(r->scratch), s->workspace, &zero, s->y,
        address(r->out[0]), s->b, address(r->in[2]), s->identity, s->y, room(r->out[0]));
    *done = s->adds_bias = !is_refusal(status);
    if (*done)
        cuda_count_launch(g);
    return *done ? dnn_check(cuda_of(g)->lib, g->number, status,
                             "cudnnConvolutionBiasActivationForward")
                 : CORNU_OK;
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
    TRY(CUDNN(g, cudnnConvolutionForward(cuda_of(g)->dnn, &one, s->x, address(x), s->w, address(w),
                                         s->conv, (cudnnConvolutionFwdAlgo_t)s->algorithm,
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
    TRY(CUDNN(
        g, cudnnConvolutionBackwardData(cuda_of(g)->dnn, &one, s->w, address(w), s->y, address(dy),
                                        s->conv, (cudnnConvolutionBwdDataAlgo_t)s->algorithm,
                                        room(r->scratch), s->workspace, &zero, s->x, room(dx))));
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
                     cuda_of(g)->dnn, &one, s->x, address(x), s->y, address(dy), s->conv,
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
                                       .enqueue = forward};
const gpu_kernel cuda_cudnn_backward_data = {.name = "cudnn",
                                             .accepts = accepts,
                                             .prepare = prepare,
                                             .release = release,
                                             .enqueue = backward_data};
const gpu_kernel cuda_cudnn_backward_weights = {.name = "cudnn",
                                                .accepts = accepts,
                                                .prepare = prepare,
                                                .release = release,
                                                .enqueue = backward_weights};
