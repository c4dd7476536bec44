/* Decoding and resizing equal Pillow's: tests/fixtures/images.npz, described in
   peers/make_image_fixtures.py, which makes it. CORNU_FIXTURES names another folder with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/images/image.h"
#include "format/tensor_file.h"
#include "support/fixtures.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tensor_file *fixtures;

static int open_fixtures(void **state)
{
    (void)state;
    return tensor_file_open(fixture_path("images.npz"), &fixtures) == CORNU_OK ? 0 : -1;
}

static int close_fixtures(void **state)
{
    (void)state;
    tensor_file_close(fixtures);
    return 0;
}

static const uint8_t *member(const char *name, int64_t *count)
{
    const file_tensor *t = tensor_file_find(fixtures, name);
    assert_non_null(t);
    if (count)
        *count = t->count;
    return t->data;
}

/* Copy the next line of a member that is text; false at its end. */
static bool next_line(const char *name, size_t *at, char *line, size_t size)
{
    int64_t count;
    const char *text = (const char *)member(name, &count);
    if ((int64_t)*at >= count)
        return false;
    size_t length = (size_t)((const char *)memchr(text + *at, '\n', (size_t)count - *at) - text);
    snprintf(line, size, "%.*s", (int)(length - *at), text + *at);
    *at = length + 1;
    return true;
}

/* Fails with the case's name where a value differs by more than `most`. */
static void expect_pixels(const char *name, const uint8_t *found, const uint8_t *expected,
                          int64_t count, int most)
{
    for (int64_t i = 0; i < count; i++)
        if (abs(found[i] - expected[i]) > most)
            fail_msg("%s: value %lld is %d; expected %d", name, (long long)i, found[i],
                     expected[i]);
}

static void every_format_and_mode_decodes_as_pillow_does(void **state)
{
    (void)state;
    char line[256], name[64];
    long long size, height, width;
    size_t at = 0;
    const uint8_t *file = member("files", NULL), *rgb = member("rgb", NULL),
                  *grey = member("grey", NULL);
    int cases = 0;
    for (; next_line("cases", &at, line, sizeof line); cases++) {
        image i;
        assert_int_equal(sscanf(line, "%63s %lld %lld %lld", name, &size, &height, &width), 4);
        cornu_status status = image_decode(file, (size_t)size, &i);
        if (status == CORNU_UNSUPPORTED && strstr(cornu_last_error(), "with libtiff of")) {
            print_message("%s: %s\n", name, cornu_last_error());
            goto next;
        }
        if (status != CORNU_OK)
            fail_msg("%s: %s", name, cornu_last_error());
        if (i.height != height || i.width != width)
            fail_msg("%s: found %lldx%lld; expected %lldx%lld", name, (long long)i.height,
                     (long long)i.width, height, width);
        uint8_t *out = malloc((size_t)(height * width * 3));
        image_resize(&i, height, width, 3, NULL, out);
        expect_pixels(name, out, rgb, height * width * 3, 1);
        image_resize(&i, height, width, 1, NULL, out);
        expect_pixels(name, out, grey, height * width, 1);
        free(out);
        image_close(&i);
    next:
        file += size;
        rgb += height * width * 3;
        grey += height * width;
    }
    assert_true(cases >= 70);
}

static void every_filter_resizes_as_pillow_does(void **state)
{
    (void)state;
    char line[256], name[64];
    long long channels, height, width, new_height, new_width, begin;
    size_t at = 0;
    const uint8_t *before = member("resize_from", NULL), *after = member("resize_to", NULL);
    int cases = 0;
    for (; next_line("resize_cases", &at, line, sizeof line); cases++) {
        assert_int_equal(sscanf(line, "%63s %lld %lld %lld %lld %lld %lld", name, &channels,
                                &height, &width, &new_height, &new_width, &begin),
                         7);
        image i = {.height = height, .width = width, .channels = channels};
        i.pixels = (uint8_t *)(uintptr_t)(before + begin);
        const image_filter *filter = image_filter_named(name);
        int64_t count = new_height * new_width * channels;
        uint8_t *out = malloc((size_t)count);
        assert_non_null(filter);
        assert_int_equal(image_resize(&i, new_height, new_width, channels, filter, out), CORNU_OK);
        expect_pixels(line, out, after, count, 0);
        free(out);
        after += count;
    }
    assert_true(cases >= 48);
}

/* So tall and wide that it is resized in several strips of columns. */
static void strips_change_nothing(void **state)
{
    (void)state;
    enum { TALL = 40000, WIDE = 2000 };
    static const uint8_t quarters[2][2] = {{10, 50}, {30, 90}};
    image i = {.height = TALL, .width = 2, .channels = 1, .pixels = malloc(2 * TALL)};
    uint8_t *out = malloc(2 * WIDE);
    for (int row = 0; row < TALL; row++)
        memcpy(i.pixels + 2 * row, quarters[row >= TALL / 2], 2);
    assert_int_equal(image_resize(&i, 2, WIDE, 1, image_filter_named("box"), out), CORNU_OK);
    for (int k = 0; k < 2 * WIDE; k++)
        assert_int_equal(out[k], quarters[k / WIDE][k % WIDE >= WIDE / 2]);
    free(out);
    image_close(&i);
}

/* tests/CMakeLists.txt: every call of sin() comes here. */
double __real_sin(double x);
double __wrap_sin(double x);

static int sines;

double __wrap_sin(double x)
{
    sines++;
    return __real_sin(x);
}

/* Twice for each source pixel of a row or column of the new picture, however many strips there
   are. */
static void weights_are_found_once(void **state)
{
    (void)state;
    enum { TALL = 40000, WIDE = 2000, AROUND = 7 };
    image i = {.height = TALL, .width = 1, .channels = 1, .pixels = calloc(1, TALL)};
    uint8_t *out = malloc(2 * WIDE);
    sines = 0;
    assert_int_equal(image_resize(&i, 2, WIDE, 1, image_filter_named("lanczos"), out), CORNU_OK);
    assert_in_range(sines, 2 * TALL, 2 * (2 * TALL + AROUND * WIDE));
    free(out);
    image_close(&i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_and_mode_decodes_as_pillow_does),
        cmocka_unit_test(every_filter_resizes_as_pillow_does),
        cmocka_unit_test(strips_change_nothing),
        cmocka_unit_test(weights_are_found_once),
    };
    return cmocka_run_group_tests(tests, open_fixtures, close_fixtures);
}
