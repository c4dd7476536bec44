/* Image folders as users have them: the validation split, nested folders, links, files that are no
   images, many files. Each picture has one grey, which identifies it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/data.h"
#include "support/made.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char notices[1 << 14];

static void on_notice(void *user, const char *line)
{
    (void)user;
    size_t used = strlen(notices);
    snprintf(notices + used, sizeof notices - used, "%s\n", line);
}

static cornu_status open_with(const char *name, double share, bool strict, cornu_data **data)
{
    cornu_data_options options = {.size = sizeof options,
                                  .on_notice = on_notice,
                                  .images =
                                      &(cornu_folder_options){.size = sizeof(cornu_folder_options),
                                                              .height = 1,
                                                              .width = 1,
                                                              .channels = 1,
                                                              .validation_split = share,
                                                              .strict = strict}};
    notices[0] = 0;
    *data = NULL;
    return cornu_data_open(scratch_path(name), &options, data);
}

static cornu_data *must_open(const char *name, double share)
{
    cornu_data *data;
    if (open_with(name, share, false, &data) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    return data;
}

static void expect_notice(const char *text)
{
    if (!strstr(notices, text))
        fail_msg("found notices:\n%s\nexpected: %s", notices, text);
}

static void expect_error(cornu_status found, const char *text)
{
    if (found == CORNU_OK || !strstr(cornu_last_error(), text))
        fail_msg("found %s (%s); expected %s", cornu_status_name(found), cornu_last_error(), text);
}

/* A picture of one pixel; `format` and the grey make the last part of its name. */
static void picture(const char *format, int grey)
{
    char name[256];
    snprintf(name, sizeof name, format, grey);
    made_grey(name, grey);
}

/* The greys of a split, in order. */
static void expect_greys(const cornu_data *data, cornu_split split, const char *expected)
{
    char found[1024] = "";
    for (int64_t i = 0; i < made_count(data, split); i++) {
        float grey;
        assert_int_equal(cornu_data_sample(data, split, i, &grey, 1, NULL), CORNU_OK);
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.0f", i ? " " : "",
                 255 * (double)grey);
    }
    assert_string_equal(found, expected);
}

static void class_folders_alone_are_training_samples(void **state)
{
    (void)state;
    picture("f/cat/%d.pgm", 1);
    picture("f/dog/%d.pgm", 2);
    made_file("f/readme.txt", "x", 1); /* beside the class folders: in no class */
    cornu_data *data = must_open("f", 0);
    expect_greys(data, CORNU_TRAIN, "1 2");
    assert_int_equal(data->block[CORNU_TEST].count, 0);
    assert_string_equal(cornu_data_class_name(data, 1), "dog");
    expect_notice("f: 2 images in 2 classes (0 files skipped)");
    cornu_data_close(data);
}

/* Which greys are in the test split. */
static void test_side(const cornu_data *data, bool side[256])
{
    memset(side, 0, 256);
    for (int64_t i = 0; i < data->block[CORNU_TEST].count; i++)
        side[((const uint8_t *)data->block[CORNU_TEST].x)[i]] = true;
}

static void a_split_takes_its_share_of_each_class_and_moves_no_file_later(void **state)
{
    (void)state;
    bool before[256], after[256];
    int taken[2] = {0, 0};
    for (int i = 0; i < 200; i += 2) {
        picture("f/a/%d.pgm", i);
        picture("f/b/%d.pgm", i + 1);
    }
    cornu_data *data = must_open("f", 0.3);
    assert_int_equal(data->block[CORNU_TRAIN].count + data->block[CORNU_TEST].count, 200);
    test_side(data, before);
    for (int i = 0; i < 200; i++)
        taken[i % 2] += before[i];
    for (int k = 0; k < 2; k++)
        assert_true(taken[k] >= 20 && taken[k] <= 40); /* 30 of 100, give or take 2 sigma */
    const int32_t *labels = data->block[CORNU_TEST].y;
    const uint8_t *x = data->block[CORNU_TEST].x;
    for (int64_t i = 0; i < data->block[CORNU_TEST].count; i++)
        assert_int_equal(labels[i], x[i] % 2);
    cornu_data_close(data);
    for (int i = 200; i < 250; i++)
        picture("f/a/new-%d.pgm", i);
    unlink(scratch_path("f/b/7.pgm"));
    data = must_open("f", 0.3);
    test_side(data, after);
    for (int i = 0; i < 200; i++)
        if (i != 7)
            assert_int_equal(after[i], before[i]);
    cornu_data_close(data);
}

/* The first 52 bits of SHA-256 of "CLASS/PATH", as a fraction: files below the split's fraction are
   in the test split. No version may move a file, or a model would be tested on its training
   samples. */
static void the_sides_of_a_split_are_those_of_every_version(void **state)
{
    (void)state;
    static const char *const files[] = {
        "0/0.bmp",                        /* 0.9017 */
        "cat/1.jpg",                      /* 0.3878 */
        "cat/2.jpg",                      /* 0.5406 */
        "cat/a/3.jpg",                    /* 0.8718 */
        "dog/1.jpg",                      /* 0.7131 */
        "dog/2.jpg",                      /* 0.2123 */
        "dog/a/3.jpg",                    /* 0.1598 */
        "rose/IMG 0001.JPG",              /* 0.8586 */
        "tulip/IMG 0001.JPG",             /* 0.3212 */
        "\xc3\xa9t\xc3\xa9/\xc3\xa9.png", /* 0.6897 */
    };
    static const struct {
        double share;
        const char *train, *test;
    } cases[] = {
        {0.16, "0 1 2 3 4 5 7 8 9", "6"}, {0.25, "0 1 2 3 4 7 8 9", "5 6"},
        {0.5, "0 2 3 4 7 9", "1 5 6 8"},  {0.7, "0 3 4 7", "1 2 5 6 8 9"},
        {0.9, "0", "1 2 3 4 5 6 7 8 9"},
    };
    for (int i = 0; i < 10; i++) {
        char name[64];
        snprintf(name, sizeof name, "f/%s", files[i]);
        made_grey(name, i);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_data *data = must_open("f", cases[i].share);
        expect_greys(data, CORNU_TRAIN, cases[i].train);
        expect_greys(data, CORNU_TEST, cases[i].test);
        cornu_data_close(data);
    }
}

static int64_t count_of(const cornu_data *data, cornu_split split, int label)
{
    int64_t count = 0;
    for (int64_t i = 0; i < data->block[split].count; i++)
        count += ((const int32_t *)data->block[split].y)[i] == label;
    return count;
}

static void a_fraction_is_the_same_of_each_class_and_split(void **state)
{
    (void)state;
    cornu_data_options options = {.size = sizeof options, .fraction = 0.1, .on_notice = on_notice};
    cornu_data *data[2];
    for (int i = 0; i < 50; i++)
        picture(i < 40 ? "f/train/a/%d.pgm" : "f/train/b/%d.pgm", i);
    for (int i = 0; i < 3; i++)
        picture("f/test/b/%d.pgm", i);
    for (int i = 0; i < 2; i++) {
        notices[0] = 0;
        assert_int_equal(cornu_data_open(scratch_path("f"), &options, &data[i]), CORNU_OK);
    }
    assert_int_equal(count_of(data[0], CORNU_TRAIN, 0), 4);
    assert_int_equal(count_of(data[0], CORNU_TRAIN, 1), 1);
    assert_int_equal(count_of(data[0], CORNU_TEST, 1), 1);
    for (int64_t i = 0; i < 5; i++) /* always the same */
        assert_string_equal(cornu_data_sample_file(data[0], CORNU_TRAIN, i),
                            cornu_data_sample_file(data[1], CORNU_TRAIN, i));
    expect_notice("f: fraction 0.1 of each class: 5 of 50 training samples, 1 of 3 test samples");
    cornu_data_close(data[0]);
    cornu_data_close(data[1]);
    options.fraction = 1.5;
    expect_error(cornu_data_open(scratch_path("f"), &options, data), "fraction: found 1.5");
}

/* Each sample keeps its label: x of made_mnist encodes its position in the whole set. */
static void a_fraction_of_arrays_keeps_samples_and_labels_together(void **state)
{
    (void)state;
    cornu_data_options options = {.size = sizeof options, .fraction = 0.2};
    cornu_data *all, *some;
    float a[28 * 28], b[28 * 28];
    int label, expected;
    made_mnist("mnist", 60, 20, 0);
    assert_int_equal(cornu_data_open(scratch_path("mnist"), NULL, &all), CORNU_OK);
    assert_int_equal(cornu_data_open(scratch_path("mnist"), &options, &some), CORNU_OK);
    assert_int_equal(made_count(some, CORNU_TRAIN), 10); /* 0.2 of 6 rounds to one */
    assert_int_equal(made_count(some, CORNU_TEST), 10);
    for (int64_t i = 0, from = 0; i < 10; i++) {
        assert_int_equal(cornu_data_sample(some, CORNU_TRAIN, i, a, 28 * 28, &label), CORNU_OK);
        for (bool same = false; !same; from++) {
            assert_int_equal(cornu_data_sample(all, CORNU_TRAIN, from, b, 28 * 28, &expected),
                             CORNU_OK);
            same = label == expected && memcmp(a, b, sizeof a) == 0;
        }
    }
    cornu_data_close(all);
    cornu_data_close(some);
}

static void brief_is_one_notice(void **state)
{
    (void)state;
    cornu_data_options options = {.size = sizeof options, .brief = true, .on_notice = on_notice};
    cornu_data *data;
    picture("f/a/%d.pgm", 1);
    mkdir(scratch_path("f/b"), 0755);
    made_file("f/a/notes.txt", "x", 1);
    made_file("f/a/short.png", "P5 9 9 255\n", 11);
    made_file("f/.cache/x", "x", 1);
    made_file("f/a/.hidden", "x", 1);
    notices[0] = 0;
    assert_int_equal(cornu_data_open(scratch_path("f"), &options, &data), CORNU_OK);
    expect_notice("f: 1 image in 2 classes (2 files skipped; cornu data show ");
    expect_notice("/f says which): a (1), b (0)\n");
    assert_string_equal(strchr(notices, '\n'), "\n");
    cornu_data_close(data);
}

static void a_split_of_train_stands_in_for_a_test_folder(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++)
        picture("f/train/a/%d.pgm", i);
    cornu_data *data = must_open("f", 0.5);
    assert_true(data->block[CORNU_TEST].count > 8 && data->block[CORNU_TEST].count < 32);
    cornu_data_close(data);
    picture("f/test/a/%d.pgm", 1);
    expect_error(open_with("f", 0.5, false, &data),
                 "f/test: found this folder and a validation_split of 0.5; expected one");
    expect_error(open_with("f", 1, false, &data), "validation_split: found 1; expected a share");
}

/* The classes and the number of samples of each split. */
static void expect_classes(const char *folder, const char *classes, int64_t train, int64_t test)
{
    char found[256] = "";
    cornu_data *data = must_open(folder, 0);
    for (int i = 0; i < data->class_count; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i ? " " : "",
                 data->class_names[i]);
    assert_string_equal(found, classes);
    assert_int_equal(made_count(data, CORNU_TRAIN), train);
    assert_int_equal(made_count(data, CORNU_TEST), test);
    cornu_data_close(data);
}

static void classes_may_be_called_as_splits_are(void **state)
{
    (void)state;
    picture("vehicles/bus/%d.pgm", 1);
    picture("vehicles/car/%d.pgm", 2);
    picture("vehicles/train/%d.pgm", 3);
    expect_classes("vehicles", "bus car train", 3, 0);
    picture("vehicles/test/%d.pgm", 4);
    expect_classes("vehicles", "bus car test train", 4, 0);
    picture("vehicles/train/at night/%d.pgm", 5); /* nested, and so still a class */
    expect_classes("vehicles", "bus car test train", 5, 0);
    expect_notice("vehicles: train is taken as a class, not as the training samples, because of "
                  "bus beside it");
    picture("runs/train/%d.pgm", 1);
    picture("runs/test/%d.pgm", 2);
    expect_classes("runs", "test train", 2, 0);
}

static void splits_have_names_of_any_case(void **state)
{
    (void)state;
    static const char *const train[] = {"train", "Train", "TRAINING", "training"};
    static const char *const test[] = {"test", "Testing", "VAL", "valid", "Validation"};
    char folder[64], name[128];
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 5; k++) {
            snprintf(folder, sizeof folder, "f-%zu-%zu", i, k);
            snprintf(name, sizeof name, "%s/%s/cat/1.pgm", folder, train[i]);
            made_grey(name, 1);
            snprintf(name, sizeof name, "%s/%s/cat/2.pgm", folder, test[k]);
            made_grey(name, 2);
            expect_classes(folder, "cat", 1, 1);
        }
}

static void what_lies_beside_the_splits_is_told(void **state)
{
    (void)state;
    cornu_data *data;
    picture("f/train/a/%d.pgm", 1);
    picture("f/val/a/%d.pgm", 2);
    picture("f/test/a/%d.pgm", 3);
    picture("f/testing/%d.pgm", 4);
    made_file("f/annotations/1.xml", "<a/>", 4); /* no picture, so no class */
    data = must_open("f", 0);
    expect_greys(data, CORNU_TEST, "3");
    expect_notice("f/val: not used, as the test samples are those of test");
    expect_notice("f/testing: holds no folders of classes; not used");
    cornu_data_close(data);
    picture("f/Training/a/%d.pgm", 1);
    expect_error(open_with("f", 0, false, &data),
                 "f: found the folders Training and train; expected one of training samples");
    picture("g/training/a/%d.pgm", 1);
    picture("g/Test/a/%d.pgm", 1);
    picture("g/test/a/%d.pgm", 1);
    expect_error(open_with("g", 0, false, &data),
                 "g: found the folders Test and test; expected one of test samples");
}

static void nested_folders_belong_to_their_class_in_keras_order(void **state)
{
    (void)state;
    picture("f/a/z%d.pgm", 1);
    picture("f/a/b/%d.pgm", 3);
    picture("f/a/b/c/%d.pgm", 5);
    picture("f/a/b-1/%d.pgm", 4);
    picture("f/a/photo.jpg/%d.pgm", 6); /* a folder, whatever its name */
    cornu_data *data = must_open("f", 0);
    expect_greys(data, CORNU_TRAIN, "1 3 4 5 6"); /* os.walk, sorted: a, a/b, a/b-1, a/b/c, ... */
    expect_notice("only one class, a");
    cornu_data_close(data);
}

static void links_are_followed_where_keras_does_and_loops_are_not_walked(void **state)
{
    (void)state;
    picture("else/%d.pgm", 9);
    picture("f/train/a/%d.pgm", 1);
    assert_int_equal(symlink("1.pgm", scratch_path("f/train/a/2.pgm")), 0);
    assert_int_equal(symlink("gone.pgm", scratch_path("f/train/a/3.pgm")), 0);
    assert_int_equal(symlink("..", scratch_path("f/train/a/up")), 0);
    assert_int_equal(symlink("../../else", scratch_path("f/train/b")), 0);
    assert_int_equal(symlink("../..", scratch_path("f/train/loop")), 0);
    assert_int_equal(symlink("self.pgm", scratch_path("f/train/a/self.pgm")), 0);
    assert_int_equal(mkfifo(scratch_path("f/train/a/pipe.pgm"), 0600), 0);
    cornu_data *data = must_open("f", 0);
    expect_greys(data, CORNU_TRAIN, "1 1 9");
    assert_int_equal(data->class_count, 2);
    assert_int_equal(made_skipped(data), 4);
    expect_notice("a/3.pgm: link to nothing; skipped");
    expect_notice("a/self.pgm: link to nothing; skipped");
    expect_notice("a/up: link to a folder inside a class; skipped");
    expect_notice("a/pipe.pgm: no regular file; skipped");
    expect_notice("train/loop: link to a folder that holds it; not taken as a class");
    cornu_data_close(data);
}

static void what_cannot_be_used_is_told_then_counted(void **state)
{
    (void)state;
    picture("f/a/%d.pgm", 1);
    for (int i = 0; i < 25; i++) {
        char name[64];
        snprintf(name, sizeof name, "f/a/%02d.jpg", i);
        made_file(name, "P5 9 9 255\n", 11); /* truncated */
    }
    cornu_data *data = must_open("f", 0);
    assert_int_equal(made_skipped(data), 25);
    expect_notice("19.jpg: damaged or truncated PNM");
    assert_null(strstr(notices, "20.jpg"));
    expect_notice("f: 5 more files skipped");
    expect_notice("f: 1 image in 1 class (25 files skipped)");
    cornu_data_close(data);
}

static void strict_makes_it_an_error(void **state)
{
    (void)state;
    cornu_data *data;
    picture("f/a/%d.pgm", 1);
    assert_int_equal(open_with("f", 0, true, &data), CORNU_OK);
    cornu_data_close(data);
    made_file("f/a/notes.txt", "x", 1);
    made_file("f/a/short.png", "P5 9 9 255\n", 11);
    expect_error(open_with("f", 0, true, &data), "notes.txt: no image (strict: found 2 such files");
    assert_null(data);
}

static void a_class_may_be_empty_and_a_split_too(void **state)
{
    (void)state;
    picture("f/b/%d.pgm", 1);
    mkdir(scratch_path("f/a"), 0755);
    cornu_data *data = must_open("f", 0.001);
    expect_notice("f/a: class without images");
    expect_notice("f: validation_split 0.001 of 1 image is none");
    assert_int_equal(data->class_count, 2); /* it keeps its number, as in Keras */
    assert_int_equal(((const int32_t *)data->block[0].y)[0], 1);
    cornu_data_close(data);
}

static void many_files_keep_their_order(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    char name[64], pixel[16] = "P5 1 1 255\n";
    for (int i = 0; i < COUNT; i++) {
        pixel[11] = (char)(i % 251);
        snprintf(name, sizeof name, "f/%d/%05d.pgm", i / (COUNT / 5), i);
        if (i % (COUNT / 5) == 0)
            made_file(name, pixel, 12); /* makes the folder, too */
        else
            scratch_write(name, pixel, 12);
    }
    cornu_data *data = must_open("f", 0);
    assert_int_equal(data->block[0].count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(((const uint8_t *)data->block[0].x)[i], i % 251);
        assert_int_equal(((const int32_t *)data->block[0].y)[i], i / (COUNT / 5));
    }
    cornu_data_close(data);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(class_folders_alone_are_training_samples),
        TEST(a_split_takes_its_share_of_each_class_and_moves_no_file_later),
        TEST(the_sides_of_a_split_are_those_of_every_version),
        TEST(a_fraction_is_the_same_of_each_class_and_split),
        TEST(a_fraction_of_arrays_keeps_samples_and_labels_together),
        TEST(brief_is_one_notice),
        TEST(a_split_of_train_stands_in_for_a_test_folder),
        TEST(classes_may_be_called_as_splits_are),
        TEST(splits_have_names_of_any_case),
        TEST(what_lies_beside_the_splits_is_told),
        TEST(nested_folders_belong_to_their_class_in_keras_order),
        TEST(links_are_followed_where_keras_does_and_loops_are_not_walked),
        TEST(what_cannot_be_used_is_told_then_counted),
        TEST(strict_makes_it_an_error),
        TEST(a_class_may_be_empty_and_a_split_too),
        TEST(many_files_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
