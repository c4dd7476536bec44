/* Charts and pages: the drawing shows the given values, stays inside its edges, and no name breaks
   out of the markup. */
#include "base/files.h"
#include "format/html/html.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char hostile[] = "<script>alert('\"x\"')</script> & \x1b[31m \xff \u00e4\u4e16\u202e";

static char *take(text *t)
{
    static char *out; /* static: GCC 12 sees a dangling pointer in what text_take() fills */
    assert_int_equal(text_take(t, &out), CORNU_OK);
    return out;
}

static chart bars_of(const chart_group *groups, int count)
{
    return (chart){.title = "ms", .group = groups, .group_count = count};
}

static int count_of(const char *text, const char *what)
{
    int found = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        found++;
    return found;
}

/* The attribute of the nth element that begins with `element`. */
static double attribute(const char *svg, const char *element, int nth, const char *name)
{
    const char *at = strstr(svg, element);
    for (; at && nth > 0; nth--)
        at = strstr(at + 1, element);
    assert_non_null(at);
    at = strstr(at, name);
    assert_non_null(at);
    return atof(at + strlen(name));
}

static void bars_are_as_long_as_their_values(void **state)
{
    (void)state;
    static const chart_bar bars[] = {{.name = "a", .value = 10},
                                     {.name = "b", .value = 5},
                                     {.name = "none", .value = NAN, .text = "failed"}};
    static const chart_group group = {.name = "group", .bar = bars, .count = 3};
    text t = {0};
    chart c = bars_of(&group, 1);
    chart_html(&t, &c);
    char *html = take(&t);
    static const char bar[] = "class=\"b s0\"";
    assert_int_equal(count_of(html, bar), 2);
    double a = attribute(html, bar, 0, "width:"), b = attribute(html, bar, 1, "width:");
    assert_true(a > 99.9 && fabs(a - 2 * b) < 0.2);
    assert_non_null(strstr(html, ">10.0</b>"));
    assert_non_null(strstr(html, ">5.00</b>"));
    assert_non_null(strstr(html, ">failed</b>"));
    free(html);
}

static void a_logarithmic_axis_has_dots_at_equal_steps_for_equal_ratios(void **state)
{
    (void)state;
    static const chart_bar bars[] = {{.name = "a", .value = 1},
                                     {.name = "b", .value = 10},
                                     {.name = "c", .value = 100, .low = 90, .high = 1000}};
    static const chart_group group = {.bar = bars, .count = 3};
    text t = {0};
    chart c = bars_of(&group, 1);
    c.log_x = true;
    c.range_name = "from here to there";
    chart_html(&t, &c);
    char *html = take(&t);
    double x[3];
    for (int i = 0; i < 3; i++)
        x[i] = attribute(html, "class=\"d s0\"", i, "left:");
    assert_true(x[1] - x[0] > 5 && fabs((x[2] - x[1]) - (x[1] - x[0])) < 0.2);
    assert_int_equal(count_of(html, "class=\"w\""), 2); /* and in the legend */
    assert_non_null(strstr(html, ">from here to there</li>"));
    free(html);
}

/* With a ratio of 100 both ends are visible: the axis does not begin decades below. */
static void a_logarithmic_axis_ends_near_its_values(void **state)
{
    (void)state;
    static const chart_bar bars[] = {{.name = "a", .value = 4}, {.name = "b", .value = 413}};
    static const chart_group group = {.bar = bars, .count = 2};
    text t = {0};
    chart c = bars_of(&group, 1);
    c.log_x = true;
    chart_html(&t, &c);
    char *html = take(&t);
    double low = attribute(html, "class=\"d s0\"", 0, "left:"),
           high = attribute(html, "class=\"d s0\"", 1, "left:");
    assert_true(low > 1 && low < 20 && high > 80 && high <= 100);
    free(html);
}

static void lines_leave_gaps_and_are_thinned(void **state)
{
    (void)state;
    static double x[10000], y[10000];
    for (int i = 0; i < 10000; i++) {
        x[i] = i;
        y[i] = 1.0 / (1 + i);
    }
    chart_line line = {.name = "loss", .x = x, .y = y, .count = 10000};
    chart c = {.title = "loss", .line = &line, .line_count = 1, .log_y = true};
    text t = {0};
    chart_html(&t, &c);
    char *svg = take(&t);
    assert_true(strlen(svg) < 12000);
    free(svg);
    y[2] = NAN;
    line.count = 5;
    chart_html(&t, &c);
    svg = take(&t);
    const char *path = strstr(svg, "class=\"line s0\" vector-effect=\"");
    int moves = 0;
    for (const char *p = strstr(path, " d=") + 4; *p != '"'; p++)
        moves += *p == 'M';
    assert_int_equal(moves, 2);
    free(svg);
}

/* There is no tick between two epochs. */
static void whole_numbers_have_whole_ticks(void **state)
{
    (void)state;
    double x[] = {1, 2}, y[] = {3, 5};
    chart_line line = {.name = "loss", .x = x, .y = y, .count = 2};
    chart c = {.title = "loss", .line = &line, .line_count = 1};
    for (int halves = 0; halves < 2; halves++) {
        text t = {0};
        x[1] = halves ? 1.5 : 2;
        chart_html(&t, &c);
        char *svg = take(&t);
        assert_int_equal(count_of(svg, ">1.2<") + count_of(svg, ">1.1<") > 0, halves);
        assert_int_equal(count_of(svg, ">1<"), 1);
        free(svg);
    }
}

/* Places of text and marks, whatever the values are. */
static void nothing_is_drawn_outside(void **state)
{
    (void)state;
    static const double values[][3] = {{0, 0, 0},       {1e-30, 1e30, 5}, {-1, -2, -3},
                                       {NAN, NAN, NAN}, {7, 7, 7},        {1e300, INFINITY, 1}};
    static const double x[] = {1, 2, 3};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int logs = 0; logs < 4; logs++) {
            chart_bar bars[3];
            for (int k = 0; k < 3; k++)
                bars[k] = (chart_bar){.name = hostile, .value = values[i][k], .high = 1e9};
            chart_group group = {.name = hostile, .bar = bars, .count = 3};
            chart_line line = {.name = hostile, .x = x, .y = values[i], .count = 3};
            chart c = bars_of(&group, 1);
            c.log_x = logs & 1;
            c.log_y = logs & 2;
            if (logs & 2) {
                c.line = &line;
                c.line_count = 1;
            }
            text t = {0};
            chart_html(&t, &c);
            char *svg = take(&t);
            assert_null(strstr(svg, "nan"));
            assert_null(strstr(svg, "inf"));
            static const char *const places[] = {" x=\"", " y=\"", "left:", "width:"};
            for (int k = 0; k < 4; k++)
                for (const char *p = strstr(svg, places[k]); p; p = strstr(p + 1, places[k])) {
                    double at = atof(p + strlen(places[k]));
                    if (!(at >= 0 && at <= 100))
                        fail_msg("values %zu, logs %d:%s%g\n%s", i, logs, places[k], at, svg);
                }
            free(svg);
        }
}

static void names_are_escaped_and_shortened(void **state)
{
    (void)state;
    static const chart_bar bar = {.name = hostile, .value = 1, .text = hostile};
    static const chart_group group = {.name = hostile, .bar = &bar, .count = 1};
    chart c = {.title = hostile,
               .description = hostile,
               .group = &group,
               .group_count = 1,
               .x_title = hostile};
    static const html_column columns[] = {{hostile, false}, {hostile, true}};
    text t = {0};
    html_begin(&t, hostile, hostile, hostile);
    html_heading(&t, 2, hostile);
    html_paragraph(&t, hostile);
    html_figures_begin(&t);
    chart_html(&t, &c);
    html_figures_end(&t);
    html_table_begin(&t, hostile, columns, 2);
    html_row_begin(&t, hostile);
    html_cell(&t, hostile);
    html_row_end(&t);
    html_table_end(&t);
    html_list_begin(&t);
    html_list_item(&t, hostile);
    html_list_end(&t);
    html_facts(&t, hostile, hostile);
    html_end(&t);
    char *html = take(&t);
    assert_null(strstr(html, "<script"));
    assert_null(strchr(html, '\x1b'));
    assert_null(strchr(html, '\xff'));
    assert_null(strstr(html, "\u202e"));
    assert_non_null(strstr(html, "&lt;script&gt;alert(&#39;&quot;x&quot;&#39;)&lt;/script&gt; "
                                 "&amp; \\x1b[31m \\xff \u00e4\u4e16\\u202e"));
    free(html);
}

/* The selectors before a declaration of `property`, one after another; false: no more. */
static bool next_rule(const char **css, const char *property, char *selector, size_t size)
{
    const char *at = strstr(*css, property);
    if (!at)
        return false;
    const char *open = at, *from;
    while (*open != '{')
        open--;
    for (from = open; from > chart_style && !strchr("}{", from[-1]);)
        from--;
    snprintf(selector, size, "%.*s", (int)(open - from), from);
    *css = at + 1;
    return true;
}

/* A series' colour once overrode "fill:none", and every curve was a filled blob. */
static void no_rule_fills_a_line(void **state)
{
    (void)state;
    char selector[256];
    assert_non_null(strstr(chart_style, ".line{fill:none;"));
    for (const char *css = chart_style; next_rule(&css, "fill:", selector, sizeof selector);) {
        bool none = strncmp(css - 1, "fill:none", 9) == 0;
        bool other = strstr(selector, "text") || strstr(selector, ".soft") ||
                     strcmp(selector, ".mark") == 0 || strcmp(selector, ".paper") == 0;
        if (!none && !other)
            fail_msg("%s has a fill", selector);
    }
    double x[] = {1, 2, 3}, y[] = {3, 5, 4};
    chart_line line = {.name = "loss", .x = x, .y = y, .count = 3, .series = 1};
    chart c = {.title = "loss", .line = &line, .line_count = 1};
    text t = {0};
    chart_html(&t, &c);
    char *html = take(&t);
    assert_null(strstr(html, "fill"));
    assert_int_equal(count_of(html, "class=\"line s1\""), 2); /* and in the legend */
    assert_int_equal(count_of(html, "class=\"mark s1\""), 4);
    free(html);
}

static void facts_are_names_and_what_follows(void **state)
{
    (void)state;
    text t = {0};
    html_facts(&t, NULL, "zlib  1.2  1.3\ntrain: (28, 28)\n            file\nalone\n");
    char *html = take(&t);
    assert_non_null(strstr(html, ">zlib</th><td>1.2 \u00b7 1.3</td>"));
    assert_non_null(strstr(html, ">train</th><td>(28, 28)</td>"));
    assert_non_null(strstr(html, "></th><td>file</td>"));
    assert_non_null(strstr(html, ">alone</th><td></td>"));
    free(html);
}

static void numbers_keep_their_digits(void **state)
{
    (void)state;
    static const struct {
        double value;
        int digits;
        const char *shown;
    } cases[] = {{0, 3, "0"},
                 {9.999, 3, "10.0"},
                 {9.994, 3, "9.99"},
                 {-0.01234, 3, "-0.0123"},
                 {1234567, 3, "1234567"},
                 {4.5e-7, 2, "4.5e-07"},
                 {99.96, 3, "100"},
                 {1e300, 3, "1.00e+300"},
                 {INFINITY, 3, "-"},
                 {0.5, 1, "0.5"},
                 {3, 1, "3"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[MARKUP_NUMBER];
        assert_string_equal(markup_number(cases[i].value, cases[i].digits, out), cases[i].shown);
    }
}

static void a_cell_holds_the_whole_number(void **state)
{
    (void)state;
    text t = {0};
    html_number_cell(&t, 9.88765432, 3);
    html_number_cell(&t, NAN, 3);
    char *cells = take(&t);
    assert_string_equal(cells, "<td class=\"n\" data-value=\"9.88765432\">9.89</td>"
                               "<td class=\"n\">-</td>");
    free(cells);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_are_as_long_as_their_values),
        cmocka_unit_test(a_logarithmic_axis_has_dots_at_equal_steps_for_equal_ratios),
        cmocka_unit_test(a_logarithmic_axis_ends_near_its_values),
        cmocka_unit_test(no_rule_fills_a_line),
        cmocka_unit_test(facts_are_names_and_what_follows),
        cmocka_unit_test(lines_leave_gaps_and_are_thinned),
        cmocka_unit_test(whole_numbers_have_whole_ticks),
        cmocka_unit_test(nothing_is_drawn_outside),
        cmocka_unit_test(names_are_escaped_and_shortened),
        cmocka_unit_test(numbers_keep_their_digits),
        cmocka_unit_test(a_cell_holds_the_whole_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
