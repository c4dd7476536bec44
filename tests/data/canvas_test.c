/* Letters in pictures: their widths, and that real ones are drawn where a font has them. */
#include "data/images/canvas.h"
#include "support/runs.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const lettering label = {.scale = 1, .most = 20};

static void letters_take_one_width_those_of_east_asia_two(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int cells;
    } cases[] = {{"", 0},        {"abc", 3},        {"\u00e4", 1},
                 {"a\u0308", 1}, {"\u6d77", 2},     {"\u6d77ab\ud55c", 6},
                 {"\x1b", 4},    {"\U0001f600", 2}, {"\u043c\u043e", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(canvas_text_width(cases[i].line, &label), cases[i].cells * LETTER_WIDTH);
}

/* Never within a character, which may have several bytes. */
static void long_lines_are_cut_between_letters(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int64_t most;
        const char *expected;
    } cases[] = {{"abcdefgh", 8, "abcdefgh"},
                 {"abcdefgh", 5, "abc.."},
                 {"\u00e4\u00f6\u00fc\u00df\u00e4\u00f6", 5, "\u00e4\u00f6\u00fc.."},
                 {"\u6d77\u6d77\u6d77\u6d77", 5, "\u6d77.."},
                 {"abc", 1, "."}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[64];
        canvas_text_cut(cases[i].line, cases[i].most, out, sizeof out);
        assert_string_equal(out, cases[i].expected);
    }
}

static int ink_of(const canvas *c)
{
    int ink = 0;
    for (int64_t i = 0; i < c->height * c->width; i++)
        ink += c->pixels[3 * i] < 128;
    return ink;
}

/* One letter alone; `own`: without this system's fonts. */
static canvas drawn(const char *letter, bool own, bool upwards)
{
    canvas c;
    lettering l = {.scale = 4, .most = 9, .upwards = upwards};
    expect_ok(canvas_open(60, 60, (color){255, 255, 255}, &c));
    c.fonts_sought = own;
    canvas_text(&c, upwards ? 55 : 5, 5, letter, &l);
    return c;
}

static bool same_pixels(const canvas *a, const canvas *b)
{
    return memcmp(a->pixels, b->pixels, (size_t)(3 * a->height * a->width)) == 0;
}

static bool has_letter(uint32_t letter)
{
    glyph g;
    fonts *f = fonts_open();
    bool has = fonts_glyph(f, letter, 40, &g);
    fonts_close(f);
    return has;
}

static void letters_of_a_font_are_drawn_and_squares_for_what_none_has(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint32_t letter;
    } cases[] = {{"\u00e4", 0xE4}, {"\u6d77", 0x6D77}, {"\u0436", 0x436}};
    int found = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        canvas square = drawn("\u00f6", true, false), own = drawn(cases[i].line, true, false);
        canvas real = drawn(cases[i].line, false, false), up = drawn(cases[i].line, false, true);
        assert_true(ink_of(&square) > 0);
        if (has_letter(cases[i].letter)) {
            found++;
            assert_false(same_pixels(&real, &own));
            assert_true(ink_of(&real) > 30 && ink_of(&real) == ink_of(&up));
        } else {
            assert_true(same_pixels(&real, &own));
        }
        canvas_close(&square);
        canvas_close(&own);
        canvas_close(&real);
        canvas_close(&up);
    }
    if (found == 0)
        print_message("no font of this system has one of these letters\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_take_one_width_those_of_east_asia_two),
        cmocka_unit_test(long_lines_are_cut_between_letters),
        cmocka_unit_test(letters_of_a_font_are_drawn_and_squares_for_what_none_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
