/* Text for people: tables as wide as a terminal, their notes, and cells of CSV. */
#include "base/show.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char *printed(show_table *t)
{
    char *all = NULL;
    size_t size;
    FILE *f = open_memstream(&all, &size);
    assert_non_null(f);
    table_print(t, f);
    fclose(f);
    return all;
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
    show_table t = {.columns = 0};
    table_add_column(&t, (show_column){.heading = "name", .left = true});
    table_add_column(&t, (show_column){.heading = "ms"});
    table_begin_row(&t);
    table_add_cell(&t, "%s", "a\x1b[1m");
    table_add_cell(&t, "%d ±%d", 10, 2);
    table_begin_row(&t);
    table_add_cell(&t, "b");
    table_add_note(&t, "failed: no memory");
    char *all = printed(&t);
    assert_string_equal(all, "name         ms\na\\x1b[1m  10 ±2\nb         failed: no memory\n");
    free(all);
}

/* The group's name stands above its first column; the column with the smallest `keep` goes. */
static void a_table_that_is_too_wide_leaves_out_the_least_needed_column(void **state)
{
    (void)state;
    static const char wide[] = "123456789012345678901234567890123456";
    show_table t = {.indent = 4};
    table_add_column(&t, (show_column){.heading = "run", .group = ""});
    table_add_column(&t, (show_column){.heading = "loss", .group = "training", .keep = 2});
    table_add_column(&t, (show_column){.heading = "metric", .group = "training", .keep = 1});
    table_add_column(&t, (show_column){.heading = "best", .group = "best", .keep = 3});
    table_begin_row(&t);
    table_add_cell(&t, "1");
    table_add_cell(&t, "%s", wide);
    table_add_cell(&t, "%s", wide);
    table_add_cell(&t, "0.5");
    char *all = printed(&t);
    assert_non_null(strstr(all, "     training                              best\n"));
    assert_null(strstr(all, "metric"));
    assert_non_null(strstr(all, "  0.5\n"));
    free(all);
}

static void cells_of_csv_are_quoted_and_never_formulas(void **state)
{
    (void)state;
    text t = {0};
    csv_add_cell(&t, "plain");
    csv_add_cell(&t, "a,\"b\"");
    csv_add_cell(&t, "=1+1");
    csv_add_cell(&t, "-1.5");
    char *line;
    assert_int_equal(text_take(&t, &line), CORNU_OK);
    assert_string_equal(line, ",plain,\"a,\"\"b\"\"\",\"'=1+1\",-1.5");
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(a_table_that_is_too_wide_leaves_out_the_least_needed_column),
        cmocka_unit_test(cells_of_csv_are_quoted_and_never_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
