/* Recurrent layers. */
#include "device/recurrent.h"
#include "device/opencl/plugin/ops/ops.h"

/* Arguments for a kernel's SIZES. */
#define A_SIZES(s, f)                                                                 \
    A_INT(s.cell), A_LONG(s.batch), A_LONG(s.steps), A_LONG(s.units), A_INT(s.gates), \
        A_INT(s.kept), A_INT(s.products), A_INT(s.from_last), A_INT(s.to_last),       \
        A_INT(f->act.kind), A_INT(f->gate.kind), A_FLOAT(f->act.alpha), A_FLOAT(f->gate.alpha)

static cornu_status enqueue_forward(const gpu_op *r)
{
    const recurrent_sizes s = recurrent_sizes_of(r->plan, r->op);
    const recurrence *f = &r->op->a.recurrent;
    return OPENCL_LAUNCH(r->g, OPENCL_recurrent_forward, opencl_line(gpu_blocks(s.batch, 1, 4096)),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]),
                         A_ADDRESS(r->in[3]), A_ADDRESS(r->in[4]), A_ADDRESS(r->out[0]),
                         A_ADDRESS(r->out[1]), A_ADDRESS(r->out[2]), A_SIZES(s, f));
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
    const recurrence *f = &r->op->a.recurrent;
    return OPENCL_LAUNCH(r->g, OPENCL_recurrent_backward, opencl_line(gpu_blocks(s.batch, 1, 4096)),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->in[2]),
                         A_ADDRESS(r->in[3]), A_ADDRESS(r->in[4]), A_ADDRESS(r->in[5]),
                         A_ADDRESS(r->in[6]), A_ADDRESS(r->out[0]), A_ADDRESS(r->out[1]),
                         A_ADDRESS(r->out[2]), A_ADDRESS(r->out[3]), A_ADDRESS(r->out[4]),
                         A_ADDRESS(r->scratch), A_SIZES(s, f));
}

static const gpu_kernel forward = {.name = "samples", .enqueue = enqueue_forward};
static const gpu_kernel backward = {
    .name = "samples", .prepare = prepare, .enqueue = enqueue_backward};
const gpu_kernel *const opencl_recurrent_forward[] = {&forward, NULL};
const gpu_kernel *const opencl_recurrent_backward[] = {&backward, NULL};
