/* Convolutions by cornu's kernels ("direct"), which accept everything; cudnn.c is tried first. */
#include "device/cuda/plugin/ops/product.h"
#include <stdlib.h>

typedef struct conv_state {
    conv_params params; /* without operands and blocking */
    product product;
    int64_t positions; /* positions of y */
} conv_state;

static conv_params params_of(const gpu_conv_roles *r, const window2d *w)
{
    const int64_t *x = r->x->shape.dim, *y = r->y->shape.dim;
    conv_params p = {.height = (int32_t)x[1],
                     .width = (int32_t)x[2],
                     .channels = (int32_t)x[3],
                     .out_height = (int32_t)y[1],
                     .out_width = (int32_t)y[2],
                     .filters = (int32_t)y[3],
                     .group_channels = (int32_t)(x[3] / w->groups),
                     .group_filters = (int32_t)(y[3] / w->groups)};
    for (int i = 0; i < 2; i++) {
        p.kernel[i] = (int32_t)w->kernel[i];
        p.stride[i] = (int32_t)w->stride[i];
        p.dilation[i] = (int32_t)w->dilation[i];
        p.before[i] = (int32_t)w->before[i];
    }
    return p;
}

static cornu_status choose(const gpu *g, const op *o, const gpu_conv_roles *r, conv_state *s)
{
    const window2d *w = &o->a.window;
    int64_t taps = w->kernel[0] * w->kernel[1], channels = r->x->shape.dim[3];
    int64_t filters = r->y->shape.dim[3];
    int64_t group_channels = channels / w->groups, group_filters = filters / w->groups;
    const unsigned tall = 1u << PRODUCT_64X64 | 1u << PRODUCT_128X32,
                   flat = 1u << PRODUCT_64X64 | 1u << PRODUCT_32X128 | 1u << PRODUCT_32X32,
                   strided = 1u << PRODUCT_64X64;
    bool strides = w->stride[0] != 1 || w->stride[1] != 1;
    s->positions = r->y->count / filters;
    switch (o->kind) {
    case OP_CONV2D_FORWARD:
        return product_choose(g, s->positions, group_filters, taps * group_channels, w->groups,
                              tall, filters, group_filters, &s->product);
    case OP_CONV2D_BACKWARD_DATA:
        return product_choose(g, r->x->count / channels, group_channels, taps * group_filters,
                              w->groups, strides ? strided : tall, channels, group_channels,
                              &s->product);
    default:
        return product_choose(g, group_filters, taps * group_channels, s->positions, w->groups,
                              flat, taps * group_channels, group_filters * taps * group_channels,
                              &s->product);
    }
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    gpu_conv_roles roles = gpu_conv_roles_of(p, o);
    conv_state *s = NULL;
    TRY(gpu_conv_check_sides(&roles, &o->a.window));
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    s->params = params_of(&roles, &o->a.window);
    cornu_status status = choose(g, o, &roles, s);
    if (status != CORNU_OK) {
        free(s);
        return status;
    }
    size_t sums = 0;
    if (o->kind == OP_CONV2D_BACKWARD_WEIGHTS && roles.b)
        sums = cuda_column_sums_scratch(s->positions, s->params.filters);
    *scratch_bytes = s->product.scratch_bytes > sums ? s->product.scratch_bytes : sums;
    *state = s;
    return CORNU_OK;
}

static void release(gpu *g, void *state)
{
    (void)g;
    free(state);
}

static cornu_status enqueue(const gpu_op *r, cuda_function kernel, gpu_address a, gpu_address b,
                            gpu_address bias, activation act)
{
    const conv_state *s = r->state;
    conv_params p = s->params;
    p.a = device_floats(a);
    p.b = device_floats(b);
    return product_enqueue(r->g, kernel, &s->product, &p.blocking, r->scratch, bias, r->out[0],
                           act);
}

static cornu_status forward(const gpu_op *r)
{
    return enqueue(r, CUDA_conv_forward, r->in[0], r->in[1], r->in[2], r->op->a.conv.act);
}

static cornu_status backward_data(const gpu_op *r)
{
    const window2d *w = &r->op->a.window;
    bool strides = w->stride[0] != 1 || w->stride[1] != 1;
    return enqueue(r, strides ? CUDA_conv_backward_data_strided : CUDA_conv_backward_data, r->in[0],
                   r->in[1], 0, (activation){ACTIVATION_LINEAR, 0});
}

static cornu_status backward_weights(const gpu_op *r)
{
    const conv_state *s = r->state;
    TRY(enqueue(r, CUDA_conv_backward_weights, r->in[1], r->in[0], 0,
                (activation){ACTIVATION_LINEAR, 0}));
    return r->out[1] == 0 ? CORNU_OK
                          : cuda_column_sums(r->g, r->in[1], s->positions, s->params.filters,
                                             r->scratch, r->out[1]);
}

static const gpu_kernel direct_forward = {
    .name = "direct", .prepare = prepare, .release = release, .enqueue = forward};
static const gpu_kernel direct_backward_data = {
    .name = "direct", .prepare = prepare, .release = release, .enqueue = backward_data};
static const gpu_kernel direct_backward_weights = {
    .name = "direct", .prepare = prepare, .release = release, .enqueue = backward_weights};

const gpu_kernel *const cuda_conv2d_forward[] = {&cuda_cudnn_winograd_forward, &cuda_cudnn_forward,
                                                 &direct_forward, NULL};
const gpu_kernel *const cuda_conv2d_backward_data[] = {
    &cuda_cudnn_winograd_backward_data, &cuda_cudnn_backward_data, &direct_backward_data, NULL};
const gpu_kernel *const cuda_conv2d_backward_weights[] = {&cuda_cudnn_winograd_backward_weights,
                                                          &cuda_cudnn_backward_weights,
                                                          &direct_backward_weights, NULL};
