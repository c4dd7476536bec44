/* UPDATE: the shared rules, compiled once per instruction set, over chunks of elements. At four or
   five streams of memory for a few operations an element, memory is the limit. */
#include "device/cpu/cpu.h"
#include "device/update_rules.h"

/* One clone each, with the rule inlined: a call through update_rules would run the rule compiled
   for the least instruction set. */
#define CLONED_RULE(rule)                                                                      \
    CPU_CLONES __attribute__((flatten)) static void cloned_##rule(                             \
        const update_factors *f, float *w, const float *g, float *const slot[], int64_t begin, \
        int64_t end)                                                                           \
    {                                                                                          \
        rule(f, w, g, slot, begin, end);                                                       \
    }
CLONED_RULE(update_sgd)
CLONED_RULE(update_adam)
CLONED_RULE(update_rmsprop)

static update_rule *const cloned_rules[OPTIMIZER_COUNT] = {
    [OPTIMIZER_SGD] = cloned_update_sgd,
    [OPTIMIZER_ADAM] = cloned_update_adam,
    [OPTIMIZER_ADAMW] = cloned_update_adam,
    [OPTIMIZER_RMSPROP] = cloned_update_rmsprop,
};

typedef struct update_run {
    update_rule *rule;
    update_factors factors;
    float *w, *slot[OPTIMIZER_SLOTS_MAX];
    const float *g;
    int64_t count;
} update_run;

static void update_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const update_run *u = context;
    int64_t begin, end;
    cpu_part(u->count, CPU_CHUNK, chunk, &begin, &end);
    u->rule(&u->factors, u->w, u->g, u->slot, begin, end);
}

/* The sum of squares to clip by: this variable's, or all of them. */
static double norm_squared(const op *o, const float *squares)
{
    if (!squares)
        return 0;
    if (o->a.update.norm_slot >= 0)
        return (double)squares[o->a.update.norm_slot];
    double sum = 0;
    for (int i = 0; i < o->a.update.norm_count; i++)
        sum += (double)squares[i];
    return sum;
}

static cornu_status run(const op_run *r)
{
    const optimizer *o = &r->op->a.update.optimizer;
    update_run u = {.rule = cloned_rules[o->id],
                    .factors = update_factors_of(o, r->input->learning_rate, r->input->iteration,
                                                 norm_squared(r->op, r->in[5])),
                    .w = r->out[0],
                    .g = r->in[1],
                    .slot = {r->out[1], r->out[2], r->out[3]},
                    .count = OP_IN(r->plan, r->op, 0)->count};
    threads_run(r->pool, cpu_divide_up(u.count, CPU_CHUNK), update_chunk, &u);
    return CORNU_OK;
}

const kernel cpu_update = {.name = "vector", .run = run};
