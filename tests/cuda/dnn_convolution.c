/* The simulated libcudnn: which algorithms there are, what a convolution is refused for, and its
 * calls. */
#include "dnn.h"
#include <stdlib.h>
#include <unistd.h>

/* ---- algorithms ---------------------------------------------------------------------------- */

/* In the order in which the heuristics name them: those that a careful caller skips come first. */
typedef struct algorithm {
    int number;
    cudnnStatus_t status;
    size_t workspace;
    bool deterministic;
    dnn_quirk quirk;
} algorithm;

static const algorithm forward_algorithms[] = {
    {CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_STATUS_NOT_SUPPORTED, 0, true, QUIRK_NONE},
    {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, CUDNN_STATUS_SUCCESS, 1024, true,
     QUIRK_WINOGRAD},
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_STATUS_SUCCESS, 512, true, QUIRK_NONE},
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, CUDNN_STATUS_SUCCESS, 0, true, QUIRK_NONE},
    {-1, CUDNN_STATUS_NOT_SUPPORTED, 0, false, QUIRK_NONE}};
static const algorithm data_algorithms[] = {
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, CUDNN_STATUS_NOT_SUPPORTED, 0, true, QUIRK_NONE},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_STATUS_SUCCESS, 0, false, QUIRK_NONDETERMINISTIC},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, CUDNN_STATUS_SUCCESS, 1024, true,
     QUIRK_WINOGRAD},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_STATUS_SUCCESS, 512, true, QUIRK_NONE},
    {-1, CUDNN_STATUS_NOT_SUPPORTED, 0, false, QUIRK_NONE}};
static const algorithm filter_algorithms[] = {
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, CUDNN_STATUS_NOT_SUPPORTED, 0, true, QUIRK_NONE},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_STATUS_SUCCESS, 0, false, QUIRK_NONDETERMINISTIC},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, CUDNN_STATUS_SUCCESS, 256, false, QUIRK_NONDETERMINISTIC},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, CUDNN_STATUS_SUCCESS, 1024, true,
     QUIRK_WINOGRAD},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, CUDNN_STATUS_SUCCESS, 512, true, QUIRK_NONE},
    {-1, CUDNN_STATUS_NOT_SUPPORTED, 0, false, QUIRK_NONE}};

static const algorithm *algorithms_of(dnn_pass pass)
{
    return pass == FORWARD         ? forward_algorithms
           : pass == BACKWARD_DATA ? data_algorithms
                                   : filter_algorithms;
}

/* As NVIDIA documents for Winograd: 3x3 or 5x5, no strides or dilation. */
static cudnnStatus_t status_of(const algorithm *a, const dnn_work *o)
{
    bool square = o->w.h == o->w.w && (o->w.h == 3 || o->w.h == 5);
    bool plain = o->c.stride[0] == 1 && o->c.stride[1] == 1 && o->c.dilation[0] == 1 &&
                 o->c.dilation[1] == 1 && o->c.groups == 1;
    if (a->quirk == QUIRK_WINOGRAD && !(square && plain))
        return CUDNN_STATUS_NOT_SUPPORTED;
    return a->status;
}

static const algorithm *find_algorithm(const dnn_work *o, int number)
{
    const algorithm *a = algorithms_of(o->pass);
    while (a->number >= 0 && a->number != number)
        a++;
    return a;
}

/* ---- what fits together -------------------------------------------------------------------- */

static int64_t output_size(const dnn_work *o, int axis)
{
    int64_t window = (axis == 0 ? o->w.h : o->w.w) - 1;
    return (o->x.dim[2 + axis] + 2 * o->c.pad[axis] - window * o->c.dilation[axis] - 1) /
               o->c.stride[axis] +
           1;
}

static cudnnStatus_t describe(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                              cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t c,
                              cudnnTensorDescriptor_t y, dnn_work *o)
{
    if (!simulated_is(handle, is_dnn_handle) || !simulated_is(x, is_tensor) ||
        !simulated_is(w, is_filter) || !simulated_is(c, is_convolution) ||
        !simulated_is(y, is_tensor))
        return CUDNN_STATUS_BAD_PARAM;
    o->x = *(const dnn_tensor *)(void *)x;
    o->w = *(const dnn_filter *)(void *)w;
    o->c = *(const dnn_convolution *)(void *)c;
    o->y = *(const dnn_tensor *)(void *)y;
    if (!o->c.set || o->x.dim[0] == 0 || o->w.k == 0 || o->y.dim[0] == 0 ||
        o->x.dim[1] != o->w.c * o->c.groups || o->w.k % o->c.groups != 0 ||
        o->y.dim[0] != o->x.dim[0] || o->y.dim[1] != o->w.k || o->y.dim[2] != output_size(o, 0) ||
        o->y.dim[3] != output_size(o, 1)) {
        simulated_complain("cuDNN: x %ldx%ldx%ldx%ld, filter %ldx%ldx%ldx%ld, y %ldx%ldx%ldx%ld do "
                           "not fit together",
                           (long)o->x.dim[0], (long)o->x.dim[1], (long)o->x.dim[2],
                           (long)o->x.dim[3], (long)o->w.k, (long)o->w.c, (long)o->w.h,
                           (long)o->w.w, (long)o->y.dim[0], (long)o->y.dim[1], (long)o->y.dim[2],
                           (long)o->y.dim[3]);
        return CUDNN_STATUS_BAD_PARAM;
    }
    if (o->x.type != o->w.type || o->x.type != o->y.type)
        return CUDNN_STATUS_NOT_SUPPORTED;
    return simulated_number("SIMULATED_CUDNN_NOT_SUPPORTED", 0) ? CUDNN_STATUS_NOT_SUPPORTED
                                                                : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t enter(const char *function, cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                           cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t c,
                           cudnnTensorDescriptor_t y, dnn_work *o)
{
    cudnnStatus_t s = dnn_enter(function);
    if (s == CUDNN_STATUS_SUCCESS && !simulated_has_context())
        s = CUDNN_STATUS_EXECUTION_FAILED;
    return s == CUDNN_STATUS_SUCCESS ? describe(handle, x, w, c, y, o) : s;
}

/* ---- heuristics ---------------------------------------------------------------------------- */

/* The three structs of results differ in the type of .algo alone. */
static void fill_results(const dnn_work *o, int most, int *count, void *results)
{
    cudnnConvolutionFwdAlgoPerf_t *to = results;
    *count = 0;
    for (const algorithm *a = algorithms_of(o->pass); a->number >= 0 && *count < most; a++)
        to[(*count)++] = (cudnnConvolutionFwdAlgoPerf_t){
            .algo = (cudnnConvolutionFwdAlgo_t)a->number,
            .status = status_of(a, o),
            .time = status_of(a, o) == CUDNN_STATUS_SUCCESS ? 0.1f : -1.0f,
            .memory = a->workspace,
            .determinism = a->deterministic ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC,
            .mathType = o->c.math};
}
_Static_assert(sizeof(cudnnConvolutionFwdAlgoPerf_t) == sizeof(cudnnConvolutionBwdDataAlgoPerf_t) &&
                   sizeof(cudnnConvolutionFwdAlgoPerf_t) ==
                       sizeof(cudnnConvolutionBwdFilterAlgoPerf_t),
               "one layout of results");

cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t c, const cudnnTensorDescriptor_t y, const int most,
    int *count, cudnnConvolutionFwdAlgoPerf_t *results)
{
    dnn_work o = {.pass = FORWARD};
    cudnnStatus_t s = enter(__func__, handle, x, w, c, y, &o);
    if (s == CUDNN_STATUS_SUCCESS)
        fill_results(&o, most, count, results);
    return dnn_leave(s);
}

cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t c, const cudnnTensorDescriptor_t x, const int most,
    int *count, cudnnConvolutionBwdDataAlgoPerf_t *results)
{
    dnn_work o = {.pass = BACKWARD_DATA};
    cudnnStatus_t s = enter(__func__, handle, x, w, c, y, &o);
    if (s == CUDNN_STATUS_SUCCESS)
        fill_results(&o, most, count, results);
    return dnn_leave(s);
}

cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t c, const cudnnFilterDescriptor_t w, const int most,
    int *count, cudnnConvolutionBwdFilterAlgoPerf_t *results)
{
    dnn_work o = {.pass = BACKWARD_FILTER};
    cudnnStatus_t s = enter(__func__, handle, x, w, c, y, &o);
    if (s == CUDNN_STATUS_SUCCESS)
        fill_results(&o, most, count, results);
    return dnn_leave(s);
}

static cudnnStatus_t workspace_of(const dnn_work *o, int number, size_t *bytes)
{
    const algorithm *a = find_algorithm(o, number);
    *bytes = a->workspace;
    return status_of(a, o);
}

cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t c, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algo, size_t *bytes)
{
    dnn_work o = {.pass = FORWARD};
    cudnnStatus_t s = enter(__func__, handle, x, w, c, y, &o);
    return dnn_leave(s == CUDNN_STATUS_SUCCESS ? workspace_of(&o, (int)algo, bytes) : s);
}

cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t c, const cudnnTensorDescriptor_t x,
    cudnnConvolutionBwdDataAlgo_t algo, size_t *bytes)
{
    dnn_work o = {.pass = BACKWARD_DATA};
    cudnnStatus_t s = enter(__func__, handle, x, w, c, y, &o);
    return dnn_leave(s == CUDNN_STATUS_SUCCESS ? workspace_of(&o, (int)algo, bytes) : s);
}

cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t c, const cudnnFilterDescriptor_t w,
    cudnnConvolutionBwdFilterAlgo_t algo, size_t *bytes)
{
    dnn_work o = {.pass = BACKWARD_FILTER};
    cudnnStatus_t s = enter(__func__, handle, x, w, c, y, &o);
    return dnn_leave(s == CUDNN_STATUS_SUCCESS ? workspace_of(&o, (int)algo, bytes) : s);
}

/* ---- the calls ----------------------------------------------------------------------------- */

static size_t tensor_bytes(const dnn_tensor *t)
{
    int64_t last = 0;
    for (int i = 0; i < 4; i++)
        last += (t->dim[i] - 1) * t->stride[i];
    return (size_t)(last + 1) * (t->type == CUDNN_DATA_FLOAT ? 4 : 2);
}

static bool on_device(const char *name, const void *at, size_t size)
{
    if (simulated_is_device(at, size))
        return true;
    simulated_complain("cuDNN: %s is not all in one allocation", name);
    return false;
}

/* Operands are where they should be, and the algorithm has what it needs: then put it on the
 * stream. */
static cudnnStatus_t start(cudnnHandle_t handle, dnn_work *o, int number, const void *alpha,
                           const void *beta)
{
    const algorithm *a = find_algorithm(o, number);
    size_t filter_bytes =
        (size_t)(o->w.k * o->w.c * o->w.h * o->w.w) * (o->w.type == CUDNN_DATA_FLOAT ? 4 : 2);
    if (status_of(a, o) != CUDNN_STATUS_SUCCESS)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (!alpha || !beta || o->workspace_bytes < a->workspace ||
        !on_device("x", o->x_at, tensor_bytes(&o->x)) ||
        !on_device("y", o->y_at, tensor_bytes(&o->y)) ||
        !on_device("the filter", o->w_at, filter_bytes) ||
        (a->workspace > 0 && !on_device("the workspace", o->workspace, o->workspace_bytes)))
        return CUDNN_STATUS_BAD_PARAM;
    usleep((useconds_t)(1000 * simulated_number("SIMULATED_CUDNN_HOST_MS", 0)));
    memcpy(&o->alpha, alpha, sizeof o->alpha);
    memcpy(&o->beta, beta, sizeof o->beta);
    o->quirk = a->quirk;
    if (!o->workspace)
        o->workspace_bytes = 0;
    CUstream stream = ((const dnn_handle *)(void *)handle)->stream;
    return simulated_enqueue(stream, dnn_run, o, sizeof *o) == CUDA_SUCCESS
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
}

cudnnStatus_t CUDNNWINAPI cudnnConvolutionForward(
    cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_desc, const void *x,
    const cudnnFilterDescriptor_t w_desc, const void *w, const cudnnConvolutionDescriptor_t c,
    cudnnConvolutionFwdAlgo_t algo, void *workspace, size_t bytes, const void *beta,
    const cudnnTensorDescriptor_t y_desc, void *y)
{
    dnn_work o = {.pass = FORWARD,
                  .x_at = x,
                  .w_at = w,
                  .y_at = y,
                  .workspace = workspace,
                  .workspace_bytes = bytes};
    cudnnStatus_t s = enter(__func__, handle, x_desc, w_desc, c, y_desc, &o);
    return dnn_leave(s == CUDNN_STATUS_SUCCESS ? start(handle, &o, (int)algo, alpha, beta) : s);
}

/* NVIDIA's restrictions on the form with bias and activation. */
static cudnnStatus_t describe_activation(cudnnTensorDescriptor_t z, cudnnTensorDescriptor_t bias,
                                         cudnnActivationDescriptor_t activation, int algo,
                                         dnn_work *o)
{
    if (!simulated_is(z, is_tensor) || !simulated_is(bias, is_tensor) ||
        !simulated_is(activation, is_activation))
        return CUDNN_STATUS_BAD_PARAM;
    const dnn_tensor *b = (const dnn_tensor *)(void *)bias;
    const dnn_activation *a = (const dnn_activation *)(void *)activation;
    o->z_desc = *(const dnn_tensor *)(void *)z;
    if (!a->set || memcmp(o->z_desc.dim, o->y.dim, sizeof o->y.dim) != 0 || b->dim[0] != 1 ||
        b->dim[1] != o->w.k || b->dim[2] != 1 || b->dim[3] != 1 || b->stride[1] != 1)
        return CUDNN_STATUS_BAD_PARAM;
    bool identity = a->mode == CUDNN_ACTIVATION_IDENTITY;
    o->relu = a->mode == CUDNN_ACTIVATION_RELU;
    if ((!identity && !o->relu) || o->x.type != CUDNN_DATA_FLOAT || b->type != CUDNN_DATA_FLOAT ||
        a->nan != CUDNN_NOT_PROPAGATE_NAN ||
        (identity && algo != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM))
        return CUDNN_STATUS_NOT_SUPPORTED;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t CUDNNWINAPI cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_desc, const void *x,
    const cudnnFilterDescriptor_t w_desc, const void *w, const cudnnConvolutionDescriptor_t c,
    cudnnConvolutionFwdAlgo_t algo, void *workspace, size_t bytes, const void *alpha_z,
    const cudnnTensorDescriptor_t z_desc, const void *z, const cudnnTensorDescriptor_t bias_desc,
    const void *bias, const cudnnActivationDescriptor_t activation,
    const cudnnTensorDescriptor_t y_desc, void *y)
{
    const float no_beta = 0;
    dnn_work o = {.pass = FORWARD,
                  .x_at = x,
                  .w_at = w,
                  .y_at = y,
                  .workspace = workspace,
                  .workspace_bytes = bytes,
                  .with_bias = true,
                  .bias = bias,
                  .z = z};
    cudnnStatus_t s = enter(__func__, handle, x_desc, w_desc, c, y_desc, &o);
    if (s == CUDNN_STATUS_SUCCESS)
        s = describe_activation(z_desc, bias_desc, activation, (int)algo, &o);
    if (s == CUDNN_STATUS_SUCCESS && (!alpha_z || !on_device("z", z, tensor_bytes(&o.z_desc)) ||
                                      !on_device("the bias", bias, (size_t)o.w.k * sizeof(float))))
        s = CUDNN_STATUS_BAD_PARAM;
    if (s == CUDNN_STATUS_SUCCESS) {
        memcpy(&o.alpha_z, alpha_z, sizeof o.alpha_z);
        s = start(handle, &o, (int)algo, alpha, &no_beta);
    }
    return dnn_leave(s);
}

cudnnStatus_t CUDNNWINAPI cudnnConvolutionBackwardData(
    cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t w_desc, const void *w,
    const cudnnTensorDescriptor_t y_desc, const void *y, const cudnnConvolutionDescriptor_t c,
    cudnnConvolutionBwdDataAlgo_t algo, void *workspace, size_t bytes, const void *beta,
    const cudnnTensorDescriptor_t x_desc, void *x)
{
    dnn_work o = {.pass = BACKWARD_DATA,
                  .x_at = x,
                  .w_at = w,
                  .y_at = y,
                  .workspace = workspace,
                  .workspace_bytes = bytes};
    cudnnStatus_t s = enter(__func__, handle, x_desc, w_desc, c, y_desc, &o);
    return dnn_leave(s == CUDNN_STATUS_SUCCESS ? start(handle, &o, (int)algo, alpha, beta) : s);
}

cudnnStatus_t CUDNNWINAPI cudnnConvolutionBackwardFilter(
    cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_desc, const void *x,
    const cudnnTensorDescriptor_t y_desc, const void *y, const cudnnConvolutionDescriptor_t c,
    cudnnConvolutionBwdFilterAlgo_t algo, void *workspace, size_t bytes, const void *beta,
    const cudnnFilterDescriptor_t w_desc, void *w)
{
    dnn_work o = {.pass = BACKWARD_FILTER,
                  .x_at = x,
                  .w_at = w,
                  .y_at = y,
                  .workspace = workspace,
                  .workspace_bytes = bytes};
    cudnnStatus_t s = enter(__func__, handle, x_desc, w_desc, c, y_desc, &o);
    return dnn_leave(s == CUDNN_STATUS_SUCCESS ? start(handle, &o, (int)algo, alpha, beta) : s);
}
