/* Files in known layouts become samples, and are found in the usual places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "data/data.h"
#include "format/tensor_file.h"
#include "support/made.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char notices[4096];

static void on_notice(void *user, const char *line)
{
    (void)user;
    size_t used = strlen(notices);
    snprintf(notices + used, sizeof notices - used, "%s\n", line);
}

static cornu_data *open_data(const char *what, const char *folder)
{
    cornu_data *data = NULL;
    cornu_data_options options = {.size = sizeof options, .folder = folder, .on_notice = on_notice};
    notices[0] = 0;
    if (cornu_data_open(what, &options, &data) != CORNU_OK)
        fail_msg("%s: %s", what, cornu_last_error());
    return data;
}

static cornu_data_info info_of(const cornu_data *data)
{
    cornu_data_info info = {.size = sizeof info};
    assert_int_equal(cornu_data_info_get(data, &info), CORNU_OK);
    return info;
}

static void check_mnist(cornu_data *data, int train, int test, const char *name)
{
    cornu_data_info info = info_of(data);
    float values[784];
    int label;
    assert_string_equal(info.name, name);
    assert_int_equal(info.count[CORNU_TRAIN], train);
    assert_int_equal(info.count[CORNU_TEST], test);
    assert_int_equal(info.rank, 3);
    assert_int_equal(info.shape[0], 28);
    assert_int_equal(info.shape[2], 1);
    assert_int_equal(info.class_count, 10);
    assert_int_equal(cornu_data_sample(data, CORNU_TRAIN, 1, values, 784, &label), CORNU_OK);
    assert_int_equal(label, 1);
    for (int i = 0; i < 784; i++)
        assert_float_equal(values[i], (float)((784 + i) % 256) / 255.0f, 1e-6);
    cornu_data_close(data);
}

static void idx_files_are_read_plain_and_compressed(void **state)
{
    (void)state;
    made_mnist("plain", 12, 3, 0);
    made_mnist("small", 5, 2, 1);
    check_mnist(open_data("mnist", scratch_path("plain")), 12, 3, "mnist");
    check_mnist(open_data("mnist", scratch_path("small")), 5, 2, "mnist");
    check_mnist(open_data(scratch_path("small"), NULL), 5, 2, "mnist");
}

static void a_set_is_found_in_its_usual_folder_inside_the_given_one(void **state)
{
    (void)state;
    made_mnist("all/MNIST/raw", 4, 2, 0);
    made_mnist("all/fashion-mnist", 6, 2, 1);
    made_cifar10("all/cifar-10-batches-bin", 2);
    check_mnist(open_data("mnist", scratch_path("all")), 4, 2, "mnist");
    check_mnist(open_data("fashion-mnist", scratch_path("all")), 6, 2, "fashion_mnist");
    cornu_data *data = open_data("cifar10", scratch_path("all"));
    assert_int_equal(info_of(data).count[0], 10);
    cornu_data_close(data);
}

static void a_named_folder_may_hold_another_set_of_the_same_layout(void **state)
{
    (void)state;
    made_mnist("x/fashion-mnist", 3, 1, 0);
    cornu_data *data = open_data("mnist", scratch_path("x/fashion-mnist"));
    assert_non_null(strstr(notices, "holds fashion_mnist; used in place of mnist"));
    assert_string_equal(cornu_data_class_name(data, 9), "Ankle boot");
    check_mnist(data, 3, 1, "fashion_mnist");
}

static void the_environment_does_not_pass_another_set_off_as_the_one_asked_for(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    made_mnist("env/fashion-mnist", 3, 1, 0);
    setenv("CORNU_DATA", scratch_path("env/fashion-mnist"), 1);
    assert_int_equal(cornu_data_open("mnist", NULL, &data), CORNU_NOT_FOUND);
    setenv("CORNU_DATA", scratch_path("env"), 1);
    check_mnist(open_data("fashion_mnist", NULL), 3, 1, "fashion_mnist");
    unsetenv("CORNU_DATA");
}

static void sets_are_looked_for_in_the_documented_order(void **state)
{
    (void)state;
    static const char *const places[] = {"home/.keras/datasets", "home/.cache/cornu", "data"};
    setenv("CORNU_DATA", scratch_path("data"), 1);
    for (unsigned i = 0; i < 3; i++) { /* the later a place, the earlier it is searched */
        char folder[64];
        snprintf(folder, sizeof folder, "%s/fashion-mnist", places[i]);
        made_mnist(folder, i + 1, 1, 1);
        cornu_data *data = open_data("fashion_mnist", NULL);
        assert_int_equal(info_of(data).count[0], i + 1);
        cornu_data_close(data);
    }
    unsetenv("CORNU_DATA");
}

static void keras_cache_is_found_by_its_own_variable_too(void **state)
{
    (void)state;
    setenv("KERAS_HOME", scratch_path("k"), 1);
    made_mnist("k/datasets/fashion-mnist", 2, 1, 1);
    check_mnist(open_data("fashion_mnist", NULL), 2, 1, "fashion_mnist");
    unsetenv("KERAS_HOME");
}

static void cifar_planes_become_pixels(void **state)
{
    (void)state;
    made_cifar10("c10", 3);
    made_file("c10/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n", 21);
    cornu_data *data = open_data("cifar10", scratch_path("c10"));
    float v[3072];
    int label;
    assert_int_equal(info_of(data).count[CORNU_TRAIN], 15);
    assert_int_equal(info_of(data).count[CORNU_TEST], 3);
    assert_string_equal(cornu_data_class_name(data, 9), "j");
    assert_int_equal(cornu_data_sample(data, CORNU_TRAIN, 5, v, 3072, &label), CORNU_OK);
    assert_int_equal(label, 2);
    const float expected[6] = {99, 20, 30, 10, 20, 30};
    for (int i = 0; i < 6; i++)
        assert_float_equal(v[i] * 255, expected[i], 1e-4);
    cornu_data_close(data);
}

static void cifar100_uses_the_fine_labels(void **state)
{
    (void)state;
    made_cifar("c100/train.bin", 40, 2, 100);
    made_cifar("c100/test.bin", 4, 2, 100);
    cornu_data *data = open_data("cifar100", scratch_path("c100"));
    float v[3072];
    int label;
    assert_int_equal(cornu_data_sample(data, CORNU_TRAIN, 38, v, 3072, &label), CORNU_OK);
    assert_int_equal(label, 38);
    assert_string_equal(cornu_data_class_name(data, 99), "worm");
    cornu_data_close(data);
}

/* ---- .npz ---- */

static file_tensor tensor(const char *name, element_type type, const void *data, int rank,
                          int64_t a, int64_t b, int64_t c)
{
    file_tensor t = {.name = (char *)name,
                     .type = type,
                     .rank = rank,
                     .shape = {a, b, c},
                     .count = 1,
                     .data = data};
    for (int i = 0; i < rank; i++)
        t.count *= t.shape[i];
    return t;
}

static void npz_bytes_are_pixels_and_integers_are_classes(void **state)
{
    (void)state;
    uint8_t x[2 * 2 * 3] = {0, 51, 102, 153, 204, 255, 1, 2, 3, 4, 5, 6};
    int64_t y[2] = {0, 4};
    file_tensor t[2] = {tensor("x_train", ELEMENT_U8, x, 3, 2, 2, 3),
                        tensor("y_train", ELEMENT_I64, y, 2, 2, 1, 0)};
    assert_int_equal(npz_write(scratch_path("a.npz"), t, 2), CORNU_OK);
    cornu_data *data = open_data(scratch_path("a.npz"), NULL);
    float v[6];
    int label;
    assert_int_equal(info_of(data).class_count, 5);
    assert_int_equal(info_of(data).count[CORNU_TEST], 0);
    assert_string_equal(info_of(data).name, "a.npz");
    assert_int_equal(cornu_data_sample(data, CORNU_TRAIN, 1, v, 6, &label), CORNU_OK);
    assert_int_equal(label, 4);
    assert_float_equal(v[5], 6.0f / 255.0f, 1e-7);
    cornu_data_close(data);
}

static void npz_floats_are_taken_as_they_are(void **state)
{
    (void)state;
    float x[4] = {-1.5f, 300, 0.25f, 7}, y[4] = {0, 1, 1, 0};
    double wide[4] = {1, 2, 3, 4};
    file_tensor t[4] = {tensor("x_train", ELEMENT_F32, x, 2, 2, 2, 0),
                        tensor("y_train", ELEMENT_F32, y, 2, 2, 2, 0),
                        tensor("x_test", ELEMENT_F64, wide, 2, 2, 2, 0),
                        tensor("y_test", ELEMENT_F64, wide, 2, 2, 2, 0)};
    assert_int_equal(npz_write(scratch_path("f.npz"), t, 4), CORNU_OK);
    cornu_data *data = open_data(scratch_path("f.npz"), NULL);
    float v[2];
    int label;
    assert_int_equal(info_of(data).class_count, 0);
    assert_int_equal(cornu_data_sample(data, CORNU_TRAIN, 0, v, 2, &label), CORNU_OK);
    assert_int_equal(label, -1);
    assert_float_equal(v[0], -1.5f, 0);
    assert_float_equal(v[1], 300, 0);
    assert_int_equal(data->block[0].y_type, SAMPLE_F32);
    assert_int_equal(data->block[0].y_shape.dim[0], 2);
    assert_int_equal(cornu_data_sample(data, CORNU_TEST, 1, v, 2, NULL), CORNU_OK);
    assert_float_equal(v[1], 4, 0);
    cornu_data_close(data);
}

static void mnist_as_keras_keeps_it_gets_its_channel(void **state)
{
    (void)state;
    static uint8_t x[3 * 784], y[3] = {0, 1, 2};
    for (int i = 0; i < 3 * 784; i++)
        x[i] = (uint8_t)i;
    file_tensor t[4] = {tensor("x_train", ELEMENT_U8, x, 3, 3, 28, 28),
                        tensor("y_train", ELEMENT_U8, y, 1, 3, 0, 0),
                        tensor("x_test", ELEMENT_U8, x, 3, 2, 28, 28),
                        tensor("y_test", ELEMENT_U8, y, 1, 2, 0, 0)};
    made_file("home/.keras/datasets/here", "", 0);
    assert_int_equal(npz_write(scratch_path("home/.keras/datasets/mnist.npz"), t, 4), CORNU_OK);
    cornu_data *data = open_data("mnist", NULL);
    assert_string_equal(cornu_data_class_name(data, 7), "7");
    check_mnist(data, 3, 2, "mnist");
}

/* ---- other sources ---- */

static void arrays_are_copied(void **state)
{
    (void)state;
    uint8_t pixels[8] = {0, 255, 3, 4, 5, 6, 7, 8};
    int32_t labels[2] = {1, 0};
    cornu_arrays train = {.size = sizeof train,
                          .count = 2,
                          .rank = 1,
                          .shape = {4},
                          .pixels = pixels,
                          .labels = labels};
    cornu_data *data = NULL;
    assert_int_equal(cornu_data_from_arrays(&train, NULL, &data), CORNU_OK);
    pixels[1] = 0;
    labels[0] = 0;
    float v[4];
    int label;
    assert_int_equal(cornu_data_sample(data, CORNU_TRAIN, 0, v, 4, &label), CORNU_OK);
    assert_float_equal(v[1], 1, 0);
    assert_int_equal(label, 1);
    assert_int_equal(info_of(data).class_count, 2);
    cornu_data_close(data);
}

static void generated_data_depends_on_the_seed_alone(void **state)
{
    (void)state;
    cornu_data *data[3];
    const int64_t shape[3] = {9, 7, 3};
    for (int i = 0; i < 3; i++)
        assert_int_equal(cornu_data_generate(shape, 3, 5, 200, i < 2 ? 1 : 2, &data[i]), CORNU_OK);
    assert_memory_equal(data[0]->block[0].x, data[1]->block[0].x, 200 * 189);
    assert_memory_equal(data[0]->block[0].y, data[1]->block[0].y, 200 * 4);
    assert_memory_not_equal(data[0]->block[0].x, data[2]->block[0].x, 200 * 189);
    bool seen[5] = {false};
    for (int i = 0; i < 200; i++) {
        int32_t label = ((const int32_t *)data[0]->block[0].y)[i];
        assert_in_range(label, 0, 4);
        seen[label] = true;
    }
    for (int i = 0; i < 5; i++)
        assert_true(seen[i]);
    assert_true(info_of(data[0]).generated);
    for (int i = 0; i < 3; i++)
        cornu_data_close(data[i]);
}

static void the_list_of_sets_says_where_they_are(void **state)
{
    (void)state;
    static const char *const names[] = {"mnist", "fashion_mnist", "cifar10", "cifar100"};
    cornu_dataset_info info = {.size = sizeof info};
    made_cifar10("list/cifar10", 1);
    setenv("CORNU_DATA", scratch_path("list"), 1);
    for (int i = 0; i < 4; i++) {
        assert_true(cornu_dataset_info_get(i, &info));
        assert_string_equal(info.name, names[i]);
        assert_true(info.bytes > 1000000 && strstr(info.url, "://"));
        if (i != 1) /* Fashion-MNIST may be installed */
            assert_string_equal(info.folder, i == 2 ? scratch_path("list/cifar10") : "");
    }
    assert_false(cornu_dataset_info_get(4, &info));
    assert_false(cornu_dataset_info_get(-1, &info));
    unsetenv("CORNU_DATA");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(idx_files_are_read_plain_and_compressed),
        TEST(a_set_is_found_in_its_usual_folder_inside_the_given_one),
        TEST(a_named_folder_may_hold_another_set_of_the_same_layout),
        TEST(the_environment_does_not_pass_another_set_off_as_the_one_asked_for),
        TEST(sets_are_looked_for_in_the_documented_order),
        TEST(keras_cache_is_found_by_its_own_variable_too),
        TEST(cifar_planes_become_pixels),
        TEST(cifar100_uses_the_fine_labels),
        TEST(npz_bytes_are_pixels_and_integers_are_classes),
        TEST(npz_floats_are_taken_as_they_are),
        TEST(mnist_as_keras_keeps_it_gets_its_channel),
        TEST(arrays_are_copied),
        TEST(generated_data_depends_on_the_seed_alone),
        TEST(the_list_of_sets_says_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
