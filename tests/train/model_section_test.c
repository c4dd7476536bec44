/* A recipe whose model section names a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/tensor_file.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <stdio.h>
#include <string.h>

static const char LAYERS[] = "input: [8]\nlayers:\n  - Dense: {units: 3, activation: softmax}\n";

#define REST                                                                       \
    "\ncompile: {optimizer: sgd, loss: sparse_categorical_crossentropy, metrics: " \
    "[{accuracy: {name: hits}}]}\nfit: {epochs: 1, batch_size: 8}\n"

static const char *write_text(const char *name, const char *content)
{
    return scratch_write(name, content, strlen(content));
}

static void expect_three_outputs(const char *recipe, bool compiled)
{
    cornu_model *m;
    expect_ok(cornu_model_open(recipe, &m));
    assert_int_equal(m->output.dim[0], 3);
    assert_int_equal(m->compiled, compiled);
    cornu_model_close(m);
}

static void it_is_read_beside_the_recipe(void **state)
{
    (void)state;
    cornu_model *m;
    char *json;
    write_text("net.yaml", LAYERS);
    expect_three_outputs(write_text("r.yaml", "model: net.yaml" REST), true);
    expect_ok(cornu_model_open(scratch_path("r.yaml"), &m));
    expect_ok(cornu_model_config(m, &json)); /* Keras's, with its compile section */
    write_text("net.json", json);
    cornu_free(json);
    cornu_model_close(m);
    expect_three_outputs(write_text("r.yaml", "model: net.json\nfit: {epochs: 2}\n"), true);
    expect_three_outputs(write_text("r.json", "{\"model\": \"net.json\"}"), true);
    char absolute[1200];
    snprintf(absolute, sizeof absolute, "model: %s" REST, scratch_path("net.json"));
    expect_three_outputs(write_text("r.yaml", absolute), true);
}

static void a_model_file_holds_the_network_itself(void **state)
{
    (void)state;
    cornu_model *m, *again;
    cornu_data *data = runs_data(40, 0);
    cornu_history *history;
    write_text("net.yaml", LAYERS);
    expect_ok(cornu_model_open(write_text("r.yaml", "model: net.yaml" REST), &m));
    expect_ok(cornu_fit(m, data, NULL, &history));
    assert_string_equal(cornu_history_name(history, 1), "hits");
    expect_ok(cornu_model_save(m, scratch_path("m.safetensors")));
    expect_status(remove(scratch_path("net.yaml")) ? CORNU_IO : CORNU_OK, CORNU_OK);
    expect_ok(cornu_model_open(scratch_path("m.safetensors"), &again));
    assert_true(same_bits(m, again));
    cornu_history_close(history);
    cornu_model_close(m);
    cornu_model_close(again);
    cornu_data_close(data);
}

static void a_model_file_opens_no_other_path(void **state)
{
    (void)state;
    cornu_model *m;
    tensor_file *f;
    metadata_entry entries[16];
    static char named[] =
        "{\"model\": \"net.yaml\", \"compile\": {\"optimizer\": \"sgd\", \"loss\": "
        "\"mean_squared_error\"}}";
    write_text("net.yaml", LAYERS);
    expect_ok(cornu_model_open(write_text("r.yaml", "model: net.yaml" REST), &m));
    expect_ok(cornu_model_initialize(m, 1));
    expect_ok(cornu_model_save(m, scratch_path("m.safetensors")));
    cornu_model_close(m);
    expect_ok(tensor_file_open(scratch_path("m.safetensors"), &f));
    for (int i = 0; i < f->metadata_count; i++) {
        entries[i] = f->metadata[i];
        if (strcmp(entries[i].key, "recipe") == 0)
            entries[i].value = named;
    }
    expect_ok(safetensors_write(scratch_path("bad.safetensors"), f->tensors, f->count, entries,
                                f->metadata_count));
    tensor_file_close(f);
    expect_status(cornu_model_open(scratch_path("bad.safetensors"), &m), CORNU_BAD_FILE);
    expect_message("model: found \"net.yaml\"; expected a map");
}

static void what_is_wrong_with_it_is_said(void **state)
{
    (void)state;
    cornu_model *m;
    expect_status(cornu_model_open(write_text("r.yaml", "data: mnist\nmodel: none.json\n"), &m),
                  CORNU_NOT_FOUND);
    expect_message("r.yaml:2: model: ");
    expect_message("none.json");
    expect_status(cornu_model_open(write_text("r.yaml", "model: net.txt\n"), &m), CORNU_INVALID);
    expect_message("r.yaml:1: model: found \"net.txt\"; expected a map");
    write_text("net.yaml", "input: [8]\nlayers:\n  - Dence: {units: 3}\n");
    expect_status(cornu_model_open(write_text("r.yaml", "model: net.yaml\n"), &m), CORNU_INVALID);
    expect_message("net.yaml:3: layers[0]: unknown layer \"Dence\"");
    write_text("net.yaml", "model: net.yaml\n");
    expect_status(cornu_model_open(scratch_path("r.yaml"), &m), CORNU_INVALID);
    expect_message(
        "net.yaml:1: model: unknown option; model takes input, inputs, layers, outputs, name");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_read_beside_the_recipe),
        TEST(a_model_file_holds_the_network_itself),
        TEST(a_model_file_opens_no_other_path),
        TEST(what_is_wrong_with_it_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
