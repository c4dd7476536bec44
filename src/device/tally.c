#include "device/tally.h"
#include <math.h>

#define RULE static inline
#define TALLY_FLOATS const float *
typedef double tally_number;
typedef int64_t tally_index;
#include "device/rules/tallies.h"

tally_rows tally_rows_of(const plan *p, const op *o, const float *const in[OP_INPUTS_MAX])
{
    tally_rows t = {.what = &o->a.tally.what,
                    .output = in[0],
                    .target = in[1],
                    .weight = in[2],
                    .limits = in[3]};
    tensor_matrix(&p->tensors[o->in[0]], &t.rows, &t.n);
    t.targets = p->tensors[o->in[1]].count / t.rows;
    t.rows_per_sample = t.rows / p->batch;
    t.limit_count = o->in[3] == NO_TENSOR ? 0 : p->tensors[o->in[3]].count;
    return t;
}

typedef int64_t tally_rule(const tally_view *t, int64_t i, double *v);

static tally_rule *rule_of(tally_kind kind)
{
    static tally_rule *const rules[TALLY_COUNT] = {
#define TALLY(id, rule, ...) [TALLY_##id] = tally_##rule,
#include "model/tallies.def"
    };
    return rules[kind];
}

static double weight_of(const tally_rows *t, int64_t row)
{
    const double weight = t->weight ? (double)t->weight[row / t->rows_per_sample] : 1;
    return t->what->whole_weights ? trunc(weight) : weight;
}

void tally_add_rows(const tally_rows *t, int64_t begin, int64_t end, double *table)
{
    const tally_spec *what = t->what;
    tally_rule *const rule = rule_of(what->kind);
    const int64_t items = what->of_rows ? 1 : t->n;
    tally_view v = {.limits = t->limits,
                    .n = t->n,
                    .limit_count = t->limit_count,
                    .k = what->k,
                    .column = what->column,
                    .by_column = what->by_column,
                    .reals = {what->reals[0], what->reals[1], what->reals[2]}};
    for (int64_t row = begin; row < end; row++) {
        const double weight = weight_of(t, row);
        double values[TALLY_PLANES_MOST] = {0};
        v.output = t->output + row * t->n;
        v.target = t->target + row * t->targets;
        v.largest = what->kind == TALLY_LABELS ? tally_largest(&v) : 0;
        for (int64_t i = 0; i < items; i++) {
            const int64_t bucket = rule(&v, i, values);
            for (int k = 0; bucket >= 0 && k < what->planes; k++)
                table[k * what->buckets + bucket] += weight * values[k];
        }
    }
}
