/* The pass that writes into a plan which numbers ranks send, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parallel/distribution.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <stdio.h>
#include <string.h>

/* Gradients of dense_1, of gamma and beta, of dense, and moving statistics. */
static cornu_model *model_with(const char *optimizer)
{
    char text[1024];
    cornu_model *m;
    snprintf(text, sizeof text,
             "model: {input: [400], layers: [{Dense: {units: 300}}, BatchNormalization, "
             "{Dense: {units: 3, activation: softmax}}]}\n"
             "compile: {optimizer: %s, loss: sparse_categorical_crossentropy}\n",
             optimizer);
    expect_ok(cornu_model_parse(text, "r.yaml", &m));
    return m;
}

static plan *plan_of(const cornu_model *m, plan_scope scope, distribution *d)
{
    plan *p;
    plan_options o = {.mode = PLAN_TRAIN, .scope = scope, .batch = scope == SCOPE_UPDATES ? 0 : 8};
    expect_ok(plan_build(m, &o, &p));
    assert_int_equal(p->collective_count, 0);
    if (d)
        expect_ok(distribute(d, p));
    return p;
}

static int count_of(const plan *p, collective_kind kind)
{
    int count = 0;
    for (int i = 0; i < p->collective_count; i++)
        count += p->collectives[i].kind == kind;
    return count;
}

static void expect_sums(const char *optimizer, bool divides, int reduced, int scattered)
{
    cornu_model *m = model_with(optimizer);
    distribution d = {.shards = 4, .ranks = 4, .bf16 = true, .divides = divides};
    plan *p = plan_of(m, SCOPE_GRADIENTS, &d);
    assert_int_equal(count_of(p, COLLECTIVE_ALL_REDUCE), reduced);
    assert_int_equal(count_of(p, COLLECTIVE_REDUCE_SCATTER), scattered);
    assert_int_equal(p->collective_count, reduced + scattered);
    for (int i = 1; i < p->collective_count; i++) {
        const collective *c = &p->collectives[i];
        assert_true(c->after >= c[-1].after && c->at >= c[-1].at + c[-1].count);
        assert_int_equal(c->bf16, strstr(c->name, "moving") == NULL);
    }
    assert_string_equal(p->collectives->name, "dense_1/kernel");
    assert_true(p->collectives->after < p->op_count);
    plan_free(p);
    distribution_free(&d);
    cornu_model_close(m);
}

static void each_gradient_is_sent_as_soon_as_it_is_made(void **state)
{
    (void)state;
    expect_sums("adam", false, 8, 0);
    expect_sums("adam", true, 2, 6);
    expect_sums("{adam: {clipnorm: 1}}", true, 8, 0); /* norms need all of each */
}

/* Marks the elements of a rank's updates in marks[variable], and checks that a bucket's weights
   are sent after its updates. */
static void mark_updates(const plan *p, const distribution *d, char **marks)
{
    int64_t sent = 0;
    for (int i = 0, k = 0; i <= p->op_count; i++) {
        for (; k < p->collective_count && p->collectives[k].after == i; k++) {
            assert_int_equal(p->collectives[k].kind, COLLECTIVE_ALL_GATHER);
            assert_int_equal(p->collectives[k].at, sent);
            sent += p->collectives[k].count;
        }
        if (i == p->op_count)
            break;
        const op *o = &p->ops[i];
        const shard_part *s = d->layout.parts;
        assert_int_equal(o->kind, OP_UPDATE);
        while (s->variable != o->out[0])
            s++;
        assert_true(s->at + o->a.update.before >= sent);
        for (int64_t e = o->a.update.before; e < s->count - o->a.update.after; e++)
            marks[s->variable][e]++;
    }
    assert_int_equal(sent, d->layout.gradient_values);
    assert_int_equal(plan_ready(p, p->op_count), sent);
}

static void the_slices_of_all_ranks_are_all_weights(void **state)
{
    (void)state;
    cornu_model *m = model_with("adam");
    char *marks[16];
    for (int i = 0; i < m->weight_count; i++)
        marks[i] = calloc((size_t)m->variables[i].count, 1);
    for (int rank = 0; rank < 4; rank++) {
        distribution d = {.shards = 4, .rank = rank, .ranks = 4, .divides = true};
        plan *gradients = plan_of(m, SCOPE_GRADIENTS, &d), *p = plan_of(m, SCOPE_UPDATES, &d);
        mark_updates(p, &d, marks);
        plan_free(gradients);
        plan_free(p);
        distribution_free(&d);
    }
    for (int i = 0; i < m->weight_count; i++) {
        for (int64_t e = 0; e < m->variables[i].count; e++)
            assert_int_equal(marks[i][e], m->variables[i].trainable);
        free(marks[i]);
    }
    cornu_model_close(m);
}

/* A whole step: no update before its gradient's sum, and so no group of both. */
static void a_whole_step_updates_at_its_end(void **state)
{
    (void)state;
    cornu_model *m = model_with("adam");
    distribution d = {.shards = 2, .ranks = 2, .divides = true};
    plan *alone = plan_of(m, SCOPE_STEP, NULL), *p = plan_of(m, SCOPE_STEP, &d);
    int updates = 0, groups[2] = {0};
    for (int i = 0; i < p->op_count; i++) {
        updates += p->ops[i].kind == OP_UPDATE;
        assert_int_equal(p->ops[i].kind == OP_UPDATE, updates > 0);
    }
    for (int i = 0; i < alone->group_count; i++)
        groups[0] += alone->groups[i].kind == GROUP_DENSE_BACKWARD;
    for (int i = 0; i < p->group_count; i++)
        groups[1] += p->groups[i].kind == GROUP_DENSE_BACKWARD;
    assert_true(groups[0] == 2 && groups[1] == 0);
    assert_true(updates > 0);
    assert_int_equal(p->collectives[p->collective_count - 1].kind, COLLECTIVE_ALL_GATHER);
    assert_int_equal(p->collectives[p->collective_count - 1].after, p->op_count);
    assert_true(p->flops < alone->flops && p->bytes < alone->bytes); /* half of the updates */
    plan_free(alone);
    plan_free(p);
    distribution_free(&d);
    cornu_model_close(m);
}

static void plans_that_do_not_train_stay_as_they_are(void **state)
{
    (void)state;
    cornu_model *m = model_with("adam");
    distribution d = {.shards = 2, .ranks = 2};
    plan *p;
    expect_ok(plan_build(m, &(plan_options){.mode = PLAN_EVALUATE, .batch = 8}, &p));
    expect_ok(distribute(&d, p));
    assert_int_equal(p->collective_count, 0);
    assert_null(d.layout.parts);
    plan_free(p);
    cornu_model_close(m);
}

#define TEST cmocka_unit_test

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_gradient_is_sent_as_soon_as_it_is_made),
        TEST(the_slices_of_all_ranks_are_all_weights),
        TEST(a_whole_step_updates_at_its_end),
        TEST(plans_that_do_not_train_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
