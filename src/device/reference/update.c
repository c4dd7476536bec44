#include "device/reference/reference.h"

#define RULE static inline
typedef float rule_real;
#define rule_all(a) (a)
#define rule_product(a, b) ((a) * (b))
#define rule_quotient(a, b) ((a) / (b))
#define rule_sqrt(a) sqrtf(a)
#define rule_pow(a, b) powf(a, b)
#define rule_select(mask, a, b) ((mask) ? (a) : (b))
#include "device/rules/averaging.h"
#include "device/rules/constraint.h"
#include "device/rules/layerwise.h"
#include "device/rules/optimizers.h"

cornu_status reference_square_sum(const op_run *r)
{
    int64_t count = OP_IN(r->plan, r->op, 0)->count;
    const penalty p = r->op->a.norm.penalty;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        float g = r->in[0][i];
        if (r->in[1])
            g = rule_penalized(p.l1, p.l2, r->in[1][i], g);
        sum += (double)g * (double)g;
    }
    r->out[0][r->op->a.norm.slot] = (float)sum;
    return CORNU_OK;
}

cornu_status reference_penalty(const op_run *r)
{
    int64_t count = OP_IN(r->plan, r->op, 0)->count;
    const penalty p = r->op->a.penalty;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double w = (double)r->in[0][i];
        sum += (double)p.l1 * fabs(w) + (double)p.l2 * w * w;
    }
    host_add_penalty(r, sum);
    return CORNU_OK;
}

typedef void rule(const optimizer_constants *c, int form, float *w, float g, float *slot);

static rule *const rules[OPTIMIZER_COUNT] = {
#define OPTIMIZER(id, class_name, name, rule, ...) [OPTIMIZER_##id] = rule_##rule,
#include "model/optimizers.def"
};

/* One optimizer step on element i, whose gradient is `g`. */
static void update_element(const op_run *r, const optimizer_constants *c, int64_t i, float g)
{
    float slot[OPTIMIZER_SLOTS_MAX] = {0};
    for (int s = 0; s < OPTIMIZER_SLOTS_MAX; s++)
        slot[s] = r->out[1 + s] ? r->out[1 + s][i] : 0;
    if (c->penalized)
        g = rule_penalized(c->penalty_l1, c->penalty_l2, r->out[0][i], g);
    rule_clip_and_decay(c, &r->out[0][i], &g);
    rules[r->op->a.update.optimizer.id](c, c->form, &r->out[0][i], g, slot);
    for (int s = 0; s < OPTIMIZER_SLOTS_MAX; s++)
        if (r->out[1 + s])
            r->out[1 + s][i] = slot[s];
}

cornu_status reference_update(const op_run *r)
{
    const optimizer_constants c = host_optimizer_step(r, r->op);
    if (!optimizer_updates_at(&r->op->a.update.optimizer, r->input->iteration))
        return CORNU_OK;
    int64_t end = OP_IN(r->plan, r->op, 0)->count - r->op->a.update.after;
    for (int64_t i = r->op->a.update.before; i < end; i++)
        update_element(r, &c, i, r->in[1][i]);
    return CORNU_OK;
}

cornu_status reference_accumulate(const op_run *r)
{
    const int64_t steps = r->op->a.accumulate, count = OP_IN(r->plan, r->op, 0)->count;
    const bool last = r->input->iteration % steps == steps - 1;
    for (int64_t i = 0; i < count; i++)
        rule_accumulate((float)steps, last, &r->out[0][i], &r->out[1][i]);
    return CORNU_OK;
}

static float direction_of(const op_run *r, int64_t i, const optimizer_factors *f)
{
    return rule_layerwise(r->in[1][i], r->in[2][i], f->alpha, f->gradient_alpha,
                          (float)r->op->a.update.optimizer.epsilon);
}

cornu_status reference_layerwise(const op_run *r)
{
    const optimizer *o = &r->op->a.update.optimizer;
    const int64_t count = OP_IN(r->plan, r->op, 0)->count;
    const optimizer_factors f =
        optimizer_factors_at(o, r->input->learning_rate, r->input->iteration);
    double weights = 0, directions = 0;
    if (!optimizer_updates_at(o, r->input->iteration))
        return CORNU_OK;
    for (int64_t i = 0; i < count; i++) {
        const double w = (double)r->out[0][i], u = (double)direction_of(r, i, &f);
        weights += w * w;
        directions += u * u;
    }
    const float ratio = rule_layerwise_ratio((float)sqrt(weights), (float)sqrt(directions));
    for (int64_t i = 0; i < count; i++)
        r->out[0][i] -= ratio * r->input->learning_rate * direction_of(r, i, &f);
    return CORNU_OK;
}

cornu_status reference_average(const op_run *r)
{
    const float momentum = optimizer_average_momentum(r->op, r->input->iteration);
    const bool overwrites = optimizer_overwrites(r->op, r->input->iteration);
    const int64_t count = OP_IN(r->plan, r->op, 0)->count;
    for (int64_t i = 0; i < count; i++) {
        r->out[1][i] = rule_average(momentum, r->out[1][i], r->out[0][i]);
        if (overwrites)
            r->out[0][i] = r->out[1][i];
    }
    return CORNU_OK;
}

cornu_status reference_constrain(const op_run *r)
{
    const op_attributes *a = &r->op->a;
    const int64_t along = a->constrain.extents[1], inner = a->constrain.extents[2];
    for (int64_t i = 0; i < a->constrain.extents[0] * inner; i++) {
        float *w = r->out[0] + i / inner * along * inner + i % inner;
        double sum = 0;
        for (int64_t k = 0; k < along; k++)
            sum += (double)w[k * inner] * (double)w[k * inner];
        const float factor = rule_constrained(sqrtf((float)sum), a->constrain.least,
                                              a->constrain.most, a->constrain.rate);
        for (int64_t k = 0; k < along; k++)
            w[k * inner] = !a->constrain.non_neg ? w[k * inner] * factor
                           : w[k * inner] < 0    ? 0
                                                 : w[k * inner];
    }
    return CORNU_OK;
}
