/* Recurrent layers. */
#include "device/cuda/plugin/kernels/recurrent.h"
#include "device/cuda/plugin/ops/ops.h"
#include "device/recurrent.h"

#define SET_SIZES(p, s, f)                \
    (p).cell = (int32_t)(s).cell;         \
    (p).batch = (s).batch;                \
    (p).steps = (s).steps;                \
    (p).n = (s).units;                    \
    (p).gates = (int32_t)(s).gates;       \
    (p).kept = (int32_t)(s).kept;         \
    (p).products = (int32_t)(s).products; \
    (p).from_last = (s).from_last;        \
    (p).to_last = (s).to_last;            \
    (p).act = (int32_t)(f)->act.kind;     \
    (p).gate = (int32_t)(f)->gate.kind;   \
    (p).act_alpha = (f)->act.alpha;       \
    (p).gate_alpha = (f)->gate.alpha

static cornu_status enqueue_forward(const gpu_op *r)
{
    const recurrent_sizes s = recurrent_sizes_of(r->plan, r->op);
    recurrent_forward_params p = {.z = (const float *)r->in[0],
                                  .u = (const float *)r->in[1],
                                  .bias = (const float *)r->in[2],
                                  .h0 = (const float *)r->in[3],
                                  .c0 = (const float *)r->in[4],
                                  .h = (float *)r->out[0],
                                  .saved = (float *)r->out[1],
                                  .last = (float *)r->out[2]};
    SET_SIZES(p, s, &r->op->a.recurrent);
    return cuda_launch(r->g, CUDA_recurrent_forward,
                       cuda_line(gpu_blocks(s.batch, 1, 4096), RECURRENT_THREADS), &p);
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    (void)g, (void)state;
    *scratch_bytes += gpu_recurrent_carries(p, o);
    return CORNU_OK;
}

static cornu_status enqueue_backward(const gpu_op *r)
{
    const recurrent_sizes s = recurrent_sizes_of(r->plan, r->op);
    recurrent_backward_params p = {.u = (const float *)r->in[0],
                                   .h = (const float *)r->in[1],
                                   .saved = (const float *)r->in[2],
                                   .dh = (const float *)r->in[3],
                                   .h0 = (const float *)r->in[4],
                                   .c0 = (const float *)r->in[5],
                                   .dc = (const float *)r->in[6],
                                   .dz = (float *)r->out[0],
                                   .dr = (float *)r->out[1],
                                   .left = (float *)r->out[2],
                                   .dh0 = (float *)r->out[3],
                                   .dc0 = (float *)r->out[4],
                                   .carries = (float *)r->scratch};
    SET_SIZES(p, s, &r->op->a.recurrent);
    return cuda_launch(r->g, CUDA_recurrent_backward,
                       cuda_line(gpu_blocks(s.batch, 1, 4096), RECURRENT_THREADS), &p);
}

static const gpu_kernel forward = {.name = "samples", .enqueue = enqueue_forward};
static const gpu_kernel backward = {
    .name = "samples", .prepare = prepare, .enqueue = enqueue_backward};
const gpu_kernel *const cuda_recurrent_forward[] = {&forward, NULL};
const gpu_kernel *const cuda_recurrent_backward[] = {&backward, NULL};
