/* One convolution by cuDNN: its descriptors and the algorithm that was chosen. */
#ifndef DEVICE_CUDA_PLUGIN_CUDNN_H
#define DEVICE_CUDA_PLUGIN_CUDNN_H

#include "device/cuda/plugin/cuda.h"

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

/* cudnn_choice.c: the algorithm, its workspace and adds_bias of a state that is described.
   CORNU_UNSUPPORTED: cuDNN has none. */
cornu_status cudnn_choose(gpu *g, bool winograd, dnn_state *s);

#endif
