/* Ctrl-C, typed into the terminal that the program runs in: what it is answered with, and what is
   left of the run.

   The last test takes its measure from the environment, to be run by hand on an idle machine:
     CORNU_TEST_MOMENTS=200 CORNU_TEST_MEGABYTES=510 CORNU_TEST_SEED=1 cli.interrupt_test
   Then it also fails where an answer took longer than 0.1 s. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/philox.h"
#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include "support/terminal.h"
#include <dirent.h>
#include <math.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* ---- a program in a terminal -------------------------------------------------------------- */

typedef struct terminal {
    pid_t pid;
    int master, status;
    bool killed; /* by a signal */
    bool ended;  /* there is nothing more to read */
    char text[1 << 17];
    size_t size, mark; /* what was read, and where the last key was pressed */
} terminal;

static terminal t;

static void start(const char *preloaded, const char *const *arguments)
{
    struct winsize size = {.ws_row = 24, .ws_col = 200};
    const char *line[32] = {"cornu"};
    for (int i = 0; arguments[i] && i < 30; i++)
        line[i + 1] = arguments[i];
    terminal_needed();
    memset(&t, 0, sizeof t);
    t.pid = forkpty(&t.master, NULL, NULL, &size);
    if (t.pid == 0) {
        static const int keys[] = {SIGHUP, SIGINT, SIGQUIT}; /* nohup and "&" have them ignored */
        for (int i = 0; i < 3; i++)
            (void)signal(keys[i], SIG_DFL);
        setenv("TERM", "xterm", 1);
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
        if (preloaded)
            setenv("LD_PRELOAD", preloaded, 1);
        if (chdir(scratch_path("")) == 0)
            execv(PROGRAM, (char *const *)(void *)line);
        _exit(99);
    }
    struct termios terminal;
    assert_true(t.pid > 0);
    assert_int_equal(tcgetattr(t.master, &terminal), 0);
    terminal.c_lflag |= NOFLSH; /* else a key drops what was printed and is not read yet */
    assert_int_equal(tcsetattr(t.master, TCSANOW, &terminal), 0);
    while (tcgetpgrp(t.master) != t.pid) /* a key would go to nobody */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

#define START(...) start(NULL, (const char *const[]){__VA_ARGS__, NULL})
#define START_SLOW(...) start(SLOW_FSYNC, (const char *const[]){__VA_ARGS__, NULL})

/* Read what comes next, within this time. */
static void listen_for(double seconds)
{
    double end = clock_seconds() + seconds;
    do {
        double left = end - clock_seconds();
        struct pollfd from = {.fd = t.master, .events = POLLIN};
        if (poll(&from, 1, left > 0 ? (int)(left * 1e3) + 1 : 0) != 1)
            continue;
        if (t.size > sizeof t.text / 2) { /* progress lines; only the last are of interest */
            size_t cut = t.size / 2;
            memmove(t.text, t.text + cut, t.size - cut);
            t.size -= cut;
            t.mark = t.mark > cut ? t.mark - cut : 0;
        }
        ssize_t n = read(t.master, t.text + t.size, sizeof t.text - 1 - t.size);
        if (n <= 0)
            t.ended = true;
        else
            t.size += (size_t)n;
        t.text[t.size] = 0;
        return;
    } while (clock_seconds() < end);
}

/* Let this time pass. */
static void listen_all(double seconds)
{
    for (double end = clock_seconds() + seconds; clock_seconds() < end && !t.ended;)
        listen_for(end - clock_seconds());
}

/* Since the last key. */
static bool said(const char *words)
{
    return strstr(t.text + t.mark, words) != NULL;
}

static void await(const char *words)
{
    double end = clock_seconds() + 120;
    while (!said(words) && !t.ended && clock_seconds() < end)
        listen_for(1);
    if (!said(words))
        fail_msg("found \"%s\"; expected \"%s\"", t.text + t.mark, words);
}

/* Before it waits for signals, a key would kill it. */
static void await_readiness(void)
{
    char path[64], line[256];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)t.pid);
    for (double end = clock_seconds() + 120; !(blocked >> (SIGINT - 1) & 1);) {
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        while (fgets(line, sizeof line, file) && sscanf(line, "SigBlk: %llx", &blocked) != 1)
            continue;
        fclose(file);
        assert_true(clock_seconds() < end);
        listen_for(0.01);
    }
}

static void press(void)
{
    t.mark = t.size;
    if (write(t.master, "\x03", 1) != 1)
        t.ended = true;
}

static void finish(void)
{
    int status;
    double end = clock_seconds() + 120;
    while (!t.ended && clock_seconds() < end)
        listen_for(1);
    if (!t.ended)
        kill(t.pid, SIGKILL);
    assert_int_equal(waitpid(t.pid, &status, 0), t.pid);
    t.killed = WIFSIGNALED(status);
    t.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    close(t.master);
}

/* ---- the folder --------------------------------------------------------------------------- */

/* A network whose weights and slots are of so many megabytes. */
static void write_recipe(double megabytes)
{
    char text[1024];
    double count = megabytes * 1e6 / 12; /* units^2 + (784 + 10) units */
    int units = (int)(sqrt(397.0 * 397.0 + count) - 397.0) + 1;
    int length = snprintf(text, sizeof text,
                          "data: mnist\n"
                          "model:\n"
                          "  input: [28, 28, 1]\n"
                          "  layers: [Flatten, {Dense: {units: %d, activation: relu}}, "
                          "{Dense: {units: %d}}, {Dense: {units: 10, activation: softmax}}]\n"
                          "compile: {optimizer: adam, loss: categorical_crossentropy}\n"
                          "fit: {batch_size: 10, epochs: 1000000}\n",
                          units, units);
    scratch_write("net.yaml", text, (size_t)length);
}

static int open_folder(void **state)
{
    if (made_open(state))
        return -1;
    write_recipe(0.1);
    made_mnist("mnist", 60, 20, 0);
    return 0;
}

static int hidden_files(void)
{
    int count = 0;
    DIR *folder = opendir(scratch_path(""));
    for (struct dirent *e; (e = readdir(folder));)
        count += *e->d_name == '.' && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(folder);
    return count;
}

static void await_hidden_file(void)
{
    double end = clock_seconds() + 120;
    while (hidden_files() == 0 && clock_seconds() < end)
        listen_for(0.01);
    assert_int_equal(hidden_files(), 1);
}

static void let_go(void)
{
    scratch_write("go", "", 0);
}

static void expect_content(const char *name, const char *expected)
{
    char *content;
    size_t size;
    expect_ok(file_read(scratch_path(name), 10, &content, &size));
    assert_string_equal(content, expected);
    free(content);
}

/* The model file is whole. */
static cornu_position position_of(const char *name)
{
    cornu_model *model;
    cornu_position p = {.size = sizeof p};
    expect_ok(cornu_model_open(scratch_path(name), &model));
    expect_ok(cornu_model_position(model, &p));
    cornu_model_close(model);
    return p;
}

/* The last line tells where the run stopped; the file says the same. */
static void expect_saved_as_said(const char *name)
{
    long long step = 0, epoch = 0;
    const char *line = strstr(t.text, "stopped after ");
    assert_non_null(line);
    cornu_position p = position_of(name);
    if (sscanf(line, "stopped after step %lld of epoch %lld", &step, &epoch) == 2) {
        assert_int_equal(p.step, step);
        assert_int_equal(p.epoch, epoch - 1);
    } else {
        assert_int_equal(sscanf(line, "stopped after epoch %lld", &epoch), 1);
        assert_int_equal(p.step, 0);
        assert_int_equal(p.epoch, epoch);
    }
    char saved[200];
    snprintf(saved, sizeof saved, ", saved %s. Go on with: cornu train ", name);
    if (!strstr(line, saved))
        fail_msg("found \"%s\"; expected \"%s\"", line, saved);
}

/* ---- one, two, three ---------------------------------------------------------------------- */

static void the_first_is_answered_at_once_and_the_save_follows(void **state)
{
    (void)state;
    START_SLOW("train", "net.yaml", "--data", "mnist", "--steps=1000000");
    await("Epoch 1/");
    press();
    await(", saving net.safetensors, press Ctrl-C again to stop without saving");
    await_hidden_file(); /* the save waits */
    assert_false(file_exists(scratch_path("net.safetensors")));
    let_go();
    finish();
    assert_int_equal(t.status, 130);
    expect_saved_as_said("net.safetensors");
    assert_int_equal(hidden_files(), 0);
}

/* Where nothing is printed, too: what is said is what is done. */
static void the_lines_name_the_step_that_is_saved(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        long long step, saved;
        unlink(scratch_path("m.safetensors"));
        START("train", "net.yaml", "--data", "mnist", i % 2 ? "--quiet" : "--batch=1", "--save",
              "m.safetensors");
        while (!file_exists(scratch_path("m.safetensors")) && !t.ended)
            listen_for(0.01);
        listen_all(0.01 * i);
        press();
        finish();
        assert_int_equal(t.status, 130);
        expect_saved_as_said("m.safetensors");
        const char *line = strstr(t.text, "finishing step ");
        const char *last = strstr(t.text, "stopped after step ");
        if (!line || !last)
            continue; /* at the end of an epoch */
        assert_int_equal(sscanf(line, "finishing step %lld,", &step), 1);
        assert_int_equal(sscanf(last, "stopped after step %lld", &saved), 1);
        assert_int_equal(saved, step);
    }
}

/* Far from the end of an epoch, so that the key always comes within one. */
static void the_line_counts_the_steps(void **state)
{
    (void)state;
    long long step = 0, saved = 0;
    START("train", "net.yaml", "--data", "mnist", "--batch=1", "--steps=1000000", "--save",
          "m.safetensors");
    await("s/step"); /* after the first */
    listen_all(0.05);
    press();
    await("finishing step ");
    finish();
    assert_int_equal(sscanf(strstr(t.text, "finishing step "), "finishing step %lld,", &step), 1);
    assert_int_equal(
        sscanf(strstr(t.text, "stopped after step "), "stopped after step %lld", &saved), 1);
    assert_true(step > 1);
    assert_int_equal(saved, step);
}

/* The reference device takes most of a second for a step of this one. */
static void the_second_ends_the_run_before_it_is_saved(void **state)
{
    (void)state;
    write_recipe(50);
    made_mnist("mnist", 600, 20, 0);
    scratch_write("m.safetensors", "old", 3);
    START("train", "net.yaml", "--data", "mnist", "--device=reference", "--batch=120", "--save",
          "m.safetensors");
    await("Epoch 1/");
    listen_all(0.2); /* well within a step */
    press();
    await("finishing step ");
    await(", saving m.safetensors, press Ctrl-C again to stop without saving");
    press();
    await("stopped without saving");
    finish();
    assert_int_equal(t.status, 130);
    expect_content("m.safetensors", "old");
    assert_int_equal(hidden_files(), 0);
}

static void the_second_during_a_save_is_answered_and_the_third_ends_it(void **state)
{
    (void)state;
    scratch_write("m.safetensors", "old", 3);
    START_SLOW("train", "net.yaml", "--data", "mnist", "--steps=1000000", "--save",
               "m.safetensors");
    await("Epoch 1/");
    press();
    await("press Ctrl-C again to stop without saving");
    await_hidden_file();
    press();
    await("writing m.safetensors, ");
    await("; press Ctrl-C again to stop; m.safetensors is left as it was");
    press();
    await("stopped; m.safetensors is left as it was");
    finish();
    assert_int_equal(t.status, 130);
    assert_int_equal(hidden_files(), 0);
    expect_content("m.safetensors", "old");
}

/* At the end of an epoch, say: the file is not lost by two of them in a hurry. */
static void the_first_during_a_save_lets_it_end(void **state)
{
    (void)state;
    START_SLOW("train", "net.yaml", "--data", "mnist", "--save", "m.safetensors");
    await_hidden_file();
    press();
    await("writing m.safetensors, ");
    await(", then stopping");
    press();
    await("; press Ctrl-C again to stop; m.safetensors is left as it was");
    let_go();
    finish();
    assert_int_equal(t.status, 130);
    expect_saved_as_said("m.safetensors");
    assert_non_null(strstr(t.text, "stopped after epoch 1, saved")); /* no step more */
    assert_int_equal(hidden_files(), 0);
}

static void a_termination_is_answered_alike(void **state)
{
    (void)state;
    START("train", "net.yaml", "--data", "mnist", "--steps=1000000"); /* far from a save */
    await("Epoch 1/");
    kill(t.pid, SIGTERM);
    await(", saving net.safetensors, press Ctrl-C again");
    finish();
    assert_int_equal(t.status, 143);
    expect_saved_as_said("net.safetensors");
}

/* The shell and its terminal may both say that the terminal goes; that is no second wish. */
static void a_terminal_that_goes_away_saves_too(void **state)
{
    (void)state;
    START_SLOW("train", "net.yaml", "--data", "mnist", "--save", "m.keras", "--steps=1000000");
    await("Epoch 1/");
    kill(t.pid, SIGHUP);
    await(", saving m.keras, press Ctrl-C again");
    await_hidden_file();
    for (int i = 0; i < 3; i++) { /* apart, or they would arrive as one */
        kill(t.pid, SIGHUP);
        listen_all(0.1);
    }
    let_go();
    finish();
    assert_int_equal(t.status, 129);
    assert_true(position_of("m.keras").iterations > 0);
    assert_int_equal(hidden_files(), 0);
}

/* In every format: what a kill leaves is taken away by the next save of that name. */
static void what_a_kill_leaves_goes_with_the_next_save(void **state)
{
    (void)state;
    static const char *const names[] = {"m.safetensors", "m.keras", "m.h5"};
    for (int i = 0; i < 3; i++) {
        unlink(scratch_path("go"));
        START_SLOW("train", "net.yaml", "--data", "mnist", "--epochs=1", "--quiet", "--save",
                   names[i]);
        await_hidden_file();
        kill(t.pid, SIGKILL);
        finish();
        assert_int_equal(hidden_files(), 1);
        let_go();
        START_SLOW("train", "net.yaml", "--data", "mnist", "--epochs=1", "--quiet", "--save",
                   names[i]);
        finish();
        assert_int_equal(t.status, 0);
        assert_int_equal(hidden_files(), 0);
        (void)position_of(names[i]);
    }
}

/* The line that stood there is not written over. */
static void the_progress_line_stays_readable(void **state)
{
    (void)state;
    START("train", "net.yaml", "--data", "mnist", "--batch=1", "--steps=1000000");
    await("loss: ");
    press();
    await("press Ctrl-C again");
    const char *answer = strstr(t.text + t.mark, "\r\033[K");
    while (answer && strncmp(answer, "\r\033[Kfinishing", 13) != 0 &&
           strncmp(answer, "\r\033[Kstopping", 12) != 0)
        answer = strstr(answer + 1, "\r\033[K");
    assert_non_null(answer);
    assert_true(answer > t.text && answer[-1] == '\n');
    finish();
    assert_int_equal(t.status, 130);
}

/* ---- what trains nothing ------------------------------------------------------------------ */

static void evaluating_and_predicting_stop_after_a_step(void **state)
{
    (void)state;
    write_recipe(20);
    made_mnist("mnist", 60, 5000, 0);
    START("train", "net.yaml", "--data", "mnist", "--quiet", "--epochs=1", "--steps=1", "--save",
          "m.safetensors");
    finish();
    assert_int_equal(t.status, 0);
    static const char *const commands[] = {"evaluate", "predict"};
    for (int i = 0; i < 2; i++) {
        START(commands[i], "m.safetensors", "--data", "mnist", "--device=reference", "--batch=1");
        if (i == 0)
            await("1/5000");
        else {
            await_readiness();
            listen_all(1);
        }
        press();
        await("stopping, press Ctrl-C again to end at once\r\n");
        finish();
        assert_int_equal(t.status, 130);
        assert_non_null(strstr(t.text, ": stopped after step "));
        assert_int_equal(hidden_files(), 0);
    }
}

/* The reference device takes many seconds for a step of this one. */
static void the_second_ends_what_saves_nothing_at_once(void **state)
{
    (void)state;
    write_recipe(50);
    made_mnist("mnist", 60, 5000, 0);
    START("train", "net.yaml", "--data", "mnist", "--quiet", "--epochs=1", "--steps=1", "--save",
          "m.safetensors");
    finish();
    START("evaluate", "m.safetensors", "--data", "mnist", "--device=reference", "--batch=5000");
    await_readiness();
    listen_all(0.5);
    press();
    await("stopping, press Ctrl-C again to end at once\r\n");
    press();
    await("stopped");
    finish();
    assert_int_equal(t.status, 130);
    assert_int_equal(hidden_files(), 0);
}

/* Rounds that were measured are not thrown away. */
static void a_comparison_tells_and_writes_what_it_has(void **state)
{
    (void)state;
    char *json;
    size_t size;
    START("bench", "cifar100-mlp", "--batch=4", "--steps=1", "--json", "b.json", "--csv", "b.csv");
    await("round 2 of 20 to 200, at most ");
    await(" left");
    press();
    await("stopping: what was measured is told and written, press Ctrl-C again to end at once\r\n");
    await("cifar100-mlp  cpu ");
    await("Note: interrupted in round ");
    finish();
    assert_int_equal(t.status, 130);
    assert_true(file_exists(scratch_path("b.csv")));
    expect_ok(file_read(scratch_path("b.json"), 1 << 24, &json, &size));
    assert_non_null(strstr(json, "\"interrupted\": true"));
    free(json);
}

static void advice_is_given_by_what_was_measured(void **state)
{
    (void)state;
    START("advise", "net.yaml", "--data", "mnist", "--device", "cpu", "--sweep", "batch=4");
    await("round 2 of ");
    press();
    await("Note: interrupted in round ");
    await("Train on cpu");
    finish();
    assert_int_equal(t.status, 130);
}

/* The terminal's key reaches the sweep alone, which passes it on: once. */
static void all_runs_of_a_sweep_finish_their_step_and_save(void **state)
{
    (void)state;
    START("train", "net.yaml", "--data", "mnist", "--sweep", "seed=1,2", "--jobs", "2", "--save",
          "m.safetensors");
    while (!file_exists(scratch_path("m-seed=1.safetensors")) ||
           !file_exists(scratch_path("m-seed=2.safetensors")))
        listen_for(0.01);
    press();
    await("stopping: each run finishes its step and is saved, press Ctrl-C again to stop without "
          "saving\r\n");
    finish();
    assert_int_equal(t.status, 130);
    assert_non_null(strstr(t.text, "run 1 of 2: seed=1: stopped in epoch "));
    assert_non_null(strstr(t.text, "run 2 of 2: seed=2: stopped in epoch "));
    assert_non_null(strstr(t.text, "stopped: 0 of 2 runs are done. Go on with: cornu train "));
    assert_true(position_of("m-seed=1.safetensors").iterations > 0);
    assert_true(position_of("m-seed=2.safetensors").iterations > 0);
    assert_int_equal(hidden_files(), 0);
}

/* ---- at any moment ------------------------------------------------------------------------ */

static double parameter(const char *name, double otherwise)
{
    const char *value = getenv(name);
    return value && *value ? atof(value) : otherwise;
}

static bool answered(void)
{
    return said("finishing step") || said("stopping") || said("writing ") || said("stopped");
}

/* Seconds until the key is answered; 0 where the program has ended before it was pressed. */
static double press_and_wait(void)
{
    double begin = clock_seconds();
    press();
    while (!t.ended && !answered())
        listen_for(1);
    return answered() ? clock_seconds() - begin : 0;
}

static void at_random_moments_nothing_is_lost_and_nothing_left(void **state)
{
    (void)state;
    int moments = (int)parameter("CORNU_TEST_MOMENTS", 10), ended_early = 0;
    random_stream r = random_open((uint64_t)parameter("CORNU_TEST_SEED", 1), RANDOM_GENERATE, 0);
    double slowest = 0;
    write_recipe(parameter("CORNU_TEST_MEGABYTES", 20));
    const char *const arguments[] = {"train",  "net.yaml",      "--data", "mnist",
                                     "--save", "m.safetensors", NULL};
    double begin = clock_seconds();
    start(NULL, arguments);
    await("Epoch 6/"); /* five epochs, and five files */
    double whole = clock_seconds() - begin;
    press();
    finish();
    expect_saved_as_said("m.safetensors");
    int files = scratch_count();
    for (int i = 0; i < moments; i++) {
        start(NULL, arguments);
        listen_all(whole * (double)random_uniform(&r));
        for (int key = 0; key <= i % 3 && !t.ended; key++) {
            double delay = press_and_wait();
            slowest = delay > slowest ? delay : slowest;
            listen_all(whole / 6 * (double)random_uniform(&r));
        }
        finish();
        ended_early += t.killed; /* before it was ready to answer */
        if (t.status != 130)
            fail_msg("moment %d: status %d: %s", i, t.status, t.text);
        if (hidden_files() > 0 || scratch_count() != files)
            fail_msg("moment %d: %d hidden files, %d in all", i, hidden_files(), scratch_count());
        if (strstr(t.text, "stopped after "))
            expect_saved_as_said("m.safetensors");
        else
            (void)position_of("m.safetensors");
    }
    print_message("%d moments within %.1f s, %d before it could answer; slowest answer %.3f s\n",
                  moments, whole, ended_early, slowest);
    if (getenv("CORNU_TEST_MOMENTS"))
        assert_true(slowest <= 0.1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_is_answered_at_once_and_the_save_follows),
        TEST(the_lines_name_the_step_that_is_saved),
        TEST(the_line_counts_the_steps),
        TEST(the_second_ends_the_run_before_it_is_saved),
        TEST(the_second_during_a_save_is_answered_and_the_third_ends_it),
        TEST(the_first_during_a_save_lets_it_end),
        TEST(a_termination_is_answered_alike),
        TEST(a_terminal_that_goes_away_saves_too),
        TEST(what_a_kill_leaves_goes_with_the_next_save),
        TEST(a_comparison_tells_and_writes_what_it_has),
        TEST(advice_is_given_by_what_was_measured),
        TEST(the_progress_line_stays_readable),
        TEST(evaluating_and_predicting_stop_after_a_step),
        TEST(the_second_ends_what_saves_nothing_at_once),
        TEST(all_runs_of_a_sweep_finish_their_step_and_save),
        TEST(at_random_moments_nothing_is_lost_and_nothing_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
