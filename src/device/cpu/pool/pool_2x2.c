/* Max pooling by non-overlapping 2x2 windows inside the image: rows of windows by the kernels of
   pool_2x2_kernels.c. Backward also runs the activation under the pool, so that the pool's own
   gradient is never written.

   Tasks start with the last sample: its data from the previous operation are still in cache, and
   the first sample's results are in cache when the next operation starts with it. Tasks are few and
   large, so that the hardware's prefetchers get going. */
#include "device/cpu/isa.h"
#include "device/cpu/pool/conv_pool.h"
#include "device/cpu/pool/pool_2x2_kernels.h"
#include <string.h>

CPU_ISA_TABLE(pool_kernels, cpu_pool_kernels);
CPU_ISA_PREPARE(prepare, cpu_pool_kernels)

enum { CHANNELS_LEAST = 16, TASKS_MOST = 128 };

static bool accepts(const plan *p, const op *o, const char **why)
{
    if (!conv_pool_windows(p, o, why))
        return false;
    *why = "fewer than 16 channels";
    return OP_IN(p, o, 0)->shape.dim[3] >= CHANNELS_LEAST;
}

typedef struct pool_run {
    const pool_kernels *kernels;
    const float *x, *y, *dy; /* y, dy: backward only */
    float *out;
    float slope;
    int64_t in_h, in_w, out_h, out_w, channels;
    int64_t rows, per_task, tasks; /* rows: of windows */
} pool_run;

static pool_run run_of(const op_run *r, const shape *x, const shape *y)
{
    pool_run p = {.kernels = r->state,
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
static int64_t offset_of(const pool_run *p, int64_t row)
{
    return (row / p->out_h * p->in_h + row % p->out_h * 2) * p->in_w * p->channels;
}

static void forward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const pool_run *p = context;
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
    pool_run p = run_of(r, &OP_IN(r->plan, r->op, 0)->shape, &OP_OUT(r->plan, r->op, 0)->shape);
    p.x = r->in[0];
    p.out = r->out[0];
    threads_run(r->pool, p.tasks, forward_task, &p);
    return CORNU_OK;
}

/* An odd image's last column and row have no window. */
static void clear_rest(const pool_run *p, int64_t row, float *dtop)
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
    const pool_run *p = context;
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
    pool_run p = run_of(r, &OP_IN(r->plan, r->op, 0)->shape, &OP_IN(r->plan, r->op, 1)->shape);
    p.x = r->in[0];
    p.y = r->in[1];
    p.dy = r->in[2];
    p.out = under ? r->tensors[under->out[0]] : r->out[0];
    p.slope = !under ? 1 : under->a.act.kind == ACTIVATION_RELU ? 0 : under->a.act.alpha;
    threads_run(r->pool, p.tasks, backward_task, &p);
    return CORNU_OK;
}

const kernel cpu_max_pool_forward_2x2 = {
    .name = "2x2", .accepts = accepts, .prepare = prepare, .run = run_forward};
const kernel cpu_max_pool_backward_2x2 = {
    .name = "2x2", .accepts = accepts, .prepare = prepare, .run = run_backward};
const kernel cpu_max_pool_backward_2x2_fused = {.name = "2x2",
                                                .group = GROUP_ACTIVATION_BACKWARD,
                                                .accepts = fused_accepts,
                                                .prepare = prepare,
                                                .run = run_backward};
