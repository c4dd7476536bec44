/* Gradient of the weights and bias of a convolution of an image with few channels: alone, fused
   with the relu after it, and with relu and 2x2 max-pool after it. The gradients between these are
   never written. Each task has a range of the batch's bands and its own partial sums, which are
   added in the order of the tasks. */
#include "base/memory.h"
#include "device/cpu/conv/conv_first.h"
#include "device/cpu/conv/conv_first_gradient_kernels.h"
#include <stdlib.h>
#include <string.h>

CPU_ISA_TABLE(conv_first_gradient_kernels, cpu_conv_first_gradient);

enum { BAND_FLOATS = 5120, POOL_BAND_FLOATS = 16384, PARTIALS_MOST = 32 };

typedef struct gradient_state {
    const conv_first_gradient_kernels *k;
    cpu_isa isa;
    first_shape s;
    conv_backward ops;
    const op *writer; /* of the codes, see conv_pool_reader */
    int64_t batch, rows, bands, per_task,
        partial_count; /* rows per band, bands per sample and per task */
    int64_t stride,
        band_floats; /* scratch memory: [partial_count][stride], then a band per worker */
} gradient_state;

/* ---- acceptance -------------------------------------------------------------------------- */

static conv_backward find_ops(const plan *p, const op *o)
{
    return o->kind == OP_CONV2D_BACKWARD_WEIGHTS ? (conv_backward){.weights = o}
                                                 : conv_backward_of(p, o);
}

static bool accepts(const plan *p, const op *o, const char **why)
{
    first_shape s;
    return conv_first_shape(p, o, &s, why);
}

static bool fused_accepts(const plan *p, const op *o, const char **why)
{
    conv_backward f = conv_backward_of(p, o);
    first_shape s;
    if (!conv_backward_accepts(p, &f, why) || !conv_first_shape(p, f.weights, &s, why))
        return false;
    *why = f.data ? "the image's gradient is wanted" : "a strided convolution before the pool";
    return !f.data && (!f.pool || (s.stride[0] == 1 && s.stride[1] == 1));
}

/* The gradients between pool and convolution do not exist: a window's gradient goes to one of its
   four pixels, and relu only decides whether it goes anywhere. */
static double fused_flops(const plan *p, const op *o)
{
    conv_backward f = conv_backward_of(p, o);
    cpu_isa isa;
    if (!f.pool ||
        cpu_isa_choose(&isa) != CORNU_OK) /* `prepare`, which is called next, reports it */
        return f.weights->flops;
    const tensor *dw = OP_OUT(p, f.weights, 0), *windows = OP_IN(p, f.pool, 2);
    double taps = (double)(dw->count / dw->shape.dim[3]);
    int products = cpu_conv_first_gradient[isa]->pool_products;
    return 2.0 * products * taps * (double)windows->count;
}

static void pool_needs(const plan *p, const op_group *g, const kernel_info *const *kernels,
                       size_t *bytes)
{
    conv_pool_backward_needs(p, g, kernels, &conv_first_pair, bytes);
}

static double pool_bytes(const plan *p, const op *o, const kernel_info *const *kernels)
{
    return conv_pool_backward_bytes(p, o, kernels, &conv_first_pair);
}

/* ---- prepare ----------------------------------------------------------------------------- */

/* Bands, tasks and the sizes of their buffers. */
static void choose_blocking(gradient_state *s)
{
    const first_shape *h = &s->s;
    int64_t row = first_gradient_row(h), pooled = h->out[0] / 2;
    if (s->ops.pool) {
        s->rows = conv_first_band_rows(h, 4 * row, POOL_BAND_FLOATS, 2) / 2;
        s->bands = cpu_divide_up(pooled, s->rows);
        s->band_floats =
            first_gradient_floats(h, 2 * s->rows) + first_pool_gradient_floats(h, s->rows);
    } else {
        s->rows = conv_first_band_rows(h, row, BAND_FLOATS, 1);
        s->bands = cpu_divide_up(h->out[0], s->rows);
        s->band_floats = first_gradient_floats(h, s->rows);
    }
    s->band_floats = cpu_scratch_floats(s->band_floats);
    s->per_task = cpu_most(conv_first_bands_per_task(h, s->ops.pool ? 2 * s->rows : s->rows),
                           cpu_divide_up(s->batch * s->bands, PARTIALS_MOST));
    s->partial_count = cpu_divide_up(s->batch * s->bands, s->per_task);
    s->stride = cpu_scratch_floats((first_taps(h) + 1) * h->filters);
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    gradient_state *s = NULL;
    cpu_isa isa;
    const char *why;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    s->k = cpu_conv_first_gradient[isa];
    s->isa = isa;
    s->ops = find_ops(p, o);
    s->writer = s->ops.pool ? conv_pool_writer(p, s->ops.pool, &conv_first_pair) : NULL;
    conv_first_shape(p, s->ops.weights, &s->s, &why);
    s->batch = OP_IN(p, s->ops.weights, 0)->shape.dim[0];
    choose_blocking(s);
    cpu_need_scratch(scratch_bytes,
                     s->partial_count * s->stride + threads_count(pool) * s->band_floats);
    *state = s;
    return CORNU_OK;
}

/* ---- run --------------------------------------------------------------------------------- */

typedef struct gradient_run {
    const gradient_state *s;
    float *sums, *bands;
    const float *x, *dy;  /* dy: with a pool, the gradient of its output */
    const float *y;       /* the convolution's output, where it is needed */
    const uint8_t *codes; /* with a pool */
} gradient_run;

static void add_band(const gradient_run *r, int64_t sample, int64_t row, int64_t rows, float *band,
                     float *sums)
{
    const gradient_state *s = r->s;
    const first_shape *h = &s->s;
    int64_t at = (sample * h->out[0] + row) * h->out[1] * h->filters;
    s->k->pack_band(h, r->x + sample * h->in[0] * h->in[1] * h->channels, row, rows, band);
    s->k->add(&(first_gradient){.s = h,
                                .band = band,
                                .rows = rows,
                                .dy = r->dy + at,
                                .y = r->y ? r->y + at : NULL,
                                .sums = sums});
}

/* Rows of windows. */
static void add_pool_band(const gradient_run *r, int64_t sample, int64_t row, int64_t rows,
                          float *band, float *sums)
{
    const gradient_state *s = r->s;
    const first_shape *h = &s->s;
    int64_t windows = h->out[1] / 2 * h->filters, at = (sample * (h->out[0] / 2) + row) * windows;
    s->k->pack_pool_band(h, r->x + sample * h->in[0] * h->in[1] * h->channels, row, rows, band);
    s->k->add_pool(&(first_gradient){.s = h,
                                     .band = band,
                                     .rows = rows,
                                     .dy = r->dy + at,
                                     .codes = r->codes + at,
                                     .sums = sums});
}

static void run_task(void *context, int64_t task, int worker)
{
    const gradient_run *r = context;
    const gradient_state *s = r->s;
    float *sums = r->sums + task * s->stride, *band = r->bands + worker * s->band_floats;
    int64_t begin, end, height = s->ops.pool ? s->s.out[0] / 2 : s->s.out[0];
    cpu_task_range(s->batch * s->bands, s->per_task, task, &begin, &end);
    memset(sums, 0, (size_t)s->stride * sizeof *sums);
    for (int64_t i = begin; i < end; i++) {
        int64_t sample = i / s->bands, row = i % s->bands * s->rows;
        int64_t rows = cpu_least(s->rows, height - row);
        if (s->ops.pool)
            add_pool_band(r, sample, row, rows, band, sums);
        else
            add_band(r, sample, row, rows, band, sums);
    }
}

static cornu_status run(const op_run *o)
{
    const gradient_state *s = o->state;
    const conv_backward *f = &s->ops;
    float *sums = o->scratch;
    gradient_run r = {.s = s,
                      .sums = sums,
                      .bands = sums + s->partial_count * s->stride,
                      .x = o->tensors[f->weights->in[0]]};
    if (f->pool) {
        r.dy = o->in[2];
        r.codes = conv_pool_codes(o, s->isa, f, s->writer, &conv_first_pair);
    } else if (f->act) {
        r.y = o->in[0];
        r.dy = o->in[1];
    } else {
        r.dy = o->in[1];
    }
    threads_run(o->pool, s->partial_count, run_task, &r);
    float *dw = o->tensors[f->weights->out[0]];
    int64_t count = first_taps(&s->s) * s->s.filters;
    cpu_sum_range(s->isa, sums, count, s->partial_count, s->stride, dw);
    if (f->weights->out[1] != NO_TENSOR)
        cpu_sum_range(s->isa, sums + count, s->s.filters, s->partial_count, s->stride,
                      o->tensors[f->weights->out[1]]);
    return CORNU_OK;
}

const kernel cpu_conv_first_backward_weights = {
    .name = "first_conv", .accepts = accepts, .prepare = prepare, .release = free, .run = run};
const kernel cpu_conv_first_relu_backward = {.name = "first_conv_relu",
                                             .group = GROUP_CONV_BACKWARD,
                                             .accepts = fused_accepts,
                                             .prepare = prepare,
                                             .release = free,
                                             .run = run,
                                             .flops = fused_flops};
const kernel cpu_conv_first_pool_backward = {.name = "first_conv_pool",
                                             .group = GROUP_CONV_BACKWARD,
                                             .needs = pool_needs,
                                             .accepts = fused_accepts,
                                             .prepare = prepare,
                                             .release = free,
                                             .run = run,
                                             .flops = fused_flops,
                                             .bytes = pool_bytes};
