/* Tables survive a crash: what was cut off is dropped, what was whole stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/show.h"
#include "report/csv.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char header[] = "epoch,loss";

/* What is in the file after a table was opened over `before` and a row was added. */
static void expect_table(const char *before, size_t size, bool append, double last,
                         const char *expected)
{
    char *content, path[1100];
    csv *c;
    snprintf(path, sizeof path, "%s", scratch_write("t.csv", before, size));
    for (int confined = 0; confined < 2; confined++) {
        const char *name = confined ? "t.csv" : path;
        scratch_write("t.csv", before, size);
        expect_ok(
            csv_open(&(csv_location){name, scratch_path(""), confined}, header, append, last, &c));
        expect_ok(csv_add(c, "7,0.5"));
        expect_ok(csv_close(c));
        expect_ok(file_read(path, 10000, &content, &size));
        assert_string_equal(content, expected);
        free(content);
        size = strlen(before);
    }
}

static void a_row_or_header_that_was_cut_off_is_dropped(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        double last;
        const char *expected;
    } cases[] = {
        {"", 1e300, "epoch,loss\n7,0.5\n"},
        {"epo", 1e300, "epoch,loss\n7,0.5\n"},
        {"epoch,loss", 1e300, "epoch,loss\n7,0.5\n"},
        {"epoch,loss\n", 1e300, "epoch,loss\n7,0.5\n"},
        {"epoch,loss\n0,1.0\n1,0.9\n", 1e300, "epoch,loss\n0,1.0\n1,0.9\n7,0.5\n"},
        {"epoch,loss\n0,1.0\n1,0.", 1e300, "epoch,loss\n0,1.0\n7,0.5\n"},
        {"epoch,loss\n0,1.0\n1", 1e300, "epoch,loss\n0,1.0\n7,0.5\n"},
        {"epoch,loss\n0,1.0\n1,0.9\n2,0.8\n", 1, "epoch,loss\n0,1.0\n1,0.9\n7,0.5\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_table(cases[i].before, strlen(cases[i].before), true, cases[i].last,
                     cases[i].expected);
        expect_table(cases[i].before, strlen(cases[i].before), false, 1e300, "epoch,loss\n7,0.5\n");
    }
}

/* A loss of power may leave zeros where a row was to be. */
static void zeros_at_the_end_are_dropped(void **state)
{
    (void)state;
    static const char before[] = "epoch,loss\n0,1.0\n\0\0\0\0";
    char *content;
    size_t size;
    csv *c;
    csv_location at = {"t.csv", scratch_path(""), true};
    const char *path = scratch_write("t.csv", before, sizeof before);
    expect_ok(csv_open(&at, header, true, 1e300, &c));
    expect_ok(csv_add(c, "1,0.9"));
    expect_ok(csv_close(c));
    expect_ok(file_read(path, 10000, &content, &size));
    assert_string_equal(content, "epoch,loss\n0,1.0\n1,0.9\n");
    free(content);
}

static void other_columns_are_an_error_and_stay(void **state)
{
    (void)state;
    csv *c;
    char *content;
    size_t size;
    csv_location at = {"t.csv", scratch_path(""), true};
    const char *path = scratch_write("t.csv", "epoch,mae\n0,1.0\n", 16);
    expect_status(csv_open(&at, header, true, 1e300, &c), CORNU_INVALID);
    expect_message("t.csv: found the columns epoch,mae; expected epoch,loss");
    expect_ok(file_read(path, 10000, &content, &size));
    assert_string_equal(content, "epoch,mae\n0,1.0\n");
    free(content);
}

/* Rows are with the system when csv_add returns: nothing is lost with the process. */
static void rows_survive_the_end_of_the_process(void **state)
{
    (void)state;
    csv *c;
    char *content;
    size_t size;
    csv_location at = {"t.csv", scratch_path(""), true};
    pid_t child = fork();
    if (child == 0) {
        if (csv_open(&at, header, false, 1e300, &c) == CORNU_OK && csv_add(c, "0,1.0") == CORNU_OK)
            raise(SIGKILL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    expect_ok(file_read(scratch_path("t.csv"), 10000, &content, &size));
    assert_string_equal(content, "epoch,loss\n0,1.0\n");
    free(content);
}

static void names_of_columns_are_quoted_where_they_need_it(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"loss", ",loss"},
                                           {"a,b", ",\"a,b\""},
                                           {"5\" image", ",\"5\"\" image\""},
                                           {"a\nb\033[2J", ",a\\nb\\x1b[2J"},
                                           {"größe", ",größe"},
                                           {"=1+1", ",\"'=1+1\""},
                                           {"=HYPERLINK(\"x\")", ",\"'=HYPERLINK(\"\"x\"\")\""},
                                           {"+cmd|' /C calc'!A0", ",\"'+cmd|' /C calc'!A0\""},
                                           {"-2+3", ",\"'-2+3\""},
                                           {"@SUM(A1)", ",\"'@SUM(A1)\""},
                                           {"-", ",\"'-\""},
                                           {"a=b", ",a=b"},
                                           {"-1.5", ",-1.5"},
                                           {"+2e3", ",+2e3"},
                                           {"", ","}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t = {0};
        csv_add_name(&t, cases[i][0]);
        assert_string_equal(t.data, cases[i][1]);
        text_free(&t);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_row_or_header_that_was_cut_off_is_dropped),
        TEST(zeros_at_the_end_are_dropped),
        TEST(other_columns_are_an_error_and_stay),
        TEST(rows_survive_the_end_of_the_process),
        TEST(names_of_columns_are_quoted_where_they_need_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
