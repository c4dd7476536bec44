/* Products of few rows, and the weights' gradients of convolutions of few channels, are split along
   k on the cuda device, until the largest GPU has work for all of its multiprocessors: correct, and
   with the same bits each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include "support/op_cases.h"
#include <cornu/tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, TILE = 128, SLICE_LEAST = 128, MULTIPROCESSORS = 132 };

static const char *gpu_or_skip(void)
{
    static cornu_device_info info = {.size = sizeof info};
    device_id id;
    for (int i = 0; device_at(i, &id, &info); i++)
        if (info.available && strncmp(info.name, "cuda:", 5) == 0)
            return info.name;
    skip();
    return NULL;
}

/* A dense layer's output by the own kernels. *slices: of k, from the memory of their sums. */
static float *run_layer(cornu_model *model, const char *device, int64_t units, int *slices)
{
    const plan_options options = {.mode = PLAN_PREDICT, .batch = BATCH};
    net *n = net_open_with(model, device, &options, &(device_options){.kernel = "tiled"});
    int at = -1;
    net_count(n->plan, OP_DENSE_FORWARD, &at);
    net_run(n);
    kernel_choice *choices = net_choices(n);
    *slices = (int)(choices[at].scratch_bytes / (sizeof(float) * BATCH * (size_t)units));
    if (strncmp(device, "cuda", 4) == 0)
        assert_string_equal(choices[at].kernel, "cuda/tiled");
    float *output = net_read(n, n->plan->ops[at].out[0]);
    free(choices);
    net_close(n);
    return output;
}

static void must_be_split(int64_t in, int64_t units, bool fills)
{
    const char *gpu = gpu_or_skip();
    char text[256];
    int unused, slices, again;
    snprintf(text, sizeof text,
             "model: {input: [%lld], layers: [{Dense: {units: %lld, activation: relu}}]}\n"
             "compile: {optimizer: sgd, loss: mean_squared_error}",
             (long long)in, (long long)units);
    cornu_model *model = net_model(text);
    float *expected = run_layer(model, "reference", units, &unused);
    float *found = run_layer(model, gpu, units, &slices);
    float *twice = run_layer(model, gpu, units, &again);
    int64_t blocks = slices * ((units + TILE - 1) / TILE);
    if (fills ? blocks < MULTIPROCESSORS : slices != in / SLICE_LEAST)
        fail_msg("%lld x %lld: found %d slices, %lld blocks", (long long)in, (long long)units,
                 slices, (long long)blocks);
    assert_true(net_difference(expected, found, BATCH * units) < 1e-5);
    assert_memory_equal(found, twice, sizeof(float) * BATCH * (size_t)units);
    free(expected);
    free(found);
    free(twice);
    cornu_model_close(model);
}

static void large_layers_fill_the_largest_gpu(void **state)
{
    (void)state;
    must_be_split(3072, 1000, true);
    must_be_split(3000, 3000, true);
}

static void small_layers_are_split_into_the_shortest_slices(void **state)
{
    (void)state;
    must_be_split(512, 256, false);
}

/* ---- a first layer's weights
 * --------------------------------------------------------------------- */

typedef struct first_layer {
    int64_t batch, size, channels, filters, kernel, stride;
} first_layer;

static op_case weights_of(const first_layer *l)
{
    int64_t out = (l->size - l->kernel) / l->stride + 1;
    op_case c = {.kind = OP_CONV2D_BACKWARD_WEIGHTS,
                 .in = {{4, {l->batch, l->size, l->size, l->channels}},
                        {4, {l->batch, out, out, l->filters}}},
                 .out = {{4, {l->kernel, l->kernel, l->channels, l->filters}}, {1, {l->filters}}},
                 .a.window = {.kernel = {l->kernel, l->kernel},
                              .stride = {l->stride, l->stride},
                              .dilation = {1, 1},
                              .groups = 1}};
    snprintf(c.label, sizeof c.label, "weights of %lld channels, %lld filters of %lld x %lld",
             (long long)l->channels, (long long)l->filters, (long long)l->kernel,
             (long long)l->kernel);
    return c;
}

/* Some with more than 32 slices, whose sums are added by several threads each, and some with few;
   all of whose tiles are partly empty. */
static void weights_of_few_channels_go_by_the_own_kernel(void **state)
{
    static const first_layer layers[] = {
        {6, 30, 3, 32, 3, 1}, {5, 31, 1, 32, 5, 1}, {4, 21, 4, 30, 3, 2}};
    device *d = net_device_open(gpu_or_skip(), NULL);
    int failures = 0;
    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        const op_case c = weights_of(&layers[i]);
        char kernel[64];
        op_outputs found, expected;
        assert_int_equal(op_case_run(&c, &reference_kernels[c.kind], NULL, false, &expected),
                         CORNU_OK);
        assert_int_equal(op_case_run_on(&c, d, false, kernel, &found), CORNU_OK);
        assert_string_equal(kernel, "direct");
        failures += op_outputs_compare_sums(&c, kernel, 0, &found, &expected);
        failures += op_case_check_twice(&c, d);
        op_outputs_free(&found);
        op_outputs_free(&expected);
    }
    d->ops->close(d);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_layers_fill_the_largest_gpu),
        cmocka_unit_test(small_layers_are_split_into_the_shortest_slices),
        cmocka_unit_test(weights_of_few_channels_go_by_the_own_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
