/* The data section of a recipe, and opening the data that it names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "data/data.h"
#include "format/tensor_file.h"
#include "model/model.h"
#include "support/made.h"
#include "support/scratch.h"
#include <cornu/images.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static doc *parse(const char *text, const char *source)
{
    doc *d = NULL;
    if (doc_parse(text, strlen(text), source, &d) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    return d;
}

static void a_full_section_is_read(void **state)
{
    (void)state;
    doc *d = parse("folder: photos\nscale: 0.5\nimage_size: [150, 100]\nchannels: 1\n"
                   "interpolation: lanczos\n"
                   "augment: {rotation_range: 20, shear_range: 0.2, zoom_range: 0.25,\n"
                   "  width_shift_range: 0.1, height_shift_range: 0.3, horizontal_flip: true}\n",
                   "r.yaml");
    data_spec s;
    assert_int_equal(data_spec_read(d, &s), CORNU_OK);
    assert_string_equal(s.folder, "photos");
    assert_float_equal(s.scale, 0.5, 0);
    assert_int_equal(s.image_size[0], 150);
    assert_int_equal(s.image_size[1], 100);
    assert_int_equal(s.channels, 1);
    assert_string_equal(s.interpolation, "lanczos");
    assert_float_equal(s.augment.rotation_range, 20, 0);
    assert_float_equal(s.augment.shear_range, 0.2f, 0);
    assert_float_equal(s.augment.zoom_range[1], 0.25f, 0);
    assert_float_equal(s.augment.width_shift_range.most, 0.1f, 0);
    assert_float_equal(s.augment.height_shift_range.most, 0.3f, 0);
    assert_true(s.augment.horizontal_flip);
    assert_false(s.augment.vertical_flip);
    doc_free(d);
}

static augmentation augment_of(const char *text, data_spec *s)
{
    char section[256];
    snprintf(section, sizeof section, "folder: p\naugment: {%s}\n", text);
    doc *d = parse(section, "r.yaml");
    if (data_spec_read(d, s) != CORNU_OK)
        fail_msg("%s: %s", text, cornu_last_error());
    doc_free(d);
    return s->augment;
}

static void augment_takes_keras_spellings(void **state)
{
    (void)state;
    data_spec s;
    augmentation a = augment_of("zoom_range: [0.5, 1.25], fill_mode: reflect, cval: -3", &s);
    assert_float_equal(a.zoom_range[0], -0.5, 0);
    assert_float_equal(a.zoom_range[1], 0.25, 0);
    assert_int_equal(a.fill, FILL_REFLECT);
    assert_float_equal(a.cval, -3, 0);
    a = augment_of("width_shift_range: 7, height_shift_range: 7.5", &s);
    assert_int_equal(a.width_shift_range.choices, 7);
    assert_true(a.width_shift_range.pixels && a.height_shift_range.pixels);
    assert_float_equal(a.height_shift_range.most, 7.5, 0);
    a = augment_of("width_shift_range: [-3, 2], height_shift_range: [0.1, 0.2]", &s);
    assert_true(a.width_shift_range.listed && a.width_shift_range.pixels);
    assert_float_equal(a.width_shift_range.value[0], -3, 0);
    assert_false(a.height_shift_range.pixels);
    a = augment_of("channel_shift_range: 20, brightness_range: [0.5, 1], rescale: 0.25", &s);
    assert_true(a.brightens && a.brightness_range[0] == 0.5f && a.channel_shift_range == 20);
    assert_float_equal(s.scale, 0.25, 0);
    a = augment_of("samplewise_std_normalization: true, featurewise_center: true", &s);
    assert_false(augmentation_any(&a));
    assert_true(s.standardize.samplewise_center && s.standardize.samplewise_std);
    assert_true(s.standardize.featurewise_center && !s.standardize.featurewise_std);
    augment_of("zca_whitening: false, interpolation_order: 1, brightness_range: null", &s);
}

static void one_number_is_a_range_to_both_sides(void **state)
{
    (void)state;
    data_spec s;
    augmentation a = augment_of("zoom_range: 0.25", &s);
    assert_float_equal(a.zoom_range[0], -0.25, 0);
    assert_float_equal(a.zoom_range[1], 0.25, 0);
    a = augment_of("width_shift_range: 0.5, height_shift_range: 1.0", &s);
    assert_false(a.width_shift_range.pixels); /* half of the side */
    assert_true(a.height_shift_range.pixels); /* one pixel */
    assert_float_equal(a.height_shift_range.most, 1, 0);
}

static void a_section_may_be_a_string_or_nothing(void **state)
{
    (void)state;
    data_spec s;
    assert_int_equal(data_spec_read(NULL, &s), CORNU_OK);
    assert_true(!s.name && !s.file && !s.folder && s.scale < 0);
    doc *d[3] = {parse("mnist", "r"), parse("a/b.npz", "r"), parse("photos", "r")};
    assert_int_equal(data_spec_read(d[0], &s), CORNU_OK);
    assert_string_equal(s.name, "mnist");
    assert_int_equal(data_spec_read(d[1], &s), CORNU_OK);
    assert_string_equal(s.file, "a/b.npz");
    assert_int_equal(data_spec_read(d[2], &s), CORNU_OK);
    assert_string_equal(s.folder, "photos");
    for (int i = 0; i < 3; i++)
        doc_free(d[i]);
}

static void bad_sections_are_refused_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"name: mnist\nsale: 1\n", "sale"},
        {"name: mnits\n", "r.yaml:1: name: unknown data set \"mnits\"; expected mnist, "},
        {"name: mnist\nfile: x.npz\n", "more than one of name, file, folder and table"},
        {"file: x.csv\n", "found \"x.csv\"; expected an .npz file"},
        {"name: 3\n", "name"},
        {"[1, 2]\n", "a list; expected a data set's name, a path or a map"},
        {"name: mnist\nscale: 0\n", "r.yaml:2: scale: found 0; expected more than 0"},
        {"name: mnist\nscale: big\n", "scale"},
        {"name: mnist\nimage_size: 20\n",
         "image_size, channels, interpolation, keep_aspect_ratio and validation_split are for"},
        {"folder: p\nimage_size: 0\n", "expected one size or [height, width], each 1 to 10000"},
        {"folder: p\nimage_size: [1, 2, 3]\n", "expected one size or [height, width]"},
        {"folder: p\nchannels: 2\n", "found 2; expected 1 or 3"},
        {"folder: p\nchannels: 4\n", "channels"},
        {"folder: p\ninterpolation: area\n", "found \"area\"; expected nearest, bilinear, "},
        {"folder: p\nvalidation_split: 1\n", "found 1; expected a share of at least 0 and below 1"},
        {"folder: p\nstrict: 2\n", "strict"},
        {"folder: p\ninterpolation: 3\n", "interpolation"},
        {"name: mnist\ninterpolation: box\n", "are for folders of images only"},
        {"folder: p\naugment: yes please\n", "expected a map of ranges and flips"},
        {"folder: p\naugment: {rotation: 3}\n", "rotation"},
        {"folder: p\naugment:\n  zoom_range: 1.5\n",
         "r.yaml:3: augment.zoom_range: found 1.5; expected 0 or more and less than 1"},
        {"folder: p\naugment: {shear_range: -1}\n", "found -1; expected 0 or more"},
        {"folder: p\naugment: {horizontal_flip: 3}\n", "horizontal_flip"},
        {"folder: p\naugment: {zoom_range: [2, 1]}\n",
         "augment.zoom_range: found [2, 1]; expected [low, high] with 0.01 <= low <= high <= 100"},
        {"folder: p\naugment: {brightness_range: 2}\n",
         "augment.brightness_range: found 2; expected [low, high] with 0 <= low <= high <= 100"},
        {"folder: p\naugment: {width_shift_range: -2}\n",
         "augment.width_shift_range: found -2; expected 0 or more and less than 10000"},
        {"folder: p\naugment: {height_shift_range: [1, a]}\n",
         "augment.height_shift_range: found [1, \"a\"]; expected 0 or more"},
        {"folder: p\naugment: {fill_mode: mirror}\n",
         "found \"mirror\"; expected nearest, constant, reflect or wrap"},
        {"folder: p\nscale: 1\naugment: {rescale: 2}\n", "found both scale and rescale"},
        {"folder: p\naugment: {rescale: -1}\n", "augment.rescale: found -1; expected more than 0"},
        {"folder: p\naugment: {zca_whitening: true}\n", "found true; expected false"},
        {"folder: p\naugment: {interpolation_order: 3}\n", "interpolation_order"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        doc *d = parse(cases[i].text, "r.yaml");
        data_spec s;
        cornu_status status = data_spec_read(d, &s);
        if (status != CORNU_INVALID || !strstr(cornu_last_error(), cases[i].message))
            fail_msg("%s\nfound %s (%s); expected %s", cases[i].text, cornu_status_name(status),
                     cornu_last_error(), cases[i].message);
        doc_free(d);
    }
}

/* ---- opening for a model ---- */

static cornu_status open_for(const char *section, const char *source, shape input,
                             const char *folder, cornu_data **data)
{
    cornu_data_options options = {.size = sizeof options, .folder = folder};
    doc *d = section ? parse(section, source) : NULL;
    cornu_model model = {.name = "m", .input = input, .data = d};
    *data = NULL;
    cornu_status status = cornu_data_open_for_model(&model, &options, data);
    doc_free(d);
    return status;
}

static void expect_open(cornu_status status, const char *name, cornu_data **data)
{
    if (status != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    assert_string_equal((*data)->name, name);
    cornu_data_close(*data);
}

static void expect_failure(cornu_status found, cornu_status status, const char *message)
{
    if (found != status || !strstr(cornu_last_error(), message))
        fail_msg("found %s (%s); expected %s (%s)", cornu_status_name(found), cornu_last_error(),
                 cornu_status_name(status), message);
}

static const shape mnist_shape = {3, {28, 28, 1}}, photo_shape = {3, {6, 4, 3}};
static const uint8_t red[3] = {255, 0, 0};

static void a_recipe_opens_the_set_that_it_names(void **state)
{
    (void)state;
    cornu_data *data;
    made_mnist("all/mnist", 4, 2, 1);
    made_mnist("all/Fashion-MNIST", 4, 2, 1);
    made_cifar10("all/cifar10", 1);
    const char *all = scratch_path("all");
    expect_open(open_for("mnist", "r", mnist_shape, all, &data), "mnist", &data);
    expect_open(open_for("mnist", "r", mnist_shape, scratch_path("all/Fashion-MNIST"), &data),
                "fashion_mnist", &data);
    expect_failure(open_for("cifar10", "r", mnist_shape, all, &data), CORNU_INVALID,
                   "cifar10: samples are of (32, 32, 3); the model's input is (28, 28, 1)");
    expect_failure(open_for("mnist", "r", mnist_shape, scratch_path("none"), &data),
                   CORNU_NOT_FOUND, "none: no such data set, .npz file or folder");
    expect_failure(open_for(NULL, "r", mnist_shape, NULL, &data), CORNU_NOT_FOUND,
                   "m: names no data set of its own; expected one from you (--data DIR)");
}

static void the_place_given_may_be_the_name_of_another_set(void **state)
{
    (void)state;
    cornu_data *data;
    setenv("CORNU_DATA", scratch_path("all"), 1);
    made_mnist("all/fashion-mnist", 4, 2, 1);
    expect_open(open_for("mnist", "r", mnist_shape, "fashion_mnist", &data), "fashion_mnist",
                &data);
    unsetenv("CORNU_DATA");
}

static void write_npz(const char *path)
{
    static const uint8_t x[2 * 784];
    static const int32_t y[2] = {0, 1};
    file_tensor t[2] = {
        {.name = "x_train",
         .type = ELEMENT_U8,
         .rank = 3,
         .shape = {2, 28, 28},
         .count = 2 * 784,
         .data = x},
        {.name = "y_train", .type = ELEMENT_I32, .rank = 1, .shape = {2}, .count = 2, .data = y}};
    assert_int_equal(npz_write(path, t, 2), CORNU_OK);
}

static void paths_are_relative_to_the_recipe(void **state)
{
    (void)state;
    cornu_data *data;
    char source[512];
    made_jpeg("recipes/photos/train/a/1.jpg", 9, 9, 3, red);
    made_jpeg("given/photos/train/a/1.jpg", 9, 9, 3, red);
    made_jpeg("given/photos/train/a/2.jpg", 9, 9, 3, red);
    write_npz(scratch_path("recipes/d.npz"));
    snprintf(source, sizeof source, "%s", scratch_path("recipes/r.yaml"));
    assert_int_equal(open_for("{file: d.npz, scale: 2}", source, mnist_shape, NULL, &data),
                     CORNU_OK);
    assert_float_equal(data->block[0].x_scale, 2, 0);
    assert_int_equal(data->block[0].x_shape.rank, 3); /* the channel comes from the model */
    cornu_data_close(data);
    assert_int_equal(open_for("folder: photos", source, photo_shape, NULL, &data), CORNU_OK);
    assert_int_equal(data->block[0].count, 1); /* and the size of images too */
    cornu_data_close(data);
    assert_int_equal(open_for("folder: photos", source, photo_shape, scratch_path("given"), &data),
                     CORNU_OK);
    assert_int_equal(data->block[0].count, 2);
    cornu_data_close(data);
    expect_open(
        open_for("folder: elsewhere", source, photo_shape, scratch_path("given/photos"), &data),
        "photos", &data);
    expect_open(open_for(NULL, source, photo_shape, scratch_path("given/photos"), &data), "photos",
                &data);
    expect_open(open_for("mnist", source, mnist_shape, scratch_path("recipes/d.npz"), &data),
                "d.npz", &data);
    expect_failure(open_for("file: none.npz", source, mnist_shape, NULL, &data), CORNU_NOT_FOUND,
                   "recipes/none.npz: no such file");
    expect_failure(open_for("folder: none", source, photo_shape, NULL, &data), CORNU_NOT_FOUND,
                   "recipes/none: no such file or folder");
}

static void single_pictures_are_read_as_the_recipe_says(void **state)
{
    (void)state;
    float v[3] = {0};
    doc *d = parse("{folder: p, interpolation: box, scale: 2}", "r.yaml");
    cornu_model model = {.name = "m", .input = {3, {1, 1, 1}}, .data = d};
    const char *path = made_file("x.pgm", "P5 2 1 255\n\x0a\x14", 13);
    assert_int_equal(made_read_for(&model, path, v), CORNU_OK);
    assert_float_equal(v[0], 30, 0); /* the mean of both pixels, twice */
    cornu_image_options o = {.size = sizeof o};
    assert_int_equal(cornu_model_image_options(&model, &o), CORNU_OK);
    assert_string_equal(o.interpolation, "box");
    assert_float_equal(o.scale, 2, 0);
    v[0] = 0;
    assert_int_equal(cornu_image_read(path, &o, v, 1), CORNU_OK);
    assert_float_equal(v[0], 30, 0);
    expect_failure(cornu_image_read(path, &o, v, 2), CORNU_INVALID,
                   "x.pgm: found room for 2 values; expected 1x1x1");
    o.channels = 2;
    expect_failure(cornu_image_read(path, &o, v, 2), CORNU_INVALID,
                   "image size: found 1x1x2; expected 1 or more");
    o.channels = 0;
    o.scale = -1;
    expect_failure(cornu_image_read(path, &o, v, 1), CORNU_INVALID, "scale: found -1; expected");
    model.data = NULL;
    assert_int_equal(made_read_for(&model, path, v), CORNU_OK);
    assert_float_equal(v[0], 20 / 255.0, 1e-6); /* the nearest */
    model.input = (shape){1, {7}};
    expect_failure(made_read_for(&model, path, v), CORNU_INVALID,
                   "the model's input: found (7), which is no picture; expected (height, width), ");
    doc_free(d);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_section_is_read),
        TEST(augment_takes_keras_spellings),
        TEST(one_number_is_a_range_to_both_sides),
        TEST(a_section_may_be_a_string_or_nothing),
        TEST(bad_sections_are_refused_with_their_line),
        TEST(a_recipe_opens_the_set_that_it_names),
        TEST(the_place_given_may_be_the_name_of_another_set),
        TEST(single_pictures_are_read_as_the_recipe_says),
        TEST(paths_are_relative_to_the_recipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
