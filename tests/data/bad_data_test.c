/* Files with something wrong in them: each gives its own status and one clear line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/tensor_file.h"
#include "support/made.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void refused(const char *what, const char *folder, cornu_status status, const char *message)
{
    cornu_data *data = NULL;
    cornu_data_options options = {.size = sizeof options, .folder = folder};
    cornu_status found = cornu_data_open(what, &options, &data);
    const char *line = cornu_last_error();
    if (found != status || !strstr(line, message))
        fail_msg("found %s (%s); expected %s (%s)", cornu_status_name(found), line,
                 cornu_status_name(status), message);
    assert_null(strchr(line, '\n'));
    assert_null(data);
}

/* ---- IDX: each case damages one file of a good set ---- */

typedef struct idx_case {
    const char *file;
    int at;        /* byte to change, or -1 */
    uint8_t value; /* its new value */
    int keep;      /* bytes to keep; 0: all; negative: that many more at the end */
    const char *message;
} idx_case;

static const idx_case idx_cases[] = {
    {"train-images-idx3-ubyte", 3, 1, 0,
     "train-images-idx3-ubyte: magic number 0x00000801; expected 0x00000803 (IDX images)"},
    {"train-labels-idx1-ubyte", 2, 9, 0, "magic number 0x00000901; expected 0x00000801"},
    {"train-images-idx3-ubyte", 0, 0x1f, 0, "magic number 0x1f000803"},
    {"train-images-idx3-ubyte", -1, 0, 9, "truncated: data ends 7 bytes early; expected 16 bytes"},
    {"train-images-idx3-ubyte", -1, 0, 3000,
     "truncated: found 3000 bytes; expected 3152 from its header"},
    {"t10k-images-idx3-ubyte", -1, 0, -5, "too long: found 1589 bytes; expected 1584"},
    {"train-images-idx3-ubyte", 7, 5, 0, "truncated: found 3152 bytes; expected 3936"},
    {"train-images-idx3-ubyte", 4, 255, 0, "sizes multiply to more than 2^40 bytes"},
    {"train-images-idx3-ubyte", 7, 0, 0, "dimension 0 is 0; expected 1 or more"},
    {"train-images-idx3-ubyte", 11, 56, 0, "truncated: found 3152 bytes"},
    {"train-labels-idx1-ubyte", 7, 3, 11, "3 labels; expected 4 as in train-images-idx3-ubyte"},
    {"train-labels-idx1-ubyte", 9, 10, 0, "label 1 is 10; expected 0 to 9"},
    {"t10k-labels-idx1-ubyte", 8, 255, 0, "t10k-labels-idx1-ubyte: label 0 is 255"},
};

static void spoil(const char *path, int at, uint8_t value, int keep)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    if (at >= 0) {
        fseek(f, at, SEEK_SET);
        fputc(value, f);
    }
    fseek(f, 0, SEEK_END);
    for (int i = keep; i < 0; i++)
        fputc(0, f);
    fclose(f);
    if (keep > 0)
        assert_int_equal(truncate(path, keep), 0);
}

static void spoiled_idx_files_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof idx_cases / sizeof *idx_cases; i++) {
        const idx_case *c = &idx_cases[i];
        char name[64];
        made_mnist("m", 4, 2, 0);
        snprintf(name, sizeof name, "m/%s", c->file);
        spoil(scratch_path(name), c->at, c->value, c->keep);
        refused("mnist", scratch_path("m"), CORNU_BAD_FILE, c->message);
    }
}

static void images_of_another_size_are_refused(void **state)
{
    (void)state;
    const uint32_t dims[3] = {4, 32, 32};
    made_mnist("m", 4, 2, 0);
    made_idx("m/train-images-idx3-ubyte", 3, dims, 256);
    refused("mnist", scratch_path("m"), CORNU_BAD_FILE, "images of 32x32; expected 28x28");
}

static void a_missing_idx_file_is_named(void **state)
{
    (void)state;
    made_mnist("m", 4, 2, 1);
    unlink(scratch_path("m/t10k-labels-idx1-ubyte.gz"));
    refused("mnist", scratch_path("m"), CORNU_NOT_FOUND, "t10k-labels-idx1-ubyte.gz: not found");
}

static void spoiled_compressed_files_are_refused(void **state)
{
    (void)state;
    struct stat info;
    char path[512];
    snprintf(path, sizeof path, "%s", scratch_path("m/train-images-idx3-ubyte.gz"));
    made_mnist("m", 40, 2, 1);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size / 2), 0);
    refused("mnist", scratch_path("m"), CORNU_BAD_FILE, "train-images-idx3-ubyte.gz: truncated");
    made_mnist("m", 40, 2, 1);
    spoil(path, (int)info.st_size - 7, 0x55, 0); /* in the checksum */
    refused("mnist", scratch_path("m"), CORNU_BAD_FILE, "train-images-idx3-ubyte.gz: damaged");
    /* A header that claims far more than the file can hold must not be believed. */
    uint8_t bomb[16] = {0, 0, 8, 3, 0, 255, 255, 255, 0, 0, 0, 28, 0, 0, 0, 28};
    made_mnist("m", 40, 2, 1);
    made_gz("m/train-images-idx3-ubyte.gz", bomb, sizeof bomb);
    refused("mnist", scratch_path("m"), CORNU_BAD_FILE, "of unpacked data from its header");
    uint8_t more[16 + 40 * 784 + 1] = {0, 0, 8, 3, 0, 0, 0, 40, 0, 0, 0, 28, 0, 0, 0, 28};
    made_gz("m/train-images-idx3-ubyte.gz", more, sizeof more);
    refused("mnist", scratch_path("m"), CORNU_BAD_FILE, "more data than its header says");
}

/* ---- CIFAR ---- */

static void spoiled_cifar_files_are_refused(void **state)
{
    (void)state;
    char third[512];
    snprintf(third, sizeof third, "%s", scratch_path("c/data_batch_3.bin"));
    made_cifar10("c", 4);
    assert_int_equal(truncate(third, 3 * 3073 + 100), 0);
    refused("cifar10", scratch_path("c"), CORNU_BAD_FILE,
            "data_batch_3.bin: truncated or damaged: found 9319 bytes");
    assert_int_equal(truncate(third, 3 * 3073), 0); /* cut between two records */
    refused("cifar10", scratch_path("c"), CORNU_BAD_FILE,
            "data_batch_3.bin: found 3 records; expected 4");
    assert_int_equal(truncate(third, 0), 0);
    refused("cifar10", scratch_path("c"), CORNU_BAD_FILE, "data_batch_3.bin: truncated");
    unlink(third);
    refused("cifar10", scratch_path("c"), CORNU_NOT_FOUND, "data_batch_3.bin: not found");
    made_cifar10("c", 4);
    spoil(scratch_path("c/test_batch.bin"), 2 * 3073, 10, 0);
    refused("cifar10", scratch_path("c"), CORNU_BAD_FILE,
            "test_batch.bin: label of record 2 is 10; expected 0 to 9");
    made_cifar10("c", 4);
    made_file("c/batches.meta.txt", "cat\ndog\n", 8);
    refused("cifar10", scratch_path("c"), CORNU_BAD_FILE,
            "batches.meta.txt: found 2 class names; expected 10");
}

static void a_set_of_published_size_is_complete_or_refused(void **state)
{
    (void)state;
    made_cifar10("c", 4);
    assert_int_equal(truncate(scratch_path("c/data_batch_1.bin"), 10000 * 3073), 0);
    refused("cifar10", scratch_path("c"), CORNU_BAD_FILE,
            "data_batch_2.bin: found 4 records; expected 10000");
    for (int i = 2; i <= 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "c/data_batch_%d.bin", i);
        assert_int_equal(truncate(scratch_path(name), 10000 * 3073), 0);
    }
    refused("cifar10", scratch_path("c"), CORNU_BAD_FILE,
            "test_batch.bin: found 4 records; expected 10000");
    made_cifar("d/train.bin", 3, 2, 100);
    made_cifar("d/test.bin", 3, 2, 101);
    spoil(scratch_path("d/test.bin"), 3074 + 1, 100, 0);
    refused("cifar100", scratch_path("d"), CORNU_BAD_FILE,
            "test.bin: label of record 1 is 100; expected 0 to 99");
}

/* ---- .npz ---- */

static file_tensor tensor(const char *name, element_type type, const void *data, int rank,
                          int64_t a, int64_t b)
{
    file_tensor t = {.name = (char *)name,
                     .type = type,
                     .rank = rank,
                     .shape = {a, b},
                     .count = 1,
                     .data = data};
    for (int i = 0; i < rank; i++)
        t.count *= t.shape[i];
    return t;
}

static void npz_refused(const file_tensor *t, int count, cornu_status status, const char *message)
{
    const char *path = scratch_path("bad.npz");
    assert_int_equal(npz_write(path, t, count), CORNU_OK);
    refused(path, NULL, status, message);
}

static void arrays_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const float nan_at_3[6] = {0, 1, 2, NAN, 4, 5}, good[6] = {0};
    const float infinite[3] = {0, INFINITY, 0};
    const double huge[6] = {0, 0, 0, 0, 0, 1e300};
    const int64_t negative[3] = {0, -1, 2}, labels[3] = {0, 1, 2};
    const int32_t whole[6] = {0};
    file_tensor x = tensor("x_train", ELEMENT_F32, good, 2, 3, 2);
    file_tensor y = tensor("y_train", ELEMENT_I64, labels, 1, 3, 0);
    npz_refused(&x, 1, CORNU_BAD_FILE, "has no array y_train (found: x_train)");
    npz_refused(&y, 1, CORNU_BAD_FILE, "has no array x_train (found: y_train)");
    npz_refused((file_tensor[]){x, y, tensor("x_test", ELEMENT_F32, good, 2, 3, 2)}, 3,
                CORNU_BAD_FILE, "has no array y_test");
    npz_refused((file_tensor[]){tensor("x_train", ELEMENT_F32, nan_at_3, 2, 3, 2), y}, 2,
                CORNU_BAD_FILE, "x_train[1, 1] is nan; expected a finite 32-bit number");
    npz_refused((file_tensor[]){tensor("x_train", ELEMENT_F64, huge, 2, 3, 2), y}, 2,
                CORNU_BAD_FILE, "x_train[2, 1] is inf");
    npz_refused((file_tensor[]){x, tensor("y_train", ELEMENT_F32, infinite, 1, 3, 0)}, 2,
                CORNU_BAD_FILE, "y_train[1] is inf");
    npz_refused((file_tensor[]){tensor("x_train", ELEMENT_I32, whole, 2, 3, 2), y}, 2,
                CORNU_UNSUPPORTED, "x_train is of type int32; expected uint8, float32 or float64");
    npz_refused((file_tensor[]){x, tensor("y_train", ELEMENT_I64, negative, 1, 3, 0)}, 2,
                CORNU_BAD_FILE, "y_train[1] is -1; expected a class from 0 up");
    npz_refused((file_tensor[]){x, tensor("y_train", ELEMENT_I64, labels, 1, 2, 0)}, 2,
                CORNU_BAD_FILE, "y_train has 2 targets; expected 3, one a sample");
    npz_refused((file_tensor[]){tensor("x_train", ELEMENT_F32, good, 1, 3, 0), y}, 2,
                CORNU_BAD_FILE, "x_train has 1 dimensions");
    npz_refused((file_tensor[]){x, y, tensor("x_test", ELEMENT_F32, good, 2, 2, 3),
                                tensor("y_test", ELEMENT_I64, labels, 1, 2, 0)},
                4, CORNU_BAD_FILE, "x_test has samples of (3); expected (2) as in x_train");
    npz_refused((file_tensor[]){x, y, tensor("x_test", ELEMENT_F32, good, 2, 3, 2),
                                tensor("y_test", ELEMENT_F32, good, 2, 3, 2)},
                4, CORNU_BAD_FILE, "y_test has targets of (2) values");
}

static void an_npz_that_is_not_mnist_is_refused_as_mnist(void **state)
{
    (void)state;
    static const uint8_t x[6], y[3] = {0, 1, 2};
    file_tensor t[4] = {
        tensor("x_train", ELEMENT_U8, x, 2, 3, 2), tensor("y_train", ELEMENT_U8, y, 1, 3, 0),
        tensor("x_test", ELEMENT_U8, x, 2, 3, 2), tensor("y_test", ELEMENT_U8, y, 1, 3, 0)};
    mkdir(scratch_path("m"), 0755);
    assert_int_equal(npz_write(scratch_path("m/mnist.npz"), t, 4), CORNU_OK);
    refused("mnist", scratch_path("m"), CORNU_BAD_FILE, "samples of (2); expected (28, 28, 1)");
    static const uint8_t images[2 * 784], labels[2] = {3, 10};
    t[0] = (file_tensor){.name = "x_train",
                         .type = ELEMENT_U8,
                         .rank = 3,
                         .shape = {2, 28, 28},
                         .count = 2 * 784,
                         .data = images};
    t[1] = tensor("y_train", ELEMENT_U8, y, 1, 2, 0);
    assert_int_equal(npz_write(scratch_path("m/mnist.npz"), t, 2), CORNU_OK);
    refused("mnist", scratch_path("m"), CORNU_BAD_FILE, "has no x_test");
    t[1] = tensor("y_train", ELEMENT_U8, labels, 1, 2, 0);
    assert_int_equal(npz_write(scratch_path("m/mnist.npz"), t, 2), CORNU_OK);
    refused("mnist", scratch_path("m"), CORNU_BAD_FILE,
            "larger class numbers; expected classes 0 to 9");
}

/* ---- places and arguments ---- */

static void what_is_not_there_is_named(void **state)
{
    (void)state;
    refused("mnist", scratch_path("nowhere"), CORNU_NOT_FOUND, "nowhere: no such folder");
    refused(scratch_path("nowhere"), NULL, CORNU_NOT_FOUND, "no such data set or folder");
    refused("mnits", NULL, CORNU_NOT_FOUND,
            "mnits: no such data set or folder; expected mnist, fashion_mnist");
    refused(scratch_path("f.npz"), NULL, CORNU_NOT_FOUND, "f.npz: no such file");
    mkdir(scratch_path("empty"), 0755);
    refused(scratch_path("empty"), NULL, CORNU_NOT_FOUND, "empty: found no data set; expected");
    refused("cifar10", scratch_path("empty"), CORNU_NOT_FOUND,
            "empty: found no data set; expected cifar10: CIFAR-10's binary files, here or in a");
    refused("cifar10", NULL, CORNU_NOT_FOUND,
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz into ");
    refused("", NULL, CORNU_INVALID, "found nothing; expected a data set");
    made_file("text.npz", "this is no archive", 18);
    refused(scratch_path("text.npz"), NULL, CORNU_BAD_FILE, "text.npz");
}

static void bad_arrays_of_the_caller_are_refused(void **state)
{
    (void)state;
    static const float values[4] = {0, NAN, 0, 0};
    static const uint8_t pixels[4];
    static const int32_t labels[2] = {0, -3}, fine[2] = {0, 1};
    enum { SIZE = sizeof(cornu_arrays) };
    const struct {
        cornu_arrays arrays;
        const char *message;
    } cases[] = {
        {{.size = SIZE, .count = 0, .rank = 1, .shape = {2}, .pixels = pixels},
         "train.count: found 0"},
        {{.size = SIZE, .count = 2, .rank = 9, .shape = {2}, .pixels = pixels},
         "train.rank: found 9"},
        {{.size = SIZE, .count = 2, .rank = 1, .shape = {0}, .pixels = pixels},
         "train.shape[0]: found 0"},
        {{.size = SIZE, .count = 2, .rank = 1, .shape = {2}}, "found none of pixels and values"},
        {{.size = SIZE, .count = 2, .rank = 1, .shape = {2}, .values = values},
         "train.values[1]: found nan"},
        {{.size = SIZE, .count = 2, .rank = 1, .shape = {2}, .pixels = pixels, .labels = labels},
         "train.labels[1]: found -3"},
        {{.size = SIZE,
          .count = 2,
          .rank = 1,
          .shape = {2},
          .pixels = pixels,
          .labels = fine,
          .targets = values},
         "found labels and targets"},
        {{.size = SIZE, .count = 2, .rank = 1, .shape = {2}, .pixels = pixels, .targets = values},
         "train.target_size: found 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_data *data = NULL;
        assert_int_equal(cornu_data_from_arrays(&cases[i].arrays, NULL, &data), CORNU_INVALID);
        if (!strstr(cornu_last_error(), cases[i].message))
            fail_msg("found: %s; expected: %s", cornu_last_error(), cases[i].message);
        assert_null(data);
    }
}

/* One network reads both. */
static void test_arrays_unlike_those_of_train_are_refused(void **state)
{
    (void)state;
    static const uint8_t pixels[4];
    static const float values[4];
    static const int32_t labels[2];
    const cornu_arrays train = {.size = sizeof train,
                                .count = 2,
                                .rank = 1,
                                .shape = {2},
                                .pixels = pixels,
                                .labels = labels};
    const cornu_arrays tests[] = {
        {.size = sizeof(cornu_arrays),
         .count = 1,
         .rank = 1,
         .shape = {3},
         .pixels = pixels,
         .labels = labels},
        {.size = sizeof(cornu_arrays),
         .count = 1,
         .rank = 1,
         .shape = {2},
         .values = values,
         .labels = labels},
        {.size = sizeof(cornu_arrays), .count = 1, .rank = 1, .shape = {2}, .pixels = pixels},
        {.size = sizeof(cornu_arrays),
         .count = 1,
         .rank = 1,
         .shape = {2},
         .pixels = pixels,
         .targets = values,
         .target_size = 1}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        cornu_data *data = NULL;
        assert_int_equal(cornu_data_from_arrays(&train, &tests[i], &data), CORNU_INVALID);
        assert_memory_equal(cornu_last_error(), "test: ", 6);
        assert_null(data);
    }
}

static void what_cannot_fit_into_memory_is_refused_first(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    const int64_t shape[3] = {1000, 1000, 3};
    assert_int_equal(cornu_data_generate(shape, 3, 10, 1 << 18, 1, &data), CORNU_OUT_OF_MEMORY);
    assert_non_null(strstr(cornu_last_error(), "are free"));
    assert_null(data);
}

static void a_sample_that_is_not_there_is_refused(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    const int64_t shape[1] = {4};
    float values[4];
    assert_int_equal(cornu_data_generate(shape, 1, 2, 5, 1, &data), CORNU_OK);
    assert_int_equal(cornu_data_sample(data, CORNU_TRAIN, 5, values, 4, NULL), CORNU_INVALID);
    assert_non_null(strstr(cornu_last_error(), "sample 5; expected 0 to 4"));
    assert_int_equal(cornu_data_sample(data, CORNU_TRAIN, 0, values, 3, NULL), CORNU_INVALID);
    assert_non_null(strstr(cornu_last_error(), "room for 3 values; a sample has 4"));
    cornu_data_close(data);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(spoiled_idx_files_are_refused),
        TEST(images_of_another_size_are_refused),
        TEST(a_missing_idx_file_is_named),
        TEST(spoiled_compressed_files_are_refused),
        TEST(spoiled_cifar_files_are_refused),
        TEST(a_set_of_published_size_is_complete_or_refused),
        TEST(arrays_that_do_not_fit_are_refused),
        TEST(an_npz_that_is_not_mnist_is_refused_as_mnist),
        TEST(what_is_not_there_is_named),
        TEST(bad_arrays_of_the_caller_are_refused),
        TEST(test_arrays_unlike_those_of_train_are_refused),
        TEST(what_cannot_fit_into_memory_is_refused_first),
        TEST(a_sample_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
