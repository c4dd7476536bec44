/* Winograd's convolutions with the 2x2 max-pool after them. The large output is not written: the
   forward pass leaves a code per window in its place, and the backward pass, of the pool, the relu
   and the convolution at once, stores no gradient of it. Each would be read or written several
   times and does not fit into the caches. */
#include "base/memory.h"
#include "device/cpu/pool/conv_pool.h"
#include "device/cpu/winograd/winograd.h"
#include <stdlib.h>

static const conv_pool_pair pair = {&cpu_winograd_pool_forward, &cpu_winograd_pool_backward};

/* ---- forward ---------------------------------------------------------------------------- */

typedef struct forward_state {
    void *conv;
    const op *reader; /* of the codes, see conv_pool_reader */
} forward_state;

static bool forward_accepts(const plan *p, const op *o, const char **why)
{
    return winograd_accepts(p, o, why) && conv_pool_accepts(p, o, why);
}

static double forward_flops(const plan *p, const op *o)
{
    return winograd_flops(p, o) + (o + 1)->flops;
}

static void forward_needs(const plan *p, const op_group *g, const kernel_info *const *kernels,
                          size_t *bytes)
{
    conv_pool_forward_needs(p, g, kernels, &pair, bytes);
}

static double forward_bytes(const plan *p, const op *o, const kernel_info *const *kernels)
{
    return conv_pool_forward_bytes(p, o, kernels, &pair);
}

static void forward_release(void *state)
{
    forward_state *s = state;
    if (!s)
        return;
    free(s->conv);
    free(s);
}

static cornu_status forward_prepare(const plan *p, const op *o, threads *pool, void **state,
                                    size_t *scratch_bytes)
{
    forward_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    s->reader = conv_pool_reader(p, o, &pair);
    cornu_status status = winograd_prepare_forward(p, o, pool, &s->conv, scratch_bytes);
    if (status != CORNU_OK)
        forward_release(s);
    else
        *state = s;
    return status;
}

static cornu_status forward_run(const op_run *o)
{
    const forward_state *s = o->state;
    conv_pool_output to = conv_pool_outputs(o, s->reader, &pair);
    winograd_forward(s->conv, o, o->in[0], o->in[1],
                     &(winograd_output){.bias = o->in[2],
                                        .relu = o->op->a.conv.act.kind == ACTIVATION_RELU,
                                        .y = to.y,
                                        .pooled = to.pooled,
                                        .codes = to.codes});
    return CORNU_OK;
}

/* ---- backward --------------------------------------------------------------------------- */

typedef struct backward_state {
    conv_backward ops;
    const op *writer; /* of the codes, see conv_pool_writer */
    void *pass[2];    /* one, or the weights' and then the inputs' gradient */
} backward_state;

static bool backward_accepts(const plan *p, const op *o, const char **why)
{
    conv_backward f = conv_backward_of(p, o);
    return conv_backward_accepts(p, &f, why) && winograd_accepts(p, f.weights, why) &&
           (!f.data || winograd_accepts(p, f.data, why));
}

/* Pool and relu only decide where gradients go. */
static double backward_flops(const plan *p, const op *o)
{
    conv_backward f = conv_backward_of(p, o);
    return winograd_flops(p, f.weights) + (f.data ? winograd_flops(p, f.data) : 0);
}

static void backward_needs(const plan *p, const op_group *g, const kernel_info *const *kernels,
                           size_t *bytes)
{
    conv_pool_backward_needs(p, g, kernels, &pair, bytes);
}

static double backward_bytes(const plan *p, const op *o, const kernel_info *const *kernels)
{
    return conv_pool_backward_bytes(p, o, kernels, &pair);
}

static void backward_release(void *state)
{
    backward_state *s = state;
    if (!s)
        return;
    free(s->pass[0]);
    free(s->pass[1]);
    free(s);
}

static cornu_status backward_prepare(const plan *p, const op *o, threads *pool, void **state,
                                     size_t *scratch_bytes)
{
    backward_state *s = NULL;
    cornu_status status = CORNU_OK;
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    s->ops = conv_backward_of(p, o);
    s->writer = conv_pool_writer(p, o, &pair);
    bool one = s->ops.data && winograd_one_pass(p, s->ops.weights, s->ops.data);
    TRY_GOTO(winograd_prepare_backward(p, s->ops.weights, one ? s->ops.data : NULL, pool,
                                       &s->pass[0], scratch_bytes));
    if (s->ops.data && !one)
        TRY_GOTO(winograd_prepare_backward(p, NULL, s->ops.data, pool, &s->pass[1], scratch_bytes));
    *state = s;
done:
    if (status != CORNU_OK)
        backward_release(s);
    return status;
}

static cornu_status backward_run(const op_run *o)
{
    const backward_state *s = o->state;
    const op *weights = s->ops.weights, *data = s->ops.data;
    const cpu_isa isa = ((const winograd_state *)s->pass[0])->isa;
    winograd_gradients g = {.x = o->tensors[weights->in[0]],
                            .w = data ? o->tensors[data->in[1]] : NULL,
                            .dy = {o->in[2], conv_pool_codes(o, isa, &s->ops, s->writer, &pair)},
                            .dw = o->tensors[weights->out[0]],
                            .dx = data ? o->tensors[data->out[0]] : NULL};
    if (weights->out[1] != NO_TENSOR)
        g.db = o->tensors[weights->out[1]];
    for (int i = 0; i < 2; i++)
        if (s->pass[i])
            winograd_backward(s->pass[i], o, &g);
    return CORNU_OK;
}

const kernel cpu_winograd_pool_forward = {.name = "winograd_pool",
                                          .accepts = forward_accepts,
                                          .prepare = forward_prepare,
                                          .release = forward_release,
                                          .run = forward_run,
                                          .group = GROUP_CONV_POOL,
                                          .needs = forward_needs,
                                          .flops = forward_flops,
                                          .bytes = forward_bytes,
                                          .tolerance = WINOGRAD_TOLERANCE};
const kernel cpu_winograd_pool_backward = {.name = "winograd_pool",
                                           .accepts = backward_accepts,
                                           .prepare = backward_prepare,
                                           .release = backward_release,
                                           .run = backward_run,
                                           .group = GROUP_CONV_BACKWARD,
                                           .needs = backward_needs,
                                           .flops = backward_flops,
                                           .bytes = backward_bytes,
                                           .tolerance = WINOGRAD_TOLERANCE};
