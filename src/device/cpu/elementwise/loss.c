/* LOSS and METRIC: the rows of losses.def and metrics.def, over blocks of rows. Each task is a
   block, and the tasks' sums are added in order. */
#include "device/cpu/cpu.h"
#include "device/rows.h"

enum { ELEMENT_COST = 16 }; /* cost of one output relative to an addition: it takes a logarithm */

typedef struct rows_run {
    const float *output, *target;
    const float *weight; /* [rows / rows_per_sample], or NULL */
    float *gradient;     /* NULL: not needed */
    int64_t rows_per_sample;
    int64_t rows, n, targets, rows_per_task, k;
    loss_row *loss;     /* or */
    metric_row *metric; /* one of the two */
    double *partials;
} rows_run;

static int64_t rows_per_task(int64_t n)
{
    return cpu_rows_per_task(n * ELEMENT_COST);
}

static void rows_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const rows_run *s = context;
    int64_t begin, end;
    double sum = 0;
    cpu_task_range(s->rows, s->rows_per_task, task, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const float *output = s->output + i * s->n, *target = s->target + i * s->targets;
        float *gradient = s->gradient ? s->gradient + i * s->n : NULL;
        double weight = s->weight ? (double)s->weight[i / s->rows_per_sample] : 1;
        sum += weight * (s->loss ? s->loss(output, target, s->n, gradient)
                                 : s->metric(output, target, s->n, s->k));
        for (int64_t j = 0; gradient && j < s->n; j++)
            gradient[j] = (float)((double)gradient[j] * weight / (double)s->rows);
    }
    s->partials[task] = sum;
}

static double sum_rows(const op_run *r, rows_run *s)
{
    tensor_matrix(OP_IN(r->plan, r->op, 0), &s->rows, &s->n);
    s->targets = OP_IN(r->plan, r->op, 1)->count / s->rows;
    s->output = r->in[0];
    s->target = r->in[1];
    s->rows_per_sample = s->rows / r->plan->batch;
    s->partials = r->scratch;
    s->rows_per_task = rows_per_task(s->n);
    int64_t tasks = cpu_divide_up(s->rows, s->rows_per_task);
    threads_run(r->pool, tasks, rows_task, s);
    double sum = 0;
    for (int64_t i = 0; i < tasks; i++)
        sum += s->partials[i];
    return sum;
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    (void)pool, (void)state;
    int64_t rows, n;
    tensor_matrix(OP_IN(p, o, 0), &rows, &n);
    cpu_need_scratch(scratch_bytes, CPU_DOUBLE * cpu_divide_up(rows, rows_per_task(n)));
    return CORNU_OK;
}

static cornu_status run_loss(const op_run *r)
{
    rows_run s = {.loss = loss_row_of(r->op->a.loss.id, r->op->a.loss.logits),
                  .weight = r->in[2],
                  .gradient = r->out[0]};
    double sum = sum_rows(r, &s);
    r->results->last_loss = sum / (double)s.rows;
    r->results->loss += r->results->last_loss * (double)r->plan->batch;
    return CORNU_OK;
}

static cornu_status run_metric(const op_run *r)
{
    rows_run s = {.metric = metric_row_of(r->op->a.metric.id), .k = r->op->a.metric.k};
    double sum = sum_rows(r, &s);
    r->results->metrics[r->op->a.metric.slot] += sum * (double)r->plan->batch / (double)s.rows;
    return CORNU_OK;
}

const kernel cpu_loss = {.name = "rows", .prepare = prepare, .run = run_loss};
const kernel cpu_metric = {.name = "rows", .prepare = prepare, .run = run_metric};
