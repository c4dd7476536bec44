/* DRAW, and RESAMPLE: rows of all samples forward, whole samples backward, whose pixels are sums.
 */
#include "device/resample.h"
#include "device/cpu/cpu.h"

typedef struct resample_run {
    const op_run *r;
    resample_size size;
    int64_t rows, rows_per_task;
} resample_run;

static void forward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const resample_run *r = context;
    int64_t begin, end;
    cpu_task_range(r->rows, r->rows_per_task, task, &begin, &end);
    resample_rows(r->r, &r->size, begin, end);
}

static void backward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const resample_run *r = context;
    resample_sample_back(r->r, &r->size, task);
}

static cornu_status run_forward(const op_run *r)
{
    resample_run f = {.r = r, .size = resample_size_of(r->plan, r->op)};
    f.rows = f.size.batch * f.size.out_height;
    f.rows_per_task = cpu_rows_per_task(f.size.out_width * f.size.channels);
    threads_run(r->pool, cpu_divide_up(f.rows, f.rows_per_task), forward_task, &f);
    return CORNU_OK;
}

static cornu_status run_backward(const op_run *r)
{
    resample_run f = {.r = r, .size = resample_size_of(r->plan, r->op)};
    threads_run(r->pool, f.size.batch, backward_task, &f);
    return CORNU_OK;
}

static void draw_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const resample_run *d = context;
    int64_t begin, end;
    cpu_task_range(d->rows, d->rows_per_task, task, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        draw_sample(d->r, i);
}

static cornu_status run_draw(const op_run *r)
{
    const tensor *y = OP_OUT(r->plan, r->op, 0);
    resample_run d = {.r = r, .rows = y->shape.dim[0]};
    d.rows_per_task = cpu_rows_per_task(y->count / d.rows);
    threads_run(r->pool, cpu_divide_up(d.rows, d.rows_per_task), draw_task, &d);
    return CORNU_OK;
}

const kernel cpu_draw = {.name = "philox", .run = run_draw};
const kernel cpu_resample_forward = {.name = "rows", .run = run_forward};
const kernel cpu_resample_backward = {.name = "samples", .run = run_backward};
