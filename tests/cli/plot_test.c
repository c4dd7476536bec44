/* Curves in the terminal: the picture of known values, and what is erased when it moves. */
#include "cli/cli.h" /* before cmocka, which has a macro `fail` */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static plot curves;

static void add(int64_t epoch, double loss, double accuracy, double val_loss, double val_accuracy)
{
    cornu_scores s = {.size = sizeof s,
                      .all_count = 2,
                      .all_name = {"loss", "accuracy"},
                      .all_value = {loss, accuracy}};
    cornu_scores v = {.size = sizeof v,
                      .all_count = 2,
                      .all_name = {"loss", "accuracy"},
                      .all_value = {val_loss, val_accuracy}};
    plot_add(&curves, &(cornu_progress){
                          .epoch = epoch, .scores = &s, .validation = isnan(val_loss) ? NULL : &v});
}

/* What is printed, as a string (free). */
static char *picture(int width, int height, bool utf8, int *lines)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    *lines = plot_print(&curves, width, height, utf8, f);
    fclose(f);
    return text;
}

static void expect_picture(int width, int height, bool utf8, const char *expected)
{
    int lines, newlines = 0;
    char *text = picture(width, height, utf8, &lines);
    for (const char *c = text; *c; c++)
        newlines += *c == '\n';
    assert_int_equal(newlines, lines);
    if (strcmp(text, expected) != 0)
        print_error("found\n%sexpected\n%s", text, expected);
    assert_string_equal(text, expected);
    free(text);
}

static void one_curve_is_drawn_from_its_largest_to_its_smallest_value(void **state)
{
    (void)state;
    curves = (plot){.count = 0};
    add(0, 4, 0, 3, 0);
    add(1, 1, 0, 1, 0);
    expect_picture(22, 9, false,
                   "          loss (val: o\n"
                   "        4|***         \n"
                   "         |o  ***      \n"
                   "         |      ***   \n"
                   "        1|         **o\n"
                   "          1          2\n");
}

static void dots_of_braille_are_two_by_four(void **state)
{
    (void)state;
    curves = (plot){.count = 0};
    add(0, 0, 0, NAN, 0);
    add(1, 11, 0, NAN, 0);
    expect_picture(20, 8, true,
                   "          loss      \n"
                   "       11│      ⢀⡠⠔⠊\n" /* columns of 1 by 11/19 of a dot's height */
                   "         │   ⢀⠤⠒⠁   \n"
                   "        0│⡠⠔⠊⠁      \n"
                   "          1        2\n");
}

static void values_that_are_no_numbers_leave_gaps(void **state)
{
    (void)state;
    int lines;
    curves = (plot){.count = 0};
    for (int i = 0; i < 5; i++)
        add(i, i == 2 ? NAN : i == 3 ? INFINITY : 1, 0, NAN, 0);
    char *text = picture(60, 20, false, &lines);
    assert_true(lines > 0);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
    curves = (plot){.count = 0};
    add(0, NAN, NAN, NAN, 0);
    text = picture(60, 20, false, &lines);
    assert_true(lines > 0);
    assert_null(strstr(text, "nan"));
    free(text);
}

/* Whatever the terminal is like: no line is longer, and there are no more of them. */
static void it_fits_any_terminal(void **state)
{
    (void)state;
    curves = (plot){.count = 0};
    for (int i = 0; i < 40; i++)
        add(i, exp(-i), i / 40.0, 1e-30 * i, -1e30);
    for (int width = 1; width < 300; width += 3)
        for (int height = 1; height < 40; height += 2) {
            int lines;
            char *text = picture(width, height, false, &lines);
            assert_true(lines <= height - 3 || lines == 0);
            for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
                assert_true((int)strlen(line) <= width);
            free(text);
        }
}

static void a_long_run_keeps_its_shape(void **state)
{
    (void)state;
    curves = (plot){.count = 0};
    for (int i = 0; i < 100000; i++)
        add(i, i, 0, NAN, 0);
    int lines;
    char *text = picture(22, 9, false, &lines);
    assert_non_null(strstr(text, "|         ***"));
    assert_non_null(strstr(text, "|***         "));
    assert_true(curves.count <= PLOT_POINTS && curves.count >= PLOT_POINTS / 2);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_curve_is_drawn_from_its_largest_to_its_smallest_value),
        cmocka_unit_test(dots_of_braille_are_two_by_four),
        cmocka_unit_test(values_that_are_no_numbers_leave_gaps),
        cmocka_unit_test(it_fits_any_terminal),
        cmocka_unit_test(a_long_run_keeps_its_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
