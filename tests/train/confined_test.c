/* What a recipe writes stays beneath one folder and harms no other file, also where the recipe lies
   in a stranger's model file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char work[1100];

/* A folder to write into, beside it files that nobody may touch. */
static int open_work(void **state)
{
    if (scratch_open(state) != 0)
        return -1;
    snprintf(work, sizeof work, "%s", scratch_path("work"));
    scratch_write("precious.csv", "my only copy\n", 13);
    scratch_write("precious.safetensors", "my only copy\n", 13);
    return mkdir(work, 0777) || mkdir(scratch_path("elsewhere"), 0777);
}

static void expect_precious(const char *path)
{
    char *content;
    size_t size;
    expect_ok(file_read(path, 1000, &content, &size));
    assert_string_equal(content, "my only copy\n");
    free(content);
}

static cornu_status train(const char *callback, const char *path)
{
    char fit[2048];
    snprintf(fit, sizeof fit, "{epochs: 1, callbacks: [{%s: {path: '%s'}}]}", callback, path);
    cornu_model *model = runs_usual(fit);
    cornu_data *data = runs_data(20, 0);
    cornu_fit_options o = {.size = sizeof o, .output = work};
    cornu_status status = cornu_fit(model, data, &o, NULL);
    assert_int_equal(model->initialized, status == CORNU_OK); /* refused before it begins */
    cornu_data_close(data);
    cornu_model_close(model);
    return status;
}

static void expect_refused(const char *path, const char *why)
{
    char name[1200];
    static const char *const kinds[][2] = {{"csv_logger", ".csv"}, {"checkpoint", ".safetensors"}};
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s", path, kinds[i][1]);
        cornu_status status = train(kinds[i][0], name);
        if (status != CORNU_INVALID && status != CORNU_IO)
            fail_msg("%s: found %s", name, cornu_status_name(status));
        expect_message(why);
    }
    expect_precious(scratch_path("precious.csv"));
    expect_precious(scratch_path("precious.safetensors"));
    assert_int_equal(rmdir(scratch_path("elsewhere")), 0); /* nothing is in there */
    assert_int_equal(mkdir(scratch_path("elsewhere"), 0777), 0);
}

static void paths_that_leave_the_folder_are_refused(void **state)
{
    (void)state;
    static const char why[] = "expected a path beneath the current folder (or that of --output)";
    expect_refused(scratch_path("precious"), why); /* absolute */
    expect_refused("/nonexistent-folder/a", why);
    expect_refused("../precious", why);
    expect_refused("a/../../precious", why);
    expect_refused("a//b", why);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    assert_int_equal(symlink("../elsewhere", scratch_path("work/out")), 0);
    expect_refused("out/a", "found a link or file at out; expected a folder");
    assert_int_equal(symlink("../precious.csv", scratch_path("work/a.csv")), 0);
    assert_int_equal(symlink("../precious.safetensors", scratch_path("work/a.safetensors")), 0);
    expect_refused("a", "found a link; expected a file of its own");
    assert_int_equal(symlink("../elsewhere/new.csv", scratch_path("work/new.csv")), 0);
    assert_int_equal(symlink("../elsewhere/new", scratch_path("work/new.safetensors")), 0);
    expect_refused("new", "found a link; expected a file of its own");
    assert_int_equal(link(scratch_path("precious.csv"), scratch_path("work/hard.csv")), 0);
    assert_int_equal(
        link(scratch_path("precious.safetensors"), scratch_path("work/hard.safetensors")), 0);
    expect_refused("hard", "found a file of 2 names; expected one of its own");
}

static void other_files_pipes_and_folders_are_not_replaced(void **state)
{
    (void)state;
    alarm(60);
    scratch_write("work/mine.csv", "name,grade\nann,1\n", 17);
    scratch_write("work/mine.safetensors", "name,grade\nann,1\n", 17);
    expect_refused("mine", "expected one, or none: a recipe's own files replace nothing else");
    assert_int_equal(mkfifo(scratch_path("work/pipe.csv"), 0600), 0);
    assert_int_equal(mkfifo(scratch_path("work/pipe.safetensors"), 0600), 0);
    expect_refused("pipe", "expected a regular file");
    assert_int_equal(mkdir(scratch_path("work/dir.csv"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("work/dir.safetensors"), 0700), 0);
    expect_refused("dir", "dir.");
}

static void files_of_earlier_runs_are_replaced(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        expect_ok(train("csv_logger", "sub/folder/log.csv"));
        expect_ok(train("checkpoint", "sub/folder/m.safetensors"));
    }
    char *content;
    size_t size;
    expect_ok(file_read(scratch_path("work/sub/folder/log.csv"), 10000, &content, &size));
    assert_int_equal(strncmp(content, "epoch,", 6), 0);
    free(content);
    cornu_model *model;
    expect_ok(cornu_model_open(scratch_path("work/sub/folder/m.safetensors"), &model));
    cornu_model_close(model);
}

/* The recipe in a model file counts as a recipe. */
static void a_model_file_that_is_resumed_writes_no_other_files_either(void **state)
{
    (void)state;
    cornu_model *model =
        runs_usual("{epochs: 2, callbacks: [{csv_logger: {path: sub/l.csv}}, {checkpoint: {path: "
                   "sub/m.safetensors}}]}");
    cornu_data *data = runs_data(20, 0);
    cornu_fit_options o = {.size = sizeof o, .output = work, .epochs = 1};
    expect_ok(cornu_fit(model, data, &o, NULL));
    const char *path = scratch_path("strange.safetensors");
    expect_ok(cornu_model_save(model, path));
    cornu_model_close(model);
    assert_int_equal(unlink(scratch_path("work/sub/l.csv")), 0);
    assert_int_equal(symlink("../../precious.csv", scratch_path("work/sub/l.csv")), 0);
    expect_ok(cornu_model_open(path, &model));
    o = (cornu_fit_options){
        .size = sizeof(cornu_fit_options), .output = work, .epochs = 2, .resume = true};
    expect_status(cornu_fit(model, data, &o, NULL), CORNU_INVALID);
    expect_message("found a link; expected a file of its own");
    expect_precious(scratch_path("precious.csv"));
    cornu_model_close(model);
    cornu_data_close(data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_work, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(paths_that_leave_the_folder_are_refused),
        TEST(links_are_not_followed),
        TEST(other_files_pipes_and_folders_are_not_replaced),
        TEST(files_of_earlier_runs_are_replaced),
        TEST(a_model_file_that_is_resumed_writes_no_other_files_either),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
