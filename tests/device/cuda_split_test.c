/* Products of few rows are split along k on the cuda device, until the largest GPU has work for all
   of its multiprocessors: right, and the same bits each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, TILE = 128, SLICE_LEAST = 128, MULTIPROCESSORS = 132 };

static const char *gpu_or_skip(void)
{
    static cornu_device_info info;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_layers_fill_the_largest_gpu),
        cmocka_unit_test(small_layers_are_split_into_the_shortest_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
