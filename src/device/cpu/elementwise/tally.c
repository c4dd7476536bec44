/* TALLY: tasks are blocks of rows, each with a table of its own, which are added in order. How many
   there are depends on sizes alone: as many as have more to count than there is to add. */
#include "device/tally.h"
#include "device/cpu/cpu.h"
#include <string.h>

enum { TASKS_MOST = 64, ELEMENT_COST = 4 /* of counting one, relative to an addition */ };

static int64_t task_count(const plan *p, const op *o)
{
    const tensor *output = &p->tensors[o->in[0]];
    int64_t rows, n;
    tensor_matrix(output, &rows, &n);
    const int64_t useful = output->count * ELEMENT_COST / (tally_count(o) + 1024);
    const int64_t most = rows < TASKS_MOST ? rows : TASKS_MOST;
    return useful < 1 ? 1 : useful < most ? useful : most;
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    (void)pool, (void)state;
    const int64_t tasks = task_count(p, o);
    if (tasks > 1)
        cpu_need_scratch(scratch_bytes, CPU_DOUBLE * tasks * tally_count(o));
    return CORNU_OK;
}

typedef struct tally_run {
    tally_rows rows;
    int64_t tasks, count;
    double *tables; /* [tasks][count] */
} tally_run;

static void run_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const tally_run *r = context;
    double *table = r->tables + task * r->count;
    int64_t begin, end;
    threads_range(r->rows.rows, r->tasks, task, 1, &begin, &end);
    memset(table, 0, (size_t)r->count * sizeof *table);
    tally_add_rows(&r->rows, begin, end, table);
}

static cornu_status run(const op_run *r)
{
    double *to = r->results->tables + r->op->a.tally.table;
    tally_run t = {.rows = tally_rows_of(r->plan, r->op, r->in),
                   .tasks = task_count(r->plan, r->op),
                   .count = tally_count(r->op),
                   .tables = r->scratch};
    if (t.tasks == 1) {
        tally_add_rows(&t.rows, 0, t.rows.rows, to);
        return CORNU_OK;
    }
    threads_run(r->pool, t.tasks, run_task, &t);
    for (int64_t task = 0; task < t.tasks; task++)
        for (int64_t i = 0; i < t.count; i++)
            to[i] += t.tables[task * t.count + i];
    return CORNU_OK;
}

const kernel cpu_tally = {.name = "tables", .prepare = prepare, .run = run};
