/* Layer normalization over [rows][n]: each row by itself, sums in doubles. The gradients of gamma
   and beta go over the rows: a partial sum for each task's block of rows, added in their order. */
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/layer_norm_kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

CPU_ISA_TABLE(layer_norm_kernels, cpu_layer_norm_kernels);

enum { ROWS_LEAST = 32 }; /* of a task with partial sums: those stay below a tenth of the data */

typedef struct norm_state {
    const layer_norm_kernels *kernels;
    int64_t rows, n, rows_per_task, tasks;
    bool sums_columns; /* gamma's or beta's gradient is wanted */
} norm_state;

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    (void)pool;
    norm_state *s = NULL;
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s, "layer normalization", &s));
    s->kernels = cpu_layer_norm_kernels[isa];
    tensor_matrix(OP_IN(p, o, 0), &s->rows, &s->n);
    s->sums_columns =
        o->kind == OP_LAYER_NORM_BACKWARD && (o->out[1] != NO_TENSOR || o->out[2] != NO_TENSOR);
    s->rows_per_task = cpu_rows_per_task(2 * s->n);
    if (s->sums_columns)
        s->rows_per_task = cpu_most(s->rows_per_task, ROWS_LEAST);
    s->tasks = cpu_divide_up(s->rows, s->rows_per_task);
    if (s->sums_columns)
        cpu_need_scratch(scratch_bytes, CPU_DOUBLE * 2 * s->tasks * s->n);
    *state = s;
    return CORNU_OK;
}

/* ---- forward ------------------------------------------------------------------------------- */

static void forward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const op_run *r = context;
    const norm_state *s = r->state;
    const double n = (double)s->n, epsilon = (double)r->op->a.reals[0];
    int64_t begin, end;
    cpu_task_range(s->rows, s->rows_per_task, task, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        const float *x = r->in[0] + row * s->n;
        double mean = s->kernels->sum(x, s->n) / n;
        float inverse = (float)(1 / sqrt(s->kernels->squares(x, mean, s->n) / n + epsilon));
        s->kernels->normalize(x, mean, inverse, r->in[1], r->in[2], r->out[0] + row * s->n, s->n);
        if (r->out[1])
            r->out[1][row] = (float)mean;
        if (r->out[2])
            r->out[2][row] = inverse;
    }
}

static cornu_status run_forward(const op_run *r)
{
    const norm_state *s = r->state;
    threads_run(r->pool, s->tasks, forward_task, (void *)(uintptr_t)r);
    return CORNU_OK;
}

/* ---- backward ------------------------------------------------------------------------------ */

/* [tasks][2][n] in scratch memory: gamma's and beta's. */
static double *partials_of(const op_run *r, int64_t task)
{
    const norm_state *s = r->state;
    return (double *)r->scratch + task * 2 * s->n;
}

/* With h = (x - mean) inverse and g = dy gamma: dx = inverse (g - mean of g - h mean of g h) */
static void backward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const op_run *r = context;
    const norm_state *s = r->state;
    const double n = (double)s->n;
    double *dgamma = partials_of(r, task), *dbeta = dgamma + s->n;
    int64_t begin, end;
    cpu_task_range(s->rows, s->rows_per_task, task, &begin, &end);
    if (s->sums_columns)
        memset(dgamma, 0, 2 * (size_t)s->n * sizeof *dgamma);
    for (int64_t row = begin; row < end; row++) {
        const float *x = r->in[0] + row * s->n, *dy = r->in[1] + row * s->n;
        const float mean = r->in[3][row], inverse = r->in[4][row];
        double sums[2], square = (double)inverse * (double)inverse;
        s->kernels->gradient_sums(x, dy, r->in[2], mean, s->n, sums);
        s->kernels->gradient(x, dy, r->in[2], mean, inverse, (float)(sums[0] / n),
                             (float)(sums[1] * square / n), r->out[0] + row * s->n, s->n);
        if (s->sums_columns)
            s->kernels->add_columns(x, dy, mean, inverse, dgamma, dbeta, s->n);
    }
}

/* Half 0: gamma's, 1: beta's. */
static void write_columns(const op_run *r, int half, float *out)
{
    const norm_state *s = r->state;
    double *sum = partials_of(r, 0) + half * s->n;
    for (int64_t task = 1; task < s->tasks; task++)
        for (int64_t i = 0; i < s->n; i++)
            sum[i] += partials_of(r, task)[half * s->n + i];
    for (int64_t i = 0; i < s->n; i++)
        out[i] = (float)sum[i];
}

static cornu_status run_backward(const op_run *r)
{
    const norm_state *s = r->state;
    threads_run(r->pool, s->tasks, backward_task, (void *)(uintptr_t)r);
    if (r->out[1])
        write_columns(r, 0, r->out[1]);
    if (r->out[2])
        write_columns(r, 1, r->out[2]);
    return CORNU_OK;
}

const kernel cpu_layer_norm_forward = {
    .name = "vector", .prepare = prepare, .release = free, .run = run_forward};
const kernel cpu_layer_norm_backward = {
    .name = "vector", .prepare = prepare, .release = free, .run = run_backward};
