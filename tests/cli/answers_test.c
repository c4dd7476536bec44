/* What people ask of a trained model, of data and of the program: the answers, on small data. */
#include "support/made.h"
#include "support/program.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* It tells this on standard error, and NULL nothing. */
static program must_tell(const char *const *arguments, const char *notice)
{
    program p = program_run(arguments);
    bool told = notice ? strstr(p.err, notice) != NULL : !*p.err;
    if (p.status != 0 || !told)
        print_error("%s: status %d, \"%s\"\n", arguments[0], p.status, p.err);
    assert_int_equal(p.status, 0);
    assert_true(told);
    return p;
}

static program must_run(const char *const *arguments)
{
    return must_tell(arguments, NULL);
}

static void write_recipe(const char *name, const char *data, const char *input, const char *last,
                         const char *loss)
{
    char text[1024];
    int length = snprintf(text, sizeof text,
                          "data: %s\n"
                          "model: {input: %s, layers: [Flatten, %s]}\n"
                          "compile: {optimizer: {sgd: {learning_rate: 0.5}}, loss: %s}\n"
                          "fit: {batch_size: 4, epochs: 80}\n",
                          data, input, last, loss);
    scratch_write(name, text, (size_t)length);
}

/* Dark cats and bright dogs of 2x2 pixels. */
static void make_pets(const char *second)
{
    char name[64], picture[] = "P5 2 2 255\n????";
    for (int i = 0; i < 8; i++) {
        memset(picture + 11, i % 2 ? 200 + i : 10 + i, 4);
        snprintf(name, sizeof name, "%s/%s/%d.pgm", strcmp(second, "dog") ? "other" : "pets",
                 i % 2 ? second : "cat", i);
        made_file(name, picture, 15);
    }
}

static void train(const char *name, const char *save)
{
    program p = must_run(ARGUMENTS("train", name, "--quiet", "--save", save));
    program_free(&p);
}

/* ---- predictions ------------------------------------------------------------------------ */

/* In lines "FILE  CLASS VALUE  CLASS VALUE", every file's first class must be its folder's, and
   both values probabilities that add up to 1. */
static void expect_pets(const char *model)
{
    program p = must_run(ARGUMENTS("predict", model, "pets/cat/0.pgm", "pets/dog/1.pgm",
                                   "pets/cat/2.pgm", "pets/dog/3.pgm"));
    const char *line = p.out;
    for (int i = 0; i < 4; i++, line = strchr(line, '\n') + 1) {
        char first[16], second[16], file[32];
        float high, low;
        snprintf(file, sizeof file, "pets/%s/%d.pgm  ", i % 2 ? "dog" : "cat", i);
        assert_int_equal(strncmp(line, file, strlen(file)), 0);
        assert_int_equal(sscanf(line, "%*s %15s %f %15s %f\n", first, &high, second, &low), 4);
        assert_string_equal(first, i % 2 ? "dog" : "cat");
        assert_string_equal(second, i % 2 ? "cat" : "dog");
        assert_true(high > 0.5f && high <= 1 && low >= 0);
        assert_float_equal(high + low, 1, 2e-4);
    }
    assert_int_equal(strncmp(line, "4 samples in ", 13), 0);
    program_free(&p);
}

static void two_classes_are_told_apart_by_name_and_probability_whatever_the_output(void **state)
{
    (void)state;
    static const char *const networks[][2] = {
        {"{Dense: {units: 1, activation: sigmoid}}", "binary_crossentropy"},
        {"{Dense: {units: 1}}", "{BinaryCrossentropy: {from_logits: true}}"},
        {"{Dense: {units: 1, activation: sigmoid}}", "mse"},
        {"{Dense: {units: 2}}", "{SparseCategoricalCrossentropy: {from_logits: true}}"},
        {"{Dense: {units: 2}}", "{CategoricalCrossentropy: {from_logits: true}}"},
        {"{Dense: {units: 2, activation: softmax}}", "categorical_crossentropy"},
    };
    make_pets("dog");
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        write_recipe("pets.yaml", "{folder: pets}", "[2, 2, 1]", networks[i][0], networks[i][1]);
        train("pets.yaml", "m.safetensors");
        expect_pets("m.safetensors");
    }
}

static void outputs_that_are_no_probabilities_are_called_so(void **state)
{
    (void)state;
    make_pets("dog");
    write_recipe("pets.yaml", "{folder: pets}", "[2, 2, 1]", "{Dense: {units: 1}}", "mse");
    train("pets.yaml", "m.safetensors");
    program p = must_run(ARGUMENTS("predict", "m.safetensors", "pets/dog/1.pgm"));
    assert_int_equal(strncmp(p.out, "pets/dog/1.pgm  value ", 22), 0);
    program_free(&p);
    write_recipe("pets.yaml", "{folder: pets}", "[2, 2, 1]", "{Dense: {units: 1}}",
                 "binary_crossentropy");
    train("pets.yaml", "m.safetensors");
    p = must_run(ARGUMENTS("predict", "m.safetensors", "pets/dog/1.pgm"));
    assert_int_equal(strncmp(p.out, "pets/dog/1.pgm  logit ", 22), 0);
    program_free(&p);
}

static void a_network_of_height_and_width_takes_picture_files(void **state)
{
    (void)state;
    made_mnist("mnist", 60, 20, 0);
    write_recipe("flat.yaml", "{name: mnist, augment: {rotation_range: 9}}", "[28, 28]",
                 "{Dense: {units: 10, activation: softmax}}", "categorical_crossentropy");
    program p[] = {
        must_run(ARGUMENTS("train", "flat.yaml", "--data", "mnist", "--epochs", "1", "--quiet",
                           "--save", "m.safetensors")),
        must_run(ARGUMENTS("data", "show", "./mnist", "3", "--split", "test", "--png", "3.png")),
        must_run(ARGUMENTS("data", "show", "./mnist", "--augment", "flat.yaml", "--png", "s.png")),
        must_run(ARGUMENTS("predict", "m.safetensors", "3.png", "--top", "1")),
        must_run(ARGUMENTS("predict", "m.safetensors", "--data", "mnist", "--top", "1")),
    };
    const char *fourth = p[4].out;
    for (int i = 0; i < 3; i++)
        fourth = strchr(fourth, '\n') + 1;
    assert_int_equal(strncmp(fourth, "3  (3)  ", 8), 0);
    const char *alone = strchr(p[3].out, ' ');
    assert_memory_equal(alone, fourth + 6, strcspn(alone, "\n") + 1);
    for (size_t i = 0; i < sizeof p / sizeof *p; i++)
        program_free(&p[i]);
}

static void the_first_samples_of_a_set_are_predicted_beside_their_class(void **state)
{
    (void)state;
    make_pets("dog");
    write_recipe("pets.yaml", "{folder: pets, validation_split: 0.5}", "[2, 2, 1]",
                 "{Dense: {units: 1, activation: sigmoid}}", "binary_crossentropy");
    train("pets.yaml", "m.safetensors");
    program p = must_tell(
        ARGUMENTS("predict", "m.safetensors", "--data", "pets", "--count", "2", "--top", "1"),
        "pets: 8 images in 2 classes (0 files skipped): cat (4), dog (4)\n");
    assert_int_equal(count_lines(p.out), 3);
    assert_int_equal(strncmp(p.out, "0  pets/cat/0.pgm  (cat)  cat ", 30), 0);
    assert_non_null(strstr(p.out, "\n2 samples in "));
    program_free(&p);
    p = must_tell(ARGUMENTS("predict", "m.safetensors", "--data", "pets", "--count", "999"),
                  "pets: 8 images");
    assert_non_null(strstr(p.out, "  (dog)  dog "));
    program_free(&p);
}

static void expect_failure(const char *const *arguments, const char *message)
{
    program p = program_run(arguments);
    if (p.status != 1 || !strstr(p.err, message))
        fail_msg("%s: status %d, \"%s\"; expected \"%s\"", arguments[0], p.status, p.err, message);
    program_free(&p);
}

static void classes_that_the_model_does_not_know_are_refused(void **state)
{
    (void)state;
    make_pets("dog");
    make_pets("eel");
    write_recipe("pets.yaml", "{folder: pets}", "[2, 2, 1]",
                 "{Dense: {units: 1, activation: sigmoid}}", "binary_crossentropy");
    train("pets.yaml", "m.safetensors");
    expect_failure(ARGUMENTS("evaluate", "m.safetensors", "--data", "other"),
                   "other: found classes that m.safetensors does not know: eel; expected some of: "
                   "cat, dog");
    expect_failure(ARGUMENTS("train", "m.safetensors", "--data", "other"),
                   "other: found the classes cat, eel; expected those of m.safetensors: cat, dog");
    program refused = program_run(ARGUMENTS("train", "m.safetensors", "--data", "other"));
    assert_null(strstr(refused.out, " decoded")); /* nothing was trained */
    program_free(&refused);
    refused = program_run(ARGUMENTS("train", "m.safetensors", "--data", "other", "--sweep",
                                    "seed=1..3", "--no-save"));
    assert_int_equal(refused.status, 1);
    assert_null(strstr(refused.out, "run 1 of 3")); /* it is said once, before any run */
    assert_int_equal(strncmp(refused.err, "cornu: other: found the classes cat, eel", 40), 0);
    program_free(&refused);
    program p = must_run(ARGUMENTS("train", "m.safetensors", "--data", "other", "--classes", "new",
                                   "--sweep", "seed=1..2", "--no-save"));
    program_free(&p);
    p = must_run(ARGUMENTS("train", "m.safetensors", "--data", "other", "--classes", "new",
                           "--save", "n.safetensors"));
    program_free(&p);
    p = must_run(ARGUMENTS("predict", "n.safetensors", "other/eel/1.pgm", "--top", "1"));
    assert_non_null(strstr(p.out, "1.pgm  eel "));
    program_free(&p);
}

static void one_class_of_two_is_evaluated_and_predicted_by_its_name(void **state)
{
    (void)state;
    make_pets("dog");
    write_recipe("pets.yaml", "{folder: pets}", "[2, 2, 1]",
                 "{Dense: {units: 1, activation: sigmoid}}",
                 "binary_crossentropy, metrics: [accuracy]");
    train("pets.yaml", "m.safetensors");
    made_file("dogs/dog/1.pgm", "P5 2 2 255\n\311\311\311\311", 15);
    program p = must_run(ARGUMENTS("evaluate", "m.safetensors", "--data", "dogs"));
    assert_non_null(strstr(p.out, "accuracy: 1.0000"));
    assert_non_null(strstr(p.out, "dogs: no pictures of cat\n"));
    program_free(&p);
    p = must_tell(ARGUMENTS("predict", "m.safetensors", "--data", "dogs", "--json", "-"),
                  "dogs: only one class, dog\n");
    assert_non_null(strstr(p.out,
                           "{\"sample\": 0, \"file\": \"dogs/dog/1.pgm\", \"true_index\": 1, "
                           "\"true_class\": \"dog\""));
    program_free(&p);
    p = must_run(ARGUMENTS("predict", "m.safetensors", "--data", "dogs", "--csv", "t.csv"));
    assert_int_equal(strncmp(p.out, "dogs: only one class, dog\n", 26), 0);
    program_free(&p);
    p = must_tell(ARGUMENTS("predict", "m.safetensors", "--data", "dogs", "--csv", "-", "--top=1"),
                  "dogs: only one class, dog\n");
    assert_int_equal(strncmp(p.out,
                             "sample,file,true_class,class_1,probability_1\n"
                             "0,dogs/dog/1.pgm,dog,dog,",
                             68),
                     0);
    program_free(&p);
}

/* The split of the recipe is for training: what is given is used whole. */
static void a_folder_that_is_given_is_used_whole(void **state)
{
    (void)state;
    make_pets("dog");
    write_recipe("pets.yaml", "{folder: pets, validation_split: 0.5}", "[2, 2, 1]",
                 "{Dense: {units: 1, activation: sigmoid}}", "binary_crossentropy");
    train("pets.yaml", "m.safetensors");
    for (int i = 0; i < 8; i++) {
        char name[64];
        snprintf(name, sizeof name, "fresh/%s/%d.pgm", i % 2 ? "dog" : "cat", i);
        made_grey(name, i);
    }
    for (int i = 0; i < 2; i++) {
        const char *command = i ? "predict" : "evaluate";
        program p = must_tell(ARGUMENTS(command, "m.safetensors", "--data", "fresh"),
                              i ? "fresh: 8 images" : NULL);
        assert_non_null(strstr(p.out, "\n8 samples in "));
        assert_null(strstr(p.out, "no test samples"));
        program_free(&p);
        p = must_tell(ARGUMENTS(command, "m.safetensors"), i ? "pets: 8 images" : NULL);
        assert_null(strstr(p.out, "\n8 samples in "));
        program_free(&p);
    }
    program p = must_run(ARGUMENTS("evaluate", "m.safetensors", "--data", "pets"));
    assert_non_null(strstr(p.out, "pets: the model was trained on this folder"));
    program_free(&p);
    made_grey("divided/train/cat/1.pgm", 1); /* which a validation_split would contradict */
    made_grey("divided/test/cat/1.pgm", 1);
    p = must_run(ARGUMENTS("evaluate", "m.safetensors", "--data", "divided"));
    assert_non_null(strstr(p.out, "\n1 sample in "));
    program_free(&p);
}

static void what_does_not_fit_into_memory_is_refused_before_data_are_read(void **state)
{
    (void)state;
    static const char recipe[] = "data: {folder: pets, augment: {horizontal_flip: true}}\n"
                                 "model: {input: [1000000, 1000000], layers: [Flatten, "
                                 "{Reshape: {target_shape: [1000000, 1000000, 1]}}, "
                                 "GlobalAveragePooling2D, {Dense: {units: 1}}]}\n"
                                 "compile: {optimizer: sgd, loss: mse}\n";
    static const char *const commands[][7] = {
        {"predict", "m.safetensors", "pets/cat/0.pgm"},
        {"predict", "m.safetensors", "--data", "pets"},
        {"evaluate", "m.safetensors", "--data", "pets"},
        {"data", "show", "pets", "--augment", "huge.yaml", "--png", "s.png"},
    };
    cornu_model *m;
    make_pets("dog");
    scratch_write("huge.yaml", recipe, sizeof recipe - 1);
    expect_ok(cornu_model_open(scratch_path("huge.yaml"), &m));
    expect_ok(cornu_model_initialize(m, 1));
    expect_ok(cornu_model_save(m, scratch_path("m.safetensors")));
    cornu_model_close(m);
    int files = scratch_count();
    for (int i = 0; i < 4; i++) {
        const char *arguments[8] = {NULL};
        memcpy(arguments, commands[i], sizeof commands[i]);
        program p = program_run(arguments);
        assert_int_equal(p.status, 1);
        assert_string_equal(p.out, "");
        assert_int_equal(count_lines(p.err), 1);
        if (!strstr(p.err, i < 3 ? "1000000, 1000000): needs " : "would be too large") &&
            !strstr(p.err, "one by one: needs "))
            fail_msg("%s: found %s", commands[i][0], p.err);
        program_free(&p);
    }
    assert_int_equal(scratch_count(), files);
}

/* ---- data ------------------------------------------------------------------------------- */

static void show_and_get_say_what_a_set_holds(void **state)
{
    (void)state;
    made_mnist("mnist", 60, 20, 0);
    program get = must_run(ARGUMENTS("data", "get", "./mnist"));
    program show = must_run(ARGUMENTS("data", "show", "./mnist", "19", "--split", "test"));
    assert_int_equal(strncmp(get.out, "mnist: 60 samples to train, 20 to test, in ", 43), 0);
    assert_non_null(strstr(get.out, "\ntest: (28, 28, 1), uint8 from 0 to 255; the network sees 0 "
                                    "to 1\n  10 classes: 0 (2), 1 (2), "));
    assert_non_null(strstr(show.out, "mnist test sample 19, 28x28, class 9\n"));
    assert_non_null(strstr(show.out, get.out));
    program_free(&get);
    program_free(&show);
    program p = program_run(ARGUMENTS("data", "show", "./mnist", "20", "--split", "test"));
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "found index 20; expected 0 to 19 of its test samples"));
    program_free(&p);
}

static void known_sets_have_the_names_of_their_classes(void **state)
{
    (void)state;
    made_mnist("fashion-mnist", 60, 20, 0);
    made_cifar10("cifar-10-batches-bin", 10);
    program p = must_run(ARGUMENTS("data", "show", "./fashion-mnist", "9"));
    assert_non_null(strstr(p.out, "class 9 (Ankle boot)\n"));
    assert_non_null(strstr(p.out, "10 classes: T-shirt/top (6), Trouser (6), "));
    program_free(&p);
    p = must_run(ARGUMENTS("data", "show", "./cifar-10-batches-bin", "3"));
    assert_non_null(strstr(p.out, "class 3 (cat)\n"));
    program_free(&p);
}

/* ---- the program ------------------------------------------------------------------------ */

/* Where column `title` begins, in the first line and so in every other. */
static void expect_column(const char *text, const char *title)
{
    size_t at = (size_t)(strstr(text, title) - text);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        if (line[at - 1] != ' ' || line[at] == ' ')
            fail_msg("column %s does not begin at %zu of: %.60s", title, at, line);
    }
}

static void the_columns_of_env_are_aligned_whatever_the_values(void **state)
{
    (void)state;
    for (int set = 0; set < 2; set++) {
        if (set)
            setenv("CORNU_DATA", "/a/folder/of/a/name/longer/than/any/other", 1);
        program p = must_run(ARGUMENTS("env"));
        expect_column(p.out, "value");
        expect_column(p.out, "meaning");
        program_free(&p);
    }
    unsetenv("CORNU_DATA");
}

static void version_tells_program_libraries_and_devices(void **state)
{
    (void)state;
    static const char *const names[] = {
        "compiler ", "system ",  "processor ", "libjpeg-turbo ", "libpng ",   "libtiff ",
        "libwebp ",  "giflib ",  "zlib ",      "libarchive ",    "libcurl ",  "libzip ",
        "jansson ",  "libyaml ", "cpu ",       "cuda",           "reference "};
    program p = must_run(ARGUMENTS("version"));
    assert_int_equal(strncmp(p.out, "cornu 0.", 8), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *line = strstr(p.out, names[i]);
        if (!line)
            fail_msg("found no %s in\n%s", names[i], p.out);
        if (i < 14 && strcspn(line, "0123456789") > strcspn(line, "\n"))
            fail_msg("found no version in: %.80s", line);
    }
    assert_int_equal(strstr(p.out, "\n  protobuf-c ") != NULL, CORNU_ONNX || CORNU_TENSORBOARD);
    program help = must_run(ARGUMENTS("--help"));
    assert_null(strstr(help.out, "\\n")); /* lines end in ends of lines */
    assert_non_null(strstr(help.out, "  version "));
    program_free(&help);
    program_free(&p);
}

/* Usage, options and details of a help name options that some command has. */
static void help_names_no_option_that_is_not_there(void **state)
{
    (void)state;
    static const char *const names[] = {"bench",   "train",   "new",     "recipe",  "evaluate",
                                        "predict", "convert", "summary", "explain", "advise",
                                        "tune",    "devices", "data",    "env",     "version"};
    enum { COMMANDS = sizeof names / sizeof *names };
    program help[COMMANDS];
    for (int i = 0; i < COMMANDS; i++)
        help[i] = must_run(ARGUMENTS(names[i], "--help"));
    for (int i = 0; i < COMMANDS; i++)
        for (const char *at = help[i].out; (at = strstr(at, " --")) != NULL; at += 3) {
            char option[64];
            bool there = false;
            snprintf(option, sizeof option, "\n  --%.*s ",
                     (int)strspn(at + 3, "abcdefghijklmnopqrstuvwxyz_-"), at + 3);
            for (int k = 0; k < COMMANDS; k++)
                there |= strstr(help[k].out, option) != NULL;
            if (!there && strcmp(option, "\n  -- ") != 0) /* and not --OPTION */
                fail_msg("cornu %s --help names%s, which no command has", names[i], option + 2);
        }
    for (int i = 0; i < COMMANDS; i++)
        program_free(&help[i]);
}

static void train_help_says_what_data_takes(void **state)
{
    (void)state;
    static const char *const names[] = {"train", "evaluate", "predict"};
    for (int i = 0; i < 3; i++) {
        program p = must_run(ARGUMENTS(names[i], "--help"));
        assert_non_null(strstr(p.out, "--data DIR|FILE|NAME data set: a folder that holds it, an "
                                      ".npz file, or a name\n"));
        program_free(&p);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_classes_are_told_apart_by_name_and_probability_whatever_the_output),
        TEST(outputs_that_are_no_probabilities_are_called_so),
        TEST(a_network_of_height_and_width_takes_picture_files),
        TEST(the_first_samples_of_a_set_are_predicted_beside_their_class),
        TEST(classes_that_the_model_does_not_know_are_refused),
        TEST(one_class_of_two_is_evaluated_and_predicted_by_its_name),
        TEST(a_folder_that_is_given_is_used_whole),
        TEST(what_does_not_fit_into_memory_is_refused_before_data_are_read),
        TEST(show_and_get_say_what_a_set_holds),
        TEST(known_sets_have_the_names_of_their_classes),
        TEST(the_columns_of_env_are_aligned_whatever_the_values),
        TEST(version_tells_program_libraries_and_devices),
        TEST(help_names_no_option_that_is_not_there),
        TEST(train_help_says_what_data_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
