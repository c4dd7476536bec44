/* Batches divided into shards: the step is that of the whole batch, its bits those of the number of
   shards alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Dropout of rows that are no multiple of four numbers; 70 samples are four batches of 16 and one
   of 6, which 8 shards divide unevenly, and of which one gets none. */
#define LAYERS                                                                          \
    "[{Dense: {units: 10, activation: relu}}, {Dropout: {rate: 0.4}}, {Dense: {units: " \
    "7, activation: tanh}}, {Dropout: {rate: 0.2}}, {Dense: {units: 3, activation: softmax}}]"
#define COMPILE(optimizer) \
    "{optimizer: " optimizer ", loss: sparse_categorical_crossentropy, metrics: [accuracy]}"
#define FIT "{epochs: 3, batch_size: 16, class_weight: {0: 1.0, 1: 2.0, 2: 0.5}}"
#define NORMALIZED                                                                       \
    "[{Dense: {units: 10, activation: relu, kernel_regularizer: l2, kernel_constraint: " \
    "unit_norm}}, BatchNormalization, "                                                  \
    "{Dropout: {rate: 0.3}}, "                                                           \
    "{Dense: {units: 3, activation: softmax, kernel_regularizer: orthogonal_regularizer}}]"
#define SHARED                                                                            \
    "[{Dense: {units: 128, activation: tanh}}, {Reshape: {target_shape: [8, 8, 2]}}, "    \
    "{Conv2D: {filters: 2, kernel_size: 3, padding: same, activation: relu, name: a}}, "  \
    "{BatchNormalization: {name: b}}, {Call: {layer: a}}, {Call: {layer: b}}, Flatten, "  \
    "{Dense: {units: 128, activation: relu, name: c}}, {Dropout: {rate: 0.3, name: d}}, " \
    "{Call: {layer: c}}, {Call: {layer: d}}, {Dense: {units: 3, activation: softmax}}]"
/* Linear convolutions and a pooling of each. */
#define PICTURES(pooling)                                                                  \
    "[{Dense: {units: 128}}, {Reshape: {target_shape: [8, 8, 2]}}, {Conv2D: {filters: 6, " \
    "kernel_size: 3, padding: same}}, " pooling ", {Conv2D: {filters: 8, kernel_size: 3, " \
    "padding: same}}, " pooling ", Flatten, {Dropout: {rate: 0.3}}, {Dense: {units: 3, "   \
    "activation: softmax}}]"
#define RANDOM                                                                             \
    "[{Dense: {units: 48}}, {Reshape: {target_shape: [4, 4, 3]}}, RandomFlip, "            \
    "{RandomRotation: {factor: 0.2}}, {RandomBrightness: {factor: 0.5, value_range: [-9, " \
    "9]}}, {RandomCrop: {height: 3, width: 2}}, Flatten, {Dense: {units: 3, activation: "  \
    "softmax}}]"
#define ONE_STEP "steps_per_epoch: 1, batch_size: 16"

enum { TRAIN = 70, STEPS = 20 };
/* Of the whole batch's: what rounding makes of sums in another order. */
static const double ROUNDING = 1e-5;

static cornu_model *trained(const char *layers, const char *compile, const char *fit,
                            cornu_fit_options o)
{
    cornu_data *data = runs_data(TRAIN, 0);
    cornu_model *model = runs_model(layers, compile, fit);
    expect_ok(cornu_fit(model, data, &o, NULL));
    cornu_data_close(data);
    return model;
}

static void expect_close(const cornu_model *a, const cornu_model *b, double tolerance)
{
    for (int i = 0; i < a->variable_count; i++) {
        const variable *v = &a->variables[i];
        double found = net_difference(v->value, b->variables[i].value, v->count);
        if (!(found <= tolerance))
            fail_msg("%s differs by %.3g of its largest; may by %.3g", v->name, found, tolerance);
    }
}

static void shards_train_as_the_whole_batch_does(void **state)
{
    (void)state;
    static const char *const compiles[] = {
        COMPILE("{sgd: {learning_rate: 0.1, momentum: 0.9}}"),
        COMPILE("{sgd: {learning_rate: 0.1, clipnorm: 0.05}}"),
        COMPILE("{adam: {learning_rate: 0.01, global_clipnorm: 0.1}}"),
        COMPILE("{sgd: {learning_rate: 0.1, momentum: 0.9, gradient_accumulation_steps: 2, "
                "use_ema: true, ema_momentum: 0.7, ema_overwrite_frequency: 3}}"),
    };
    for (int d = 0; net_device(d); d++)
        for (size_t c = 0; c < sizeof compiles / sizeof *compiles; c++) {
            cornu_fit_options o = {.size = sizeof o, .where.device = net_device(d)};
            cornu_model *whole = trained(LAYERS, compiles[c], FIT, o);
            for (o.shards = 2; o.shards <= 8; o.shards *= 2) {
                cornu_model *divided = trained(LAYERS, compiles[c], FIT, o);
                expect_close(whole, divided, 2e-5);
                cornu_model_close(divided);
            }
            cornu_model_close(whole);
        }
}

/* Random layers draw by the sample's place in the whole batch, and one crop for all shards. */
static void random_layers_change_shards_as_the_whole_batch(void **state)
{
    (void)state;
    static const char compile[] = COMPILE("{sgd: {learning_rate: 0.05}}");
    for (int d = 0; net_device(d); d++) {
        cornu_fit_options o = {.size = sizeof o, .where.device = net_device(d)};
        cornu_model *whole = trained(RANDOM, compile, FIT, o);
        o.shards = 4;
        cornu_model *divided = trained(RANDOM, compile, FIT, o);
        expect_close(whole, divided, 2e-5);
        cornu_model_close(divided);
        cornu_model_close(whole);
    }
}

static void copy_variables(cornu_model *to, const cornu_model *from)
{
    for (int i = 0; i < from->variable_count; i++)
        memcpy(to->variables[i].value, from->variables[i].value,
               (size_t)from->variables[i].count * sizeof(float));
}

/* Max-pooling makes a little difference of weights a large one of gradients wherever two numbers of
   a window are all but equal, so that runs part; not the steps that begin with the same weights. */
static void each_step_from_the_same_weights_is_that_of_the_whole_batch(void **state)
{
    (void)state;
    static const char compile[] = COMPILE("{sgd: {learning_rate: 0.05, momentum: 0.9}}");
    cornu_data *data = runs_data(TRAIN, 0);
    for (int d = 0; net_device(d); d++) {
        cornu_model *model[2];
        cornu_fit_options o = {
            .size = sizeof o, .where.device = net_device(d), .where.exact_convolution = true};
        for (int i = 0; i < 2; i++)
            model[i] = runs_model(PICTURES("MaxPooling2D"), compile, "{" ONE_STEP ", epochs: 1}");
        for (int step = 0; step < STEPS; step++) {
            for (int i = 0; i < 2; i++) {
                o.shards = i == 0 ? 1 : 4;
                expect_ok(cornu_fit(model[i], data, &o, NULL));
            }
            expect_close(model[0], model[1], ROUNDING);
            copy_variables(model[1], model[0]);
        }
        for (int i = 0; i < 2; i++)
            cornu_model_close(model[i]);
    }
    cornu_data_close(data);
}

static void losses_are_those_of_the_whole_batch(void **state)
{
    (void)state;
    static const char compile[] = COMPILE("{adam: {learning_rate: 0.003}}");
    cornu_data *data = runs_data(TRAIN, 0);
    for (int d = 0; net_device(d); d++) {
        cornu_history *history[2];
        for (int i = 0; i < 2; i++) {
            cornu_model *model =
                runs_model(PICTURES("AveragePooling2D"), compile, "{" ONE_STEP ", epochs: 20}");
            cornu_fit_options o = {.size = sizeof o,
                                   .where.device = net_device(d),
                                   .where.exact_convolution = true,
                                   .shards = i == 0 ? 1 : 4};
            expect_ok(cornu_fit(model, data, &o, &history[i]));
            cornu_model_close(model);
        }
        assert_int_equal(cornu_history_epochs(history[0]), STEPS);
        for (int step = 0; step < STEPS; step++) {
            double whole = cornu_history_value(history[0], step, 0),
                   divided = cornu_history_value(history[1], step, 0);
            if (!(fabs(whole - divided) <= ROUNDING * whole))
                fail_msg("%s: step %d has a loss of %.9g; %.9g with shards", net_device(d), step,
                         whole, divided);
        }
        for (int i = 0; i < 2; i++)
            cornu_history_close(history[i]);
    }
    cornu_data_close(data);
}

/* What is left of a network's outputs when a dropout keeps half of a constant: the mask itself. */
static void dropout_is_drawn_by_the_place_in_the_whole_batch(void **state)
{
    (void)state;
    enum { BATCH = 10, UNITS = 7, FIRST = 3, SHARD = 5 };
    cornu_model *model = net_model("model: {input: [7], layers: [{Dropout: {rate: 0.5}}]}\n"
                                   "compile: {optimizer: sgd, loss: mean_squared_error}");
    for (int d = 0; net_device(d); d++) {
        plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
        net *whole = net_open(model, net_device(d), &options);
        options.batch = SHARD;
        net *shard = net_open(model, net_device(d), &options);
        expect_ok(whole->device->ops->run(whole->device, whole->prepared, &whole->input, 1));
        step_input input = shard->input;
        input.first = FIRST;
        expect_ok(shard->device->ops->run(shard->device, shard->prepared, &input, 1));
        float *a = net_read(whole, whole->plan->output), *b = net_read(shard, shard->plan->output);
        for (int i = 0; i < SHARD * UNITS; i++)
            if ((a[FIRST * UNITS + i] == 0) != (b[i] == 0))
                fail_msg("%s: element %d of the shard is %g; that of the whole batch is %g",
                         net_device(d), i, (double)b[i], (double)a[FIRST * UNITS + i]);
        free(a);
        free(b);
        net_close(whole);
        net_close(shard);
    }
    cornu_model_close(model);
}

/* Means of 4 equal shards have the mean of the whole batch as their mean. */
static void moving_statistics_are_the_mean_of_the_shards(void **state)
{
    (void)state;
    static const char fit[] = "{epochs: 1, batch_size: 64, steps_per_epoch: 1}";
    static const char compile[] = COMPILE("{sgd: {learning_rate: 0.1}}");
    cornu_model *whole =
        trained(NORMALIZED, compile, fit, (cornu_fit_options){.size = sizeof(cornu_fit_options)});
    cornu_model *divided =
        trained(NORMALIZED, compile, fit,
                (cornu_fit_options){.size = sizeof(cornu_fit_options), .shards = 4});
    int found = 0;
    for (int i = 0; i < whole->weight_count; i++) {
        const variable *v = &whole->variables[i];
        if (!strstr(v->name, "moving_mean"))
            continue;
        found++;
        assert_true(net_difference(v->value, divided->variables[i].value, v->count) < 1e-5);
    }
    assert_int_equal(found, 1);
    cornu_model_close(whole);
    cornu_model_close(divided);
}

static void bits_depend_on_the_number_of_shards_and_not_of_threads(void **state)
{
    (void)state;
    static const char compile[] = COMPILE("{adam: {learning_rate: 0.01}}");
    cornu_model *one = trained(
        NORMALIZED, compile, FIT,
        (cornu_fit_options){.size = sizeof(cornu_fit_options), .shards = 4, .where.threads = 1});
    cornu_model *two = trained(
        NORMALIZED, compile, FIT,
        (cornu_fit_options){.size = sizeof(cornu_fit_options), .shards = 4, .where.threads = 2});
    cornu_model *other = trained(
        NORMALIZED, compile, FIT,
        (cornu_fit_options){.size = sizeof(cornu_fit_options), .shards = 2, .where.threads = 1});
    assert_true(same_bits(one, two));
    assert_false(same_bits(one, other));
    cornu_model_close(one);
    cornu_model_close(two);
    cornu_model_close(other);
}

static void so_do_those_of_layers_that_are_called_twice(void **state)
{
    (void)state;
    static const char compile[] = COMPILE("{sgd: {learning_rate: 0.05, clipnorm: 1.0}}");
    cornu_model *models[4];
    for (int i = 0; i < 4; i++)
        models[i] = trained(SHARED, compile, FIT,
                            (cornu_fit_options){.size = sizeof(cornu_fit_options),
                                                .shards = i < 2 ? 1 : 4,
                                                .where.threads = i % 2 ? 3 : 1});
    assert_true(same_bits(models[0], models[1]));
    assert_true(same_bits(models[2], models[3]));
    for (int i = 0; i < 4; i++)
        cornu_model_close(models[i]);
}

static void a_resumed_run_has_the_bits_of_a_whole_one(void **state)
{
    (void)state;
    static const char fit[] = "{epochs: 3, batch_size: 16, shards: 8}";
    static const char compile[] = COMPILE("{adam: {learning_rate: 0.01}}");
    cornu_data *data = runs_data(TRAIN, 0);
    cornu_model *whole =
        trained(NORMALIZED, compile, fit, (cornu_fit_options){.size = sizeof(cornu_fit_options)});
    for (int stop = 1; stop < 12; stop += 3) {
        char path[1100];
        int left = stop;
        snprintf(path, sizeof path, "%s", scratch_path("part.safetensors"));
        cornu_model *part = runs_model(NORMALIZED, compile, fit);
        cornu_fit_options o = {
            .size = sizeof o, .save = path, .should_stop = stop_after, .user = &left};
        expect_status(cornu_fit(part, data, &o, NULL), CORNU_STOPPED);
        cornu_model_close(part);
        expect_ok(cornu_model_open(path, &part));
        expect_ok(cornu_fit(part, data,
                            &(cornu_fit_options){.size = sizeof(cornu_fit_options), .resume = true},
                            NULL));
        assert_true(same_bits(whole, part));
        assert_memory_equal(whole->training.position.totals, part->training.position.totals,
                            sizeof part->training.position.totals);
        cornu_model_close(part);
    }
    cornu_model_close(whole);
    cornu_data_close(data);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    cornu_data *data = runs_data(TRAIN, 0);
    cornu_model *model = runs_usual("{epochs: 2, batch_size: 16}");
    cornu_fit_options o = {.size = sizeof o, .shards = 3};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("shards: found 3; expected a power of two, 1 to 1024");
    o.shards = 2048;
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("shards: found 2048; expected a power of two, 1 to 1024");
    o.shards = 32;
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("shards: found 32, and batches of 16; expected at least a sample for each");
    o.shards = 4;
    model->outputs[0].loss.reduction = LOSS_REDUCTION_SUM;
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_UNSUPPORTED);
    expect_message("shards: found a loss with the reduction sum");
    expect_ok(cornu_model_change_loss(
        model,
        "{loss: {class_name: f, traced: {targets: classes, model: {name: f, inputs: {t: [1], p: "
        "[3]}, layers: [{Subtract: {inputs: [t, p]}}, {Mean: {axis: null}}]}}}}"));
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_UNSUPPORTED);
    expect_message("shards: found the loss f, which is of all samples of a batch together");
    expect_ok(cornu_model_change_loss(model, "{loss: circle, metrics: []}"));
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_UNSUPPORTED);
    expect_message("shards: found the loss circle, which is of all samples of a batch together");
    expect_ok(cornu_model_change_loss(
        model, "{loss: sparse_categorical_crossentropy, metrics: [accuracy]}"));
    expect_ok(cornu_fit(model, data, &o, NULL));
    o = (cornu_fit_options){
        .size = sizeof(cornu_fit_options), .resume = true, .epochs = 3, .shards = 2};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("found shards: 4 in the model file and 2 asked for");
    o.shards = 0;
    expect_ok(cornu_fit(model, data, &o, NULL));
    cornu_model_close(model);
    cornu_data_close(data);
}

static void a_layer_that_changes_weights_is_refused(void **state)
{
    (void)state;
    cornu_data *data = runs_data(TRAIN, 0);
    cornu_model *model =
        runs_model("[{SpectralNormalization: {layer: {Dense: {units: 4}}}}, {Dense: "
                   "{units: 3, activation: softmax}}]",
                   COMPILE("sgd"), FIT);
    cornu_fit_options o = {.size = sizeof o, .shards = 2};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_UNSUPPORTED);
    expect_message("SpectralNormalization), which changes a weight before it computes");
    cornu_model_close(model);
    cornu_data_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_train_as_the_whole_batch_does),
        cmocka_unit_test(random_layers_change_shards_as_the_whole_batch),
        cmocka_unit_test(each_step_from_the_same_weights_is_that_of_the_whole_batch),
        cmocka_unit_test(losses_are_those_of_the_whole_batch),
        cmocka_unit_test(dropout_is_drawn_by_the_place_in_the_whole_batch),
        cmocka_unit_test(moving_statistics_are_the_mean_of_the_shards),
        cmocka_unit_test(bits_depend_on_the_number_of_shards_and_not_of_threads),
        cmocka_unit_test_setup_teardown(a_resumed_run_has_the_bits_of_a_whole_one, scratch_open,
                                        scratch_close),
        cmocka_unit_test(so_do_those_of_layers_that_are_called_twice),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_layer_that_changes_weights_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
