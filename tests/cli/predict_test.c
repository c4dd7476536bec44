/* cornu predict from within: how often the model's recipe is read. */
#include "cli/cli.h"
#include "data/data.h"
#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* See tests/CMakeLists.txt. */
cornu_status __real_data_spec_read(const doc *section, data_spec *spec);
cornu_status __wrap_data_spec_read(const doc *section, data_spec *spec);
static int readings;

cornu_status __wrap_data_spec_read(const doc *section, data_spec *spec)
{
    readings++;
    return __real_data_spec_read(section, spec);
}

enum { PICTURES = 9 };

/* Predict the first `count` pictures; how often the recipe's data section was read. */
static int readings_for(int count)
{
    static char names[PICTURES + 2][1100];
    char *line[PICTURES + 3] = {(char *)(uintptr_t) "predict", names[0]};
    snprintf(names[0], sizeof names[0], "%s", scratch_path("m.safetensors"));
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.pgm", i);
        snprintf(names[i + 1], sizeof names[0], "%s", scratch_path(name));
        line[i + 2] = names[i + 1];
    }
    readings = 0;
    assert_int_equal(command_predict.run(count + 2, line), 0);
    return readings;
}

static void the_recipe_is_not_read_again_for_each_picture(void **state)
{
    (void)state;
    static const char text[] =
        "data: {folder: pets, interpolation: box, augment: {rotation_range: 20}}\n"
        "model: {input: [2, 2, 1], layers: [Flatten, {Dense: {units: 2}}]}\n"
        "compile: {optimizer: sgd, loss: mse}\n";
    cornu_model *m = NULL;
    expect_ok(cornu_model_parse(text, "r.yaml", &m));
    expect_ok(cornu_model_initialize(m, 1));
    expect_ok(cornu_model_save(m, scratch_path("m.safetensors")));
    cornu_model_close(m);
    for (int i = 0; i < PICTURES; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.pgm", i);
        made_grey(name, 20 * i);
    }
    int one = readings_for(1);
    assert_true(one > 0);
    assert_int_equal(readings_for(PICTURES), one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_recipe_is_not_read_again_for_each_picture, made_open,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
