/* The operations of the optimizer's step: sums of gradients, updates of each optimizer, averages
   and constraints. */
#include "support/op_cases_add.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_constraint(const shape *s, int64_t outer, int64_t along, int64_t inner,
                           bool non_neg)
{
    op_case *c = op_case_add(OP_CONSTRAIN);
    *c = (op_case){.kind = c->kind,
                   .in = {*s},
                   .out = {*s},
                   .a.constrain = {.non_neg = non_neg,
                                   .least = 0.5f,
                                   .most = 1.5f,
                                   .rate = 0.75f,
                                   .extents = {outer, along, inner}}};
    op_case_label(c, non_neg ? "non_neg" : along == 1 ? "elements" : inner == 1 ? "last" : "norms");
}

static void add_constraints(void)
{
    const shape s = {3, {5, 7, 131}}, small = {1, {3}};
    add_constraint(&s, 5, 7, 131, false);
    add_constraint(&s, 1, 35, 131, false);
    add_constraint(&s, 35, 131, 1, false);
    add_constraint(&s, 1, 5 * 7 * 131, 1, false);
    add_constraint(&s, 1, 1, 5 * 7 * 131, true);
    add_constraint(&small, 1, 1, 3, false);
}

static void add_update(int64_t count, const optimizer *o, const char *more)
{
    optimizer_slot slots[OPTIMIZER_SLOTS_ALL];
    optimizer_slots(o, slots);
    shape s = op_case_row(count);
    op_case *c = op_case_add(OP_UPDATE);
    c->in[0] = c->in[1] = c->out[0] = s;
    for (int i = 0; i < OPTIMIZER_SLOTS_MAX; i++)
        if (slots[i].needed)
            c->in[2 + i] = c->out[1 + i] = s;
    if (o->clipnorm > 0 || o->global_clipnorm > 0)
        c->in[5] = op_case_row(3);
    c->a.update.optimizer = *o;
    c->a.update.norm_slot = o->clipnorm > 0 ? 2 : -1;
    c->a.update.norm_count = 3;
    op_case_label(c, more);
    op_case penalized = *c;
    penalized.a.update.penalty = (penalty){0.3f, 0.2f};
    op_case_label(&penalized, "penalized");
    *op_case_add(OP_UPDATE) = penalized;
}

/* The tests' step is the fourth. */
static void add_averages(int64_t count)
{
    static const struct {
        const char *name;
        int64_t steps;
    } sums[] = {{"a step", 3}, {"the last", 4}};
    static const struct {
        const char *name;
        int64_t steps, overwrite;
    } averages[] = {
        {"each step", 0, 0}, {"overwrites", 2, 2}, {"overwrites later", 0, 3}, {"begins", 4, 2}};
    const shape s = op_case_row(count);
    for (int i = 0; i < 2; i++) {
        op_case *c = op_case_add(OP_ACCUMULATE);
        c->in[0] = c->in[1] = c->out[0] = c->out[1] = s;
        c->a.accumulate = sums[i].steps;
        op_case_label(c, sums[i].name);
    }
    for (int i = 0; i < 4; i++) {
        op_case *c = op_case_add(OP_AVERAGE);
        c->in[0] = c->in[1] = c->out[0] = c->out[1] = s;
        c->a.average.momentum = 0.9f;
        c->a.average.accumulate = averages[i].steps;
        c->a.average.overwrite = averages[i].overwrite;
        op_case_label(c, averages[i].name);
    }
}

static void add_layerwise(int64_t count, int64_t steps)
{
    const shape s = op_case_row(count);
    op_case *c = op_case_add(OP_LAYERWISE);
    c->in[0] = c->in[1] = c->in[2] = c->out[0] = s;
    c->a.update.optimizer = (optimizer){.id = OPTIMIZER_LAMB,
                                        .beta_1 = 0.9,
                                        .beta_2 = 0.99,
                                        .epsilon = 1e-3,
                                        .gradient_accumulation_steps = steps};
    op_case_label(c, steps == 3 ? "not in this step" : "a step");
}

/* A weight of this shape as [outer][rows][columns]; 0 rows: a vector. */
static void add_factored(const shape *s, int64_t outer, int64_t rows, int64_t columns,
                         optimizer how, float l2)
{
    op_case *c = op_case_add(OP_FACTORED_UPDATE);
    c->in[0] = c->in[1] = c->in[4] = c->out[0] = c->out[3] = *s;
    c->in[2] = c->out[1] = rows > 0 ? op_case_row(outer * rows) : (shape){0};
    c->in[3] = c->out[2] = rows > 0 ? op_case_row(outer * columns) : (shape){0};
    how.id = OPTIMIZER_ADAFACTOR;
    how.beta_2_decay = -0.8;
    how.epsilon_1 = 1e-30;
    how.epsilon_2 = 1e-3;
    c->a.update.optimizer = how;
    c->a.update.norm_slot = how.clipnorm > 0 ? 1 : -1;
    if (how.clipnorm > 0)
        c->in[5] = op_case_row(3);
    c->a.update.penalty.l2 = l2;
    c->a.update.extents[0] = outer;
    c->a.update.extents[1] = rows;
    c->a.update.extents[2] = columns;
    op_case_label(c, how.gradient_accumulation_steps == 3 ? "not in this step" : "a step");
}

static void add_all_factored(void)
{
    const shape small = op_case_row(3), vector = op_case_row(4001), image = {4, {3, 2, 37, 131}};
    add_factored(&small, 1, 0, 3, (optimizer){.clip_threshold = 1}, 0);
    add_factored(&vector, 1, 0, 4001, (optimizer){.clip_threshold = 0.5, .clipnorm = 0.2}, 0);
    add_factored(&image, 6, 37, 131, (optimizer){.clip_threshold = 1}, 0);
    add_factored(&image, 6, 37, 131, (optimizer){.clip_threshold = 3, .weight_decay = 0.3}, 0.1f);
    add_factored(&image, 1, 6 * 37, 131, (optimizer){.clip_threshold = 0.5, .clipvalue = 0.4}, 0);
    add_factored(
        &image, 1, 3, 2 * 37 * 131,
        (optimizer){.clip_threshold = 1, .clipnorm = 0.2, .gradient_accumulation_steps = 4}, 0);
    add_factored(&small, 1, 3, 1,
                 (optimizer){.clip_threshold = 1, .gradient_accumulation_steps = 3}, 0);
}

static void add_matrix(int64_t rows, int64_t columns, optimizer how, float l2)
{
    const shape s = {2, {rows, columns}};
    op_case *c = op_case_add(OP_MATRIX_UPDATE);
    c->in[0] = c->in[1] = c->in[2] = c->out[0] = c->out[1] = s;
    how.id = OPTIMIZER_MUON;
    how.momentum = 0.95;
    how.muon_a = 3.4445;
    how.muon_b = -4.775;
    how.muon_c = 2.0315;
    c->a.update.optimizer = how;
    c->a.update.norm_slot = how.clipnorm > 0 ? 1 : -1;
    if (how.clipnorm > 0)
        c->in[5] = op_case_row(3);
    c->a.update.penalty.l2 = l2;
    c->a.update.extents[0] = 1;
    c->a.update.extents[1] = rows;
    c->a.update.extents[2] = columns;
    op_case_label(c, how.gradient_accumulation_steps == 3 ? "not in this step" : "a step");
}

static void add_matrices(void)
{
    const optimizer usual = {.ns_steps = 5, .nesterov = true, .rms_rate = 0.2};
    optimizer decays = usual, clips = usual, waits = usual;
    decays.weight_decay = 0.3;
    decays.nesterov = false;
    clips.clipnorm = 0.2;
    clips.rms_rate = -1;
    clips.gradient_accumulation_steps = 4;
    waits.gradient_accumulation_steps = 3;
    add_matrix(1, 5, usual, 0);
    add_matrix(7, 1, (optimizer){.rms_rate = 0.5}, 0);
    add_matrix(5, 4, waits, 0);
    add_matrix(37, 131, usual, 0);
    add_matrix(131, 37, decays, 0.1f);
    add_matrix(60, 60, clips, 0);
    add_matrix(300, 40, (optimizer){.ns_steps = 2, .rms_rate = 0.2, .clipvalue = 0.4}, 0);
}

/* Every optimizer with every set of its options that chooses slots: each form of each rule. */
static void add_forms(int64_t count)
{
    static const char *const names[] = {
#define OPTIMIZER(id, class_name, name, ...) name,
#include "model/optimizers.def"
    };
    static const char *const options[] = {"momentum: 0.8, ", "nesterov: true, ", "amsgrad: true, ",
                                          "centered: true, "};
    for (int id = 0; id < OPTIMIZER_COUNT; id++)
        for (int bits = 0; bits < 16; bits++) {
            char text[120];
            int used = snprintf(text, sizeof text, "{%s: {", names[id]);
            for (int k = 0; k < 4; k++)
                used += snprintf(text + used, sizeof text - (size_t)used, "%s",
                                 bits >> k & 1 ? options[k] : "");
            snprintf(text + used, sizeof text - (size_t)used, "}}");
            optimizer o;
            doc *d;
            if (doc_parse(text, strlen(text), "optimizer", &d) != CORNU_OK)
                abort();
            if (optimizer_read(d, &o) == CORNU_OK) /* else its row has no such option */
                add_update(count, &o, text);
            doc_free(d);
        }
}

static void add_updates(int64_t count)
{
    optimizer sgd = {.id = OPTIMIZER_SGD}, momentum = sgd, nesterov, clipped = sgd;
    momentum.momentum = 0.9;
    nesterov = momentum;
    nesterov.nesterov = true;
    clipped.clipvalue = 0.3;
    optimizer adam = {.id = OPTIMIZER_ADAM, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7};
    optimizer amsgrad = adam, adamw = adam, by_norm = adam, by_all = adam;
    amsgrad.amsgrad = true;
    adamw.id = OPTIMIZER_ADAMW;
    adamw.weight_decay = 0.004;
    by_norm.clipnorm = 0.5;
    by_all.global_clipnorm = 0.5;
    optimizer rmsprop = {.id = OPTIMIZER_RMSPROP, .rho = 0.9, .epsilon = 1e-7}, centered = rmsprop;
    centered.centered = true;
    centered.momentum = 0.5;
    optimizer waits = adam, accumulates = momentum;
    waits.gradient_accumulation_steps = 3;
    accumulates.gradient_accumulation_steps = 2;
    accumulates.clipnorm = 0.5;
    add_update(count, &waits, "adam, not in this step");
    add_update(count, &accumulates, "sgd, momentum, the last of two steps");
    add_update(count, &sgd, "sgd");
    add_update(count, &momentum, "sgd, momentum");
    add_update(count, &nesterov, "sgd, nesterov");
    add_update(count, &clipped, "sgd, clipvalue");
    add_update(count, &adam, "adam");
    add_update(count, &amsgrad, "adam, amsgrad");
    add_update(count, &adamw, "adamw");
    add_update(count, &by_norm, "adam, clipnorm");
    add_update(count, &by_all, "adam, global_clipnorm");
    add_update(count, &rmsprop, "rmsprop");
    add_update(count, &centered, "rmsprop, centered, momentum");
}

void op_cases_add_updates(void)
{
    add_constraints();
    add_averages(3);
    add_averages(40001);
    add_layerwise(3, 0);
    add_layerwise(40001, 2);
    add_layerwise(40001, 3);
    add_all_factored();
    add_matrices();
    add_updates(1);
    add_updates(37);
    add_updates(40000);
    add_forms(37);
}
