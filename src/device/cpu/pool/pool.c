/* Pooling by windows of any size, and by non-overlapping 2x2 windows. */
#include "device/cpu/cpu.h"
#include "device/cpu/isa.h"
#include "device/cpu/pool/conv_pool.h"
#include "device/cpu/pool/pool_kernels.h"
#include <math.h>
#include <string.h>

/* ---- windows of any size ----------------------------------------------------------------- */

/* Pooling over NHWC: the innermost loop is over channels, so that it is vectorized. Forward: blocks
   of output rows. Backward: blocks of whole samples, whose gradients are cleared row by row just
   before the first window that reaches them, while they are in cache.
 */

CPU_ISA_TABLE(pool_window_kernels, cpu_pool_window_kernels);
CPU_ISA_PREPARE(prepare, cpu_pool_window_kernels)

typedef struct pool_shape {
    const pool_window_kernels *kernels;
    int64_t batch, in_h, in_w, out_h, out_w, channels;
    window2d w;
} pool_shape;

typedef struct pool_run {
    pool_shape s;
    const float *x, *y, *dy; /* inputs of the operation; else NULL */
    float *out;
    int64_t per_task; /* forward: output rows; backward: samples */
} pool_run;

/* The taps of a window inside the image, along one dimension: taps [*first, *last) of the window
   whose tap 0 is at *start. */
static inline void taps(const window2d *w, int dimension, int64_t at, int64_t size, int64_t *start,
                        int64_t *first, int64_t *last)
{
    int64_t d = w->dilation[dimension];
    *start = at * w->stride[dimension] - w->before[dimension];
    *first = *start < 0 ? cpu_divide_up(-*start, d) : 0;
    int64_t inside = *start < size ? cpu_divide_up(size - *start, d) : 0;
    *last = cpu_least(w->kernel[dimension], inside);
}

/* A window's taps inside the image: the first element and the steps. */
typedef struct taps2d {
    int64_t rows, columns;         /* taps inside */
    int64_t row_step, column_step; /* floats */
    int64_t offset;                /* of the first tap, from the sample's start */
} taps2d;

static taps2d taps_of(const pool_shape *s, int64_t row, int64_t column)
{
    int64_t top, left, first_row, last_row, first_column, last_column;
    taps(&s->w, 0, row, s->in_h, &top, &first_row, &last_row);
    taps(&s->w, 1, column, s->in_w, &left, &first_column, &last_column);
    int64_t from_row = top + first_row * s->w.dilation[0];
    int64_t from_column = left + first_column * s->w.dilation[1];
    return (taps2d){.rows = last_row > first_row ? last_row - first_row : 0,
                    .columns = last_column > first_column ? last_column - first_column : 0,
                    .row_step = s->w.dilation[0] * s->in_w * s->channels,
                    .column_step = s->w.dilation[1] * s->channels,
                    .offset = (from_row * s->in_w + from_column) * s->channels};
}

/* ---- forward ---------------------------------------------------------------------------- */

static void max_window(const pool_window_kernels *k, const taps2d *t, const float *x, float *y,
                       int64_t channels)
{
    for (int64_t i = 0; i < channels; i++)
        y[i] = -INFINITY;
    for (int64_t r = 0; r < t->rows; r++)
        k->max_taps(x + t->offset + r * t->row_step, t->column_step, t->columns, y, channels);
}

/* Are all windows 2x2, without gaps, and are this row's top and bottom inside? *windows is the
   number of windows from the left that need no edge checks. */
static bool plain_2x2(const pool_shape *s, int64_t row, int64_t *windows)
{
    const window2d *w = &s->w;
    int64_t top = row * w->stride[0] - w->before[0];
    if (w->kernel[0] != 2 || w->kernel[1] != 2 || w->dilation[0] != 1 || w->dilation[1] != 1 ||
        w->before[1] != 0 || top < 0 || top + 2 > s->in_h || s->in_w < 2)
        return false;
    *windows = cpu_least(s->out_w, (s->in_w - 2) / w->stride[1] + 1);
    return true;
}

static void max_rows(void *context, int64_t task, int worker)
{
    (void)worker;
    const pool_run *p = context;
    const pool_shape *s = &p->s;
    int64_t begin, end;
    cpu_task_range(s->batch * s->out_h, p->per_task, task, &begin, &end);
    for (int64_t at = begin; at < end; at++) {
        int64_t sample = at / s->out_h, row = at % s->out_h, column = 0;
        const float *x = p->x + sample * s->in_h * s->in_w * s->channels;
        float *y = p->out + at * s->out_w * s->channels;
        if (plain_2x2(s, row, &column)) {
            int64_t width = s->in_w * s->channels;
            const float *top = x + (row * s->w.stride[0] - s->w.before[0]) * width;
            s->kernels->max_row_2x2(top, top + width, y, column, s->w.stride[1] * s->channels,
                                    s->channels);
        }
        for (; column < s->out_w; column++) {
            taps2d t = taps_of(s, row, column);
            max_window(s->kernels, &t, x, y + column * s->channels, s->channels);
        }
    }
}

static void average_rows(void *context, int64_t task, int worker)
{
    (void)worker;
    const pool_run *p = context;
    const pool_shape *s = &p->s;
    int64_t begin, end;
    cpu_task_range(s->batch * s->out_h, p->per_task, task, &begin, &end);
    for (int64_t at = begin; at < end; at++) {
        int64_t sample = at / s->out_h, row = at % s->out_h;
        const float *x = p->x + sample * s->in_h * s->in_w * s->channels;
        float *y = p->out + at * s->out_w * s->channels;
        memset(y, 0, (size_t)(s->out_w * s->channels) * sizeof *y);
        for (int64_t column = 0; column < s->out_w; column++, y += s->channels) {
            taps2d t = taps_of(s, row, column);
            for (int64_t r = 0; r < t.rows; r++)
                s->kernels->add_taps(x + t.offset + r * t.row_step, t.column_step, t.columns, y,
                                     s->channels);
            if (t.rows * t.columns > 0)
                s->kernels->scale_range(y, 1.0f / (float)(t.rows * t.columns), s->channels);
        }
    }
}

/* ---- backward --------------------------------------------------------------------------- */

/* Channels at once: the gradients still to be assigned fit in registers or L1; of windows with
   LARGE taps or more, the numbers of the maxima's taps, which are floats, fit in L1. */
enum { BLOCK = 64, LARGE = 16, LARGE_BLOCK = 1024, LARGEST = 1 << 24 };

static void give_window(const pool_shape *s, const taps2d *t, const float *x, const float *y,
                        const float *dy, float *dx)
{
    float left[BLOCK];
    for (int64_t from = 0; from < s->channels; from += BLOCK) {
        int64_t count = cpu_least(BLOCK, s->channels - from);
        memcpy(left, dy + from, (size_t)count * sizeof *left);
        for (int64_t r = 0; r < t->rows; r++)
            for (int64_t c = 0; c < t->columns; c++) {
                int64_t at = t->offset + r * t->row_step + c * t->column_step + from;
                s->kernels->give_range(x + at, y + from, left, dx + at, count);
            }
    }
}

/* The same for a large window, of which few elements have a gradient. */
static void give_large_window(const pool_shape *s, const taps2d *t, const float *x, const float *y,
                              const float *dy, float *dx)
{
    float at[LARGE_BLOCK];
    for (int64_t from = 0; from < s->channels; from += LARGE_BLOCK) {
        int64_t count = cpu_least(LARGE_BLOCK, s->channels - from), offset = t->offset + from;
        for (int64_t i = 0; i < count; i++)
            at[i] = -1;
        for (int64_t r = t->rows - 1; r >= 0; r--)
            s->kernels->find_taps(x + offset + r * t->row_step, t->column_step, r * t->columns,
                                  t->columns, y + from, at, count);
        for (int64_t i = 0; i < count; i++) {
            int64_t tap = (int64_t)at[i], row = tap / t->columns, column = tap % t->columns;
            if (tap >= 0)
                dx[offset + row * t->row_step + column * t->column_step + i] += dy[from + i];
        }
    }
}

/* Clear dx's rows up to the last one that output row `row` reaches. */
static void clear_rows(const pool_shape *s, int64_t row, float *dx, int64_t *cleared)
{
    int64_t reach = row * s->w.stride[0] - s->w.before[0] + (s->w.kernel[0] - 1) * s->w.dilation[0];
    int64_t until = row == s->out_h ? s->in_h : cpu_least(reach + 1, s->in_h);
    if (until <= *cleared)
        return;
    int64_t width = s->in_w * s->channels;
    memset(dx + *cleared * width, 0, (size_t)((until - *cleared) * width) * sizeof *dx);
    *cleared = until;
}

static void max_backward_sample(const pool_run *p, int64_t sample)
{
    const pool_shape *s = &p->s;
    int64_t in = s->in_h * s->in_w * s->channels, out = s->out_h * s->out_w * s->channels;
    const float *x = p->x + sample * in, *y = p->y + sample * out, *dy = p->dy + sample * out;
    float *dx = p->out + sample * in;
    bool side_by_side = s->w.stride[0] == 2 && s->w.stride[1] == 2;
    int64_t cleared = 0, width = s->in_w * s->channels;
    for (int64_t row = 0; row < s->out_h; row++) {
        int64_t column = 0, from = row * s->out_w * s->channels;
        clear_rows(s, row, dx, &cleared);
        if (side_by_side && plain_2x2(s, row, &column)) {
            int64_t top = (row * 2 - s->w.before[0]) * width;
            s->kernels->give_row_2x2(x + top, x + top + width, y + from, dy + from, dx + top,
                                     dx + top + width, column, s->channels);
        }
        for (; column < s->out_w; column++) {
            taps2d t = taps_of(s, row, column);
            int64_t at = from + column * s->channels;
            if (t.rows * t.columns >= LARGE && t.rows * t.columns <= LARGEST)
                give_large_window(s, &t, x, y + at, dy + at, dx);
            else
                give_window(s, &t, x, y + at, dy + at, dx);
        }
    }
    clear_rows(s, s->out_h, dx, &cleared);
}

static void average_backward_sample(const pool_run *p, int64_t sample)
{
    const pool_shape *s = &p->s;
    const float *dy = p->dy + sample * s->out_h * s->out_w * s->channels;
    float *dx = p->out + sample * s->in_h * s->in_w * s->channels;
    int64_t cleared = 0;
    for (int64_t row = 0; row < s->out_h; row++) {
        clear_rows(s, row, dx, &cleared);
        for (int64_t column = 0; column < s->out_w; column++, dy += s->channels) {
            taps2d t = taps_of(s, row, column);
            float weight = t.rows * t.columns > 0 ? 1.0f / (float)(t.rows * t.columns) : 0;
            for (int64_t r = 0; r < t.rows; r++)
                for (int64_t c = 0; c < t.columns; c++)
                    s->kernels->add_scaled_range(dy, weight,
                                                 dx + t.offset + r * t.row_step + c * t.column_step,
                                                 s->channels);
        }
    }
    clear_rows(s, s->out_h, dx, &cleared);
}

static void backward_samples(void *context, int64_t task, int worker)
{
    (void)worker;
    const pool_run *p = context;
    int64_t begin, end;
    cpu_task_range(p->s.batch, p->per_task, task, &begin, &end);
    for (int64_t sample = begin; sample < end; sample++) {
        if (p->x)
            max_backward_sample(p, sample);
        else
            average_backward_sample(p, sample);
    }
}

/* ---- kernels ---------------------------------------------------------------------------- */

static pool_shape shape_of(const op_run *r, const tensor *in, const tensor *out)
{
    return (pool_shape){.kernels = r->state,
                        .batch = in->shape.dim[0],
                        .in_h = in->shape.dim[1],
                        .in_w = in->shape.dim[2],
                        .out_h = out->shape.dim[1],
                        .out_w = out->shape.dim[2],
                        .channels = in->shape.dim[3],
                        .w = r->op->a.window};
}

static cornu_status forward_run(const op_run *r, threads_work *work)
{
    pool_run p = {.s = shape_of(r, OP_IN(r->plan, r->op, 0), OP_OUT(r->plan, r->op, 0)),
                  .x = r->in[0],
                  .out = r->out[0]};
    const pool_shape *s = &p.s;
    /* a row's cost: its taps, four of which take about as long as one element of other
       operations */
    int64_t area = cpu_divide_up(s->w.kernel[0] * s->w.kernel[1], 4);
    p.per_task = cpu_rows_per_task(s->out_w * s->channels * area);
    threads_run(r->pool, cpu_divide_up(s->batch * s->out_h, p.per_task), work, &p);
    return CORNU_OK;
}

static cornu_status max_forward_run(const op_run *r)
{
    return forward_run(r, max_rows);
}

static cornu_status average_forward_run(const op_run *r)
{
    return forward_run(r, average_rows);
}

static void backward_run(const op_run *r, pool_run *p)
{
    const pool_shape *s = &p->s;
    p->per_task = cpu_rows_per_task(s->in_h * s->in_w * s->channels);
    threads_run(r->pool, cpu_divide_up(s->batch, p->per_task), backward_samples, p);
}

static cornu_status max_backward_run(const op_run *r)
{
    pool_run p = {.s = shape_of(r, OP_IN(r->plan, r->op, 0), OP_IN(r->plan, r->op, 1)),
                  .x = r->in[0],
                  .y = r->in[1],
                  .dy = r->in[2],
                  .out = r->out[0]};
    backward_run(r, &p);
    return CORNU_OK;
}

static cornu_status average_backward_run(const op_run *r)
{
    pool_run p = {.s = shape_of(r, OP_OUT(r->plan, r->op, 0), OP_IN(r->plan, r->op, 0)),
                  .dy = r->in[0],
                  .out = r->out[0]};
    backward_run(r, &p);
    return CORNU_OK;
}

const kernel cpu_max_pool_forward = {.name = "nhwc", .prepare = prepare, .run = max_forward_run};
const kernel cpu_max_pool_backward = {.name = "nhwc", .prepare = prepare, .run = max_backward_run};
const kernel cpu_average_pool_forward = {
    .name = "nhwc", .prepare = prepare, .run = average_forward_run};
const kernel cpu_average_pool_backward = {
    .name = "nhwc", .prepare = prepare, .run = average_backward_run};

/* ---- 2x2 --------------------------------------------------------------------------------- */

/* Max pooling by non-overlapping 2x2 windows inside the image: rows of windows by the kernels of
   pool_kernels.c. Backward also runs the activation under the pool, so that the pool's own
   gradient is never written.

   Tasks start with the last sample: its data from the previous operation are still in cache, and
   the first sample's results are in cache when the next operation starts with it. Tasks are few and
   large, so that the hardware's prefetchers get going. */

CPU_ISA_TABLE(pool_kernels, cpu_pool_kernels);
CPU_ISA_PREPARE(pool_2x2_prepare, cpu_pool_kernels)

enum { CHANNELS_LEAST = 16, TASKS_MOST = 128 };

static bool accepts(const plan *p, const op *o, const char **why)
{
    if (!conv_pool_windows(p, o, why))
        return false;
    *why = "fewer than 16 channels";
    return OP_IN(p, o, 0)->shape.dim[3] >= CHANNELS_LEAST;
}

typedef struct pool_2x2_run {
    const pool_kernels *kernels;
    const float *x, *y, *dy; /* y, dy: backward only */
    float *out;
    float slope;
    int64_t in_h, in_w, out_h, out_w, channels;
    int64_t rows, per_task, tasks; /* rows: of windows */
} pool_2x2_run;

static pool_2x2_run run_of(const op_run *r, const shape *x, const shape *y)
{
    pool_2x2_run p = {.kernels = r->state,
                      .in_h = x->dim[1],
                      .in_w = x->dim[2],
                      .out_h = y->dim[1],
                      .out_w = y->dim[2],
                      .channels = x->dim[3],
                      .rows = x->dim[0] * y->dim[1]};
    p.per_task = cpu_rows_per_task(4 * p.out_w * p.channels);
    if (p.per_task < p.rows / TASKS_MOST)
        p.per_task = p.rows / TASKS_MOST;
    p.tasks = cpu_divide_up(p.rows, p.per_task);
    return p;
}

/* Offset of the two rows of x for row `row` of windows, in floats. */
static int64_t offset_of(const pool_2x2_run *p, int64_t row)
{
    return (row / p->out_h * p->in_h + row % p->out_h * 2) * p->in_w * p->channels;
}

static void forward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const pool_2x2_run *p = context;
    int64_t begin, end, width = p->in_w * p->channels;
    cpu_task_range(p->rows, p->per_task, p->tasks - 1 - task, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        const float *top = p->x + offset_of(p, row);
        p->kernels->forward(&(pool_row){.top = top,
                                        .bottom = top + width,
                                        .out = p->out + row * p->out_w * p->channels,
                                        .windows = p->out_w,
                                        .channels = p->channels});
    }
}

static cornu_status run_forward(const op_run *r)
{
    pool_2x2_run p = run_of(r, &OP_IN(r->plan, r->op, 0)->shape, &OP_OUT(r->plan, r->op, 0)->shape);
    p.x = r->in[0];
    p.out = r->out[0];
    threads_run(r->pool, p.tasks, forward_task, &p);
    return CORNU_OK;
}

/* An odd image's last column and row have no window. */
static void clear_rest(const pool_2x2_run *p, int64_t row, float *dtop)
{
    int64_t width = p->in_w * p->channels, pooled = 2 * p->out_w * p->channels;
    for (int i = 0; i < 2 && pooled < width; i++)
        memset(dtop + i * width + pooled, 0, (size_t)(width - pooled) * sizeof *dtop);
    if ((row + 1) % p->out_h == 0 && p->in_h > 2 * p->out_h)
        memset(dtop + 2 * width, 0, (size_t)((p->in_h - 2 * p->out_h) * width) * sizeof *dtop);
}

static void backward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const pool_2x2_run *p = context;
    int64_t begin, end, width = p->in_w * p->channels;
    cpu_task_range(p->rows, p->per_task, p->tasks - 1 - task, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        int64_t offset = offset_of(p, row), out = row * p->out_w * p->channels;
        const float *top = p->x + offset;
        float *dtop = p->out + offset;
        p->kernels->backward(&(pool_row){.top = top,
                                         .bottom = top + width,
                                         .y = p->y + out,
                                         .dy = p->dy + out,
                                         .dtop = dtop,
                                         .dbottom = dtop + width,
                                         .windows = p->out_w,
                                         .channels = p->channels,
                                         .slope = p->slope});
        clear_rest(p, row, dtop);
    }
}

static bool fused_accepts(const plan *p, const op *o, const char **why)
{
    const op *under = group_op(p, plan_group(p, o, GROUP_ACTIVATION_BACKWARD), ROLE_ACTIVATION);
    const activation_kind kind = under->a.act.kind;
    *why = "an activation other than relu and leaky relu under it";
    return (kind == ACTIVATION_RELU || kind == ACTIVATION_LEAKY_RELU) && accepts(p, o, why);
}

static cornu_status run_backward(const op_run *r)
{
    const op *under = group_op(r->plan, r->group, ROLE_ACTIVATION);
    pool_2x2_run p = run_of(r, &OP_IN(r->plan, r->op, 0)->shape, &OP_IN(r->plan, r->op, 1)->shape);
    p.x = r->in[0];
    p.y = r->in[1];
    p.dy = r->in[2];
    p.out = under ? r->tensors[under->out[0]] : r->out[0];
    p.slope = !under ? 1 : under->a.act.kind == ACTIVATION_RELU ? 0 : under->a.act.alpha;
    threads_run(r->pool, p.tasks, backward_task, &p);
    return CORNU_OK;
}

const kernel cpu_max_pool_forward_2x2 = {
    .name = "2x2", .accepts = accepts, .prepare = pool_2x2_prepare, .run = run_forward};
const kernel cpu_max_pool_backward_2x2 = {
    .name = "2x2", .accepts = accepts, .prepare = pool_2x2_prepare, .run = run_backward};
const kernel cpu_max_pool_backward_2x2_fused = {.name = "2x2",
                                                .group = GROUP_ACTIVATION_BACKWARD,
                                                .accepts = fused_accepts,
                                                .prepare = pool_2x2_prepare,
                                                .run = run_backward};
