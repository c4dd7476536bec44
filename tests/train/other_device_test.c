/* A model file remembers no device: training that one has begun goes on on another, as if it had
   been there from the start but for rounding. Between the cpu and the first of the accelerators,
   else the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <math.h>

enum { TRAIN = 80, TEST_SAMPLES = 30, EPOCHS = 6, STEPS = 5 /* of an epoch */ };
/* Of a variable's largest: rounding, which Adam makes no larger with its epsilon. */
static const double LIMIT = 1e-4;

/* What has a state, and a convolution, whose kernel a device may keep in an order of its own. */
static cornu_model *new_model(void)
{
    return runs_model(
        "[{Reshape: {target_shape: [2, 4, 1]}}, {Conv2D: {filters: 6, kernel_size: [2, 3], "
        "padding: same, activation: tanh}}, Flatten, {Dropout: {rate: 0.3}}, BatchNormalization, "
        "{Dense: {units: 3, activation: softmax}}]",
        "{optimizer: {adam: {learning_rate: 0.01, epsilon: 0.0001}}, "
        "loss: sparse_categorical_crossentropy, metrics: [accuracy]}",
        "{epochs: 6, batch_size: 16, validation: test}");
}

static const char *other(void)
{
    const char *accelerator = net_accelerator();
    return accelerator ? accelerator : "reference";
}

/* Train for `steps` steps on one device after the other, each time from the file that the one
   before has left; the last one to the end. */
static cornu_model *train_in_turn(const char *const *devices, int count, int steps,
                                  const cornu_data *data)
{
    const char *path = scratch_path("turns.safetensors");
    cornu_model *model = new_model();
    for (int i = 0; i < count; i++) {
        int left = steps;
        cornu_fit_options o = {.size = sizeof o,
                               .where.device = devices[i],
                               .save = path,
                               .resume = i > 0,
                               .user = &left};
        o.should_stop = i + 1 < count ? stop_after : NULL;
        expect_status(cornu_fit(model, data, &o, NULL), i + 1 < count ? CORNU_STOPPED : CORNU_OK);
        cornu_model_close(model);
        expect_ok(cornu_model_open(path, &model));
    }
    return model;
}

static void compare(const cornu_model *expected, const cornu_model *found, const char *what)
{
    assert_int_equal(found->training.position.epoch, EPOCHS);
    assert_int_equal(found->training.position.iterations, EPOCHS * STEPS);
    for (int i = 0; i < expected->variable_count; i++) {
        const variable *v = &expected->variables[i];
        double difference = net_difference(v->value, found->variables[i].value, v->count);
        if (!(difference <= LIMIT))
            fail_msg("%s: %s differs by %.3g of its largest, may by %.3g", what, v->name,
                     difference, LIMIT);
    }
}

/* Stopped in mid epoch, in mid of another, and at an epoch's end. */
static void training_goes_on_on_another_device_and_back(void **state)
{
    (void)state;
    const char *const cpu[] = {"cpu"};
    const char *const away[] = {"cpu", other()}, *const home[] = {other(), "cpu"};
    const char *const there_and_back[] = {"cpu", other(), "cpu"};
    static const int steps[] = {3, 2 * (STEPS + 1) + 1, STEPS};
    cornu_data *data = runs_data(TRAIN, TEST_SAMPLES);
    cornu_model *whole = train_in_turn(cpu, 1, 0, data);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        cornu_model *found[] = {train_in_turn(away, 2, steps[i], data),
                                train_in_turn(home, 2, steps[i], data),
                                train_in_turn(there_and_back, 3, steps[i], data)};
        static const char *const names[] = {"away", "home", "there and back"};
        for (int k = 0; k < 3; k++) {
            compare(whole, found[k], names[k]);
            cornu_model_close(found[k]);
        }
    }
    cornu_model_close(whole);
    cornu_data_close(data);
}

/* The same scores, within what a device may differ. */
static void a_file_is_evaluated_alike_on_both(void **state)
{
    (void)state;
    const char *const there[] = {other()};
    cornu_data *data = runs_data(TRAIN, TEST_SAMPLES);
    cornu_model *model = train_in_turn(there, 1, 0, data);
    const char *const devices[] = {"cpu", other()};
    cornu_scores scores[2] = {{.size = sizeof *scores}, {.size = sizeof *scores}};
    for (int i = 0; i < 2; i++)
        expect_ok(cornu_evaluate(model, data,
                                 &(cornu_run_options){.size = sizeof(cornu_run_options),
                                                      .where.device = devices[i],
                                                      .split = CORNU_TEST},
                                 &scores[i]));
    assert_true(fabs(scores[0].value[0] - scores[1].value[0]) <= 1e-5 * scores[0].value[0]);
    assert_true(scores[0].value[1] == scores[1].value[1]);
    cornu_model_close(model);
    cornu_data_close(data);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(training_goes_on_on_another_device_and_back),
        TEST(a_file_is_evaluated_alike_on_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
