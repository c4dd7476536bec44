/* ACCUMULATE and AVERAGE: streams of memory, in blocks of elements. */
#include "device/cpu/cpu.h"
#include "device/host/host.h"

#define RULE static inline
#include "device/rules/averaging.h"

typedef struct average_run {
    float *first, *slot; /* the gradient or the weight, and what is kept */
    int64_t count;
    float steps, momentum;
    bool last; /* of the steps of an update; or the weight becomes its average */
} average_run;

static average_run begin(const op_run *r)
{
    return (average_run){
        .first = r->out[0], .slot = r->out[1], .count = OP_IN(r->plan, r->op, 0)->count};
}

static void accumulate_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const average_run *a = context;
    const average_run c = *a; /* a copy: no store can change it */
    int64_t first, end;
    cpu_task_range(c.count, CPU_TASK, task, &first, &end);
    if (c.last)
        for (int64_t i = first; i < end; i++)
            rule_accumulate(c.steps, 1, &c.first[i], &c.slot[i]);
    else
        for (int64_t i = first; i < end; i++)
            rule_accumulate(c.steps, 0, &c.first[i], &c.slot[i]);
}

static void average_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const average_run *a = context;
    const average_run c = *a;
    int64_t first, end;
    cpu_task_range(c.count, CPU_TASK, task, &first, &end);
    for (int64_t i = first; i < end; i++)
        c.slot[i] = rule_average(c.momentum, c.slot[i], c.first[i]);
    for (int64_t i = first; i < end && c.last; i++)
        c.first[i] = c.slot[i];
}

static cornu_status run_accumulate(const op_run *r)
{
    average_run a = begin(r);
    const int64_t steps = r->op->a.accumulate;
    a.steps = (float)steps;
    a.last = r->input->iteration % steps == steps - 1;
    threads_run(r->pool, cpu_divide_up(a.count, CPU_TASK), accumulate_task, &a);
    return CORNU_OK;
}

static cornu_status run_average(const op_run *r)
{
    average_run a = begin(r);
    a.momentum = optimizer_average_momentum(r->op, r->input->iteration);
    a.last = optimizer_overwrites(r->op, r->input->iteration);
    threads_run(r->pool, cpu_divide_up(a.count, CPU_TASK), average_task, &a);
    return CORNU_OK;
}

const kernel cpu_accumulate = {.name = "blocks", .run = run_accumulate};
const kernel cpu_average = {.name = "blocks", .run = run_average};
