/* Within the simulated libcudnn.so.9. */
#ifndef DNN_H
#define DNN_H

#pragma GCC visibility push(default)
#include "simulated.h"
#include <cudnn.h>
#pragma GCC visibility pop
#include "rounding.h"

extern const char is_dnn_handle[], is_tensor[], is_filter[], is_convolution[], is_activation[];

typedef struct dnn_handle {
    CUstream stream;
} dnn_handle;

typedef struct dnn_tensor {
    cudnnDataType_t type;
    int64_t dim[4], stride[4]; /* n, c, h, w; all 0: not set */
} dnn_tensor;

typedef struct dnn_filter {
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int64_t k, c, h, w; /* c: of one group */
} dnn_filter;

typedef struct dnn_convolution {
    int64_t pad[2], stride[2], dilation[2], groups;
    cudnnMathType_t math;
    bool set;
} dnn_convolution;

typedef struct dnn_activation {
    cudnnActivationMode_t mode;
    cudnnNanPropagation_t nan;
    bool set;
} dnn_activation;

cudnnStatus_t dnn_enter(const char *function);
cudnnStatus_t dnn_leave(cudnnStatus_t status);

typedef enum dnn_pass { FORWARD, BACKWARD_DATA, BACKWARD_FILTER } dnn_pass;
typedef enum dnn_quirk {
    QUIRK_NONE,
    QUIRK_WINOGRAD,        /* other sums than the definition's: a little off */
    QUIRK_NONDETERMINISTIC /* other bits each time */
} dnn_quirk;

/* One convolution as it is enqueued: x, w, y are the operands or their gradients. */
typedef struct dnn_work {
    dnn_pass pass;
    dnn_quirk quirk;
    dnn_tensor x, y;
    dnn_filter w;
    dnn_convolution c;
    const void *x_at, *w_at, *y_at; /* the pass writes one of them */
    float alpha, beta;
    void *workspace;
    size_t workspace_bytes;
    /* FORWARD with bias and activation */
    bool with_bias, relu;
    const void *bias, *z;
    float alpha_z;
    dnn_tensor z_desc;
} dnn_work;

/* simulated_work */
void dnn_run(const void *work);

#endif
