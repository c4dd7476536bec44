/* Activations, forward and backward, over blocks of elements by the kernels of
   elementwise/elementwise_kernels.c; softmax backward by rows (forward: softmax.c). */
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/elementwise_kernels.h"

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

/* dx = y (dy - sum(dy y)) */
static void softmax_back(const float *y, const float *dy, float *dx, int64_t rows, int64_t columns)
{
    for (int64_t r = 0; r < rows; r++, y += columns, dy += columns, dx += columns) {
        double sum = 0;
        for (int64_t i = 0; i < columns; i++)
            sum += (double)dy[i] * (double)y[i];
        for (int64_t i = 0; i < columns; i++)
            dx[i] = y[i] * (float)((double)dy[i] - sum);
    }
}

/* ---- kernels ---------------------------------------------------------------------------- */

typedef struct activation_run {
    const element_kernels *kernels;
    activation act;
    const float *x, *dy; /* dy: backward only */
    float *y;
    int64_t rows, columns,
        rows_per_task; /* softmax; all other activations have one long row of single columns */
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
    if (a->dy && a->act.kind == ACTIVATION_SOFTMAX)
        softmax_back(x, a->dy + first, y, end - begin, a->columns);
    else if (a->dy)
        a->kernels->activate_back[a->act.kind](x, a->dy + first, y, count, a->act.alpha);
    else
        a->kernels->activate[a->act.kind](x, y, count, a->act.alpha);
}

static bool accepts_forward(const plan *p, const op *o, const char **why)
{
    (void)p;
    *why = "goes by rows";
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
    if (a.act.kind == ACTIVATION_SOFTMAX) {
        tensor_matrix(t, &a.rows, &a.columns);
        a.rows_per_task = cpu_rows_per_task(a.columns);
    }
    threads_run(r->pool, cpu_divide_up(a.rows, a.rows_per_task), run_task, &a);
    return CORNU_OK;
}

const kernel cpu_activation_forward = {
    .name = "vector", .accepts = accepts_forward, .prepare = prepare, .run = run};
const kernel cpu_activation_backward = {.name = "vector", .prepare = prepare, .run = run};
