/* SLICE and INSERT: copies of runs of neighbours. */
#include "device/slices.h"
#include "device/cpu/cpu.h"
#include <string.h>

typedef struct slice_run {
    slice_runs s;
    const float *x;
    float *y;
    int64_t per_task; /* runs, or outer indices of the whole */
    int64_t outers;
} slice_run;

static void slice_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const slice_run *r = context;
    int64_t begin, end;
    cpu_task_range(r->s.count, r->per_task, task, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        memcpy(r->y + i * r->s.floats, r->x + slice_run_at(&r->s, i),
               (size_t)r->s.floats * sizeof *r->y);
}

static void insert_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const slice_run *r = context;
    int64_t begin, end;
    cpu_task_range(r->s.count, r->per_task, task, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        memcpy(r->y + slice_run_at(&r->s, i), r->x + i * r->s.floats,
               (size_t)r->s.floats * sizeof *r->y);
}

/* Whole outer indices, with zeros between the runs. */
static void spread_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const slice_run *r = context;
    int64_t begin, end;
    cpu_task_range(r->outers, r->per_task, task, &begin, &end);
    memset(r->y + begin * r->s.outer, 0, (size_t)((end - begin) * r->s.outer) * sizeof *r->y);
    for (int64_t i = begin * r->s.runs; i < end * r->s.runs; i++)
        memcpy(r->y + slice_run_at(&r->s, i), r->x + i * r->s.floats,
               (size_t)r->s.floats * sizeof *r->y);
}

static cornu_status run_copies(const op_run *r, threads_work *work)
{
    slice_run s = {.s = slice_runs_of(r->plan, r->op), .x = r->in[0], .y = r->out[0]};
    s.per_task = cpu_rows_per_task(s.s.floats);
    threads_run(r->pool, cpu_divide_up(s.s.count, s.per_task), work, &s);
    return CORNU_OK;
}

static cornu_status run_slice(const op_run *r)
{
    return run_copies(r, slice_task);
}

static cornu_status run_insert(const op_run *r)
{
    if (r->in[1] || r->op->a.slice.partial)
        return run_copies(r, insert_task);
    slice_run s = {.s = slice_runs_of(r->plan, r->op), .x = r->in[0], .y = r->out[0]};
    s.outers = s.s.count / s.s.runs;
    s.per_task = cpu_rows_per_task(s.s.outer);
    threads_run(r->pool, cpu_divide_up(s.outers, s.per_task), spread_task, &s);
    return CORNU_OK;
}

const kernel cpu_slice = {.name = "runs", .run = run_slice};
const kernel cpu_insert = {.name = "runs", .run = run_insert};
