/* What becomes of a training: where it goes, at the end as when it is stopped, and which options
   are told to change nothing. */
#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SMALL "train", "small.yaml", "--data", "mnist"

static bool exists(const char *name)
{
    return access(scratch_path(name), F_OK) == 0;
}

static void must_say(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("found: %s; expected: %s", text, part);
}

static program must_end(int status, const char *const *arguments)
{
    program p = program_run(arguments);
    if (p.status != status)
        fail_msg("found status %d: %s; expected %d", p.status, p.err, status);
    return p;
}

/* ---- where the model goes ----------------------------------------------------------------- */

static void a_run_that_names_no_file_says_where_the_model_goes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "small.safetensors" : "small-2.safetensors";
        char before[200], after[64];
        program p = must_end(0, ARGUMENTS(SMALL, "--epochs", "1"));
        snprintf(before, sizeof before, "the model will be saved as %s at the end, or when stopped",
                 name);
        snprintf(after, sizeof after, "saved %s\n", name);
        must_say(p.out, before);
        assert_true(strstr(p.out, before) < strstr(p.out, "Epoch 1/1"));
        must_say(p.out, after);
        assert_true(exists(name));
        program_free(&p);
    }
    program p = must_end(
        0, ARGUMENTS("train", "--data", "mnist", "--resume", "small.safetensors", "--epochs", "2"));
    assert_null(strstr(p.out, "will be saved")); /* it is the file itself, each epoch */
    must_say(p.out, "saved small.safetensors\n");
    program_free(&p);
}

/* Both where it ends and where it is stopped. */
static void no_model_is_kept_where_none_is_wanted(void **state)
{
    (void)state;
    int files = scratch_count();
    program p = must_end(0, ARGUMENTS(SMALL, "--epochs", "1", "--no-save"));
    must_say(p.out, "not saved: found --no-save (--save FILE writes the model)\n");
    assert_null(strstr(p.out, "\nsaved"));
    program_free(&p);
    p = program_start(ARGUMENTS(SMALL, "--epochs", "1000000", "--no-save"));
    assert_true(program_says(&p, "Epoch 1/"));
    kill(p.pid, SIGINT);
    program_finish(&p);
    assert_int_equal(p.status, 130);
    must_say(p.err, ", not saving, press Ctrl-C again to end at once\n");
    must_say(p.err, ", not saved\n");
    program_free(&p);
    assert_int_equal(scratch_count(), files);
    p = must_end(2, ARGUMENTS(SMALL, "--no-save", "--save", "m.safetensors"));
    must_say(p.err, "found --no-save and --save; expected one of them");
    program_free(&p);
}

/* root may write anywhere */
static void a_folder_that_takes_no_file_is_told_before_the_first_epoch(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip();
    assert_int_equal(chmod(scratch_path(""), 0500), 0);
    program p = must_end(0, ARGUMENTS(SMALL, "--epochs", "1"));
    assert_int_equal(chmod(scratch_path(""), 0700), 0);
    must_say(p.out, "not saved: this folder: Permission denied (--save FILE: elsewhere)\n");
    program_free(&p);
}

static void the_time_that_is_given_is_kept(void **state)
{
    (void)state;
    program p = must_end(0, ARGUMENTS(SMALL, "--epochs", "1000000", "--max-time", "0.3s", "--seed",
                                      "3", "--save", "m.safetensors"));
    must_say(p.err, "--max-time 0.3s: stopped after ");
    must_say(p.err,
             ", saved m.safetensors. Go on with: cornu train small.yaml --data mnist --epochs "
             "1000000 --max-time 0.3s --resume m.safetensors\n");
    program_free(&p);
    p = must_end(0, ARGUMENTS("train", "--data", "mnist", "--max-time", "0.1s", "--resume",
                              "m.safetensors"));
    must_say(p.err, "--max-time 0.1s: stopped after ");
    program_free(&p);
    static const char *const bad[] = {"10", "1x", "1m1h", "m", "0s", "-1s"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        p = must_end(2, (const char *const[]){SMALL, "--max-time", bad[i], NULL});
        must_say(p.err, "expected a time, such as 90s, 10m or 1h30m");
        program_free(&p);
    }
    p = must_end(0, ARGUMENTS(SMALL, "--epochs", "1", "--max-time", "1d2h3m4.5s"));
    program_free(&p);
}

/* ---- options that change nothing ---------------------------------------------------------- */

#define NET                                                                                       \
    "data: mnist\nmodel:\n  input: [28, 28, 1]\n  layers: [Flatten, {Dense: {units: 10, "         \
    "activation: softmax}}]\ncompile: {optimizer: sgd, loss: categorical_crossentropy}\nfit: "    \
    "{batch_size: 10, epochs: 1, callbacks: [{%s: {step: {boundaries: [1], values: [0.1, 0.2]}}}" \
    "]}\n"

static void a_rate_beside_a_schedule_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"learning_rate_schedule", "LearningRateScheduler"};
    for (int i = 0; i < 2; i++) {
        char text[512], message[128];
        int length = snprintf(text, sizeof text, NET, names[i]);
        made_file("net.yaml", text, (size_t)length);
        snprintf(message, sizeof message, "learning_rate: found the callback %s in the recipe",
                 names[i]);
        program p = must_end(
            1, ARGUMENTS("train", "net.yaml", "--data", "mnist", "--learning-rate", "0.5"));
        must_say(p.err, message);
        must_say(p.err, "change the callback's schedule, or take it out of the recipe");
        program_free(&p);
        p = must_end(1, ARGUMENTS("train", "net.yaml", "--data", "mnist", "--sweep",
                                  "learning_rate=0.1,0.2"));
        must_say(p.err, message);
        program_free(&p);
        p = must_end(0, ARGUMENTS("train", "net.yaml", "--data", "mnist", "--no-save"));
        program_free(&p);
    }
}

static void options_that_change_nothing_are_told(void **state)
{
    (void)state;
    static const char *const options[][3] = {
        {"--workers", "2", "--workers changes nothing: the data are no folder of images"},
        {"--cache", "off", "--cache changes nothing: the data are no folder of images"},
        {"--strict", NULL, "--strict changes nothing: the data are no folder of images"},
        {"--output", "there", "output changes nothing: the recipe itself names no files"},
        {"--plot", NULL, "--plot changes nothing: standard output is no terminal"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        program p = must_end(0, (const char *const[]){SMALL, "--epochs", "1", "--no-save",
                                                      options[i][0], options[i][1], NULL});
        must_say(p.out, options[i][2]);
        program_free(&p);
    }
    program p = must_end(2, ARGUMENTS(SMALL, "--plot", "--quiet"));
    must_say(p.err, "found --plot and --quiet; expected one of them");
    program_free(&p);
    p = must_end(2, ARGUMENTS("evaluate", "m.safetensors", "--top", "3"));
    must_say(p.err, "found --top alone; expected --report, too");
    program_free(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_open_small, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_that_names_no_file_says_where_the_model_goes),
        TEST(no_model_is_kept_where_none_is_wanted),
        TEST(a_folder_that_takes_no_file_is_told_before_the_first_epoch),
        TEST(the_time_that_is_given_is_kept),
        TEST(a_rate_beside_a_schedule_is_refused),
        TEST(options_that_change_nothing_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
