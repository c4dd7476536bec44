/* Convolutions with few filters and stride 1, such as an autoencoder's last: the forward pass, and,
   by the rotated window, the image's gradient of a convolution of an image with few channels, which
   is also the forward pass of a transposed convolution to such an image. The gradients of a
   convolution with few filters are in conv_first.c. */
#include "base/memory.h"
#include "device/cpu/conv/conv_last_kernels.h"
#include "device/cpu/conv/conv_shape.h"
#include "device/cpu/cpu.h"
#include <stdlib.h>

CPU_ISA_TABLE(conv_last_kernels, cpu_conv_last);
CPU_ISA_TABLE(conv_first_gradient_kernels, cpu_conv_first_gradient);

/* A band is read a few rows at a time, so that it may be larger than the first-level cache. */
enum { BAND_FLOATS = 16384, TASK_WORK = 1 << 20 };

typedef struct last_state {
    const conv_last_kernels *k;
    const conv_first_gradient_kernels *bands_of;
    cpu_isa isa;
    first_shape s;
    bool rotated;
    int64_t batch, rows, bands, per_task; /* rows per band, bands per sample and per task */
    int64_t packed_floats, rotated_floats, band_floats; /* scratch memory: a band per worker */
} last_state;

/* ---- acceptance -------------------------------------------------------------------------- */

/* The shape of a CONV2D_FORWARD with stride 1, or of a CONV2D_BACKWARD_DATA by the rotated window.
 */
static bool last_shape(const plan *p, const op *o, first_shape *s, const char **why)
{
    const bool rotated = o->kind == OP_CONV2D_BACKWARD_DATA;
    if (!(rotated ? conv_rotated_shape : conv_forward_shape)(p, o, s, why))
        return false;
    if (s->filters > LAST_FILTERS_MOST)
        *why = rotated ? "more than 4 channels" : "more than 4 filters";
    else if (s->stride[0] != 1 || s->stride[1] != 1)
        *why = "strided";
    return !*why;
}

static bool accepts(const plan *p, const op *o, const char **why)
{
    first_shape s;
    return last_shape(p, o, &s, why);
}

/* ---- prepare ----------------------------------------------------------------------------- */

static void choose_bands(last_state *s)
{
    const first_shape *h = &s->s;
    const int64_t rows = BAND_FLOATS / first_gradient_row(h) - h->kernel[0] + 1;
    s->rows = cpu_most(1, cpu_least(rows, h->out[0]));
    s->bands = cpu_divide_up(h->out[0], s->rows);
    const int64_t work = s->rows * h->out[1] * first_taps(h) * h->filters;
    s->per_task = work >= TASK_WORK ? 1 : TASK_WORK / work;
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    last_state *s = NULL;
    cpu_isa isa;
    const char *why;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    s->k = cpu_conv_last[isa];
    s->bands_of = cpu_conv_first_gradient[isa];
    s->isa = isa;
    s->rotated = o->kind == OP_CONV2D_BACKWARD_DATA;
    last_shape(p, o, &s->s, &why);
    s->batch = OP_IN(p, o, 0)->shape.dim[0];
    choose_bands(s);
    s->packed_floats = cpu_scratch_floats(s->k->packed_floats(&s->s));
    s->rotated_floats = s->rotated ? cpu_scratch_floats(first_taps(&s->s) * s->s.filters) : 0;
    s->band_floats = cpu_scratch_floats(first_gradient_floats(&s->s, s->rows));
    cpu_need_scratch(scratch_bytes,
                     s->packed_floats + s->rotated_floats + threads_count(pool) * s->band_floats);
    *state = s;
    return CORNU_OK;
}

/* ---- run --------------------------------------------------------------------------------- */

typedef struct last_run {
    const last_state *s;
    activation act;
    const float *x, *bias;
    float *packed, *bands, *y;
} last_run;

static void run_task(void *context, int64_t task, int worker)
{
    const last_run *r = context;
    const last_state *s = r->s;
    const first_shape *h = &s->s;
    const int64_t width = h->out[1] * h->filters;
    float *band = r->bands + worker * s->band_floats;
    int64_t begin, end;
    cpu_task_range(s->batch * s->bands, s->per_task, task, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t sample = i / s->bands, row = i % s->bands * s->rows;
        const int64_t rows = cpu_least(s->rows, h->out[0] - row);
        float *y = r->y + (sample * h->out[0] + row) * width;
        s->bands_of->pack_band(h, r->x + sample * h->in[0] * h->in[1] * h->channels, row, rows,
                               band);
        s->k->forward(&(last_forward){
            .s = h, .packed = r->packed, .bias = r->bias, .band = band, .rows = rows, .y = y});
        if (r->act.kind != ACTIVATION_LINEAR)
            cpu_activate(s->isa, r->act, y, y, rows * width);
    }
}

static cornu_status run(const op_run *o)
{
    const last_state *s = o->state;
    float *packed = o->scratch, *rotated = packed + s->packed_floats;
    const float *w = o->in[1];
    last_run r = {.s = s,
                  .act = s->rotated ? (activation){.kind = ACTIVATION_LINEAR} : o->op->a.conv.act,
                  .x = o->in[0],
                  .bias = s->rotated ? NULL : o->in[2],
                  .packed = packed,
                  .bands = rotated + s->rotated_floats,
                  .y = o->out[0]};
    if (s->rotated) {
        conv_rotate_weights(&s->s, w, rotated);
        w = rotated;
    }
    s->k->pack_weights(&s->s, w, packed);
    threads_run(o->pool, cpu_divide_up(s->batch * s->bands, s->per_task), run_task, &r);
    return CORNU_OK;
}

const kernel cpu_conv_last_forward = {
    .name = "last_conv", .accepts = accepts, .prepare = prepare, .release = free, .run = run};
const kernel cpu_conv_first_backward_data = {
    .name = "first_conv", .accepts = accepts, .prepare = prepare, .release = free, .run = run};
