/* Forward convolution of an image with few channels: alone, and fused with the 2x2 max-pool after
   it, so that the large output is not read again. If cpu_conv_first_pool_backward is the only later
   reader of that output, it is not even written: the backward pass only needs the position of each
   window's maximum, which is one byte per window and is stored in the output's memory. */
#include "device/cpu/conv/conv_first.h"
#include "base/memory.h"
#include <stdlib.h>

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
} first_state;

/* ---- acceptance -------------------------------------------------------------------------- */

bool conv_first_shape(const plan *p, const op *o, first_shape *s, const char **why)
{
    const window2d *w = &o->a.conv.w;
    bool forward = o->kind == OP_CONV2D_FORWARD;
    const shape *x = &OP_IN(p, o, 0)->shape;
    const shape *y = forward ? &OP_OUT(p, o, 0)->shape : &OP_IN(p, o, 1)->shape;
    *why = NULL;
    if (x->dim[3] > CHANNELS_MOST)
        *why = "more than 4 channels";
    for (int i = 0; i < 2; i++) {
        if (w->dilation[i] != 1)
            *why = "dilated";
        if (w->kernel[i] > KERNEL_MOST)
            *why = "larger than 7x7";
        s->in[i] = x->dim[1 + i];
        s->out[i] = y->dim[1 + i];
        s->kernel[i] = w->kernel[i];
        s->stride[i] = w->stride[i];
        s->before[i] = w->before[i];
    }
    if (w->groups != 1)
        *why = "groups";
    s->channels = x->dim[3];
    s->filters = y->dim[3];
    return !*why;
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

int64_t conv_first_band_rows(const first_shape *s, int64_t row_floats, int64_t floats,
                             int64_t multiple)
{
    int64_t rows = (floats / row_floats - s->kernel[0]) / s->stride[0] + 1;
    rows = cpu_least(rows / multiple, s->out[0] / multiple) * multiple;
    return rows < multiple ? multiple : rows;
}

int64_t conv_first_bands_per_task(const first_shape *s, int64_t rows)
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
    cpu_need_scratch(scratch_bytes,
                     s->packed_floats + threads_count(pool_threads) * s->band_floats);
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
const kernel cpu_conv_first_pool_forward = {.name = "first_conv_pool",
                                            .accepts = pool_accepts,
                                            .prepare = pool_prepare,
                                            .release = free,
                                            .run = run,
                                            .group = GROUP_CONV_POOL,
                                            .needs = pool_needs,
                                            .bytes = pool_bytes};
