/* Text from outside cannot command a terminal, and text of any language stays as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"
#include <cornu/tables.h>
#include <string.h>

static void expect_shown(const char *text, const char *expected)
{
    char out[256];
    assert_int_equal(cornu_printable(text, out, sizeof out), strlen(expected));
    assert_string_equal(out, expected);
    /* Text that was already made printable does not change again. */
    char again[256];
    cornu_printable(out, again, sizeof again);
    assert_string_equal(again, expected);
}

static void controls_become_escapes(void **state)
{
    (void)state;
    expect_shown("\033[31mred\033[0m", "\\x1b[31mred\\x1b[0m");
    expect_shown("a\nb\rc\td\b\177", "a\\nb\\rc\\td\\x08\\x7f");
    expect_shown("\1\037 ~", "\\x01\\x1f ~");
    expect_shown("\302\2332J", "\\u009b2J"); /* C1's CSI */
    expect_shown("\302\200\302\237\302\240", "\\u0080\\u009f\302\240");
    expect_shown("gpj.\342\200\256x", "gpj.\\u202ex");
    expect_shown("\342\201\246a\342\201\251", "\\u2066a\\u2069");
    expect_shown("\342\200\252\342\200\254\342\200\250", "\\u202a\\u202c\\u2028");
}

static void bytes_that_are_no_utf8_become_escapes(void **state)
{
    (void)state;
    expect_shown("\233", "\\x9b");
    expect_shown("\377\376a", "\\xff\\xfea");
    expect_shown("\303", "\\xc3");
    expect_shown("\303(", "\\xc3(");
    expect_shown("\300\233", "\\xc0\\x9b");                   /* ESC, longer than needed */
    expect_shown("\340\202\233", "\\xe0\\x82\\x9b");          /* C1, longer than needed */
    expect_shown("\355\240\200", "\\xed\\xa0\\x80");          /* a surrogate */
    expect_shown("\364\220\200\200", "\\xf4\\x90\\x80\\x80"); /* beyond U+10FFFF */
    expect_shown("\360\237\230", "\\xf0\\x9f\\x98");
}

static void text_of_any_language_stays(void **state)
{
    (void)state;
    static const char *const plain[] = {"",
                                        "cat's \"toy\" \\n 100 %",
                                        "Gr\303\266\303\237e \303\244",
                                        "日本語",
                                        "עברית العربية",
                                        "👩‍👩‍👧 🏴 é",
                                        "café (conv2d/kernel)"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        expect_shown(plain[i], plain[i]);
}

static void a_cut_is_before_a_character_or_escape(void **state)
{
    (void)state;
    char out[8];
    static const char *const expected[] = {"", "a", "a", "aä", "aä", "aä", "aä"};
    for (size_t size = 1; size <= 7; size++) {
        memset(out, 'x', sizeof out);
        assert_int_equal(cornu_printable("aä\033b", out, size), 8);
        assert_string_equal(out, expected[size - 1]);
    }
    assert_int_equal(cornu_printable("aä\033b", NULL, 0), 8);
}

static void no_text_is_an_empty_one(void **state)
{
    (void)state;
    char out[4] = "abc";
    assert_int_equal(cornu_printable(NULL, out, sizeof out), 0);
    assert_string_equal(out, "");
    assert_int_equal(cornu_printable("four", NULL, 9), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_text_is_an_empty_one),
        cmocka_unit_test(controls_become_escapes),
        cmocka_unit_test(bytes_that_are_no_utf8_become_escapes),
        cmocka_unit_test(text_of_any_language_stays),
        cmocka_unit_test(a_cut_is_before_a_character_or_escape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
