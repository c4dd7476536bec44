/* UPDATE: the optimizers' rules over blocks of elements; and the sums of penalties. With four or
   five streams of memory for a few operations per element, they are memory-bound. */
#include "device/cpu/elementwise/update.h"
#include "device/host/host.h"

CPU_ISA_TABLE(update_kernels, cpu_update_kernels);
CPU_ISA_PREPARE(prepare, cpu_update_kernels)

static update_range *range_of(const update_kernel *k, int id, int form)
{
    while (k->optimizer != id || (k->form != form && k->form != UPDATE_FORM_ANY))
        k++;
    return k->range;
}

static cpu_update_step begin(const op_run *r, const op *o, const update_kernels *kernels)
{
    cpu_update_step u = {.constants = host_optimizer_step(r, o), .w = r->tensors[o->out[0]]};
    u.rule = range_of(kernels->list, (int)o->a.update.optimizer.id, u.constants.form);
    for (int i = 0; i < OPTIMIZER_SLOTS_MAX; i++)
        u.slot[i] = o->out[1 + i] == NO_TENSOR ? NULL : r->tensors[o->out[1 + i]];
    return u;
}

cpu_update_step cpu_update_begin(const op_run *r, const op *o, cpu_isa isa)
{
    return begin(r, o, cpu_update_kernels[isa]);
}

void cpu_update_range(const cpu_update_step *u, const float *g, int64_t first, int64_t count)
{
    float *slot[OPTIMIZER_SLOTS_MAX];
    for (int i = 0; i < OPTIMIZER_SLOTS_MAX; i++)
        slot[i] = u->slot[i] ? u->slot[i] + first : NULL;
    u->rule(&u->constants, g, u->w + first, slot, count);
}

typedef struct update_run {
    cpu_update_step step;
    const float *g;
    int64_t begin, count; /* elements */
} update_run;

static void update_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const update_run *u = context;
    int64_t first, end;
    cpu_task_range(u->count, CPU_TASK, task, &first, &end);
    first += u->begin;
    cpu_update_range(&u->step, u->g + first, first, end + u->begin - first);
}

static cornu_status run(const op_run *r)
{
    if (!optimizer_updates_at(&r->op->a.update.optimizer, r->input->iteration))
        return CORNU_OK;
    int64_t before = r->op->a.update.before;
    update_run u = {.step = begin(r, r->op, r->state),
                    .g = r->in[1],
                    .begin = before,
                    .count = OP_IN(r->plan, r->op, 0)->count - r->op->a.update.after - before};
    threads_run(r->pool, cpu_divide_up(u.count, CPU_TASK), update_task, &u);
    return CORNU_OK;
}

const kernel cpu_update = {.name = "vector", .prepare = prepare, .run = run};

/* ---- penalties ---------------------------------------------------------------------------- */

/* The sum over blocks of a PENALTY or, with gradients, of a SQUARE_SUM. */
typedef struct penalty_run {
    const update_kernels *kernels;
    penalty penalty;
    const float *w, *g;
    int64_t count;
    double *partials;
} penalty_run;

static void penalty_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const penalty_run *p = context;
    int64_t begin, end;
    cpu_task_range(p->count, CPU_TASK, task, &begin, &end);
    const float *w = p->w + begin;
    p->partials[task] = p->g ? p->kernels->penalized_squares(p->g + begin, w, end - begin,
                                                             p->penalty.l1, p->penalty.l2)
                             : p->kernels->penalty(w, end - begin, p->penalty.l1, p->penalty.l2);
}

static cornu_status prepare_sum(const plan *p, const op *o, threads *pool, void **state,
                                size_t *scratch_bytes)
{
    cpu_need_scratch(scratch_bytes, CPU_DOUBLE * cpu_divide_up(OP_IN(p, o, 0)->count, CPU_TASK));
    return prepare(p, o, pool, state, scratch_bytes);
}

static double sum_of(const op_run *r, const float *w, const float *g, penalty of)
{
    int64_t count = OP_IN(r->plan, r->op, 0)->count, tasks = cpu_divide_up(count, CPU_TASK);
    penalty_run p = {r->state, of, w, g, count, r->scratch};
    threads_run(r->pool, tasks, penalty_task, &p);
    double sum = 0;
    for (int64_t i = 0; i < tasks; i++)
        sum += p.partials[i];
    return sum;
}

static cornu_status run_penalty(const op_run *r)
{
    host_add_penalty(r, sum_of(r, r->in[0], NULL, r->op->a.penalty));
    return CORNU_OK;
}

static cornu_status run_squares(const op_run *r)
{
    r->out[0][r->op->a.norm.slot] = (float)sum_of(r, r->in[1], r->in[0], r->op->a.norm.penalty);
    return CORNU_OK;
}

static bool accepts_squares(const plan *p, const op *o, const char **why)
{
    (void)p;
    *why = "the weight has no penalty";
    return o->in[1] != NO_TENSOR;
}

const kernel cpu_penalty = {.name = "vector", .prepare = prepare_sum, .run = run_penalty};
const kernel cpu_penalized_square_sum = {
    .name = "penalized", .accepts = accepts_squares, .prepare = prepare_sum, .run = run_squares};
