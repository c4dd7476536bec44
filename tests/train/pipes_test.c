/* Pipes, devices and sockets in place of files: refused with their names, and never waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/images.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* FOLDER/NAME is a pipe into which nobody ever writes. */
static const char *pipe_at(const char *name)
{
    const char *path = scratch_path(name);
    assert_int_equal(mkfifo(path, 0600), 0);
    return path;
}

static void models_are_refused_as_pipes(void **state)
{
    (void)state;
    static const char *const names[] = {"p.yaml", "p.yml", "p.json", "p.safetensors"};
    cornu_model *model = runs_usual(NULL), *opened;
    for (int i = 0; i < 4; i++) {
        expect_status(cornu_model_open(pipe_at(names[i]), &opened), CORNU_IO);
        expect_message("found a pipe; expected a regular file");
    }
    expect_status(cornu_model_open(pipe_at("p"), &opened), CORNU_INVALID);
    expect_message("p: found a pipe or device; expected a recipe");
    expect_status(cornu_model_load_weights(model, scratch_path("p.safetensors")), CORNU_IO);
    expect_message("found a pipe");
    expect_status(cornu_model_load_weights(model, pipe_at("p.npz")), CORNU_IO);
    expect_message("found a pipe");
    expect_status(cornu_model_load_weights(model, pipe_at("p.npy")), CORNU_IO);
    expect_message("found a pipe");
    cornu_model_close(model);
}

static void a_recipe_that_is_a_link_to_an_endless_device_is_refused(void **state)
{
    (void)state;
    cornu_model *opened;
    assert_int_equal(symlink("/dev/zero", scratch_path("z.yaml")), 0);
    expect_status(cornu_model_open(scratch_path("z.yaml"), &opened), CORNU_IO);
    expect_message("z.yaml: found a device; expected a regular file");
}

static void pictures_and_data_sets_are_refused_as_pipes(void **state)
{
    (void)state;
    float grey;
    cornu_data *data = NULL;
    assert_int_not_equal(made_read(pipe_at("p.png"), 1, 1, 1, &grey), CORNU_OK);
    expect_message("p.png");
    assert_int_not_equal(cornu_data_open(pipe_at("p.npz"), NULL, &data), CORNU_OK);
    expect_message("p.npz");
    assert_int_equal(mkdir(scratch_path("mnist"), 0700), 0);
    pipe_at("mnist/train-images-idx3-ubyte.gz");
    assert_int_not_equal(cornu_data_open(scratch_path("mnist"), NULL, &data), CORNU_OK);
    made_grey("f/a/1.pgm", 1);
    made_grey("f/b/1.pgm", 1);
    pipe_at("f/a/2.pgm");
    notices said = {0};
    cornu_data_options o = {
        .size = sizeof o,
        .on_notice = notices_add,
        .user = &said,
        .images = &(cornu_folder_options){.size = sizeof(cornu_folder_options), .height = 1}};
    expect_ok(cornu_data_open(scratch_path("f"), &o, &data));
    assert_int_equal(made_count(data, CORNU_TRAIN), 2);
    cornu_data_close(data);
}

/* A hang ends here, as a failure. */
static int open_with_a_limit(void **state)
{
    alarm(60);
    return made_open(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_with_a_limit, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(models_are_refused_as_pipes),
        TEST(a_recipe_that_is_a_link_to_an_endless_device_is_refused),
        TEST(pictures_and_data_sets_are_refused_as_pipes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
