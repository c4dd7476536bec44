#include "make_model.h"
#include <math.h>

static optimizer read_optimizer(const char *form)
{
    doc *d = make_doc(form);
    optimizer o;
    must(optimizer_read(d, &o));
    doc_free(d);
    return o;
}

static double rate(const char *schedule_form, int64_t iteration)
{
    char form[400];
    snprintf(form, sizeof form, "{sgd: {learning_rate: %s}}", schedule_form);
    optimizer o = read_optimizer(form);
    return schedule_at(&o.learning_rate, iteration);
}

static void defaults_are_kerass(void **state)
{
    (void)state;
    optimizer sgd = read_optimizer("sgd"), adam = read_optimizer("Adam");
    optimizer adamw = read_optimizer("adamw"), rmsprop = read_optimizer("RMSprop");
    optimizer adagrad = read_optimizer("adagrad");
    assert_float_equal(schedule_at(&sgd.learning_rate, 7), 0.01, 0);
    assert_float_equal(sgd.momentum, 0, 0);
    assert_float_equal(schedule_at(&adam.learning_rate, 0), 0.001, 0);
    assert_float_equal(adam.beta_1, 0.9, 0);
    assert_float_equal(adam.beta_2, 0.999, 0);
    assert_float_equal(adam.epsilon, 1e-7, 0);
    assert_float_equal(adam.weight_decay, 0, 0);
    assert_float_equal(adamw.weight_decay, 0.004, 0);
    assert_float_equal(rmsprop.rho, 0.9, 0);
    assert_float_equal(rmsprop.epsilon, 1e-7, 0);
    assert_float_equal(adagrad.initial_accumulator_value, 0.1, 0);
    assert_float_equal(schedule_at(&adagrad.learning_rate, 0), 0.001, 0);
    assert_float_equal(adam.clipnorm + adam.global_clipnorm + adam.clipvalue, 0, 0);
}

static void slots_are_those_that_the_options_need(void **state)
{
    (void)state;
    static const struct {
        const char *form;
        int count;
        const char *names[3];
    } cases[] = {
        {"sgd", 0, {0}},
        {"{sgd: {momentum: 0.9}}", 1, {"momentum"}},
        {"adam", 2, {"momentum", "velocity"}},
        {"{adamw: {amsgrad: true}}", 3, {"momentum", "velocity", "velocity_hat"}},
        {"rmsprop", 1, {"velocity"}},
        {"{rmsprop: {centered: true}}", 2, {"velocity", "average_gradient"}},
        {"{rmsprop: {centered: true, momentum: 0.5}}",
         3,
         {"velocity", "momentum", "average_gradient"}},
        {"adagrad", 1, {"accumulator"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        optimizer_slot slots[OPTIMIZER_SLOTS_MAX];
        optimizer o = read_optimizer(cases[i].form);
        int in_row = optimizer_slots(&o, slots), needed = 0;
        for (int j = 0; j < in_row; j++)
            if (slots[j].needed)
                assert_string_equal(slots[j].name, cases[i].names[needed++]);
        assert_int_equal(needed, cases[i].count);
    }
}

/* Values computed with Keras 3.15's own schedules. */
static void schedules_have_kerass_values(void **state)
{
    (void)state;
    const char *e = "{exponential: {initial_learning_rate: 0.1, decay_steps: 10, decay_rate: 0.5}}";
    const char *stairs = "{class_name: ExponentialDecay, config: {initial_learning_rate: 0.1, "
                         "decay_steps: 10, decay_rate: 0.5, staircase: true, name: x}}";
    const char *inverse = "{inverse_time: {initial_learning_rate: 0.1, decay_steps: 10, "
                          "decay_rate: 0.5}}";
    const char *inverse_stairs = "{InverseTimeDecay: {initial_learning_rate: 0.1, "
                                 "decay_steps: 10, decay_rate: 0.5, staircase: true}}";
    const char *c = "{cosine: {initial_learning_rate: 0.1, decay_steps: 100, alpha: 0.1}}";
    const char *warm = "{cosine: {initial_learning_rate: 0, decay_steps: 100, warmup_target: 0.2, "
                       "warmup_steps: 10}}";
    const char *s = "{step: {boundaries: [3, 6], values: [1, 0.5, 0.25]}}";
    assert_float_equal(rate(e, 0), 0.1, 1e-12);
    assert_float_equal(rate(e, 15), 0.1 * pow(0.5, 1.5), 1e-12);
    assert_float_equal(rate(stairs, 15), 0.05, 1e-12);
    assert_float_equal(rate(inverse, 0), 0.1, 1e-12);
    assert_float_equal(rate(inverse, 15), 0.1 / 1.75, 1e-12);
    assert_float_equal(rate(inverse_stairs, 15), 0.1 / 1.5, 1e-12);
    assert_float_equal(rate(c, 0), 0.1, 1e-12);
    assert_float_equal(rate(c, 50), 0.055, 1e-12);
    assert_float_equal(rate(c, 100), 0.01, 1e-12);
    assert_float_equal(rate(c, 5000), 0.01, 1e-12);
    assert_float_equal(rate(warm, 0), 0, 1e-12);
    assert_float_equal(rate(warm, 5), 0.1, 1e-12);
    assert_float_equal(rate(warm, 10), 0.2, 1e-12);
    assert_float_equal(rate(warm, 60), 0.1, 1e-12);
    assert_float_equal(rate(warm, 110), 0, 1e-12);
    assert_float_equal(rate(s, 0), 1, 0);
    assert_float_equal(rate(s, 3), 1, 0);
    assert_float_equal(rate(s, 4), 0.5, 0);
    assert_float_equal(rate(s, 6), 0.5, 0);
    assert_float_equal(rate(s, 7), 0.25, 0);
}

/* "lr / (1 + decay * iterations)" of tf.keras 2's optimizers, in files and recipes of theirs. */
static void keras_2s_decay_divides_the_rate(void **state)
{
    (void)state;
    optimizer o = read_optimizer("{class_name: SGD, config: {name: SGD, learning_rate: 0.1, "
                                 "decay: 0.25, momentum: 0.9, nesterov: true}}");
    assert_float_equal(schedule_at(&o.learning_rate, 0), 0.1, 1e-12);
    assert_float_equal(schedule_at(&o.learning_rate, 6), 0.04, 1e-12);
    optimizer usual = read_optimizer("{adagrad: {decay: 1}}");
    assert_float_equal(schedule_at(&usual.learning_rate, 1), 0.0005, 1e-12);
    optimizer none = read_optimizer("{adam: {decay: 0, learning_rate: 0.1}}");
    assert_int_equal(none.learning_rate.id, SCHEDULE_CONSTANT);
    static const struct {
        const char *form, *message;
    } bad[] = {
        {"{sgd: {decay: -1}}", "decay: found -1; expected a number of at least 0"},
        {"{sgd: {decay: fast}}", "decay: found \"fast\"; expected a number"},
        {"{sgd: {decay: 0.5, learning_rate: {inverse_time: {initial_learning_rate: 1, "
         "decay_steps: 1, decay_rate: 1}}}}",
         "decay: found 0.5 beside a schedule as learning_rate; expected one of the two"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        doc *d = make_doc(bad[i].form);
        assert_int_equal(optimizer_read(d, &o), CORNU_INVALID);
        assert_non_null(strstr(cornu_last_error(), bad[i].message));
        doc_free(d);
    }
}

static void optimizers_are_written_so_that_they_are_read_back(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "{sgd: {momentum: 0.9, nesterov: true, weight_decay: 0.01, clipvalue: 0.5}}",
        "{adam: {beta_1: 0.8, amsgrad: true, global_clipnorm: 2}}",
        "{adamw: {learning_rate: {cosine: {initial_learning_rate: 0.1, decay_steps: 9, "
        "warmup_target: 0.3, warmup_steps: 4}}}}",
        "{rmsprop: {centered: true, momentum: 0.5, clipnorm: 1}}",
        "{sgd: {learning_rate: {step: {boundaries: [3, 6], values: [1, 0.5, 0.25]}}}}",
        "{sgd: {learning_rate: {exponential: {initial_learning_rate: 1, decay_steps: 2, "
        "decay_rate: 0.5, staircase: true}}}}",
        "{adam: {learning_rate: {inverse_time: {initial_learning_rate: 1, decay_steps: 2, "
        "decay_rate: 0.5, staircase: true}}}}",
        "{rmsprop: {decay: 0.01}}",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        optimizer o = read_optimizer(forms[i]);
        json_t *first = optimizer_to_json(&o);
        char *shown = json_dumps(first, JSON_SORT_KEYS);
        optimizer same = read_optimizer(shown);
        json_t *second = optimizer_to_json(&same);
        assert_true(json_equal(first, second));
        assert_int_equal(same.id, o.id);
        assert_float_equal(same.clipnorm, o.clipnorm, 0);
        assert_float_equal(same.weight_decay, o.weight_decay, 0);
        for (int64_t step = 0; step < 12; step++)
            assert_float_equal(schedule_at(&same.learning_rate, step),
                               schedule_at(&o.learning_rate, step), 0);
        free(shown);
        json_decref(first);
        json_decref(second);
    }
}

static void compiling_again_replaces_the_slots(void **state)
{
    (void)state;
    cornu_model *m = make_model("model: {input: [4], layers: [Dense: {units: 3}]}\n"
                                "compile: {optimizer: adam, loss: mse}\n");
    assert_int_equal(m->variable_count, 6);
    must(cornu_model_initialize(m, 3));
    must(cornu_model_compile(m, "{optimizer: {sgd: {momentum: 0.9}}, loss: mse}"));
    assert_int_equal(m->variable_count, 4);
    assert_string_equal(m->variables[2].name, "optimizer/momentum/dense/kernel");
    assert_true(m->variables[2].is_slot);
    assert_int_equal(m->variables[3].of, 1);
    assert_non_null(m->variables[3].value);
    /* An invalid section changes nothing. */
    assert_int_equal(cornu_model_compile(m, "{optimizer: none, loss: mse}"), CORNU_INVALID);
    assert_true(m->compiled);
    assert_int_equal(m->variable_count, 4);
    cornu_model_close(m);
}

/* Also if the weights existed before, from a file, say. */
static void slots_begin_with_their_start_values_whenever_the_model_is_compiled(void **state)
{
    (void)state;
    cornu_model *m;
    int slots = 0;
    must(cornu_model_new((int64_t[]){4}, 1, &m));
    must(cornu_model_add(m, "Dense", "{units: 3}"));
    must(cornu_model_initialize(m, 1));
    must(cornu_model_compile(
        m, "{optimizer: {adagrad: {initial_accumulator_value: 0.25}}, loss: mse}"));
    for (int i = m->weight_count; i < m->variable_count; i++)
        for (int64_t k = 0; k < m->variables[i].count; k++, slots++)
            assert_float_equal(m->variables[i].value[k], 0.25, 0);
    assert_int_equal(slots, 15);
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_kerass),
        cmocka_unit_test(slots_are_those_that_the_options_need),
        cmocka_unit_test(schedules_have_kerass_values),
        cmocka_unit_test(keras_2s_decay_divides_the_rate),
        cmocka_unit_test(optimizers_are_written_so_that_they_are_read_back),
        cmocka_unit_test(compiling_again_replaces_the_slots),
        cmocka_unit_test(slots_begin_with_their_start_values_whenever_the_model_is_compiled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
