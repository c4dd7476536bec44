#include "base/memory.h"
#include "device/reference/reference.h"
#include <stdlib.h>

#include "device/rules/optimizer_floats.h"

#include "device/rules/averaging.h"
#include "device/rules/constraint.h"
#include "device/rules/factored.h"
#include "device/rules/layerwise.h"
#include "device/rules/matrix_step.h"
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

/* The gradient of element i, clipped; *w: the weight, decayed. */
static float gradient_at(const op_run *r, const optimizer_constants *c, int64_t i, float *w)
{
    float g = r->in[1][i];
    *w = r->out[0][i];
    if (c->penalized)
        g = rule_penalized(c->penalty_l1, c->penalty_l2, *w, g);
    rule_clip_and_decay(c, w, &g);
    return g;
}

/* The mean of the squares of `count` gradients, `stride` apart. */
static float mean_square(const op_run *r, const optimizer_constants *c, int64_t first,
                         int64_t count, int64_t stride)
{
    double sum = 0;
    float w;
    for (int64_t k = 0; k < count; k++)
        sum += (double)rule_factored_square(gradient_at(r, c, first + k * stride, &w), c->epsilon);
    return (float)(sum / (double)count);
}

/* One [rows][columns] of the weight. */
static void factor(const op_run *r, const optimizer_constants *c, int64_t outer)
{
    const int64_t rows = r->op->a.update.extents[1], columns = r->op->a.update.extents[2];
    const int64_t first = outer * rows * columns;
    const float beta_2 = c->factors.gradient_alpha;
    float *row = r->out[1] + outer * rows, *column = r->out[2] + outer * columns;
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        row[i] =
            rule_factored_mean(beta_2, row[i], mean_square(r, c, first + i * columns, columns, 1));
        sum += (double)row[i];
    }
    const float mean = (float)(sum / (double)rows);
    for (int64_t k = 0; k < columns; k++)
        column[k] =
            rule_factored_mean(beta_2, column[k], mean_square(r, c, first + k, rows, columns));
    for (int64_t i = 0; i < rows * columns; i++)
        r->out[FACTORED_VELOCITY][first + i] =
            rule_factored_velocity(row[i / columns], mean, column[i % columns]);
}

cornu_status reference_factored_update(const op_run *r)
{
    const optimizer *o = &r->op->a.update.optimizer;
    const int64_t *extents = r->op->a.update.extents, count = OP_IN(r->plan, r->op, 0)->count;
    optimizer_constants c = host_optimizer_step(r, r->op);
    float *v = r->out[FACTORED_VELOCITY], w;
    double weights = 0, directions = 0;
    if (!optimizer_updates_at(o, r->input->iteration))
        return CORNU_OK;
    c.epsilon = (float)o->epsilon_1;
    for (int64_t i = 0; i < extents[0] && extents[1] > 0; i++)
        factor(r, &c, i);
    for (int64_t i = 0; i < count; i++) {
        const float g = gradient_at(r, &c, i, &w);
        if (extents[1] == 0)
            v[i] = rule_factored_mean(c.factors.gradient_alpha, v[i],
                                      rule_factored_square(g, c.epsilon));
        const double u = (double)rule_factored_direction(g, v[i]);
        weights += (double)w * (double)w;
        directions += u * u;
    }
    const float rate = rule_factored_rate(
        c.factors.alpha, (float)o->epsilon_2, (float)sqrt(weights / (double)count),
        (float)sqrt(directions / (double)count), (float)o->clip_threshold);
    for (int64_t i = 0; i < count; i++) {
        const float g = gradient_at(r, &c, i, &w);
        r->out[0][i] = w - rate * rule_factored_direction(g, v[i]);
    }
    return CORNU_OK;
}

/* A matrix X of `rows` <= `columns`, and what is computed of it. */
typedef struct matrix_run {
    int64_t rows, columns;
    float *x, *y; /* [rows][columns] */
    float *a, *b; /* [rows][rows] */
} matrix_run;

/* y = keep y + factor a b; b has b_row floats between the indices of the sum. */
static void multiply(int64_t rows, int64_t columns, int64_t depth, const float *a, const float *b,
                     int64_t b_row, int64_t b_column, float factor, float keep, const float *kept,
                     float *y)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++) {
            double sum = 0;
            for (int64_t at = 0; at < depth; at++)
                sum += (double)a[i * depth + at] * (double)b[at * b_row + k * b_column];
            y[i * columns + k] = (kept ? keep * kept[i * columns + k] : 0) + factor * (float)sum;
        }
}

/* X = a X + (b A + c A A) X, A = X X' */
static void iterate(const optimizer *o, matrix_run *m)
{
    float *y = m->y;
    multiply(m->rows, m->rows, m->columns, m->x, m->x, 1, m->columns, 1, 0, NULL, m->a);
    multiply(m->rows, m->rows, m->rows, m->a, m->a, m->rows, 1, (float)o->muon_c, (float)o->muon_b,
             m->a, m->b);
    multiply(m->rows, m->columns, m->rows, m->b, m->x, m->columns, 1, 1, (float)o->muon_a, m->x, y);
    m->y = m->x;
    m->x = y;
}

static void step_by_matrix(const op_run *r, matrix_run *m)
{
    const optimizer *o = &r->op->a.update.optimizer;
    const int64_t columns = r->op->a.update.extents[2], count = m->rows * m->columns;
    const bool transposed = columns != m->columns;
    const optimizer_constants c = host_optimizer_step(r, r->op);
    double squares = 0;
    float w;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = transposed ? i % columns * m->columns + i / columns : i;
        const float g = gradient_at(r, &c, i, &w);
        r->out[1][i] = rule_matrix_momentum(r->out[1][i], g, c.momentum);
        m->x[at] = rule_matrix_direction(r->out[1][i], g, c.momentum, o->nesterov);
        squares += (double)m->x[at] * (double)m->x[at];
    }
    for (int64_t i = 0; i < count; i++)
        m->x[i] /= (float)sqrt(squares) + MATRIX_STEP_EPSILON;
    for (int64_t i = 0; i < o->ns_steps; i++)
        iterate(o, m);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = transposed ? i % columns * m->columns + i / columns : i;
        (void)gradient_at(r, &c, i, &w);
        r->out[0][i] = rule_matrix_step(w, m->x[at], c.learning_rate, optimizer_matrix_root(r->op),
                                        optimizer_matrix_share(r->op));
    }
}

cornu_status reference_matrix_update(const op_run *r)
{
    const int64_t *extents = r->op->a.update.extents;
    const bool transposed = extents[1] > extents[2];
    matrix_run m = {.rows = extents[transposed ? 2 : 1], .columns = extents[transposed ? 1 : 2]};
    float *values;
    if (!optimizer_updates_at(&r->op->a.update.optimizer, r->input->iteration))
        return CORNU_OK;
    TRY(memory_new((size_t)(2 * m.rows * (m.columns + m.rows)), sizeof *values, "matrices",
                   &values));
    m.x = values;
    m.y = m.x + m.rows * m.columns;
    m.a = m.y + m.rows * m.columns;
    m.b = m.a + m.rows * m.rows;
    step_by_matrix(r, &m);
    free(values);
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
