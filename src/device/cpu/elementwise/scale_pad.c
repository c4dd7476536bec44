/* SCALE, PAD and CROP. */
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/elementwise_kernels.h"
#include <string.h>

CPU_ISA_TABLE(element_kernels, cpu_element_kernels);
CPU_ISA_PREPARE(prepare, cpu_element_kernels)

typedef struct scale_run {
    const element_kernels *kernels;
    const float *x;
    float *y, scale, offset;
    int64_t count;
} scale_run;

static void scale_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const scale_run *s = context;
    int64_t begin, end;
    cpu_task_range(s->count, CPU_TASK, task, &begin, &end);
    s->kernels->scale(s->x + begin, s->y + begin, end - begin, s->scale, s->offset);
}

static cornu_status run_scale(const op_run *r)
{
    scale_run s = {r->state,
                   r->in[0],
                   r->out[0],
                   r->op->a.scale.scale,
                   r->op->a.scale.offset,
                   OP_OUT(r->plan, r->op, 0)->count};
    threads_run(r->pool, cpu_divide_up(s.count, CPU_TASK), scale_task, &s);
    return CORNU_OK;
}

/* Both copy the inner image; PAD also clears the margin around it. Tasks are rows of the outer
   image (PAD) or of the inner one (CROP). */
typedef struct pad_run {
    const float *from;
    float *to;
    int64_t outer_h, inner_h, outer_row, inner_row; /* rows in floats */
    int64_t top, left;                              /* rows; floats */
    int64_t rows, rows_per_task;
} pad_run;

static void pad_rows(void *context, int64_t task, int worker)
{
    (void)worker;
    const pad_run *p = context;
    int64_t begin, end;
    cpu_task_range(p->rows, p->rows_per_task, task, &begin, &end);
    for (int64_t at = begin; at < end; at++) {
        int64_t sample = at / p->outer_h, row = at % p->outer_h - p->top;
        float *to = p->to + at * p->outer_row;
        if (row < 0 || row >= p->inner_h) {
            memset(to, 0, (size_t)p->outer_row * sizeof *to);
            continue;
        }
        const float *from = p->from + (sample * p->inner_h + row) * p->inner_row;
        int64_t right = p->left + p->inner_row;
        memset(to, 0, (size_t)p->left * sizeof *to);
        memcpy(to + p->left, from, (size_t)p->inner_row * sizeof *to);
        memset(to + right, 0, (size_t)(p->outer_row - right) * sizeof *to);
    }
}

static void crop_rows(void *context, int64_t task, int worker)
{
    (void)worker;
    const pad_run *p = context;
    int64_t begin, end;
    cpu_task_range(p->rows, p->rows_per_task, task, &begin, &end);
    for (int64_t at = begin; at < end; at++) {
        int64_t sample = at / p->inner_h, row = at % p->inner_h + p->top;
        const float *from = p->from + (sample * p->outer_h + row) * p->outer_row + p->left;
        memcpy(p->to + at * p->inner_row, from, (size_t)p->inner_row * sizeof *p->to);
    }
}

static void copy_rows(const op_run *r, const tensor *outer, const tensor *inner, bool pad)
{
    int64_t channels = outer->shape.dim[3];
    pad_run p = {.from = r->in[0],
                 .to = r->out[0],
                 .outer_h = outer->shape.dim[1],
                 .inner_h = inner->shape.dim[1],
                 .outer_row = outer->shape.dim[2] * channels,
                 .inner_row = inner->shape.dim[2] * channels,
                 .top = r->op->a.pad.before[0],
                 .left = r->op->a.pad.before[1] * channels};
    p.rows = outer->shape.dim[0] * (pad ? p.outer_h : p.inner_h);
    p.rows_per_task = cpu_rows_per_task(p.outer_row);
    threads_run(r->pool, cpu_divide_up(p.rows, p.rows_per_task), pad ? pad_rows : crop_rows, &p);
}

static cornu_status run_pad(const op_run *r)
{
    copy_rows(r, OP_OUT(r->plan, r->op, 0), OP_IN(r->plan, r->op, 0), true);
    return CORNU_OK;
}

static cornu_status run_crop(const op_run *r)
{
    copy_rows(r, OP_IN(r->plan, r->op, 0), OP_OUT(r->plan, r->op, 0), false);
    return CORNU_OK;
}

const kernel cpu_scale = {.name = "vector", .prepare = prepare, .run = run_scale};
const kernel cpu_pad = {.name = "rows", .run = run_pad};
const kernel cpu_crop = {.name = "rows", .run = run_crop};
