/* UPDATE: the optimizers' rules over blocks of elements. With four or five streams of memory for a
   few operations per element, they are memory-bound. */
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
    int64_t before = r->op->a.update.before;
    update_run u = {.step = begin(r, r->op, r->state),
                    .g = r->in[1],
                    .begin = before,
                    .count = OP_IN(r->plan, r->op, 0)->count - r->op->a.update.after - before};
    threads_run(r->pool, cpu_divide_up(u.count, CPU_TASK), update_task, &u);
    return CORNU_OK;
}

const kernel cpu_update = {.name = "vector", .prepare = prepare, .run = run};
