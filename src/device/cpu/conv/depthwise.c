/* Depthwise convolutions, forward and backward: filter c reads channel c alone.

   They make few multiply-adds for each byte that they move, so the plan's NHWC tensors and weights
   [kh][kw][channels] are read as they are. The outputs, which are dx where that is computed, are
   divided into runs whose windows have the same taps inside the image: most of them are one run. */
#include "base/memory.h"
#include "device/cpu/conv/depthwise_kernels.h"
#include "device/cpu/cpu.h"
#include <stdlib.h>
#include <string.h>

CPU_ISA_TABLE(depthwise_kernels, cpu_depthwise);

/* A task with this many multiply-adds takes about 20 microseconds. */
enum { TASK_WORK = 1 << 18 };
/* Outputs at the left and right edge: a tile of the kernel's goes down these rows. */
enum { ROWS_LEAST = 8 };
/* Images of so few outputs are all edges: tiles of their outputs go over samples, of which a task
   then has some. */
enum { SMALL = 16, SMALL_SAMPLES = 8 };
/* Of samples, or partial sums of weights' gradients: enough for many threads, and little to add. */
enum { BLOCKS_MOST = 16 };
/* Inputs of one sample that gradients read once for each vector of channels: they stay in the
   second-level cache. */
enum { BAND_FLOATS = 1 << 16 };

/* How the outputs of one dimension follow from the inputs that the taps read: output o reads tap k
   at input (o * scale + offset + k * tap) / divisor where that is whole and inside `size`. */
typedef struct reading {
    int64_t scale, offset, tap, divisor, size;
} reading;

/* Outputs of one dimension whose windows have the same taps inside, `divisor` apart. */
typedef struct run {
    int64_t first, count;
} run;

typedef struct depthwise_state {
    const depthwise_kernels *k;
    cpu_isa isa;
    window2d w;
    int64_t batch, channels;
    int64_t from[2], to[2]; /* height and width of the inputs, x or dy, and of the outputs */
    reading reading[2];
    int64_t task_samples, task_rows; /* of outputs: some samples, or some rows of one */
    int64_t row_tasks, tasks;        /* row_tasks: of a sample */
    int64_t sums_floats;             /* weights: of a task's partial sums, [taps + 1][channels] */
    int64_t run_count[2];
    run *runs[2]; /* of rows and of columns; at most one for each */
    run memory[];
} depthwise_state;

static bool accepts(const plan *p, const op *o, const char **why)
{
    const window2d *w = &o->a.conv.w;
    const tensor *weights =
        o->kind == OP_CONV2D_BACKWARD_WEIGHTS ? OP_OUT(p, o, 0) : OP_IN(p, o, 1);
    *why = NULL;
    if (weights->shape.dim[2] != 1 || weights->shape.dim[3] != w->groups || w->groups == 1)
        *why = "not depthwise";
    else if (w->kernel[0] * w->kernel[1] > DEPTHWISE_TAPS_MOST)
        *why = "a window of over 128 taps";
    return !*why;
}

/* ---- runs --------------------------------------------------------------------------------- */

static reading reading_of(const depthwise_state *s, int dimension, bool data)
{
    const window2d *w = &s->w;
    if (data)
        return (reading){1, w->before[dimension], -w->dilation[dimension], w->stride[dimension],
                         s->from[dimension]};
    return (reading){w->stride[dimension], -w->before[dimension], w->dilation[dimension], 1,
                     s->from[dimension]};
}

/* The input of tap k for output o; -1: none. */
static int64_t input_of(const reading *d, int64_t o, int64_t k)
{
    int64_t at = o * d->scale + d->offset + k * d->tap;
    if (d->divisor > 1 && at >= 0)
        at = at % d->divisor ? -1 : at / d->divisor;
    return at >= 0 && at < d->size ? at : -1;
}

/* How much further in the input the next output of a run reads: one of the two factors is 1. */
static int64_t further(const reading *d)
{
    return d->divisor > 1 ? 1 : d->scale;
}

/* Does output o + divisor read the same ones of the taps, further on? */
static bool same_taps(const reading *d, int64_t taps, int64_t o)
{
    for (int64_t k = 0; k < taps; k++) {
        int64_t here = input_of(d, o, k), there = input_of(d, o + d->divisor, k);
        if (there != (here < 0 ? -1 : here + further(d)))
            return false;
    }
    return true;
}

static void find_runs(depthwise_state *s, int dimension)
{
    const reading *d = &s->reading[dimension];
    const int64_t size = s->to[dimension], taps = s->w.kernel[dimension];
    for (int64_t phase = 0; phase < d->divisor; phase++)
        for (int64_t o = phase; o < size; o += d->divisor) {
            run *r = &s->runs[dimension][s->run_count[dimension]++];
            *r = (run){o, 1};
            for (; o + d->divisor < size && same_taps(d, taps, o); o += d->divisor)
                r->count++;
        }
}

/* ---- prepare ------------------------------------------------------------------------------- */

static int64_t taps_most(const depthwise_state *s)
{
    return s->w.kernel[0] * s->w.kernel[1];
}

/* Divide the outputs of all samples into tasks, by the shapes alone. */
static void divide(depthwise_state *s, bool weights)
{
    const int64_t row = s->to[1] * s->channels * taps_most(s), sample = s->to[0] * row;
    s->task_rows = s->to[0];
    s->task_samples = cpu_most(1, TASK_WORK / sample);
    if (s->to[0] * s->to[1] <= SMALL)
        s->task_samples = cpu_most(s->task_samples, SMALL_SAMPLES);
    if (weights)
        s->task_samples = cpu_most(s->task_samples, cpu_divide_up(s->batch, BLOCKS_MOST));
    int64_t row_tasks = weights ? BLOCKS_MOST / s->batch : s->to[0];
    if (s->task_samples == 1 && row_tasks > 1)
        s->task_rows = cpu_most(cpu_divide_up(s->to[0], row_tasks), cpu_divide_up(TASK_WORK, row));
    if (!weights && s->batch >= BLOCKS_MOST)
        s->task_rows = cpu_most(s->task_rows, ROWS_LEAST);
    s->task_rows = cpu_least(s->task_rows, s->to[0]);
    s->row_tasks = cpu_divide_up(s->to[0], s->task_rows);
    s->tasks = cpu_divide_up(s->batch, s->task_samples) * s->row_tasks;
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    (void)pool;
    const bool data = o->kind == OP_CONV2D_BACKWARD_DATA;
    const bool weights = o->kind == OP_CONV2D_BACKWARD_WEIGHTS;
    const shape *from = &OP_IN(p, o, 0)->shape;
    const shape *to = weights ? &OP_IN(p, o, 1)->shape : &OP_OUT(p, o, 0)->shape;
    depthwise_state *s = NULL;
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s + (size_t)(to->dim[1] + to->dim[2]) * sizeof *s->memory,
                   "convolution", &s));
    s->k = cpu_depthwise[isa];
    s->isa = isa;
    s->w = o->a.conv.w;
    s->batch = from->dim[0];
    s->channels = from->dim[3];
    s->runs[0] = s->memory;
    s->runs[1] = s->memory + to->dim[1];
    for (int i = 0; i < 2; i++) {
        s->from[i] = from->dim[1 + i];
        s->to[i] = to->dim[1 + i];
        s->reading[i] = reading_of(s, i, data);
        find_runs(s, i);
    }
    divide(s, weights);
    if (weights) {
        s->sums_floats = cpu_scratch_floats((taps_most(s) + 1) * s->channels);
        cpu_need_scratch(scratch_bytes, s->tasks * s->sums_floats);
    }
    *state = s;
    return CORNU_OK;
}

/* ---- one run ------------------------------------------------------------------------------- */

typedef struct depthwise_op {
    const depthwise_state *s;
    activation act;
    const float *from, *w, *b; /* from: x or dy, as state.from */
    const float *dy;           /* weights */
    float *to, *sums;          /* y or dx; weights: partial sums */
} depthwise_op;

/* Taps inside the windows of this row and column of outputs. */
static int taps_of(const depthwise_state *s, int64_t row, int64_t column, depthwise_tap *taps)
{
    int count = 0;
    for (int64_t i = 0; i < s->w.kernel[0]; i++) {
        int64_t y = input_of(&s->reading[0], row, i);
        for (int64_t j = 0; y >= 0 && j < s->w.kernel[1]; j++) {
            int64_t x = input_of(&s->reading[1], column, j);
            if (x >= 0)
                taps[count++] = (depthwise_tap){.at = (y * s->from[1] + x) * s->channels,
                                                .weights = (i * s->w.kernel[1] + j) * s->channels};
        }
    }
    return count;
}

/* Outputs of one run of rows and one of columns, in some samples. */
typedef struct outputs {
    int64_t sample, samples, row, rows; /* row: the first, the others are `divisor` apart */
    const run *columns;
} outputs;

/* One of a run's three dimensions. */
typedef struct dimension {
    int64_t count, in_step, out_step;
} dimension;

/* The largest one goes last. */
static void set_dimensions(depthwise_run *r, dimension d[3])
{
    int largest = 2;
    for (int i = 0; i < 2; i++)
        if (d[i].count > d[largest].count)
            largest = i;
    dimension last = d[largest];
    d[largest] = d[2];
    d[2] = last;
    for (int i = 0; i < 3; i++) {
        r->count[i] = d[i].count;
        r->in_step[i] = d[i].in_step;
        r->out_step[i] = d[i].out_step;
    }
}

/* Prefetch what the output in the next row reads and this row's does not. */
static void set_ahead(const depthwise_state *s, depthwise_run *r)
{
    if (r->tap_count == 0)
        return;
    const int64_t row = s->from[1] * s->channels, rows = further(&s->reading[0]);
    const int64_t last = cpu_most(r->taps[0].at, r->taps[r->tap_count - 1].at);
    r->out_ahead = s->to[1] * s->channels;
    for (int64_t i = 0; i < cpu_least(2, rows); i++)
        for (int64_t j = 0; j < cpu_least(2, further(&s->reading[1])); j++)
            r->in_ahead[r->ahead_count++] = last + (rows - i) * row - j * s->channels;
}

static void run_outputs(const depthwise_op *o, const outputs *at, float *sums)
{
    const depthwise_state *s = o->s;
    const reading *d = s->reading;
    const int64_t c = s->channels, in_row = s->from[1] * c, out_row = s->to[1] * c;
    const int64_t out = (at->sample * s->to[0] + at->row) * out_row + at->columns->first * c;
    depthwise_tap taps[DEPTHWISE_TAPS_MOST];
    depthwise_run r = {.taps = taps,
                       .tap_count = taps_of(s, at->row, at->columns->first, taps),
                       .channels = c,
                       .in = o->from + at->sample * s->from[0] * in_row};
    set_dimensions(&r, (dimension[]){
                           {at->samples, s->from[0] * in_row, s->to[0] * out_row},
                           {at->rows, further(&d[0]) * in_row, d[0].divisor * out_row},
                           {at->columns->count, further(&d[1]) * c, d[1].divisor * c},
                       });
    set_ahead(s, &r);
    if (sums)
        s->k->gradients(&r, o->dy + out, sums, sums + taps_most(s) * c);
    else
        s->k->sums(&r, o->w, o->b, o->to + out);
}

/* ---- tasks --------------------------------------------------------------------------------- */

/* The outputs of a task, y or dx, or, with sums, what they add to these; gradients in bands. */
static void run_task(const depthwise_op *o, int64_t task, float *sums)
{
    const depthwise_state *s = o->s;
    const int64_t step = s->reading[0].divisor;
    int64_t begin, end, first, last, band = s->to[0];
    cpu_task_range(s->batch, s->task_samples, task / s->row_tasks, &first, &last);
    cpu_task_range(s->to[0], s->task_rows, task % s->row_tasks, &begin, &end);
    if (sums)
        band = cpu_most(1, BAND_FLOATS / (further(&s->reading[0]) * s->from[1] * s->channels));
    for (int64_t i = 0; i < s->run_count[0]; i++) {
        const run *rows = &s->runs[0][i];
        int64_t k = begin > rows->first ? cpu_divide_up(begin - rows->first, step) : 0;
        int64_t until = end > rows->first ? cpu_divide_up(end - rows->first, step) : 0;
        until = cpu_least(until, rows->count);
        for (; k < until; k += band)
            for (int64_t j = 0; j < s->run_count[1]; j++)
                run_outputs(o,
                            &(outputs){.sample = first,
                                       .samples = last - first,
                                       .row = rows->first + k * step,
                                       .rows = cpu_least(band, until - k),
                                       .columns = &s->runs[1][j]},
                            sums);
    }
}

static void sums_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const depthwise_op *o = context;
    const depthwise_state *s = o->s;
    const int64_t width = s->to[1] * s->channels;
    int64_t sample = task / s->row_tasks * s->task_samples;
    int64_t row = task % s->row_tasks * s->task_rows;
    int64_t rows = s->task_samples > 1 ? cpu_least(s->task_samples, s->batch - sample) * s->to[0]
                                       : cpu_least(s->task_rows, s->to[0] - row);
    run_task(o, task, NULL);
    float *out = o->to + (sample * s->to[0] + row) * width;
    if (o->act.kind != ACTIVATION_LINEAR)
        cpu_activate(s->isa, o->act, out, out, rows * width);
}

static void gradients_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const depthwise_op *o = context;
    float *sums = o->sums + task * o->s->sums_floats;
    memset(sums, 0, (size_t)o->s->sums_floats * sizeof *sums);
    run_task(o, task, sums);
}

static cornu_status sums_run(const op_run *r)
{
    const depthwise_state *s = r->state;
    const bool forward = r->op->kind == OP_CONV2D_FORWARD;
    depthwise_op o = {.s = s,
                      .act = forward ? r->op->a.conv.act : (activation){.kind = ACTIVATION_LINEAR},
                      .from = r->in[0],
                      .w = r->in[1],
                      .b = forward ? r->in[2] : NULL,
                      .to = r->out[0]};
    threads_run(r->pool, s->tasks, sums_task, &o);
    return CORNU_OK;
}

static cornu_status gradients_run(const op_run *r)
{
    const depthwise_state *s = r->state;
    const int64_t weights = taps_most(s) * s->channels;
    depthwise_op o = {.s = s, .from = r->in[0], .dy = r->in[1], .sums = r->scratch};
    threads_run(r->pool, s->tasks, gradients_task, &o);
    cpu_sum_partials(r->pool, s->isa, o.sums, weights, s->tasks, s->sums_floats, r->out[0]);
    if (r->out[1])
        cpu_sum_partials(r->pool, s->isa, o.sums + weights, s->channels, s->tasks, s->sums_floats,
                         r->out[1]);
    return CORNU_OK;
}

#define DEPTHWISE_KERNEL(how)                                                                    \
    {                                                                                            \
        .name = "depthwise", .accepts = accepts, .prepare = prepare, .release = free, .run = how \
    }
const kernel cpu_depthwise_forward = DEPTHWISE_KERNEL(sums_run);
const kernel cpu_depthwise_backward_data = DEPTHWISE_KERNEL(sums_run);
const kernel cpu_depthwise_backward_weights = DEPTHWISE_KERNEL(gradients_run);
