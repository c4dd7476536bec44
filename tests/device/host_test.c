/* The promises of every device whose memory is the host's: choices, errors, sums, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "device/host/host.h"
#include "support/net.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char net_text[] =
    "model: {input: [4], layers: [{Dense: {units: 8, activation: relu}}, "
    "{Dense: {units: 3, activation: softmax}}]}\n"
    "compile: {optimizer: adam, loss: sparse_categorical_crossentropy, metrics: [accuracy]}";

static void every_operation_has_a_reference_kernel(void **state)
{
    (void)state;
    for (int i = 0; i < OP_COUNT; i++) {
        assert_non_null(reference_kernels[i].name);
        assert_non_null(reference_kernels[i].run);
        assert_null(reference_kernels[i].accepts);
    }
}

static void an_unknown_device_is_one_clear_line(void **state)
{
    (void)state;
    device_id id;
    assert_int_equal(device_find("cpu:0", &id), CORNU_NOT_FOUND);
    assert_non_null(strstr(cornu_last_error(), "\"cpu:0\""));
    assert_non_null(strstr(cornu_last_error(), "this machine has cpu, "));
    assert_non_null(strstr(cornu_last_error(), "reference"));
    assert_int_equal(device_find(NULL, &id), CORNU_OK);
    assert_string_equal(id.ops->name, "cpu");
}

static void choices_name_device_and_kernel(void **state)
{
    (void)state;
    cornu_model *model = net_model(net_text);
    plan_options options = {.mode = PLAN_TRAIN, .batch = 4};
    for (int d = 0; net_device(d); d++) {
        net *n = net_open(model, net_device(d), &options);
        size_t length = strcspn(net_device(d), ":");
        kernel_choice *choices = net_choices(n);
        for (int i = 0; i < n->plan->op_count; i++) {
            bool borrowed = strncmp(choices[i].kernel, "reference/", 10) == 0;
            bool own = strncmp(choices[i].kernel, net_device(d), length) == 0 &&
                       choices[i].kernel[length] == '/';
            bool with_another = strncmp(choices[i].kernel, "with ", 5) == 0;
            assert_true(own || with_another || (borrowed && choices[i].refused[0]));
        }
        free(choices);
        net_close(n);
    }
    cornu_model_close(model);
}

static void a_forced_kernel_is_taken_where_it_accepts(void **state)
{
    (void)state;
    cornu_model *model = net_model(net_text);
    plan_options options = {.mode = PLAN_TRAIN, .batch = 4};
    device_options plain = {.threads = 1, .kernel = "plain"};
    net *n = net_open_with(model, "cpu", &options, &plain);
    kernel_choice *choices = net_choices(n);
    for (int i = 0; i < n->plan->op_count; i++)
        assert_string_equal(choices[i].kernel, "reference/plain");
    free(choices);
    net_close(n);
    cornu_model_close(model);
}

/* tests/CMakeLists.txt runs tests once for each name of this list. */
static void every_kernel_has_its_turn_in_the_tests(void **state)
{
    (void)state;
    char names[256];
    snprintf(names, sizeof names, " %s ", CPU_KERNELS);
    host_device *h = (host_device *)(void *)net_device_open("cpu", &(device_options){.threads = 1});
    for (int kind = 0; kind < OP_COUNT; kind++)
        for (kernel_list list = h->kernels[kind]; list && *list; list++) {
            char name[64];
            snprintf(name, sizeof name, " %s ", (*list)->name);
            if (!strstr(names, name))
                fail_msg("found kernel %s; expected one of %s", (*list)->name, CPU_KERNELS);
        }
    host_close(&h->device);
}

/* An accelerator's; OpenCL need not give more than a quarter of it in one piece. */
static bool has_own_memory(const char *name)
{
    return strchr(name, ':') != NULL;
}

/* With few floats, with more than are read, and with several variables. */
static void the_variables_are_read_on_request(void **state)
{
    (void)state;
    static const int units[] = {1, 3000, 3000000};
    for (int i = 0; i < 3; i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "model: {input: [3], layers: [{Dense: {units: %d}}]}\n"
                 "compile: {optimizer: sgd, loss: mean_squared_error}",
                 units[i]);
        cornu_model *model = net_model(text);
        for (int d = 0; net_device(d); d++) {
            if (has_own_memory(net_device(d)))
                continue;
            device_options two = {.threads = 2};
            device *device = net_device_open(net_device(d), &two);
            assert_true(isnan(device->ops->memory_probe(device))); /* it has none yet */
            assert_int_equal(device->ops->bind(device, model), CORNU_OK);
            double rate = device->ops->memory_probe(device);
            assert_true(isfinite(rate) && rate > 0);
            device->ops->close(device);
        }
        cornu_model_close(model);
    }
}

static void a_plan_that_does_not_fit_names_the_largest_batch_that_does(void **state)
{
    (void)state;
    cornu_model *model = net_model("model: {input: [1000], layers: [{Dense: {units: 4}}]}\n"
                                   "compile: {optimizer: sgd, loss: mean_squared_error}");
    for (int d = 0; net_device(d); d++) {
        prepared *ready = NULL;
        plan *p;
        plan_options options = {.mode = PLAN_TRAIN, .batch = 1000000000};
        device_options one = {.threads = 1};
        assert_int_equal(plan_build(model, &options, &p), CORNU_OK);
        device *device = net_device_open(net_device(d), &one);
        assert_int_equal(device->ops->bind(device, model), CORNU_OK);
        assert_int_equal(device->ops->prepare(device, p, &ready), CORNU_OUT_OF_MEMORY);
        assert_null(ready);
        const char *advice = strstr(cornu_last_error(), "the largest batch that fits is ");
        assert_non_null(advice);
        assert_non_null(strstr(cornu_last_error(), "needs 4"));
        long long batch = atoll(advice + strlen("the largest batch that fits is "));
        int64_t available = device->ops->memory_free(device);
        assert_true(batch > 0 && batch < 1000000000);
        assert_true((double)batch * 4000 < 1.5 * (double)available);
        double least = has_own_memory(net_device(d)) ? 0.12 : 0.5;
        assert_true((double)batch * 4000 > least * (double)available);
        plan_free(p);
        device->ops->close(device);
    }
    cornu_model_close(model);
}

/* A model of two dense kernels, each of `share` of the free memory, whose values are never
   allocated. */
static cornu_model *large_model(double share, const char *optimizer)
{
    char text[512];
    doc *recipe;
    cornu_model *model = NULL;
    long long units = (long long)(share * (double)memory_available() / (4 * 4096));
    int length = snprintf(text, sizeof text,
                          "model: {input: [4096], layers: [{Dense: {units: %lld, use_bias: false}},"
                          " {Dense: {units: 4096, use_bias: false}}]}\n"
                          "compile: {optimizer: %s, loss: mean_squared_error}",
                          units, optimizer);
    assert_int_equal(doc_parse(text, (size_t)length, "large", &recipe), CORNU_OK);
    assert_int_equal(model_from_recipe(recipe, &model), CORNU_OK);
    return model;
}

/* Each variable would fit, all together do not; the slots count like the weights. */
static void variables_that_do_not_fit_together_are_refused(void **state)
{
    (void)state;
    static const struct {
        double share;
        const char *optimizer;
    } cases[] = {{0.7, "sgd"}, {0.25, "adam"}};
    for (int d = 0; net_device(d); d++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            if (has_own_memory(net_device(d)))
                continue;
            cornu_model *model = large_model(cases[i].share, cases[i].optimizer);
            device_options one = {.threads = 1};
            device *device = net_device_open(net_device(d), &one);
            assert_int_equal(device->ops->bind(device, model), CORNU_OUT_OF_MEMORY);
            if (!strstr(cornu_last_error(), "the model's weights and optimizer slots need "))
                fail_msg("%s", cornu_last_error());
            device->ops->close(device);
            cornu_model_close(model);
        }
}

/* Run with one input changed; the step must fail with this text in its message. */
static void expect_refusal(net *n, const char *text)
{
    assert_int_equal(n->device->ops->run(n->device, n->prepared, &n->input, 1), CORNU_INVALID);
    if (!strstr(cornu_last_error(), text))
        fail_msg("expected \"%s\" in: %s", text, cornu_last_error());
}

static void wrong_inputs_are_refused_before_anything_runs(void **state)
{
    (void)state;
    cornu_model *model = net_model(net_text);
    plan_options options = {.mode = PLAN_TRAIN, .batch = 4};
    for (int d = 0; net_device(d); d++) {
        net *n = net_open(model, net_device(d), &options);
        n->index[2] = 4;
        expect_refusal(n, "sample number: found 4; expected 0 to 3");
        n->index[2] = -1;
        expect_refusal(n, "sample number: found -1");
        n->index[2] = 2;
        n->y[1] = 3;
        expect_refusal(n, "sample 1: found class 3; expected 0 to 2");
        n->y[1] = NAN;
        expect_refusal(n, "found class");
        n->y[1] = 0;
        static const int32_t labels[] = {0, 1, -7, 2};
        sample_block block = n->samples;
        block.y_type = SAMPLE_I32;
        block.y_shape.rank = 0;
        block.y = labels;
        net_samples(n, &block);
        expect_refusal(n, "found class -7");
        block.y = NULL;
        net_samples(n, &block);
        expect_refusal(n, "no targets");
        block.x_shape.dim[0] = 5;
        net_samples(n, &block);
        expect_refusal(n, "samples: found shape (5); expected (4)");
        net_close(n);
    }
    cornu_model_close(model);
}

/* An accelerator, which cannot say so, gives NaN. */
static void a_number_without_a_row_is_refused_or_gives_nan(void **state)
{
    (void)state;
    static const float bad[] = {3, -4, 1e30f, NAN}, good[] = {2.9f, -3.9f};
    cornu_model *model = net_model("model: {input: [2], layers: [{Embedding: {input_dim: 3, "
                                   "output_dim: 2}}]}\ncompile: {optimizer: sgd, loss: mse}\n");
    plan_options options = {.mode = PLAN_EVALUATE, .batch = 4};
    for (int d = 0; net_device(d); d++) {
        net *n = net_open(model, net_device(d), &options);
        step_results r;
        for (int i = 0; i < 4; i++) {
            n->x[5] = bad[i];
            if (!has_own_memory(net_device(d))) {
                expect_refusal(n, "embedding: found the number ");
                assert_non_null(
                    strstr(cornu_last_error(), "expected 0 to 2, one of its input_dim"));
                continue;
            }
            assert_int_equal(n->device->ops->run(n->device, n->prepared, &n->input, 1), CORNU_OK);
            assert_int_equal(n->device->ops->results(n->device, &r, true), CORNU_OK);
            assert_true(r.not_finite);
        }
        for (int i = 0; i < 2; i++) {
            n->x[5] = good[i];
            assert_int_equal(n->device->ops->run(n->device, n->prepared, &n->input, 1), CORNU_OK);
        }
        net_close(n);
    }
    cornu_model_close(model);
}

static void a_loss_that_is_not_finite_is_flagged(void **state)
{
    (void)state;
    cornu_model *model = net_model(net_text);
    plan_options options = {.mode = PLAN_EVALUATE, .batch = 4};
    for (int d = 0; net_device(d); d++) {
        net *n = net_open(model, net_device(d), &options);
        step_results r;
        for (int bad = 0; bad < 2; bad++) {
            n->x[3] = bad ? NAN : 0.5f;
            assert_int_equal(n->device->ops->run(n->device, n->prepared, &n->input, 1), CORNU_OK);
            assert_int_equal(n->device->ops->results(n->device, &r, true), CORNU_OK);
            assert_int_equal(r.not_finite, bad);
            assert_int_equal(r.samples, 4);
        }
        net_close(n);
    }
    cornu_model_close(model);
}

static void results_add_up_until_they_are_reset(void **state)
{
    (void)state;
    cornu_model *model = net_model(net_text);
    plan_options options = {.mode = PLAN_EVALUATE, .batch = 4};
    for (int d = 0; net_device(d); d++) {
        net *n = net_open(model, net_device(d), &options);
        double once = net_run(n);
        step_results r;
        step_input both[2] = {n->input, n->input};
        assert_int_equal(n->device->ops->run(n->device, n->prepared, both, 2), CORNU_OK);
        n->device->ops->results(n->device, &r, false);
        n->device->ops->results(n->device, &r, true);
        assert_int_equal(r.samples, 8);
        assert_true(fabs(r.loss - 8 * once) < 1e-6);
        assert_true(r.last_loss == once);
        n->device->ops->results(n->device, &r, true);
        assert_int_equal(r.samples, 0);
        assert_true(r.loss == 0);
        net_close(n);
    }
    cornu_model_close(model);
}

/* The arena is shared: a larger plan prepared later must not damage an earlier one. */
static void plans_of_one_device_take_turns(void **state)
{
    (void)state;
    cornu_model *model = net_model(net_text);
    for (int d = 0; net_device(d); d++) {
        plan_options small = {.mode = PLAN_PREDICT, .batch = 2};
        net *n = net_open(model, net_device(d), &small);
        net_run(n);
        float *first = net_read(n, n->plan->output);
        plan *large;
        prepared *ready;
        plan_options options = {.mode = PLAN_TRAIN, .batch = 500};
        assert_int_equal(plan_build(model, &options, &large), CORNU_OK);
        assert_int_equal(n->device->ops->prepare(n->device, large, &ready), CORNU_OK);
        net_run(n);
        float *second = net_read(n, n->plan->output);
        assert_memory_equal(first, second, 6 * sizeof *first);
        free(first);
        free(second);
        n->device->ops->release(n->device, ready);
        plan_free(large);
        net_close(n);
    }
    cornu_model_close(model);
}

static void a_buffer_whose_memory_is_used_again_cannot_be_read(void **state)
{
    (void)state;
    cornu_model *model = net_model(net_text);
    plan_options options = {.mode = PLAN_TRAIN, .batch = 4};
    net *n = net_open(model, "reference", &options);
    net_run(n);
    float values[12];
    assert_int_equal(n->device->ops->read(n->device, n->prepared, n->plan->target, values, 4),
                     CORNU_INVALID);
    assert_int_equal(n->device->ops->read(n->device, n->prepared, n->plan->output, values, 12),
                     CORNU_OK);
    assert_int_equal(n->device->ops->read(n->device, n->prepared, n->plan->output, values, 11),
                     CORNU_INVALID);
    net_close(n);
    cornu_model_close(model);
}

static void timing_operations_runs_the_same_step(void **state)
{
    (void)state;
    cornu_model *model = net_model(net_text);
    plan_options options = {.mode = PLAN_TRAIN, .batch = 4};
    float *kernels[2];
    for (int i = 0; i < 2; i++) {
        net *n = net_open(model, "cpu", &options);
        double *seconds = calloc((size_t)n->plan->op_count, sizeof *seconds);
        if (i == 0)
            net_run(n);
        else
            assert_int_equal(
                n->device->ops->time_operations(n->device, n->prepared, &n->input, seconds),
                CORNU_OK);
        for (int k = 0; k < n->plan->op_count; k++)
            assert_true(seconds[k] >= 0);
        kernels[i] = net_read_variable(n, "dense/kernel");
        free(seconds);
        net_close(n);
    }
    assert_memory_equal(kernels[0], kernels[1], 32 * sizeof(float));
    free(kernels[0]);
    free(kernels[1]);
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_has_a_reference_kernel),
        cmocka_unit_test(an_unknown_device_is_one_clear_line),
        cmocka_unit_test(choices_name_device_and_kernel),
        cmocka_unit_test(a_forced_kernel_is_taken_where_it_accepts),
        cmocka_unit_test(every_kernel_has_its_turn_in_the_tests),
        cmocka_unit_test(the_variables_are_read_on_request),
        cmocka_unit_test(a_plan_that_does_not_fit_names_the_largest_batch_that_does),
        cmocka_unit_test(variables_that_do_not_fit_together_are_refused),
        cmocka_unit_test(wrong_inputs_are_refused_before_anything_runs),
        cmocka_unit_test(a_number_without_a_row_is_refused_or_gives_nan),
        cmocka_unit_test(a_loss_that_is_not_finite_is_flagged),
        cmocka_unit_test(results_add_up_until_they_are_reset),
        cmocka_unit_test(plans_of_one_device_take_turns),
        cmocka_unit_test(a_buffer_whose_memory_is_used_again_cannot_be_read),
        cmocka_unit_test(timing_operations_runs_the_same_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
