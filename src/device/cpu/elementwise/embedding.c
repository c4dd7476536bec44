/* Rows of a table by their numbers, and the table's gradient: a task sums every so many rows of it,
   each in the order of the batch, so that no two tasks share a row. */
#include "device/embedding.h"
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/elementwise_kernels.h"
#include <string.h>

CPU_ISA_TABLE(element_kernels, cpu_element_kernels);
CPU_ISA_PREPARE(prepare, cpu_element_kernels)

enum { GRADIENT_TASKS = 16 }; /* each reads all numbers, which are fewer than what they name */

typedef struct embedding_run {
    const op_run *r;
    embedding_sizes s;
    int64_t per_task;
} embedding_run;

static void forward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const embedding_run *e = context;
    const embedding_sizes *s = &e->s;
    int64_t begin, end;
    cpu_task_range(s->count, e->per_task, task, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        memcpy(e->r->out[0] + i * s->columns,
               e->r->in[1] + embedding_row(e->r->in[0][i], s->rows) * s->columns,
               (size_t)s->columns * sizeof(float));
}

static cornu_status run_forward(const op_run *r)
{
    embedding_run e = {.r = r, .s = embedding_sizes_of(r->plan, r->op)};
    TRY(embedding_check(r->op, &e.s, r->in[0]));
    e.per_task = cpu_rows_per_task(e.s.columns);
    threads_run(r->pool, cpu_divide_up(e.s.count, e.per_task), forward_task, &e);
    return CORNU_OK;
}

static void backward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const embedding_run *e = context;
    const element_kernels *kernels = e->r->state;
    const embedding_sizes *s = &e->s;
    float *dw = e->r->out[0];
    for (int64_t row = task; row < s->rows; row += GRADIENT_TASKS)
        memset(dw + row * s->columns, 0, (size_t)s->columns * sizeof *dw);
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t row = embedding_row(e->r->in[0][i], s->rows);
        if (row >= 0 && row % GRADIENT_TASKS == task)
            kernels->add(e->r->in[1] + i * s->columns, dw + row * s->columns, s->columns);
    }
}

static cornu_status run_backward(const op_run *r)
{
    embedding_run e = {.r = r, .s = embedding_sizes_of(r->plan, r->op)};
    threads_run(r->pool, GRADIENT_TASKS, backward_task, &e);
    return CORNU_OK;
}

const kernel cpu_embedding_forward = {.name = "copy", .run = run_forward};
const kernel cpu_embedding_backward = {.name = "vector", .prepare = prepare, .run = run_backward};
