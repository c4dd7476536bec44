/* The simulated libcudnn: handles and descriptors. */
#include "dnn.h"
#include <stdlib.h>

const char is_dnn_handle[] = "cuDNN handle", is_tensor[] = "cuDNN tensor descriptor",
           is_filter[] = "cuDNN filter descriptor",
           is_convolution[] = "cuDNN convolution descriptor",
           is_activation[] = "cuDNN activation descriptor";

cudnnStatus_t dnn_enter(const char *function)
{
    return (cudnnStatus_t)simulated_enter(function);
}

cudnnStatus_t dnn_leave(cudnnStatus_t status)
{
    simulated_leave();
    return status;
}

static cudnnStatus_t make(const char *function, const char *kind, size_t size, void *out)
{
    cudnnStatus_t s = dnn_enter(function);
    if (s == CUDNN_STATUS_SUCCESS && kind == is_dnn_handle && !simulated_has_context())
        s = CUDNN_STATUS_NOT_INITIALIZED;
    void *made = s == CUDNN_STATUS_SUCCESS ? calloc(1, size) : NULL;
    if (made) {
        simulated_track(made, kind);
        memcpy(out, &made, sizeof made);
    } else if (s == CUDNN_STATUS_SUCCESS) {
        s = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    }
    return dnn_leave(s);
}

static cudnnStatus_t destroy(const char *function, const char *kind, void *object)
{
    cudnnStatus_t s = dnn_enter(function);
    if (s == CUDNN_STATUS_SUCCESS && !simulated_is(object, kind))
        s = CUDNN_STATUS_BAD_PARAM;
    if (s == CUDNN_STATUS_SUCCESS) {
        simulated_forget(object);
        free(object);
    }
    return dnn_leave(s);
}

static cudnnStatus_t enter_with(const char *function, const char *kind, const void *object)
{
    cudnnStatus_t s = dnn_enter(function);
    return s == CUDNN_STATUS_SUCCESS && !simulated_is(object, kind) ? CUDNN_STATUS_BAD_PARAM : s;
}

/* ---- library and handle -------------------------------------------------------------------- */

size_t CUDNNWINAPI cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

const char *CUDNNWINAPI cudnnGetErrorString(cudnnStatus_t status)
{
    if (status == CUDNN_STATUS_SUCCESS)
        return "CUDNN_STATUS_SUCCESS";
    switch (CUDNN_STATUS_CATEGORY((int)status)) {
    case 1000:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case 2000:
        return "CUDNN_STATUS_BAD_PARAM";
    case 3000:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case 5000:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
        return "CUDNN_STATUS_INTERNAL_ERROR";
    }
}

cudnnStatus_t CUDNNWINAPI cudnnCreate(cudnnHandle_t *handle)
{
    return make(__func__, is_dnn_handle, sizeof(dnn_handle), handle);
}

cudnnStatus_t CUDNNWINAPI cudnnDestroy(cudnnHandle_t handle)
{
    return destroy(__func__, is_dnn_handle, handle);
}

cudnnStatus_t CUDNNWINAPI cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    cudnnStatus_t s = enter_with(__func__, is_dnn_handle, handle);
    if (s == CUDNN_STATUS_SUCCESS)
        ((dnn_handle *)(void *)handle)->stream = (CUstream)stream;
    return dnn_leave(s);
}

/* ---- tensors and filters ------------------------------------------------------------------- */

static bool is_known_type(cudnnDataType_t type)
{
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_BFLOAT16;
}

cudnnStatus_t CUDNNWINAPI cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor)
{
    return make(__func__, is_tensor, sizeof(dnn_tensor), tensor);
}

cudnnStatus_t CUDNNWINAPI cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
{
    return destroy(__func__, is_tensor, tensor);
}

cudnnStatus_t CUDNNWINAPI cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor,
                                                       cudnnDataType_t type, int n, int c, int h,
                                                       int w, int n_stride, int c_stride,
                                                       int h_stride, int w_stride)
{
    cudnnStatus_t s = enter_with(__func__, is_tensor, tensor);
    if (s == CUDNN_STATUS_SUCCESS && (n < 1 || c < 1 || h < 1 || w < 1 || n_stride < 1 ||
                                      c_stride < 1 || h_stride < 1 || w_stride < 1))
        s = CUDNN_STATUS_BAD_PARAM;
    if (s == CUDNN_STATUS_SUCCESS && !is_known_type(type))
        s = CUDNN_STATUS_NOT_SUPPORTED;
    if (s == CUDNN_STATUS_SUCCESS)
        *(dnn_tensor *)(void *)tensor =
            (dnn_tensor){type, {n, c, h, w}, {n_stride, c_stride, h_stride, w_stride}};
    return dnn_leave(s);
}

cudnnStatus_t CUDNNWINAPI cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter)
{
    return make(__func__, is_filter, sizeof(dnn_filter), filter);
}

cudnnStatus_t CUDNNWINAPI cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter)
{
    return destroy(__func__, is_filter, filter);
}

cudnnStatus_t CUDNNWINAPI cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter,
                                                     cudnnDataType_t type,
                                                     cudnnTensorFormat_t format, int k, int c,
                                                     int h, int w)
{
    cudnnStatus_t s = enter_with(__func__, is_filter, filter);
    if (s == CUDNN_STATUS_SUCCESS && (k < 1 || c < 1 || h < 1 || w < 1 ||
                                      (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC)))
        s = CUDNN_STATUS_BAD_PARAM;
    if (s == CUDNN_STATUS_SUCCESS && !is_known_type(type))
        s = CUDNN_STATUS_NOT_SUPPORTED;
    if (s == CUDNN_STATUS_SUCCESS)
        *(dnn_filter *)(void *)filter = (dnn_filter){type, format, k, c, h, w};
    return dnn_leave(s);
}

/* ---- convolutions and activations ---------------------------------------------------------- */

cudnnStatus_t CUDNNWINAPI
cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *convolution)
{
    return make(__func__, is_convolution, sizeof(dnn_convolution), convolution);
}

cudnnStatus_t CUDNNWINAPI
cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution)
{
    return destroy(__func__, is_convolution, convolution);
}

cudnnStatus_t CUDNNWINAPI cudnnSetConvolution2dDescriptor(
    cudnnConvolutionDescriptor_t convolution, int pad_h, int pad_w, int stride_h, int stride_w,
    int dilation_h, int dilation_w, cudnnConvolutionMode_t mode, cudnnDataType_t compute)
{
    cudnnStatus_t s = enter_with(__func__, is_convolution, convolution);
    if (s == CUDNN_STATUS_SUCCESS && (pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 ||
                                      dilation_h < 1 || dilation_w < 1))
        s = CUDNN_STATUS_BAD_PARAM;
    if (s == CUDNN_STATUS_SUCCESS &&
        (mode != CUDNN_CROSS_CORRELATION || compute != CUDNN_DATA_FLOAT))
        s = CUDNN_STATUS_NOT_SUPPORTED;
    if (s == CUDNN_STATUS_SUCCESS)
        *(dnn_convolution *)(void *)convolution =
            (dnn_convolution){{pad_h, pad_w},           {stride_h, stride_w},
                              {dilation_h, dilation_w}, 1,
                              CUDNN_DEFAULT_MATH,       true};
    return dnn_leave(s);
}

cudnnStatus_t CUDNNWINAPI cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution,
                                                        int groups)
{
    cudnnStatus_t s = enter_with(__func__, is_convolution, convolution);
    if (s == CUDNN_STATUS_SUCCESS && groups < 1)
        s = CUDNN_STATUS_BAD_PARAM;
    if (s == CUDNN_STATUS_SUCCESS)
        ((dnn_convolution *)(void *)convolution)->groups = groups;
    return dnn_leave(s);
}

cudnnStatus_t CUDNNWINAPI cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution,
                                                      cudnnMathType_t math)
{
    cudnnStatus_t s = enter_with(__func__, is_convolution, convolution);
    if (s == CUDNN_STATUS_SUCCESS)
        ((dnn_convolution *)(void *)convolution)->math = math;
    return dnn_leave(s);
}

cudnnStatus_t CUDNNWINAPI cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t *activation)
{
    return make(__func__, is_activation, sizeof(dnn_activation), activation);
}

cudnnStatus_t CUDNNWINAPI cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation)
{
    return destroy(__func__, is_activation, activation);
}

cudnnStatus_t CUDNNWINAPI cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation,
                                                       cudnnActivationMode_t mode,
                                                       cudnnNanPropagation_t nan,
                                                       double coefficient)
{
    cudnnStatus_t s = enter_with(__func__, is_activation, activation);
    (void)coefficient;
    if (s == CUDNN_STATUS_SUCCESS)
        *(dnn_activation *)(void *)activation = (dnn_activation){mode, nan, true};
    return dnn_leave(s);
}
