/* Activations, dropout, scaling and padding, and sums in a fixed order, over blocks of elements. */
#include "base/philox.h"
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/elementwise_kernels.h"
#include <math.h>
#include <string.h>

/* ---- activations ------------------------------------------------------------------------- */

/* Forward and backward, by the kernels of elementwise_kernels.c, or by rows (softmax:
   softmax_loss.c). */

CPU_ISA_TABLE(element_kernels, cpu_element_kernels);
CPU_ISA_PREPARE(prepare, cpu_element_kernels)

void cpu_activate(cpu_isa isa, activation act, const float *x, float *y, int64_t count)
{
    cpu_element_kernels[isa]->activate[act.kind](x, y, count, act.alpha);
}

void cpu_activate_back(cpu_isa isa, activation act, const float *from, const float *dy, float *dx,
                       int64_t count)
{
    cpu_element_kernels[isa]->activate_back[act.kind](from, dy, dx, count, act.alpha);
}

static void rows_back(activation_kind kind, const float *x_or_y, const float *dy, float *dx,
                      int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows * columns; i += columns)
        activate_row_back(kind, x_or_y + i, dy + i, dx + i, columns);
}

static void rows_forward(activation_kind kind, const float *x, float *y, int64_t rows,
                         int64_t columns)
{
    for (int64_t i = 0; i < rows * columns; i += columns)
        activate_row(kind, x + i, y + i, columns);
}

/* ---- kernels ---------------------------------------------------------------------------- */

typedef struct activation_run {
    const element_kernels *kernels;
    activation act;
    const float *x, *dy; /* dy: backward only */
    float *y;
    int64_t rows, columns,
        rows_per_task; /* of rows; all other activations have one long row of single columns */
} activation_run;

static void run_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const activation_run *a = context;
    int64_t begin, end;
    cpu_task_range(a->rows, a->rows_per_task, task, &begin, &end);
    int64_t first = begin * a->columns, count = (end - begin) * a->columns;
    const float *x = a->x + first;
    float *y = a->y + first;
    const bool of_rows = activation_is_of_rows(a->act.kind);
    if (a->dy && of_rows)
        rows_back(a->act.kind, x, a->dy + first, y, end - begin, a->columns);
    else if (of_rows)
        rows_forward(a->act.kind, x, y, end - begin, a->columns);
    else if (a->dy)
        a->kernels->activate_back[a->act.kind](x, a->dy + first, y, count, a->act.alpha);
    else
        a->kernels->activate[a->act.kind](x, y, count, a->act.alpha);
}

static bool accepts_activation(const plan *p, const op *o, const char **why)
{
    (void)p;
    *why = "has a kernel of its own";
    return o->a.act.kind != ACTIVATION_SOFTMAX;
}

static cornu_status run(const op_run *r)
{
    const tensor *t = OP_OUT(r->plan, r->op, 0);
    activation_run a = {.kernels = r->state,
                        .act = r->op->a.act,
                        .x = r->in[0],
                        .y = r->out[0],
                        .rows = t->count,
                        .columns = 1,
                        .rows_per_task = CPU_TASK};
    if (r->op->kind == OP_ACTIVATION_BACKWARD)
        a.dy = r->in[1];
    if (activation_is_of_rows(a.act.kind)) {
        tensor_matrix(t, &a.rows, &a.columns);
        a.rows_per_task = cpu_rows_per_task(a.columns);
    }
    threads_run(r->pool, cpu_divide_up(a.rows, a.rows_per_task), run_task, &a);
    return CORNU_OK;
}

const kernel cpu_activation_forward = {
    .name = "vector", .accepts = accepts_activation, .prepare = prepare, .run = run};
const kernel cpu_activation_backward = {
    .name = "vector", .accepts = accepts_activation, .prepare = prepare, .run = run};

/* ---- dropout ----------------------------------------------------------------------------- */

/* DROPOUT: the mask is drawn again each time, from (seed, layer; element / 4, step). */

CPU_ISA_TABLE(dropout_kernels, cpu_dropout_kernels);
CPU_ISA_PREPARE(dropout_prepare, cpu_dropout_kernels)

typedef struct dropout_run {
    const dropout_kernels *kernels;
    dropout_range whole;
} dropout_run;

static void dropout_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const dropout_run *r = context;
    dropout_range range = r->whole;
    int64_t begin, end;
    cpu_task_range(range.count, CPU_TASK, task, &begin, &end);
    range.x += begin;
    range.y += begin;
    range.count = end - begin;
    range.first += (uint64_t)begin / 4;
    r->kernels->drop(&range);
}

/* The smallest 32 random bits whose random_to_float, which uses 24 of them, is at least `rate`. */
static uint32_t least_kept(float rate)
{
    double least = ceil((double)rate * 16777216.0);
    return least < 16777216.0 ? (uint32_t)least << 8 : UINT32_MAX;
}

static cornu_status run_dropout(const op_run *r)
{
    float rate = r->op->a.dropout.rate;
    int64_t count = OP_OUT(r->plan, r->op, 0)->count;
    int64_t first = r->input->first * (count / r->plan->batch);
    if (first % 4 !=
        0) /* the shard begins within a group of four elements that share random numbers */
        return reference_kernels[OP_DROPOUT].run(r);
    dropout_run d = {r->state,
                     {.x = r->in[0],
                      .y = r->out[0],
                      .count = count,
                      .first = (uint64_t)first / 4,
                      .key = random_key(r->input->seed, RANDOM_DROPOUT, r->op->a.dropout.stream),
                      .iteration = (uint64_t)r->input->iteration,
                      .least = least_kept(rate),
                      .scale = rate < 1 ? 1 / (1 - rate) : 0}};
    threads_run(r->pool, cpu_divide_up(d.whole.count, CPU_TASK), dropout_task, &d);
    return CORNU_OK;
}

const kernel cpu_dropout = {.name = "vector", .prepare = dropout_prepare, .run = run_dropout};

/* ---- scale, pad, crop -------------------------------------------------------------------- */

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

/* ---- sums -------------------------------------------------------------------------------- */

enum { STRIP = 1024 }; /* floats: the sum stays in L1 while the partial sums are read */

static void sum_range(const element_kernels *kernels, const float *partials, int64_t count,
                      int64_t partial_count, int64_t stride, float *sum)
{
    for (int64_t begin = 0; begin < count; begin += STRIP) {
        int64_t size = cpu_least(STRIP, count - begin);
        memcpy(sum + begin, partials + begin, (size_t)size * sizeof *sum);
        for (int64_t k = 1; k < partial_count; k++)
            kernels->add(partials + k * stride + begin, sum + begin, size);
    }
}

void cpu_sum_range(cpu_isa isa, const float *partials, int64_t count, int64_t partial_count,
                   int64_t stride, float *sum)
{
    sum_range(cpu_element_kernels[isa], partials, count, partial_count, stride, sum);
}

typedef struct partials_sum {
    const element_kernels *kernels;
    const float *partials;
    int64_t count, partial_count, stride, size;
    float *sum;
} partials_sum;

static void sum_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const partials_sum *s = context;
    int64_t begin, end;
    cpu_task_range(s->count, s->size, task, &begin, &end);
    sum_range(s->kernels, s->partials + begin, end - begin, s->partial_count, s->stride,
              s->sum + begin);
}

void cpu_sum_partials(threads *pool, cpu_isa isa, const float *partials, int64_t count,
                      int64_t partial_count, int64_t stride, float *sum)
{
    int64_t size = cpu_divide_up(cpu_rows_per_task(partial_count), STRIP) * STRIP;
    partials_sum s = {cpu_element_kernels[isa], partials, count, partial_count, stride, size, sum};
    threads_run(pool, cpu_divide_up(count, size), sum_task, &s);
}

/* ---- SQUARE_SUM ------------------------------------------------------------------------- */

typedef struct square_run {
    const element_kernels *kernels;
    const float *g;
    int64_t count;
    double *partials;
} square_run;

static void square_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const square_run *s = context;
    int64_t begin, end;
    cpu_task_range(s->count, CPU_TASK, task, &begin, &end);
    s->partials[task] = s->kernels->square_sum(s->g + begin, end - begin);
}

static cornu_status square_prepare(const plan *p, const op *o, threads *pool, void **state,
                                   size_t *scratch_bytes)
{
    cpu_need_scratch(scratch_bytes, CPU_DOUBLE * cpu_divide_up(OP_IN(p, o, 0)->count, CPU_TASK));
    return prepare(p, o, pool, state, scratch_bytes);
}

static cornu_status run_square(const op_run *r)
{
    int64_t count = OP_IN(r->plan, r->op, 0)->count, tasks = cpu_divide_up(count, CPU_TASK);
    square_run s = {r->state, r->in[0], count, r->scratch};
    threads_run(r->pool, tasks, square_task, &s);
    double sum = 0;
    for (int64_t i = 0; i < tasks; i++)
        sum += s.partials[i];
    r->out[0][r->op->a.norm.slot] = (float)sum;
    return CORNU_OK;
}

static bool accepts_square(const plan *p, const op *o, const char **why)
{
    (void)p;
    *why = "the weight has a penalty";
    return o->in[1] == NO_TENSOR;
}

const kernel cpu_square_sum = {
    .name = "vector", .accepts = accepts_square, .prepare = square_prepare, .run = run_square};
