/* Convolutions of an image with few channels, forward and backward: alone, and fused with the 2x2
   max-pool after them. */
#include "base/memory.h"
#include "device/cpu/conv/conv_shape.h"
#include "device/cpu/pool/conv_pool.h"
#include <stdlib.h>
#include <string.h>

/* ---- forward ----------------------------------------------------------------------------- */

/* Forward convolution of an image with few channels: alone, and fused with the 2x2 max-pool after
   it, so that the large output is not read again. If cpu_conv_first_pool_backward is the only later
   reader of that output, it is not even written: the backward pass only needs the position of each
   window's maximum, which is one byte per window and is stored in the output's memory. */

CPU_ISA_TABLE(conv_first_kernels, cpu_conv_first);

const conv_pool_pair conv_first_pair = {&cpu_conv_first_pool_forward,
                                        &cpu_conv_first_pool_backward};

enum { CHANNELS_MOST = 4, KERNEL_MOST = 7, TAPS_MOST = KERNEL_MOST * KERNEL_MOST * CHANNELS_MOST };
/* A band stays in the first-level cache; a task with this many multiply-adds takes about 20
   microseconds. */
enum { BAND_FLOATS = 5120, TASK_WORK = 1 << 20 };

typedef struct first_state {
    const conv_first_kernels *k;
    cpu_isa isa;
    first_shape s;
    int64_t batch, rows, bands, per_task; /* rows per band, bands per sample and per task */
    int32_t offset[TAPS_MOST];
    int64_t packed_floats, band_floats; /* scratch memory: weights, then a band per worker */
    const op *pool, *reader; /* fused pool; the reader of its codes, see conv_pool_reader */
    bool rotated;            /* by a rotated window, see rotated_shape */
    int64_t rotated_floats;  /* scratch memory: its weights */
} first_state;

/* ---- acceptance -------------------------------------------------------------------------- */

/* The limits of these kernels; `many` says that there are more channels. */
static bool is_few(const first_shape *s, const char *many, const char **why)
{
    if (s->channels > CHANNELS_MOST)
        *why = many;
    else if (s->kernel[0] > KERNEL_MOST || s->kernel[1] > KERNEL_MOST)
        *why = "larger than 7x7";
    return !*why;
}

/* The shape of a CONV2D_FORWARD or CONV2D_BACKWARD_WEIGHTS. */
static bool conv_first_shape(const plan *p, const op *o, first_shape *s, const char **why)
{
    return conv_forward_shape(p, o, s, why) && is_few(s, "more than 4 channels", why);
}

/* The shape of a CONV2D_BACKWARD_DATA or CONV2D_BACKWARD_WEIGHTS by the rotated window. */
static bool rotated_shape(const plan *p, const op *o, first_shape *s, const char **why)
{
    return conv_rotated_shape(p, o, s, why) && is_few(s, "more than 4 filters", why);
}

static bool rotated_accepts(const plan *p, const op *o, const char **why)
{
    first_shape s;
    return rotated_shape(p, o, &s, why);
}

static bool accepts(const plan *p, const op *o, const char **why)
{
    first_shape s;
    return conv_first_shape(p, o, &s, why);
}

static bool pool_accepts(const plan *p, const op *o, const char **why)
{
    first_shape s;
    return conv_first_shape(p, o, &s, why) && conv_pool_accepts(p, o, why);
}

/* ---- prepare ----------------------------------------------------------------------------- */

/* Output rows of a band such that its packed copy, with `row_floats` floats per row, has about
   `floats`: a multiple of `multiple`, and at least `multiple`. */
static int64_t conv_first_band_rows(const first_shape *s, int64_t row_floats, int64_t floats,
                                    int64_t multiple)
{
    int64_t rows = (floats / row_floats - s->kernel[0]) / s->stride[0] + 1;
    rows = cpu_least(rows / multiple, s->out[0] / multiple) * multiple;
    return rows < multiple ? multiple : rows;
}

/* Bands per task, with `rows` output rows each: enough work to be worth dispatching. */
static int64_t conv_first_bands_per_task(const first_shape *s, int64_t rows)
{
    int64_t work = rows * s->out[1] * first_taps(s) * s->filters;
    return work >= TASK_WORK ? 1 : TASK_WORK / work;
}

static cornu_status prepare_any(const plan *p, const op *o, const op *pool, threads *pool_threads,
                                void **state, size_t *scratch_bytes)
{
    first_state *s = NULL;
    cpu_isa isa;
    const char *why;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    s->k = cpu_conv_first[isa];
    s->isa = isa;
    s->rotated = o->kind == OP_CONV2D_BACKWARD_DATA;
    if (s->rotated)
        rotated_shape(p, o, &s->s, &why);
    else
        conv_first_shape(p, o, &s->s, &why);
    s->batch = OP_IN(p, o, 0)->shape.dim[0];
    s->rows = conv_first_band_rows(&s->s, first_band_row(&s->s), BAND_FLOATS, pool ? 2 : 1);
    s->bands = cpu_divide_up(pool ? s->s.out[0] / 2 * 2 : s->s.out[0], s->rows);
    s->per_task = conv_first_bands_per_task(&s->s, s->rows);
    s->pool = pool;
    s->reader = pool ? conv_pool_reader(p, o, &conv_first_pair) : NULL;
    s->k->offsets(&s->s, s->offset);
    s->packed_floats = cpu_scratch_floats(s->k->packed_floats(&s->s));
    s->band_floats = cpu_scratch_floats(first_band_floats(&s->s, s->rows));
    s->rotated_floats = s->rotated ? cpu_scratch_floats(first_taps(&s->s) * s->s.filters) : 0;
    cpu_need_scratch(scratch_bytes, s->packed_floats +
                                        threads_count(pool_threads) * s->band_floats +
                                        s->rotated_floats);
    *state = s;
    return CORNU_OK;
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    return prepare_any(p, o, NULL, pool, state, scratch_bytes);
}

static cornu_status pool_prepare(const plan *p, const op *o, threads *pool, void **state,
                                 size_t *scratch_bytes)
{
    return prepare_any(p, o, o + 1, pool, state, scratch_bytes);
}

/* ---- run --------------------------------------------------------------------------------- */

typedef struct first_run {
    const first_state *s;
    activation act;
    const float *x;
    float *packed, *bands;
    float *y, *pooled; /* y: NULL where not needed */
    uint8_t *codes;    /* shape as pooled, or NULL */
} first_run;

/* Output rows row to row + rows - 1 of a sample. */
static void run_band(const first_run *r, int64_t sample, int64_t row, int64_t rows, float *band)
{
    const first_state *s = r->s;
    const first_shape *h = &s->s;
    int64_t width = h->out[1] * h->filters, windows = h->out[1] / 2 * h->filters;
    first_forward f = {.s = h,
                       .offset = s->offset,
                       .packed = r->packed,
                       .band = band,
                       .rows = rows,
                       .relu = r->act.kind == ACTIVATION_RELU,
                       .y = r->y ? r->y + (sample * h->out[0] + row) * width : NULL};
    s->k->pack_band(h, r->x + sample * h->in[0] * h->in[1] * h->channels, row, rows, band);
    if (s->pool && rows > 1) {
        int64_t at = (sample * (h->out[0] / 2) + row / 2) * windows;
        f.rows = rows / 2;
        f.pooled = r->pooled + at;
        f.codes = r->codes ? r->codes + at : NULL;
        s->k->forward_pool(&f);
        return;
    }
    s->k->forward(&f);
    if (r->act.kind != ACTIVATION_LINEAR && r->act.kind != ACTIVATION_RELU)
        cpu_activate(s->isa, r->act, f.y, f.y, rows * width);
}

static void run_task(void *context, int64_t task, int worker)
{
    const first_run *r = context;
    const first_state *s = r->s;
    float *band = r->bands + worker * s->band_floats;
    int64_t begin, end, height = s->s.out[0], pooled_rows = s->pool ? height / 2 * 2 : height;
    cpu_task_range(s->batch * s->bands, s->per_task, task, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t sample = i / s->bands, row = i % s->bands * s->rows;
        run_band(r, sample, row, cpu_least(s->rows, pooled_rows - row), band);
        /* a last row outside all windows */
        if (row + s->rows >= pooled_rows && pooled_rows < height && r->y)
            run_band(r, sample, pooled_rows, 1, band);
    }
}

static cornu_status run_rotated(const op_run *o)
{
    const first_state *s = o->state;
    float *packed = o->scratch, *rotated = packed + s->packed_floats;
    const first_run r = {.s = s,
                         .act = {.kind = ACTIVATION_LINEAR},
                         .x = o->in[0],
                         .packed = packed,
                         .bands = rotated + s->rotated_floats,
                         .y = o->out[0]};
    conv_rotate_weights(&s->s, o->in[1], rotated);
    s->k->pack_weights(&s->s, rotated, NULL, packed);
    threads_run(o->pool, cpu_divide_up(s->batch * s->bands, s->per_task), run_task, (void *)&r);
    return CORNU_OK;
}

static cornu_status run(const op_run *o)
{
    const first_state *s = o->state;
    float *packed = o->scratch;
    first_run r = {.s = s,
                   .act = o->op->a.conv.act,
                   .x = o->in[0],
                   .packed = packed,
                   .bands = packed + s->packed_floats,
                   .y = o->out[0]};
    if (s->pool) {
        conv_pool_output to = conv_pool_outputs(o, s->reader, &conv_first_pair);
        r.y = to.y;
        r.pooled = to.pooled;
        r.codes = to.codes;
    }
    s->k->pack_weights(&s->s, o->in[1], o->in[2], packed);
    threads_run(o->pool, cpu_divide_up(s->batch * s->bands, s->per_task), run_task, &r);
    return CORNU_OK;
}

static void pool_needs(const plan *p, const op_group *g, const kernel_info *const *kernels,
                       size_t *bytes)
{
    conv_pool_forward_needs(p, g, kernels, &conv_first_pair, bytes);
}

static double pool_bytes(const plan *p, const op *o, const kernel_info *const *kernels)
{
    return conv_pool_forward_bytes(p, o, kernels, &conv_first_pair);
}

const kernel cpu_conv_first_forward = {
    .name = "first_conv", .accepts = accepts, .prepare = prepare, .release = free, .run = run};
const kernel cpu_conv_last_backward_data = {.name = "last_conv",
                                            .accepts = rotated_accepts,
                                            .prepare = prepare,
                                            .release = free,
                                            .run = run_rotated};
const kernel cpu_conv_first_pool_forward = {.name = "first_conv_pool",
                                            .accepts = pool_accepts,
                                            .prepare = pool_prepare,
                                            .release = free,
                                            .run = run,
                                            .group = GROUP_CONV_POOL,
                                            .needs = pool_needs,
                                            .bytes = pool_bytes};

/* ---- backward ---------------------------------------------------------------------------- */

/* Gradient of the weights and bias of a convolution of an image with few channels: alone, fused
   with the relu after it, and with relu and 2x2 max-pool after it. The gradients between these are
   never written. Each task has a range of the batch's bands and its own partial sums, which are
   added in the order of the tasks. */

CPU_ISA_TABLE(conv_first_gradient_kernels, cpu_conv_first_gradient);

enum { GRADIENT_BAND_FLOATS = 5120, POOL_BAND_FLOATS = 16384, PARTIALS_MOST = 32 };

typedef struct gradient_state {
    const conv_first_gradient_kernels *k;
    cpu_isa isa;
    first_shape s;
    conv_backward ops;
    const op *writer; /* of the codes, see conv_pool_reader */
    bool rotated;
    int64_t batch, rows, bands, per_task,
        partial_count;                         /* rows per band, bands per sample and per task */
    int64_t stride, band_floats, total_floats; /* scratch memory: [partial_count][stride], then a
                                                  band per worker and, where rotated, dW's sums */
} gradient_state;

/* ---- backward: acceptance ---------------------------------------------------------------- */

static conv_backward find_ops(const plan *p, const op *o)
{
    return o->kind == OP_CONV2D_BACKWARD_WEIGHTS ? (conv_backward){.weights = o}
                                                 : conv_backward_of(p, o);
}

static bool gradient_accepts(const plan *p, const op *o, const char **why)
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

static void gradient_pool_needs(const plan *p, const op_group *g, const kernel_info *const *kernels,
                                size_t *bytes)
{
    conv_pool_backward_needs(p, g, kernels, &conv_first_pair, bytes);
}

static double gradient_pool_bytes(const plan *p, const op *o, const kernel_info *const *kernels)
{
    return conv_pool_backward_bytes(p, o, kernels, &conv_first_pair);
}

/* ---- backward: prepare ------------------------------------------------------------------- */

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
        s->rows = conv_first_band_rows(h, row, GRADIENT_BAND_FLOATS, 1);
        s->bands = cpu_divide_up(h->out[0], s->rows);
        s->band_floats = first_gradient_floats(h, s->rows);
    }
    s->band_floats = cpu_scratch_floats(s->band_floats);
    s->per_task = cpu_most(conv_first_bands_per_task(h, s->ops.pool ? 2 * s->rows : s->rows),
                           cpu_divide_up(s->batch * s->bands, PARTIALS_MOST));
    s->partial_count = cpu_divide_up(s->batch * s->bands, s->per_task);
    s->total_floats = s->rotated ? cpu_scratch_floats(first_taps(h) * h->filters) : 0;
    s->stride = cpu_scratch_floats((first_taps(h) + 1) * h->filters + h->channels);
}

static cornu_status gradient_prepare(const plan *p, const op *o, threads *pool, void **state,
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
    s->rotated = !conv_first_shape(p, s->ops.weights, &s->s, &why);
    if (s->rotated)
        rotated_shape(p, s->ops.weights, &s->s, &why);
    s->batch = OP_IN(p, s->ops.weights, 0)->shape.dim[0];
    choose_blocking(s);
    cpu_need_scratch(scratch_bytes, s->partial_count * s->stride +
                                        threads_count(pool) * s->band_floats + s->total_floats);
    *state = s;
    return CORNU_OK;
}

/* ---- backward: run ----------------------------------------------------------------------- */

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

enum { LANES = 16 };

/* sums[channel] += the sum of a range of dy's rows: of the rows of all samples, an equal share for
   each task. In LANES sums for each channel, which are added in their order. */
static void add_bias(const gradient_state *s, const float *dy, int64_t task, float *sums)
{
    const first_shape *h = &s->s;
    const int64_t row = h->in[1] * h->channels, width = LANES * h->channels;
    float lanes[LANES * CHANNELS_MOST] = {0};
    int64_t begin, end;
    threads_range(s->batch * h->in[0], s->partial_count, task, 1, &begin, &end);
    const int64_t last = end * row;
    int64_t at = begin * row;
    for (; at + width <= last; at += width)
        for (int64_t k = 0; k < width; k++)
            lanes[k] += dy[at + k];
    for (int64_t k = 0; at + k < last; k++)
        lanes[k] += dy[at + k];
    for (int64_t k = 0; k < width; k++)
        sums[k % h->channels] += lanes[k];
}

static void gradient_run_task(void *context, int64_t task, int worker)
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
    if (s->rotated)
        add_bias(s, r->x, task, sums + (first_taps(&s->s) + 1) * s->s.filters);
}

/* dW [taps of the window][filters][channels] from the sums for the rotated window. */
static void rotated_run(const op_run *o, gradient_run *r)
{
    const gradient_state *s = r->s;
    const first_shape *h = &s->s;
    const op *weights = s->ops.weights;
    const int64_t count = first_taps(h) * h->filters, window = h->kernel[0] * h->kernel[1];
    float *total = r->bands + threads_count(o->pool) * s->band_floats;
    float *dw = o->tensors[weights->out[0]];
    r->x = o->tensors[weights->in[1]];
    r->dy = o->tensors[weights->in[0]];
    threads_run(o->pool, s->partial_count, gradient_run_task, r);
    cpu_sum_range(s->isa, r->sums, count, s->partial_count, s->stride, total);
    for (int64_t tap = window - 1; tap >= 0; tap--)
        for (int64_t n = 0; n < h->filters; n++)
            for (int64_t c = 0; c < h->channels; c++)
                *dw++ = total[(tap * h->channels + c) * h->filters + n];
    if (weights->out[1] != NO_TENSOR)
        cpu_sum_range(s->isa, r->sums + count + h->filters, h->channels, s->partial_count,
                      s->stride, o->tensors[weights->out[1]]);
}

static cornu_status run_gradient(const op_run *o)
{
    const gradient_state *s = o->state;
    const conv_backward *f = &s->ops;
    float *sums = o->scratch;
    gradient_run r = {.s = s,
                      .sums = sums,
                      .bands = sums + s->partial_count * s->stride,
                      .x = o->tensors[f->weights->in[0]]};
    if (s->rotated) {
        rotated_run(o, &r);
        return CORNU_OK;
    }
    if (f->pool) {
        r.dy = o->in[2];
        r.codes = conv_pool_codes(o, s->isa, f, s->writer, &conv_first_pair);
    } else if (f->act) {
        r.y = o->in[0];
        r.dy = o->in[1];
    } else {
        r.dy = o->in[1];
    }
    threads_run(o->pool, s->partial_count, gradient_run_task, &r);
    float *dw = o->tensors[f->weights->out[0]];
    int64_t count = first_taps(&s->s) * s->s.filters;
    cpu_sum_range(s->isa, sums, count, s->partial_count, s->stride, dw);
    if (f->weights->out[1] != NO_TENSOR)
        cpu_sum_range(s->isa, sums + count, s->s.filters, s->partial_count, s->stride,
                      o->tensors[f->weights->out[1]]);
    return CORNU_OK;
}

const kernel cpu_conv_first_backward_weights = {.name = "first_conv",
                                                .accepts = gradient_accepts,
                                                .prepare = gradient_prepare,
                                                .release = free,
                                                .run = run_gradient};
const kernel cpu_conv_last_backward_weights = {.name = "last_conv",
                                               .accepts = rotated_accepts,
                                               .prepare = gradient_prepare,
                                               .release = free,
                                               .run = run_gradient};
const kernel cpu_conv_first_relu_backward = {.name = "first_conv_relu",
                                             .group = GROUP_CONV_BACKWARD,
                                             .accepts = fused_accepts,
                                             .prepare = gradient_prepare,
                                             .release = free,
                                             .run = run_gradient,
                                             .flops = fused_flops};
const kernel cpu_conv_first_pool_backward = {.name = "first_conv_pool",
                                             .group = GROUP_CONV_BACKWARD,
                                             .needs = gradient_pool_needs,
                                             .accepts = fused_accepts,
                                             .prepare = gradient_prepare,
                                             .release = free,
                                             .run = run_gradient,
                                             .flops = fused_flops,
                                             .bytes = gradient_pool_bytes};
