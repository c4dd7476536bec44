/* UPDATE: the optimizers' rules over chunks of elements. At four or five streams of memory for a
   few operations an element, memory is the limit. */
#include "device/cpu/update.h"
#include "device/update_rules.h"

CPU_ISA_TABLE(update_kernels, cpu_update_rules);
CPU_ISA_PREPARE(prepare, cpu_update_rules)

/* The sum of squares to clip by: this variable's, or all of them. */
static double norm_squared(const op_run *r, const op *o)
{
    if (o->in[5] == NO_TENSOR)
        return 0;
    const float *squares = r->tensors[o->in[5]];
    if (o->a.update.norm_slot >= 0)
        return (double)squares[o->a.update.norm_slot];
    double sum = 0;
    for (int i = 0; i < o->a.update.norm_count; i++)
        sum += (double)squares[i];
    return sum;
}

static update_constants constants_of(const update_factors *f)
{
    return (update_constants){.learning_rate = f->learning_rate,
                              .gradient_scale = f->gradient_scale,
                              .clip_value = f->clip_value,
                              .weight_decay = f->weight_decay,
                              .momentum = f->momentum,
                              .rho = f->rho,
                              .epsilon = f->epsilon,
                              .rate_1 = f->rate_1,
                              .rate_2 = f->rate_2,
                              .alpha = f->alpha,
                              .nesterov = f->nesterov,
                              .amsgrad = f->amsgrad,
                              .plain = f->gradient_scale == 1 && isinf(f->clip_value) &&
                                       f->weight_decay == 0};
}

static update_range *rule_of(const update_kernels *k, optimizer_id id)
{
    switch (id) {
    case OPTIMIZER_SGD:
        return k->sgd;
    case OPTIMIZER_RMSPROP:
        return k->rmsprop;
    case OPTIMIZER_ADAM:
    case OPTIMIZER_ADAMW:
    case OPTIMIZER_COUNT:
        break;
    }
    return k->adam;
}

static cpu_update_step begin(const op_run *r, const op *o, const update_kernels *kernels)
{
    const optimizer *how = &o->a.update.optimizer;
    update_factors f =
        update_factors_of(how, r->input->learning_rate, r->input->iteration, norm_squared(r, o));
    cpu_update_step u = {.rule = rule_of(kernels, how->id),
                         .constants = constants_of(&f),
                         .w = r->tensors[o->out[0]]};
    for (int i = 0; i < OPTIMIZER_SLOTS_MAX; i++)
        u.slot[i] = o->out[1 + i] == NO_TENSOR ? NULL : r->tensors[o->out[1 + i]];
    return u;
}

cpu_update_step cpu_update_begin(const op_run *r, const op *o, cpu_isa isa)
{
    return begin(r, o, cpu_update_rules[isa]);
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
    int64_t count;
} update_run;

static void update_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const update_run *u = context;
    int64_t first, end;
    cpu_part(u->count, CPU_CHUNK, chunk, &first, &end);
    cpu_update_range(&u->step, u->g + first, first, end - first);
}

static cornu_status run(const op_run *r)
{
    update_run u = {
        .step = begin(r, r->op, r->state), .g = r->in[1], .count = OP_IN(r->plan, r->op, 0)->count};
    threads_run(r->pool, cpu_divide_up(u.count, CPU_CHUNK), update_chunk, &u);
    return CORNU_OK;
}

const kernel cpu_update = {.name = "vector", .prepare = prepare, .run = run};
