/* Separate activations. */
#include "device/opencl/plugin/ops/ops.h"

/* ---- softmax ------------------------------------------------------------------------------ */

static opencl_grid softmax_grid(int64_t rows, int lanes)
{
    return opencl_line(gpu_blocks(rows, WORK_ITEMS / lanes, 0));
}

static cornu_status enqueue_softmax_forward(const gpu_op *r)
{
    int64_t rows, n;
    tensor_matrix(GPU_OUT(r, 0), &rows, &n);
    int lanes = gpu_lanes(n, GPU_ROW_LANES_MOST);
    return OPENCL_LAUNCH(r->g, OPENCL_softmax_forward, softmax_grid(rows, lanes),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->out[0]), A_LONG(rows), A_LONG(n),
                         A_INT(lanes));
}

static cornu_status enqueue_softmax_backward(const gpu_op *r)
{
    int64_t rows, n;
    tensor_matrix(GPU_OUT(r, 0), &rows, &n);
    int lanes = gpu_lanes(n, GPU_ROW_LANES_MOST);
    return OPENCL_LAUNCH(r->g, OPENCL_softmax_backward, softmax_grid(rows, lanes),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->out[0]),
                         A_LONG(rows), A_LONG(n), A_INT(lanes));
}

/* ---- element by element ------------------------------------------------------------------- */

static cornu_status enqueue_forward(const gpu_op *r)
{
    activation act = r->op->a.act;
    int64_t count = GPU_OUT(r, 0)->count;
    return OPENCL_LAUNCH(r->g, OPENCL_activation_forward, opencl_element_grid(count),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->out[0]), A_LONG(count), A_INT(act.kind),
                         A_FLOAT(act.alpha));
}

static cornu_status enqueue_backward(const gpu_op *r)
{
    activation act = r->op->a.act;
    int64_t count = GPU_OUT(r, 0)->count;
    return OPENCL_LAUNCH(r->g, OPENCL_activation_backward, opencl_element_grid(count),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->out[0]),
                         A_LONG(count), A_INT(act.kind), A_FLOAT(act.alpha));
}

static const gpu_kernel softmax_forward = {
    .name = "softmax", .accepts = gpu_accepts_softmax, .enqueue = enqueue_softmax_forward};
static const gpu_kernel softmax_backward = {
    .name = "softmax", .accepts = gpu_accepts_softmax, .enqueue = enqueue_softmax_backward};
static const gpu_kernel forward = {
    .name = "elementwise", .accepts = gpu_accepts_elements, .enqueue = enqueue_forward};
static const gpu_kernel backward = {
    .name = "elementwise", .accepts = gpu_accepts_elements, .enqueue = enqueue_backward};
const gpu_kernel *const opencl_activation_forward[] = {&opencl_head, &forward, &softmax_forward,
                                                       NULL};
const gpu_kernel *const opencl_activation_backward[] = {&backward, &softmax_backward, NULL};
