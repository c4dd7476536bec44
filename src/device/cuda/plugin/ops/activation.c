/* Separate activations, and the functions that dense layers and convolutions use. */
#include "device/cuda/plugin/kernels/elementwise.h"
#include "device/cuda/plugin/ops/ops.h"

/* ---- softmax ------------------------------------------------------------------------------ */

static cuda_grid softmax_grid(int64_t rows, int lanes)
{
    return cuda_line(gpu_blocks(rows, ELEMENT_THREADS / lanes, 0), ELEMENT_THREADS);
}

static cornu_status enqueue_softmax_forward(const gpu_op *r)
{
    softmax_forward_params p = {.x = (const float *)r->in[0], .y = (float *)r->out[0]};
    tensor_matrix(GPU_OUT(r, 0), &p.rows, &p.n);
    p.lanes = gpu_lanes(p.n, GPU_ROW_LANES_MOST);
    return cuda_launch(r->g, CUDA_softmax_forward, softmax_grid(p.rows, p.lanes), &p);
}

static cornu_status enqueue_softmax_backward(const gpu_op *r)
{
    softmax_backward_params p = {
        .y = (const float *)r->in[0], .dy = (const float *)r->in[1], .dx = (float *)r->out[0]};
    tensor_matrix(GPU_OUT(r, 0), &p.rows, &p.n);
    p.lanes = gpu_lanes(p.n, GPU_ROW_LANES_MOST);
    return cuda_launch(r->g, CUDA_softmax_backward, softmax_grid(p.rows, p.lanes), &p);
}

/* ---- element by element ------------------------------------------------------------------- */

static cornu_status enqueue_forward(const gpu_op *r)
{
    activation act = r->op->a.act;
    activation_forward_params p = {.x = (const float *)r->in[0],
                                   .y = (float *)r->out[0],
                                   .count = GPU_OUT(r, 0)->count,
                                   .kind = (int32_t)act.kind,
                                   .alpha = act.alpha};
    return cuda_launch(r->g, CUDA_activation_forward, cuda_element_grid(p.count), &p);
}

static cornu_status enqueue_backward(const gpu_op *r)
{
    activation act = r->op->a.act;
    activation_backward_params p = {.x_or_y = (const float *)r->in[0],
                                    .dy = (const float *)r->in[1],
                                    .dx = (float *)r->out[0],
                                    .count = GPU_OUT(r, 0)->count,
                                    .kind = (int32_t)act.kind,
                                    .alpha = act.alpha};
    return cuda_launch(r->g, CUDA_activation_backward, cuda_element_grid(p.count), &p);
}

cornu_status cuda_bias_activation(gpu *g, gpu_address x, gpu_address bias, gpu_address y,
                                  int64_t rows, int64_t columns, activation act)
{
    int64_t count = rows * columns;
    if (!bias) {
        activation_forward_params p = {.x = (const float *)x,
                                       .y = (float *)y,
                                       .count = count,
                                       .kind = (int32_t)act.kind,
                                       .alpha = act.alpha};
        return cuda_launch(g, CUDA_activation_forward, cuda_element_grid(count), &p);
    }
    bias_activation_params p = {.x = (const float *)x,
                                .bias = (const float *)bias,
                                .y = (float *)y,
                                .count = count,
                                .columns = columns,
                                .kind = (int32_t)act.kind,
                                .alpha = act.alpha};
    return cuda_launch(g, CUDA_bias_activation, cuda_element_grid(count), &p);
}

cornu_status cuda_cast_bf16(gpu *g, gpu_address x, gpu_address y, int64_t count)
{
    cast_bf16_params p = {.x = (const float *)x, .y = (uint16_t *)y, .count = count};
    return cuda_launch(g, CUDA_cast_bf16, cuda_element_grid(count), &p);
}

static const gpu_kernel softmax_forward = {
    .name = "softmax", .accepts = gpu_accepts_softmax, .enqueue = enqueue_softmax_forward};
static const gpu_kernel softmax_backward = {
    .name = "softmax", .accepts = gpu_accepts_softmax, .enqueue = enqueue_softmax_backward};
static const gpu_kernel forward = {
    .name = "elementwise", .accepts = gpu_accepts_elements, .enqueue = enqueue_forward};
static const gpu_kernel backward = {
    .name = "elementwise", .accepts = gpu_accepts_elements, .enqueue = enqueue_backward};
const gpu_kernel *const cuda_activation_forward[] = {&cuda_head, &forward, &softmax_forward, NULL};
const gpu_kernel *const cuda_activation_backward[] = {&backward, &softmax_backward, NULL};
