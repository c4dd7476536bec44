/* The choice of data: what the caller names and nothing else; of several sets in a folder the only
   one that fits; and the data that a model was trained on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/data.h"
#include "format/tensor_file.h"
#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/tables.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Models for MNIST, for CIFAR-10, for photographs of 6 x 4, and one without pictures. */
static const char *const inputs[] = {"[28, 28, 1]", "[32, 32, 3]", "[6, 4, 3]", "[12]"};
enum { DIGITS, THINGS, PHOTOS, NUMBERS };

/* A network with this input whose recipe has the data section `section` ("": none). */
static cornu_model *model_of(int input, const char *section)
{
    char text[512];
    cornu_model *model = NULL;
    snprintf(text, sizeof text,
             "%smodel: {input: %s, layers: [Flatten, {Dense: {units: 10, activation: softmax}}]}\n"
             "compile: {optimizer: sgd, loss: sparse_categorical_crossentropy}\n"
             "fit: {batch_size: 2, validation: false}\n",
             section, inputs[input]);
    expect_ok(cornu_model_parse(text, scratch_path("r.yaml"), &model));
    return model;
}

static notices said;

/* Open for a model, with --data `folder`, in the scratch folder, or NULL. */
static cornu_status open_for(const cornu_model *model, const char *folder, cornu_data **data)
{
    cornu_data_options options = {.size = sizeof options,
                                  .folder = folder ? scratch_path(folder) : NULL,
                                  .on_notice = notices_add,
                                  .user = &said};
    said = (notices){.count = 0};
    *data = NULL;
    return cornu_data_open_for_model(model, &options, data);
}

static void expect_taken(const cornu_model *model, const char *folder, const char *name)
{
    cornu_data *data;
    expect_ok(open_for(model, folder, &data));
    assert_string_equal(data->name, name);
    cornu_data_close(data);
}

static void expect_refused(const cornu_model *model, const char *folder, cornu_status status,
                           const char *message)
{
    cornu_data *data;
    expect_status(open_for(model, folder, &data), status);
    expect_message(message);
    assert_null(data);
}

/* Every set that is not in `folder` is in one of the usual places. */
static void make_usual(void)
{
    made_mnist("usual/mnist", 4, 2, 0);
    made_cifar10("usual/cifar10", 2);
    setenv("CORNU_DATA", scratch_path("usual"), 1);
}

static void make_photos(const char *folder)
{
    static const uint8_t red[3] = {255, 0, 0};
    char name[256];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s/train/%s/1.jpg", folder, i ? "cat" : "dog");
        made_jpeg(name, 6, 4, 3, red);
    }
}

static void a_folder_that_is_named_holds_the_set_or_is_refused(void **state)
{
    (void)state;
    make_usual();
    mkdir(scratch_path("empty"), 0755);
    made_cifar10("c", 2);
    make_photos("many/photos");
    made_mnist("many/FashionMNIST/raw", 4, 2, 0);
    cornu_model *model = model_of(DIGITS, "data: mnist\n");
    expect_taken(model, NULL, "mnist");
    expect_taken(model, "usual", "mnist");
    expect_refused(model, "empty", CORNU_NOT_FOUND,
                   "empty: found no data set; expected mnist: IDX files or an .npz file, here or "
                   "in a folder mnist, MNIST or MNIST/raw");
    expect_refused(model, "c", CORNU_NOT_FOUND, "c: found cifar10; expected mnist: ");
    expect_refused(model, "many/photos", CORNU_NOT_FOUND, "photos: found images; expected mnist");
    expect_refused(model, "many", CORNU_NOT_FOUND,
                   "many: found images (photos) and fashion_mnist (FashionMNIST/raw); expected "
                   "mnist: ");
    cornu_model_close(model);
}

static void a_named_set_is_looked_for_in_no_other_folder_than_the_caller_s(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    make_usual();
    mkdir(scratch_path("empty"), 0755);
    const cornu_data_options options = {
        .size = sizeof options, .folder = scratch_path("empty"), .allow_download = true};
    expect_status(cornu_data_open("cifar10", &options, &data), CORNU_NOT_FOUND);
    expect_message("empty: found no data set; expected cifar10: CIFAR-10's binary files, here or "
                   "in a folder cifar-10-batches-bin, cifar10, cifar-10 or cifar-10-binary");
    assert_null(data);
}

static void a_recipe_s_file_is_in_the_folder_that_is_named(void **state)
{
    (void)state;
    static const uint8_t x[2 * 784], y[2] = {0, 1};
    const file_tensor t[2] = {
        {.name = "x_train",
         .type = ELEMENT_U8,
         .rank = 3,
         .shape = {2, 28, 28},
         .count = 2 * 784,
         .data = x},
        {.name = "y_train", .type = ELEMENT_U8, .rank = 1, .shape = {2}, .count = 2, .data = y}};
    expect_ok(npz_write(scratch_path("d.npz"), t, 2));
    made_mnist("m", 2, 2, 0);
    cornu_model *model = model_of(DIGITS, "data: {file: d.npz}\n");
    expect_taken(model, NULL, "d.npz");
    expect_refused(model, "m", CORNU_NOT_FOUND, "m: found mnist; expected d.npz");
    expect_ok(training_state_set_data(&model->training, "mnist", "/gone"));
    expect_taken(model, NULL, "d.npz");
    cornu_model_close(model);
}

static void of_several_sets_the_only_one_that_fits_is_taken_and_named(void **state)
{
    (void)state;
    make_photos("all/photos");
    made_mnist("all/mnist", 4, 2, 0);
    made_cifar10("all/cifar10", 2);
    static const char *const taken[] = {"mnist", "cifar10"};
    cornu_data *data = NULL;
    for (int i = DIGITS; i <= THINGS; i++) {
        cornu_model *model = model_of(i, "");
        expect_refused(model, "all", CORNU_INVALID, /* images could be resized */
                       "all: holds cifar10 (cifar10), mnist (mnist) and images (photos); expected "
                       "the folder of one of them");
        expect_taken(model, i == DIGITS ? "all/mnist" : "all/cifar10", taken[i]);
        cornu_model_close(model);
    }
    cornu_model *photos = model_of(PHOTOS, "");
    expect_taken(photos, "all", "photos");
    assert_non_null(strstr(said.lines, "all: holds cifar10 (cifar10), mnist (mnist) and images "
                                       "(photos); taking "));
    assert_non_null(strstr(said.lines, "all/photos, the one that fits the model's input"));
    make_photos("all/more");
    expect_refused(photos, "all", CORNU_INVALID,
                   "mnist (mnist), images (more) and images (photos)");
    cornu_model_close(photos);
    cornu_model *numbers = model_of(NUMBERS, "");
    expect_refused(numbers, "all", CORNU_INVALID, "expected the folder of one of them");
    cornu_model_close(numbers);
    expect_status(cornu_data_open(scratch_path("all"), NULL, &data), CORNU_INVALID);
    expect_message("expected the folder of one of them");
}

static void two_sets_side_by_side_are_not_chosen_between(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    made_mnist("both", 4, 2, 0);
    made_cifar10("both", 2);
    expect_status(cornu_data_open(scratch_path("both"), NULL, &data), CORNU_INVALID);
    expect_message("both: holds mnist and cifar10; expected the folder of one of them");
    cornu_model *model = model_of(THINGS, "");
    expect_taken(model, "both", "cifar10");
    cornu_model_close(model);
}

/* ---- the data of an earlier training ---- */

/* Train on the data in `where`, save to m.safetensors, and open that. */
static cornu_model *trained_on(int input, const char *section, const char *where)
{
    cornu_data *data;
    cornu_fit_options once = {.size = sizeof once, .steps_per_epoch = 1, .where.threads = 1};
    cornu_model *model = model_of(input, section);
    const cornu_data_options options = {.size = sizeof options, .folder = where};
    expect_ok(cornu_data_open_for_model(model, &options, &data));
    expect_ok(cornu_fit(model, data, &once, NULL));
    expect_ok(cornu_model_save(model, scratch_path("m.safetensors")));
    cornu_data_close(data);
    cornu_model_close(model);
    expect_ok(cornu_model_open(scratch_path("m.safetensors"), &model));
    return model;
}

static void a_model_file_remembers_the_data_it_was_trained_on(void **state)
{
    (void)state;
    make_usual();
    made_mnist("my-digits", 6, 2, 0);
    char *where = realpath(scratch_path("my-digits"), NULL);
    cornu_model *model = trained_on(DIGITS, "", where);
    expect_taken(model, NULL, "mnist");
    assert_non_null(strstr(said.lines, "m.safetensors: taking the data that it was trained on, "));
    assert_non_null(strstr(said.lines, where));
    expect_taken(model, "usual/mnist", "mnist"); /* the caller's comes first */
    assert_string_equal(said.lines, "");
    cornu_model_close(model);
    model = trained_on(DIGITS, "data: mnist\n", where); /* and before the recipe's own */
    cornu_data *data;
    expect_ok(open_for(model, NULL, &data));
    assert_int_equal(data->block[CORNU_TRAIN].count, 6);
    cornu_data_close(data);
    cornu_model_close(model);
    free(where);
}

static void images_and_files_are_remembered_by_their_paths(void **state)
{
    (void)state;
    make_photos("mnist"); /* a folder of images, whatever its name */
    assert_int_equal(chdir(scratch_path("")), 0);
    cornu_model *model = trained_on(PHOTOS, "data: {fewer_classes: true}\n", "./mnist");
    assert_int_equal(chdir("/"), 0);
    expect_taken(model, NULL, "mnist");
    cornu_model_close(model);
}

static void data_that_has_gone_is_no_more_than_a_hint(void **state)
{
    (void)state;
    made_mnist("my-digits", 6, 2, 0);
    cornu_model *plain = trained_on(DIGITS, "", scratch_path("my-digits"));
    cornu_model *named = trained_on(DIGITS, "data: mnist\n", scratch_path("my-digits"));
    assert_int_equal(rename(scratch_path("my-digits"), scratch_path("elsewhere")), 0);
    expect_refused(plain, NULL, CORNU_NOT_FOUND,
                   "my-digits, where it is not now: mnist: not on this machine (looked in ");
    make_usual();
    expect_taken(plain, NULL, "mnist"); /* by its name */
    expect_taken(named, NULL, "mnist");
    assert_non_null(strstr(said.lines, "m.safetensors: says that it was trained on "));
    assert_non_null(strstr(said.lines, "my-digits, where no data set is now; taking what its"));
    cornu_model_close(plain);
    cornu_model_close(named);
}

static void a_model_file_without_data_is_named_by_its_own_name(void **state)
{
    (void)state;
    cornu_model *model = model_of(DIGITS, ""), *opened;
    expect_ok(cornu_model_initialize(model, 1));
    expect_ok(cornu_model_save(model, scratch_path("m.safetensors")));
    expect_ok(cornu_model_open(scratch_path("m.safetensors"), &opened));
    expect_refused(opened, NULL, CORNU_NOT_FOUND,
                   "m.safetensors: names no data set of its own; expected one from you");
    expect_refused(model, NULL, CORNU_NOT_FOUND, "r.yaml: names no data set of its own");
    cornu_model_close(opened);
    cornu_model_close(model);
}

/* A file from another person may name any path: it is tried as a data set, and the error says which
   file named it. */
static void a_hint_is_only_tried_as_a_data_set(void **state)
{
    (void)state;
    made_file("secret/notes.txt", "x", 1);
    made_file("bad/train-images-idx3-ubyte", "no such file", 12);
    made_file("bad/train-labels-idx1-ubyte", "no such file", 12);
    made_file("bad/t10k-images-idx3-ubyte", "no such file", 12);
    made_file("bad/t10k-labels-idx1-ubyte", "no such file", 12);
    assert_int_equal(mkfifo(scratch_path("pipe.npz"), 0600), 0);
    const struct {
        const char *name, *path, *message;
    } cases[] = {
        {NULL, scratch_path("secret"), "secret, where no data set is now; expected one from you"},
        {NULL, scratch_path("secret/notes.txt"), "notes.txt, where no data set is now"},
        {NULL, scratch_path("pipe.npz"), "pipe.npz, where no data set is now"},
        {"no set", "/", "says that it was trained on /, where no data set is now"},
        {NULL, "mnist", "says that it was trained on mnist, where no data set is now"},
        {"mnist", scratch_path("bad"), "bad (on which it was trained, as "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_data *data;
        cornu_model *model = model_of(DIGITS, "");
        expect_ok(training_state_set_data(&model->training, cases[i].name, cases[i].path));
        assert_int_not_equal(open_for(model, NULL, &data), CORNU_OK);
        expect_message(cases[i].message);
        cornu_model_close(model);
    }
}

static int close_folder(void **state)
{
    unsetenv("CORNU_DATA");
    return scratch_close(state);
}

/* The number of outputs of cifar100-mlp, adapted to two samples with these class numbers. */
static int64_t outputs_for(int32_t first, int32_t second)
{
    static const uint8_t pixels[2 * 32 * 32 * 3];
    const int32_t labels[] = {first, second};
    const cornu_arrays arrays = {.size = sizeof arrays,
                                 .count = 2,
                                 .rank = 3,
                                 .shape = {32, 32, 3},
                                 .pixels = pixels,
                                 .labels = labels};
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    char *told = NULL;
    int64_t shape[8];
    int rank;
    expect_ok(cornu_model_open("cifar100-mlp", &model));
    expect_ok(cornu_data_from_arrays(&arrays, NULL, &data));
    expect_ok(cornu_model_adapt(model, data, &told));
    expect_ok(cornu_model_output_shape(model, shape, &rank));
    assert_int_equal(told != NULL, shape[0] != 100);
    cornu_free(told);
    cornu_data_close(data);
    cornu_model_close(model);
    return shape[0];
}

/* They may be a subset of a workload's classes; larger numbers may not. */
static void class_numbers_without_names_take_no_outputs_away(void **state)
{
    (void)state;
    assert_int_equal(outputs_for(0, 1), 100);
    assert_int_equal(outputs_for(0, 120), 121);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, close_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_folder_that_is_named_holds_the_set_or_is_refused),
        TEST(a_named_set_is_looked_for_in_no_other_folder_than_the_caller_s),
        TEST(a_recipe_s_file_is_in_the_folder_that_is_named),
        TEST(of_several_sets_the_only_one_that_fits_is_taken_and_named),
        TEST(two_sets_side_by_side_are_not_chosen_between),
        TEST(a_model_file_remembers_the_data_it_was_trained_on),
        TEST(images_and_files_are_remembered_by_their_paths),
        TEST(data_that_has_gone_is_no_more_than_a_hint),
        TEST(a_model_file_without_data_is_named_by_its_own_name),
        TEST(a_hint_is_only_tried_as_a_data_set),
        TEST(class_numbers_without_names_take_no_outputs_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
