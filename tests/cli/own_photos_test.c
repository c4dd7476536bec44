/* Pictures of one's own: published workloads with another folder, recipes to copy, and recipes that
   are made for a folder. */
#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CLASSES = 3, EACH = 12 };
static const char *const classes[CLASSES] = {"my cats",
                                             "H\xc3\xa4user & Stra\xc3\x9f"
                                             "en",
                                             "\xe6\xb5\xb7"};

/* Pictures of three classes with odd names in the folder "my photos". */
static void make_photos(int components)
{
    char name[256];
    for (int k = 0; k < CLASSES; k++)
        for (int i = 0; i < EACH; i++) {
            const uint8_t color[3] = {(uint8_t)(90 * k), (uint8_t)(9 * i), 40};
            snprintf(name, sizeof name, "my photos/%s/%d.jpg", classes[k], i);
            made_jpeg(name, 20, 24, components, color);
        }
}

static void expect_said(const program *p, const char *text)
{
    if (!strstr(p->out, text) && !strstr(p->err, text))
        fail_msg("expected \"%s\"; found on standard output:\n%s\non standard error:\n%s", text,
                 p->out, p->err);
}

/* Run, and expect this exit status and text. */
static void expect_run(const char *const *arguments, int status, const char *text)
{
    program p = program_run(arguments);
    if (p.status != status)
        fail_msg("%s: ended with %d: %s", arguments[0], p.status, p.err);
    expect_said(&p, text);
    program_free(&p);
}

#define STEP "--epochs", "1", "--steps", "1"

static void a_workload_gets_an_output_for_each_class_of_another_folder(void **state)
{
    (void)state;
    make_photos(3);
    expect_run(
        ARGUMENTS("train", "cifar100-mlp", "--data", "my photos", STEP, "--save", "m.safetensors"),
        0,
        "cifar100-mlp: my photos has 3 classes, so that its last layer has 3 units in place "
        "of 100 (--exact: as it was published)\n");
    expect_run(ARGUMENTS("predict", "m.safetensors", "my photos/my cats/1.jpg"), 0, "my cats ");
    expect_run(ARGUMENTS("train", "cifar100-mlp", "--data", "my photos", "--epochs", "2", "--steps",
                         "1", "--resume", "m.safetensors"),
               0, "Epoch 2/2");
    expect_run(ARGUMENTS("train", "cifar100-mlp", "--data", "my photos", "--exact", STEP), 1,
               "my photos: found images; expected cifar100: ");
}

static void grey_pictures_take_the_place_of_a_named_set(void **state)
{
    (void)state;
    make_photos(1);
    expect_run(ARGUMENTS("train", "mnist-cnn-2", "--data", "my photos", STEP, "--batch", "2",
                         "--save", "m.safetensors"),
               0,
               "mnist-cnn-2: my photos has 3 classes, so that its last layer has 3 units in place "
               "of 10; no test folder, so that 20 % of the pictures validate (--exact");
    expect_run(ARGUMENTS("evaluate", "m.safetensors"), 0, "accuracy");
    expect_run(ARGUMENTS("train", "mnist-cnn-2", "--data", "my photos", "--exact", STEP), 1,
               "expected mnist: ");
}

/* The set's own classes stay, also where only some of them are there. */
static void a_workload_with_its_own_set_stays_as_it_was_published(void **state)
{
    (void)state;
    program p = program_run(
        ARGUMENTS("train", "mnist-cnn-2", "--data", "mnist", STEP, "--batch", "2", "--no-save"));
    program_must_succeed(&p);
    program_free(&p);
}

static void recipe_prints_what_is_built_in(void **state)
{
    (void)state;
    char *summary = NULL;
    program p = program_run(ARGUMENTS("recipe", "mnist-cnn-2"));
    program_must_succeed(&p);
    scratch_write("copy.yaml", p.out, strlen(p.out));
    program_free(&p);
    p = program_run(ARGUMENTS("summary", "mnist-cnn-2"));
    summary = p.out;
    p.out = NULL;
    program_free(&p);
    p = program_run(ARGUMENTS("summary", "copy.yaml"));
    assert_string_equal(p.out, summary);
    program_free(&p);
    free(summary);
    expect_run(ARGUMENTS("recipe"), 0, "mnist-cnn-2\n");
    expect_run(ARGUMENTS("recipe", "mnist-cnn"), 1, "did you mean mnist-cnn-2?");
}

static void new_writes_a_recipe_that_fits_the_folder_and_trains(void **state)
{
    (void)state;
    make_photos(3);
    expect_run(ARGUMENTS("new", "kinds", "--data", "my photos"), 0,
               "wrote kinds.yaml: 3 classes, pictures as 20x24x3, ");
    expect_run(ARGUMENTS("train", "kinds.yaml", "--epochs", "1", "--save", "m.safetensors"), 0,
               "val_accuracy: ");
    assert_int_equal(access(scratch_path("best.safetensors"), F_OK), 0);
    expect_run(ARGUMENTS("predict", "m.safetensors", "my photos/my cats/1.jpg"), 0,
               "\xe6\xb5\xb7 ");
    expect_run(ARGUMENTS("new", "kinds", "--data", "my photos"), 1,
               "kinds.yaml: found this file; expected a name that is free");
}

static void new_sees_grey_and_finds_its_folder_from_elsewhere(void **state)
{
    (void)state;
    make_photos(1);
    made_file("there/empty", "", 0);
    expect_run(ARGUMENTS("new", "there/kinds.yaml", "--data", "my photos"), 0,
               "wrote there/kinds.yaml: 3 classes, pictures as 20x24x1, ");
    expect_run(ARGUMENTS("train", "there/kinds.yaml", STEP, "--no-save"), 0, "val_accuracy: ");
}

static void new_takes_sets_and_their_folders(void **state)
{
    (void)state;
    setenv("CORNU_DATA", scratch_path("."), 1);
    expect_run(ARGUMENTS("new", "digits", "--data", "mnist"), 0,
               "wrote digits.yaml: 10 classes, pictures as 28x28x1, ");
    expect_run(ARGUMENTS("train", "digits.yaml", STEP, "--no-save"), 0, "val_accuracy: ");
}

static void new_refuses_what_it_can_make_no_recipe_of(void **state)
{
    (void)state;
    made_grey("one/only/1.png", 3);
    made_grey("few/a/1.png", 3);
    made_grey("few/b/1.png", 3);
    expect_run(ARGUMENTS("new", "kinds"), 2, "found no --data; expected the folder");
    expect_run(ARGUMENTS("new", "kinds", "--data", "one"), 1,
               "one: found 1 class; expected two or more, a folder each");
    expect_run(ARGUMENTS("new", "kinds", "--data", "few"), 1,
               "few: found 2 pictures; expected more, some dozens a class");
    expect_run(ARGUMENTS("new", "kinds", "--data", "none"), 1, "none: no such data set or folder");
    expect_run(ARGUMENTS("new", "no/such/kinds", "--data", "./mnist"), 1,
               "no/such/kinds.yaml: cannot be written: No such file or directory");
    assert_int_not_equal(access(scratch_path("kinds.yaml"), F_OK), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, made_open_small, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(a_workload_gets_an_output_for_each_class_of_another_folder),
        TEST(grey_pictures_take_the_place_of_a_named_set),
        TEST(a_workload_with_its_own_set_stays_as_it_was_published),
        TEST(recipe_prints_what_is_built_in),
        TEST(new_writes_a_recipe_that_fits_the_folder_and_trains),
        TEST(new_sees_grey_and_finds_its_folder_from_elsewhere),
        TEST(new_takes_sets_and_their_folders),
        TEST(new_refuses_what_it_can_make_no_recipe_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
