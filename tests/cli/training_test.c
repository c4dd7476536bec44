/* train, evaluate, predict and the rest on a small data set, through the built program. */
#include "base/files.h"
#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool exists(const char *name)
{
    return access(scratch_path(name), F_OK) == 0;
}

static void progress_into_a_pipe_has_one_line_an_epoch(void **state)
{
    (void)state;
    program p = program_run(ARGUMENTS("train", "small.yaml", "--data", "mnist"));
    program_must_succeed(&p);
    assert_int_equal(count_lines(p.out), 6); /* and where the model goes, before and after */
    assert_non_null(strstr(p.out, "\ntrained 3 epochs in "));
    assert_int_equal(strncmp(strchr(p.out, '\n'), "\nEpoch 1/3 - 6/6 ", 17), 0);
    assert_non_null(strstr(p.out, "/step - loss: "));
    assert_non_null(strstr(p.out, " - accuracy: "));
    assert_null(strchr(p.out, '\r'));
    program_free(&p);
}

static void quiet_prints_nothing(void **state)
{
    (void)state;
    program p = program_run(ARGUMENTS("train", "small.yaml", "--data", "mnist", "--quiet", "--save",
                                      "m.safetensors", "--log=l.csv"));
    program_must_succeed(&p);
    assert_string_equal(p.out, "");
    assert_true(exists("m.safetensors"));
    assert_true(exists("l.csv"));
    program_free(&p);
}

static void train_model(void)
{
    program p = program_run(
        ARGUMENTS("train", "small.yaml", "--data", "mnist", "--quiet", "--save", "m.safetensors"));
    program_must_succeed(&p);
    program_free(&p);
}

static void evaluate_prints_keras_line_and_the_samples_a_second(void **state)
{
    (void)state;
    train_model();
    program p = program_run(ARGUMENTS("evaluate", "m.safetensors", "--data", "mnist"));
    program_must_succeed(&p);
    assert_int_equal(count_lines(p.out), 2);
    assert_int_equal(strncmp(p.out, "2/2 ", 4), 0);
    assert_non_null(strstr(p.out, "\n20 samples in "));
    assert_non_null(strstr(p.out, " samples/s\n"));
    const char *accuracy = strstr(p.out, "/step - accuracy: ");
    assert_non_null(accuracy);
    assert_non_null(strstr(accuracy, " - loss: "));
    program_free(&p);
}

static void predict_prints_a_line_a_sample_with_its_top_classes(void **state)
{
    (void)state;
    train_model();
    program p = program_run(ARGUMENTS("predict", "m.safetensors", "--data", "mnist", "--top", "2"));
    program_must_succeed(&p);
    assert_int_equal(count_lines(p.out), 21);
    assert_non_null(strstr(p.out, "\n20 samples in "));
    int sample, truth, first, second;
    float high, low;
    assert_int_equal(
        sscanf(p.out, "%d (%d) %d %f %d %f", &sample, &truth, &first, &high, &second, &low), 6);
    assert_int_equal(sample, 0);
    assert_int_equal(truth, 0);
    assert_true(high >= low && low > 0 && first != second);
    program_free(&p);
}

/* The network has no data of its own: the file remembers where --data was. */
static void a_model_is_evaluated_on_what_it_was_trained_on(void **state)
{
    (void)state;
    scratch_write("plain.yaml", strchr(made_small_recipe, '\n') + 1,
                  strlen(strchr(made_small_recipe, '\n') + 1));
    program p[4] = {
        program_run(ARGUMENTS("train", "plain.yaml", "--data", "mnist", "--quiet", "--save",
                              "m.safetensors")),
        program_run(ARGUMENTS("evaluate", "m.safetensors")),
        program_run(ARGUMENTS("predict", "m.safetensors", "--top=1")),
    };
    assert_int_equal(rename(scratch_path("mnist"), scratch_path("gone")), 0);
    p[3] = program_run(ARGUMENTS("predict", "m.safetensors"));
    for (int i = 0; i < 2; i++)
        program_must_succeed(&p[i]);
    assert_int_equal(p[2].status, 0); /* its rows are alone on standard output */
    assert_int_equal(
        strncmp(p[2].err, "m.safetensors: taking the data that it was trained on, /", 56), 0);
    assert_non_null(strstr(p[1].out, "m.safetensors: taking the data that it was trained on, /"));
    assert_non_null(strstr(p[1].out, "2/2 "));
    assert_int_equal(count_lines(p[2].out), 21); /* and the total */
    assert_int_equal(p[3].status, 1);
    assert_non_null(strstr(p[3].err, "m.safetensors: says that it was trained on mnist of /"));
    for (int i = 0; i < 4; i++)
        program_free(&p[i]);
}

static void a_bad_image_does_not_keep_the_others_back(void **state)
{
    (void)state;
    train_model();
    program shown = program_run(ARGUMENTS("data", "show", "./mnist", "3", "--png", "three.png"));
    program_must_succeed(&shown);
    assert_true(exists("three.png"));
    program p =
        program_run(ARGUMENTS("predict", "m.safetensors", "small.yaml", "three.png", "--top=1"));
    assert_int_equal(p.status, 1);
    assert_int_equal(count_lines(p.err), 1);
    assert_int_equal(count_lines(p.out), 2);
    assert_int_equal(strncmp(p.out, "three.png  ", 11), 0);
    assert_non_null(strstr(p.out, "\n1 sample in "));
    program_free(&shown);
    program_free(&p);
}

/* Sample 3 of the test images is that of the training images. */
static void an_image_file_is_scaled_as_the_data_were(void **state)
{
    (void)state;
    char text[1024];
    int sample, truth, first, first_of_file;
    float high, high_of_file;
    int length = snprintf(text, sizeof text, "data: {name: mnist, augment: {rescale: 0.02}}%s",
                          strchr(made_small_recipe, '\n'));
    scratch_write("scaled.yaml", text, (size_t)length);
    program p[4] = {
        program_run(ARGUMENTS("train", "scaled.yaml", "--data", "mnist", "--quiet", "--save",
                              "m.safetensors")),
        program_run(ARGUMENTS("data", "show", "./mnist", "3", "--png", "three.png")),
        program_run(ARGUMENTS("predict", "m.safetensors", "--data", "mnist", "--top=1")),
        program_run(ARGUMENTS("predict", "m.safetensors", "three.png", "--top=1")),
    };
    const char *third = p[2].out;
    for (int i = 0; i < 3; i++)
        third = strchr(third, '\n') + 1;
    assert_int_equal(sscanf(third, "%d (%d) %d %f", &sample, &truth, &first, &high), 4);
    assert_int_equal(sscanf(p[3].out, "three.png %d %f", &first_of_file, &high_of_file), 2);
    assert_int_equal(sample, 3);
    assert_int_equal(first, first_of_file);
    assert_true(high == high_of_file);
    for (int i = 0; i < 4; i++)
        program_free(&p[i]);
}

/* The model file keeps the folder's class names and how it was read. */
static void a_folder_of_pictures_is_learned_and_its_names_predicted(void **state)
{
    (void)state;
    static const char pets[] = "data: {folder: pets, interpolation: bilinear}\n"
                               "model:\n"
                               "  input: [4, 4, 1]\n"
                               "  layers: [Flatten, {Dense: {units: 2, activation: softmax}}]\n"
                               "compile: {optimizer: sgd, loss: categorical_crossentropy}\n";
    scratch_write("pets.yaml", pets, sizeof pets - 1);
    made_file("pets/dog/1.pgm", "P5 1 1 255\n\xff", 12);
    made_file("pets/cat/1.pgm", "P5 1 1 255\n\x20", 12);
    program p = program_run(ARGUMENTS("train", "pets.yaml", "--save", "pets.safetensors"));
    program_must_succeed(&p);
    assert_non_null(
        strstr(p.out, "pets: 2 images in 2 classes (0 files skipped): cat (1), dog (1)\n"));
    program_free(&p);
    p = program_run(ARGUMENTS("predict", "pets.safetensors", "pets/dog/1.pgm"));
    program_must_succeed(&p);
    assert_non_null(strstr(p.out, "  cat 0."));
    assert_non_null(strstr(p.out, "  dog 0."));
    program_free(&p);
    made_file("pets/cat/notes.jpg", "none", 4);
    p = program_run(ARGUMENTS("train", "pets.yaml", "--strict"));
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "pets/cat/notes.jpg: no image (strict: found 1 such file in"));
    program_free(&p);
    p = program_run(ARGUMENTS("train", "pets.yaml"));
    program_must_succeed(&p);
    assert_non_null(strstr(p.out, "(1 file skipped; cornu data show pets says which): cat (1), "));
    program_free(&p);
    p = program_run(ARGUMENTS("data", "show", "./pets"));
    assert_non_null(strstr(p.out, "pets/cat/notes.jpg: no image; skipped"));
    program_free(&p);
}

/* The cache lies beside the model file, and a run beside it does not need the pictures' decoding.
 */
static void decoded_pictures_stay_beside_the_model(void **state)
{
    (void)state;
    static const char pets[] = "data: {folder: pets}\n"
                               "model: {input: [4, 4, 1], layers: [Flatten, {Dense: {units: 2}}]}\n"
                               "compile: {optimizer: sgd, loss: mse}\n";
    scratch_write("pets.yaml", pets, sizeof pets - 1);
    made_file("pets/dog/1.pgm", "P5 1 1 255\n\xff", 12);
    made_file("pets/cat/1.pgm", "P5 1 1 255\n\x20", 12);
    made_file("out/x", "", 0);
    static const char *const said[] = {"images: 2 decoded (",
                                       "images: 0 decoded, 2 from the cache;"};
    for (int i = 0; i < 2; i++) {
        program p = program_run(ARGUMENTS("train", "pets.yaml", "--cache", "file", "--workers", "2",
                                          "--save", "out/m.safetensors"));
        program_must_succeed(&p);
        assert_non_null(strstr(p.out, said[i]));
        assert_non_null(strstr(p.out, "; steps waited "));
        assert_true(exists("out/pets.pixels"));
        program_free(&p);
    }
    program p = program_run(ARGUMENTS("train", "pets.yaml", "--cache", "4"));
    assert_int_equal(p.status, 1);
    assert_non_null(
        strstr(p.err, "cache: found \"4\"; expected off, file, memory, or a size such as 4GB"));
    program_free(&p);
}

/* Where the cache was asked for, its line ends the run; elsewhere the run does without. Neither
   leaves anything behind. */
static void a_full_disk_ends_only_a_run_that_asked_for_the_cache(void **state)
{
    (void)state;
    static const char pets[] =
        "data: {folder: pets}\n"
        "model: {input: [100, 100, 1], layers: [Flatten, {Dense: {units: 2}}]}\n"
        "compile: {optimizer: sgd, loss: mse}\n";
    static const program_limits full = {.file_size = 20000};
    scratch_write("pets.yaml", pets, sizeof pets - 1);
    made_file("pets/dog/1.pgm", "P5 1 1 255\n\xff", 12);
    made_file("pets/cat/1.pgm", "P5 1 1 255\n\x20", 12);
    program p = program_start_within(ARGUMENTS("train", "pets.yaml", "--cache", "file"), -1, &full);
    program_finish(&p);
    assert_int_equal(p.status, 1);
    assert_int_equal(count_lines(p.err), 1);
    assert_non_null(strstr(p.err, "pets.pixels: cannot make room for 24 kB of pixels: File too"));
    program_free(&p);
    p = program_start_within(ARGUMENTS("train", "pets.yaml", "--cache", "1B", "--no-save"), -1,
                             &full);
    program_finish(&p);
    program_must_succeed(&p);
    assert_non_null(strstr(p.out, "; this run goes on without it"));
    assert_non_null(strstr(p.out, "images: 2 decoded ("));
    program_free(&p);
    assert_false(exists("pets.pixels"));
}

static void data_show_draws_letters_into_a_pipe(void **state)
{
    (void)state;
    program p = program_run(ARGUMENTS("data", "show", "./mnist", "4"));
    program_must_succeed(&p);
    assert_int_equal(count_lines(p.out), 20); /* 28 rows, two a line, and what it is */
    assert_non_null(strstr(p.out, "sample 4, 28x28, class 4\n"));
    assert_non_null(strstr(p.out,
                           "train: (28, 28, 1), uint8 from 0 to 255; the network sees 0 to 1\n"
                           "  10 classes: 0 (6), 1 (6), 2 (6),"));
    assert_null(strchr(p.out, '\033'));
    program_free(&p);
}

/* The bytes of a sheet of ./mnist with this seed; free them. */
static char *sheet_of(const char *seed, size_t *size)
{
    char *bytes;
    program p = program_run(ARGUMENTS("data", "show", "./mnist", "--augment", "turned.yaml",
                                      "--seed", seed, "--png", "sheet.png"));
    program_must_succeed(&p);
    assert_non_null(strstr(p.out, "wrote sheet.png: 8 samples of ./mnist, each as it is and"));
    program_free(&p);
    if (file_read(scratch_path("sheet.png"), 1 << 20, &bytes, size) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    return bytes;
}

static void a_sheet_shows_samples_before_and_after_changes(void **state)
{
    (void)state;
    char text[1024];
    size_t size, size_again, size_other;
    int length = snprintf(text, sizeof text, "data: {name: mnist, augment: {rotation_range: 90}}%s",
                          strchr(made_small_recipe, '\n'));
    scratch_write("turned.yaml", text, (size_t)length);
    char *one = sheet_of("1", &size), *again = sheet_of("1", &size_again);
    char *other = sheet_of("2", &size_other);
    const unsigned char *header = (const unsigned char *)one + 16; /* width, height, big-endian */
    assert_int_equal(header[2] << 8 | header[3], 6 * 30 - 2);
    assert_int_equal(header[6] << 8 | header[7], 8 * 30 - 2);
    assert_int_equal(size, size_again);
    assert_memory_equal(one, again, size);
    assert_true(size != size_other || memcmp(one, other, size) != 0);
    free(one);
    free(again);
    free(other);
    program p = program_run(ARGUMENTS("data", "show", "./mnist", "3", "--augment", "turned.yaml",
                                      "--png", "sheet.png"));
    program_must_succeed(&p);
    assert_non_null(strstr(p.out, "1 sample of"));
    program_free(&p);
    p = program_run(ARGUMENTS("data", "show", "./mnist", "--augment", "small.yaml", "--png", "s"));
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "small.yaml: found no random changes in data.augment"));
    program_free(&p);
}

/* Train without end, ask it to stop after its first epoch; `p` has finished then. */
static program interrupted(const char *save)
{
    const char *arguments[] = {"train",   "small.yaml",           "--data", "mnist", "--epochs",
                               "1000000", save ? "--save" : NULL, save,     NULL};
    program p = program_start(arguments);
    assert_true(program_says(&p, "Epoch 1/"));
    kill(p.pid, SIGINT);
    program_finish(&p);
    return p;
}

static void an_interrupt_saves_to_a_new_file_and_says_how_to_go_on(void **state)
{
    (void)state;
    program first = interrupted(NULL), second = interrupted(NULL);
    assert_int_equal(first.status, 130);
    assert_int_equal(count_lines(first.err), 2); /* at once, and when it has happened */
    assert_non_null(
        strstr(first.err, ", saving small.safetensors, press Ctrl-C again to stop without saving"));
    assert_non_null(strstr(first.err,
                           ", saved small.safetensors. Go on with: cornu train small.yaml "
                           "--data mnist --epochs 1000000 --resume small.safetensors"));
    assert_non_null(strstr(second.err, "saved small-2.safetensors."));
    assert_true(exists("small.safetensors") && exists("small-2.safetensors"));
    program_free(&first);
    program_free(&second);
}

static void an_interrupted_run_can_be_resumed(void **state)
{
    (void)state;
    program p = interrupted("m.safetensors");
    assert_int_equal(p.status, 130);
    assert_true(exists("m.safetensors"));
    assert_non_null(strstr(p.err, "--resume m.safetensors"));
    program_free(&p);
    program more = program_start(ARGUMENTS("train", "small.yaml", "--data", "mnist", "--epochs",
                                           "1000000", "--resume", "m.safetensors"));
    assert_true(program_says(&more, "Epoch "));
    kill(more.pid, SIGTERM);
    program_finish(&more);
    assert_int_equal(more.status, 143);
    assert_null(strstr(more.out, "Epoch 1/")); /* that one was done before */
    program_free(&more);
}

static void another_network_is_not_resumed(void **state)
{
    (void)state;
    train_model();
    program p = program_run(ARGUMENTS("train", "cifar10-mlp", "--resume", "m.safetensors"));
    assert_int_equal(p.status, 1);
    assert_int_equal(count_lines(p.err), 1);
    assert_non_null(strstr(p.err, "another network"));
    program_free(&p);
}

static void every_command_explains_itself(void **state)
{
    (void)state;
    static const char *const names[] = {"bench",   "train",   "evaluate", "predict",
                                        "summary", "explain", "tune",     "devices",
                                        "data",    "env",     "version",  "convert"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char usage[64];
        snprintf(usage, sizeof usage, "usage: cornu %s", names[i]);
        program p = program_run(ARGUMENTS(names[i], "--help"));
        program_must_succeed(&p);
        assert_non_null(strstr(p.out, usage));
        program same = program_run(ARGUMENTS("help", names[i]));
        assert_string_equal(same.out, p.out);
        program_free(&same);
        program_free(&p);
    }
}

static void readings_of_model_and_machine_succeed(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[4], *says;
    } cases[] = {
        {{"summary", "cifar10-mlp"}, "12,230,010"},
        {{"explain", "small.yaml"}, "dense_backward_weights"},
        {{"explain", "small.yaml", "--run"}, "is this machine's limit"},
        {{"explain", "small.yaml", "--device=reference"}, "reference/"},
        {{"devices"}, "cpu "},
        {{"devices", "--json"}, "\"available\": true"},
        {{"data"}, "fashion_mnist"},
        {{"env"}, "CORNU_DATA"},
        {{"version"}, "  libpng  "},
        {{"--version"}, "cornu 0."},
        {{"--help"}, "usage: cornu COMMAND"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program p = program_run(cases[i].arguments);
        program_must_succeed(&p);
        assert_non_null(strstr(p.out, cases[i].says));
        program_free(&p);
    }
}

static void a_reader_that_has_gone_is_no_error(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    program p = program_start_into(ARGUMENTS("summary", "mnist-cnn-2"), ends[1]);
    close(ends[1]);
    program_finish(&p);
    program_must_succeed(&p);
    program_free(&p);
}

static void output_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY);
    if (full < 0)
        skip();
    program p = program_start_into(ARGUMENTS("summary", "mnist-cnn-2"), full);
    close(full);
    program_finish(&p);
    assert_int_equal(p.status, 1);
    assert_int_equal(count_lines(p.err), 1);
    program_free(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_open_small, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(progress_into_a_pipe_has_one_line_an_epoch),
        TEST(quiet_prints_nothing),
        TEST(evaluate_prints_keras_line_and_the_samples_a_second),
        TEST(predict_prints_a_line_a_sample_with_its_top_classes),
        TEST(a_model_is_evaluated_on_what_it_was_trained_on),
        TEST(a_bad_image_does_not_keep_the_others_back),
        TEST(an_image_file_is_scaled_as_the_data_were),
        TEST(a_folder_of_pictures_is_learned_and_its_names_predicted),
        TEST(decoded_pictures_stay_beside_the_model),
        TEST(a_full_disk_ends_only_a_run_that_asked_for_the_cache),
        TEST(data_show_draws_letters_into_a_pipe),
        TEST(a_sheet_shows_samples_before_and_after_changes),
        TEST(an_interrupt_saves_to_a_new_file_and_says_how_to_go_on),
        TEST(an_interrupted_run_can_be_resumed),
        TEST(another_network_is_not_resumed),
        TEST(every_command_explains_itself),
        TEST(readings_of_model_and_machine_succeed),
        TEST(a_reader_that_has_gone_is_no_error),
        TEST(output_that_cannot_be_written_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
