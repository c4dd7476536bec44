/* The choice of kernels, on a device that is nothing but lists of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "device/select.h"
#include "support/net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the device ---------------------------------------------------------------------------- */

/* A kernel that refuses, when it is asked or when it is prepared, if there is a reason. */
typedef struct fake_kernel {
    KERNEL_INFO;
    const char *accepts_not, *prepares_not;
    size_t scratch_bytes;
} fake_kernel;

enum { CANDIDATES = 4 };
typedef struct fake {
    selector s;
    fake_kernel lists[OP_COUNT][CANDIDATES + 1]; /* up to the first without a name */
    int states;                                  /* made and not released */
} fake;

static fake *fake_of(const selector *s)
{
    return (fake *)(uintptr_t)s;
}

static const kernel_info *candidate(const selector *s, op_kind kind, int i)
{
    const fake_kernel *list = fake_of(s)->lists[kind];
    return list[i].name ? &list[i].info : NULL;
}

static bool accepts(const selector *s, const kernel_info *k, const plan *p, const op *o,
                    const char **why)
{
    (void)s, (void)p, (void)o;
    const fake_kernel *f = (const fake_kernel *)(const void *)k;
    if (f->accepts_not)
        *why = f->accepts_not;
    return !f->accepts_not;
}

static cornu_status prepare(const selector *s, const kernel_info *k, const plan *p, const op *o,
                            void **state, size_t *scratch_bytes)
{
    (void)p, (void)o;
    const fake_kernel *f = (const fake_kernel *)(const void *)k;
    if (f->prepares_not)
        return status_fail(CORNU_UNSUPPORTED, "%s", f->prepares_not);
    assert_int_equal(*scratch_bytes, 0);
    *scratch_bytes = f->scratch_bytes;
    fake_of(s)->states++;
    return memory_new(1, 1, "state", state);
}

static void release(const selector *s, const kernel_info *k, void *state)
{
    (void)k;
    fake_of(s)->states--;
    free(state);
}

/* Every operation has the one kernel "plain". */
static void fake_open(fake *f)
{
    *f = (fake){.s = {.name = "fake:0",
                      .prefix = "fake",
                      .candidate = candidate,
                      .accepts = accepts,
                      .prepare = prepare,
                      .release = release}};
    for (int i = 0; i < OP_COUNT; i++)
        f->lists[i][0] = (fake_kernel){.name = "plain"};
}

/* ---- a plan -------------------------------------------------------------------------------- */

static cornu_model *model;
static plan *p;
static int at_loss; /* operation; a group of it, and of the activation before, begins one earlier */

static int open_plan(void **state)
{
    (void)state;
    model = net_model("model: {input: [6], layers: [{Dense: {units: 4, activation: softmax}}]}\n"
                      "compile: {optimizer: sgd, loss: categorical_crossentropy}");
    assert_int_equal(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = 3}, &p),
                     CORNU_OK);
    while (p->ops[at_loss].kind != OP_LOSS)
        at_loss++;
    assert_non_null(plan_group(p, &p->ops[at_loss - 1], GROUP_HEAD));
    return 0;
}

static int close_plan(void **state)
{
    (void)state;
    plan_free(p);
    cornu_model_close(model);
    return 0;
}

static selection prepared_by(fake *f)
{
    selection c;
    assert_int_equal(selection_new(p, &c), CORNU_OK);
    for (int i = 0; i < p->op_count; i = selection_next(&c, i))
        assert_int_equal(select_prepare(&f->s, p, &c, i), CORNU_OK);
    return c;
}

static void finish(fake *f, selection *c)
{
    selection_free(&f->s, c);
    assert_int_equal(f->states, 0);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void the_first_that_accepts_is_taken_and_refusals_are_told(void **state)
{
    (void)state;
    fake f;
    fake_open(&f);
    fake_kernel *list = f.lists[OP_LOSS];
    list[0] = (fake_kernel){.name = "fast", .accepts_not = "too few rows"};
    list[1] = (fake_kernel){.name = "library", .prepares_not = "library: no such shape"};
    list[2] = (fake_kernel){.name = "slow", .scratch_bytes = 70};
    list[3] = (fake_kernel){.name = "slower"};
    f.lists[OP_UPDATE][0].scratch_bytes = 50;
    selection c = prepared_by(&f);
    assert_string_equal(c.choices[at_loss].kernel, "fake/slow");
    assert_string_equal(c.choices[at_loss].refused,
                        "fast: too few rows; library: library: no such shape");
    assert_int_equal(c.choices[at_loss].scratch_bytes, 70);
    assert_int_equal(selection_scratch(&c), 70);
    assert_int_equal(c.replaced, 1);
    finish(&f, &c);
}

static void forced_kernels_come_before_all_others(void **state)
{
    (void)state;
    fake f;
    fake_open(&f);
    f.s.forced = "last";
    for (int i = 0; i < 2; i++) {
        f.lists[OP_LOSS][1] = (fake_kernel){.name = "second"};
        f.lists[OP_LOSS][2] = (fake_kernel){.name = "last", .device = "reference"};
        selection c = prepared_by(&f);
        assert_string_equal(c.choices[at_loss].kernel, "reference/last");
        assert_string_equal(c.choices[0].kernel, "fake/plain");
        /* it does not work: the list's own order is what is left */
        status_fail(CORNU_UNSUPPORTED, "it fell");
        assert_int_equal(select_replace(&f.s, p, &c, at_loss), CORNU_OK);
        assert_string_equal(c.choices[at_loss].kernel, "fake/plain");
        assert_string_equal(c.choices[at_loss].refused, "last: it fell");
        finish(&f, &c);
    }
}

static void a_group_runs_in_its_first_operations_kernel(void **state)
{
    (void)state;
    fake f;
    fake_open(&f);
    fake_kernel *list = f.lists[OP_ACTIVATION_FORWARD];
    list[0] = (fake_kernel){.name = "rows", .group = GROUP_HEAD};
    list[1] = (fake_kernel){.name = "plain"};
    selection c = prepared_by(&f);
    char with[32];
    snprintf(with, sizeof with, "with %d", at_loss);
    assert_string_equal(c.choices[at_loss - 1].kernel, "fake/rows");
    assert_string_equal(c.choices[at_loss - 1].group, group_names[GROUP_HEAD]);
    assert_string_equal(c.choices[at_loss].kernel, with);
    assert_null(c.kernels[at_loss]);
    assert_true(c.choices[at_loss].flops == 0 && c.choices[at_loss].bytes == 0);
    finish(&f, &c);
}

/* Chosen before anything is prepared, as a device does that must know its buffers first. */
static void operations_of_a_group_that_is_refused_late_get_their_own(void **state)
{
    (void)state;
    fake f;
    fake_open(&f);
    fake_kernel *list = f.lists[OP_ACTIVATION_FORWARD];
    list[0] = (fake_kernel){.name = "rows", .group = GROUP_HEAD, .prepares_not = "no such group"};
    list[1] = (fake_kernel){.name = "plain"};
    selection c;
    assert_int_equal(selection_new(p, &c), CORNU_OK);
    for (int i = 0; i < p->op_count; i = selection_next(&c, i))
        assert_int_equal(select_kernel(&f.s, p, &c, i), CORNU_OK);
    assert_null(c.kernels[at_loss]);
    for (int i = 0; i < p->op_count; i = selection_next(&c, i))
        assert_int_equal(select_prepare(&f.s, p, &c, i), CORNU_OK);
    assert_string_equal(c.choices[at_loss - 1].kernel, "fake/plain");
    assert_string_equal(c.choices[at_loss - 1].refused, "rows: no such group");
    assert_null(c.choices[at_loss - 1].group);
    assert_string_equal(c.choices[at_loss].kernel, "fake/plain");
    assert_string_equal(c.choices[at_loss].refused, "");
    assert_true(c.choices[at_loss].flops > 0);
    finish(&f, &c);
}

/* One message is enough where the same kernel then takes, or refuses, the operation alone. */
static void a_kernel_of_groups_and_of_single_operations_refuses_once(void **state)
{
    (void)state;
    fake f;
    fake_open(&f);
    fake_kernel *list = f.lists[OP_ACTIVATION_FORWARD];
    list[0] = (fake_kernel){.name = "rows", .group = GROUP_HEAD, .accepts_not = "long rows"};
    list[1] = (fake_kernel){.name = "rows", .accepts_not = "long rows"};
    list[2] = (fake_kernel){.name = "plain"};
    selection c = prepared_by(&f);
    assert_string_equal(c.choices[at_loss - 1].refused, "rows: long rows");
    finish(&f, &c);
}

static void what_no_kernel_takes_is_named(void **state)
{
    (void)state;
    fake f;
    fake_open(&f);
    f.lists[OP_LOSS][0].accepts_not = "it never does";
    selection c;
    assert_int_equal(selection_new(p, &c), CORNU_OK);
    assert_null(select_lacks(&f.s, p));
    assert_int_equal(select_kernel(&f.s, p, &c, at_loss), CORNU_UNSUPPORTED);
    assert_string_equal(cornu_last_error(),
                        "device fake:0: loss of categorical_crossentropy: plain: it never does");
    f.lists[OP_LOSS][0] = (fake_kernel){0};
    assert_ptr_equal(select_lacks(&f.s, p), &p->ops[at_loss]);
    finish(&f, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_accepts_is_taken_and_refusals_are_told),
        cmocka_unit_test(forced_kernels_come_before_all_others),
        cmocka_unit_test(a_group_runs_in_its_first_operations_kernel),
        cmocka_unit_test(operations_of_a_group_that_is_refused_late_get_their_own),
        cmocka_unit_test(a_kernel_of_groups_and_of_single_operations_refuses_once),
        cmocka_unit_test(what_no_kernel_takes_is_named),
    };
    return cmocka_run_group_tests(tests, open_plan, close_plan);
}
