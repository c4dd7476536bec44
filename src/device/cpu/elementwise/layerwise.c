/* LAYERWISE: the norms of a weight and of its step's directions, then the step. */
#include "device/cpu/cpu.h"
#include "device/host/host.h"
#include <math.h>

#define RULE static inline
#define rule_sqrt(a) sqrtf(a)
#include "device/rules/layerwise.h"

typedef struct layerwise_run {
    float *w;
    const float *m, *v;
    int64_t count;
    optimizer_factors factors;
    float epsilon, rate; /* rate: of all directions */
    double (*partials)[2];
} layerwise_run;

static void sums_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const layerwise_run *l = context;
    const optimizer_factors f = l->factors;
    int64_t begin, end;
    double weights = 0, directions = 0;
    cpu_task_range(l->count, CPU_TASK, task, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const float u = rule_layerwise(l->m[i], l->v[i], f.alpha, f.gradient_alpha, l->epsilon);
        weights += (double)l->w[i] * (double)l->w[i];
        directions += (double)u * (double)u;
    }
    l->partials[task][0] = weights;
    l->partials[task][1] = directions;
}

static void step_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const layerwise_run *given = context;
    const layerwise_run l = *given; /* a copy: no store can change it */
    int64_t begin, end;
    cpu_task_range(l.count, CPU_TASK, task, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        l.w[i] -= l.rate * rule_layerwise(l.m[i], l.v[i], l.factors.alpha, l.factors.gradient_alpha,
                                          l.epsilon);
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    (void)pool, (void)state;
    cpu_need_scratch(scratch_bytes,
                     2 * CPU_DOUBLE * cpu_divide_up(OP_IN(p, o, 0)->count, CPU_TASK));
    return CORNU_OK;
}

static cornu_status run(const op_run *r)
{
    const optimizer *o = &r->op->a.update.optimizer;
    const int64_t count = OP_IN(r->plan, r->op, 0)->count, tasks = cpu_divide_up(count, CPU_TASK);
    layerwise_run l = {.w = r->out[0],
                       .m = r->in[1],
                       .v = r->in[2],
                       .count = count,
                       .factors =
                           optimizer_factors_at(o, r->input->learning_rate, r->input->iteration),
                       .epsilon = (float)o->epsilon,
                       .partials = r->scratch};
    double weights = 0, directions = 0;
    if (!optimizer_updates_at(o, r->input->iteration))
        return CORNU_OK;
    threads_run(r->pool, tasks, sums_task, &l);
    for (int64_t i = 0; i < tasks; i++) {
        weights += l.partials[i][0];
        directions += l.partials[i][1];
    }
    l.rate = rule_layerwise_ratio((float)sqrt(weights), (float)sqrt(directions)) *
             r->input->learning_rate;
    threads_run(r->pool, tasks, step_task, &l);
    return CORNU_OK;
}

const kernel cpu_layerwise = {.name = "passes", .prepare = prepare, .run = run};
