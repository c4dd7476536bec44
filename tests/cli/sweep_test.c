/* train --sweep: runs that are those of single commands, whatever happens to the others. */
#include "base/files.h"
#include "support/made.h"
#include "support/program.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include <cornu/tables.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SMALL "train", "small.yaml", "--data", "mnist"

/* With a validation. */
static void write_tested(void)
{
    char text[1024];
    int length =
        snprintf(text, sizeof text, "%.*s, validation: test}\n",
                 (int)(strrchr(made_small_recipe, '}') - made_small_recipe), made_small_recipe);
    scratch_write("tested.yaml", text, (size_t)length);
}

static bool exists(const char *name)
{
    return access(scratch_path(name), F_OK) == 0;
}

static void must_have_the_same_bytes(const char *one, const char *other)
{
    char *a = NULL, *b = NULL;
    size_t n, m;
    expect_ok(file_read(scratch_path(one), 1 << 24, &a, &n));
    expect_ok(file_read(scratch_path(other), 1 << 24, &b, &m));
    if (n != m || memcmp(a, b, n) != 0)
        fail_msg("%s and %s: found %zu and %zu bytes that differ; expected the same", one, other, n,
                 m);
    free(a);
    free(b);
}

static void must_say(const program *p, const char *what)
{
    if (!strstr(p->out, what) && !strstr(p->err, what))
        fail_msg("found \"%s\" and \"%s\"; expected \"%s\"", p->out, p->err, what);
}

static program run_with_status(int status, const char *const *arguments)
{
    program p = program_run(arguments);
    if (p.status != status)
        fail_msg("found status %d, \"%s\" and \"%s\"; expected %d", p.status, p.out, p.err, status);
    return p;
}

static void run(int status, const char *const *arguments)
{
    program p = run_with_status(status, arguments);
    program_free(&p);
}

static void each_run_has_the_files_of_its_own_command(void **state)
{
    static const char *const seeds[] = {"1", "2"}, *const rates[] = {"0.1", "1e-2"};
    (void)state;
    run(0, ARGUMENTS(SMALL, "--sweep", "seed=1..2", "--sweep=learning_rate=0.1,1e-2", "--jobs", "3",
                     "--save", "m.safetensors", "--quiet"));
    for (int i = 0; i < 4; i++) {
        char name[128];
        run(0, ARGUMENTS(SMALL, "--seed", seeds[i / 2], "--learning-rate", rates[i % 2], "--save",
                         "s.safetensors", "--log", "s.csv", "--quiet"));
        snprintf(name, sizeof name, "m-seed=%s-learning_rate=%s.safetensors", seeds[i / 2],
                 rates[i % 2]);
        must_have_the_same_bytes(name, "s.safetensors");
        snprintf(name, sizeof name, "m-seed=%s-learning_rate=%s.csv", seeds[i / 2], rates[i % 2]);
        assert_true(exists(name));
    }
    assert_int_equal(scratch_count(), 2 + 8 + 2); /* and no folder of a run without own files */
}

/* As a recipe that says so, which is what --resume goes on with. */
static void a_learning_rate_is_the_recipes(void **state)
{
    cornu_model *a = NULL, *b = NULL;
    char text[1024], *config;
    const char *sgd = strstr(made_small_recipe, "sgd");
    (void)state;
    snprintf(text, sizeof text, "%.*s{sgd: {learning_rate: 0.07}}%s",
             (int)(sgd - made_small_recipe), made_small_recipe, sgd + 3);
    scratch_write("other.yaml", text, strlen(text));
    run(0, ARGUMENTS("train", "other.yaml", "--data", "mnist", "--save", "a.safetensors"));
    run(0, ARGUMENTS(SMALL, "--learning-rate", "0.07", "--save", "b.safetensors"));
    expect_ok(cornu_model_open(scratch_path("a.safetensors"), &a));
    expect_ok(cornu_model_open(scratch_path("b.safetensors"), &b));
    assert_true(same_bits(a, b));
    expect_ok(cornu_model_compile_config(b, &config));
    assert_non_null(strstr(config, "0.07"));
    cornu_free(config);
    cornu_model_close(a);
    cornu_model_close(b);
}

/* The least val_loss of a run's table: columns epoch, loss, accuracy, val_loss, ... */
static double best_of(const char *name)
{
    char line[512];
    double best = 1e30, value;
    FILE *f = fopen(scratch_path(name), "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%*f,%*f,%*f,%lf", &value) == 1 && value < best)
            best = value;
    fclose(f);
    return best;
}

static void the_table_has_the_best_first_and_fits_80_columns(void **state)
{
    static const char *const rates[] = {"1e-9", "0.05", "0.001", "0.2"};
    char name[128], row[64];
    int best = 0;
    (void)state;
    write_tested();
    program p = run_with_status(0, ARGUMENTS("train", "tested.yaml", "--data", "mnist", "--sweep",
                                             "learning_rate=1e-9,0.05,0.001,0.2", "--sweep",
                                             "batch=10", "--log", "l.csv", "--threads", "1"));
    double values[4];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "l-learning_rate=%s-batch=10.csv", rates[i]);
        values[i] = best_of(name);
        best = values[i] < values[best] ? i : best;
        snprintf(name, sizeof name,
                 "run %d of 4: learning_rate=%s batch=10: val_loss %.4f in epoch ", i + 1, rates[i],
                 values[i]);
        must_say(&p, name);
    }
    must_say(&p, "4 runs of tested.yaml, ");
    must_say(&p, " training  ");
    must_say(&p, " validation  ");
    const char *table = strstr(p.out, "\nlearning_rate batch");
    assert_non_null(table);
    snprintf(row, sizeof row, "\n%13s    10 ", rates[best]);
    assert_ptr_equal(strstr(table, row), strchr(table + 1, '\n'));
    snprintf(name, sizeof name,
             "\n cornu train tested.yaml --data mnist --learning-rate %s --batch 10\n",
             rates[best]);
    must_say(&p, name);
    for (const char *line = p.out; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        assert_true(strcspn(line, "\n") <= 80);
    assert_string_equal(p.err, "");
    program_free(&p);
}

static void a_run_that_fails_is_a_row_and_the_others_go_on(void **state)
{
    (void)state;
    program p = run_with_status(1, ARGUMENTS(SMALL, "--sweep", "shards=1,3,2", "--epochs", "1"));
    must_say(&p, "run 2 of 3: shards=3: failed: shards: found 3");
    must_say(&p, "\n     3  failed: shards: found 3");
    must_say(&p, "run 1 of 3: shards=1: loss ");
    must_say(&p, "run 3 of 3: shards=2: loss ");
    assert_string_equal(p.err, "");
    program_free(&p);
    p = run_with_status(1, ARGUMENTS(SMALL, "--sweep", "shards=1,3", "--epochs", "1", "--quiet"));
    assert_string_equal(p.out, "");
    assert_int_equal(strncmp(p.err, "cornu: run 2 of 2: shards=3: shards: found 3", 44), 0);
    program_free(&p);
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* A process whose parent is this one; 0: there is none. */
static pid_t child_of(pid_t parent)
{
    char path[300], line[512];
    pid_t found = 0;
    DIR *all = opendir("/proc");
    for (struct dirent *e; all && !found && (e = readdir(all));) {
        int is_of = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = *e->d_name >= '1' && *e->d_name <= '9' ? fopen(path, "r") : NULL;
        if (f && fgets(line, sizeof line, f) && strrchr(line, ')'))
            (void)sscanf(strrchr(line, ')'), ") %*c %d", &is_of);
        found = is_of == parent ? atoi(e->d_name) : 0;
        if (f)
            fclose(f);
    }
    closedir(all);
    return found;
}

static pid_t await_child(pid_t parent)
{
    pid_t child = 0;
    for (int i = 0; i < 6000 && child == 0; i++, pause_briefly())
        child = child_of(parent);
    assert_true(child > 0);
    return child;
}

static void a_run_that_is_killed_is_a_row(void **state)
{
    (void)state;
    program p = program_start(ARGUMENTS(SMALL, "--sweep", "epochs=1000000000,2", "--jobs", "1",
                                        "--save", "m.safetensors"));
    kill(await_child(p.pid), SIGKILL);
    program_finish(&p);
    assert_int_equal(p.status, 1);
    must_say(&p, "run 1 of 2: epochs=1000000000: failed: ended by signal 9");
    must_say(&p, "run 2 of 2: epochs=2: loss ");
    program_free(&p);
}

static void await_file(const char *name)
{
    for (int i = 0; i < 12000 && !exists(name); i++)
        pause_briefly();
    assert_true(exists(name));
}

#define SWEPT SMALL, "--sweep", "seed=1..3", "--jobs", "1"

static void an_interrupted_sweep_goes_on_with_the_same_bits(void **state)
{
    (void)state;
    program p = program_start(ARGUMENTS(SWEPT, "--epochs", "200", "--save", "m.safetensors"));
    await_file("m-seed=2.safetensors");
    kill(p.pid, SIGINT);
    program_finish(&p);
    assert_int_equal(p.status, 130);
    must_say(&p, "stopping: each run finishes its step and is saved");
    must_say(&p,
             " of 3 runs are done. Go on with: cornu train small.yaml --data mnist --epochs 200 "
             "--resume m.safetensors --sweep seed=1..3 --jobs 1\n");
    program_free(&p);
    assert_false(exists("m-seed=3.safetensors"));
    p = run_with_status(0, ARGUMENTS(SWEPT, "--epochs", "200", "--resume", "m.safetensors"));
    must_say(&p, "run 1 of 3: seed=1: done before, loss ");
    must_say(&p, "run 3 of 3: seed=3: loss ");
    program_free(&p);
    run(0, ARGUMENTS(SMALL, "--sweep", "seed=1..3", "--epochs", "200", "--quiet", "--save",
                     "n.safetensors"));
    must_have_the_same_bytes("m-seed=1.safetensors", "n-seed=1.safetensors");
    must_have_the_same_bytes("m-seed=2.safetensors", "n-seed=2.safetensors");
    must_have_the_same_bytes("m-seed=3.safetensors", "n-seed=3.safetensors");
}

/* Also where somebody could type something. */
static void a_sweep_that_is_done_reads_nothing_and_changes_nothing(void **state)
{
    int ends[2], input = dup(STDIN_FILENO);
    (void)state;
    run(0, ARGUMENTS(SWEPT, "--save", "m.safetensors", "--quiet"));
    run(0, ARGUMENTS(SWEPT, "--save", "n.safetensors", "--quiet"));
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    program p = run_with_status(0, ARGUMENTS(SWEPT, "--resume", "m.safetensors"));
    assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
    close(input);
    close(ends[0]);
    close(ends[1]);
    must_say(&p, "run 1 of 3: seed=1: done before, loss ");
    must_say(&p, "run 3 of 3: seed=3: done before, loss ");
    program_free(&p);
    must_have_the_same_bytes("m-seed=2.safetensors", "n-seed=2.safetensors");
}

static void without_a_model_file_nothing_is_left(void **state)
{
    (void)state;
    made_file("tmp/other", "", 0);
    setenv("TMPDIR", scratch_path("tmp"), 1);
    int count = scratch_count();
    program p = program_start(ARGUMENTS(SWEPT, "--epochs", "1000000000"));
    pid_t child = await_child(p.pid);
    kill(p.pid, SIGTERM);
    program_finish(&p);
    assert_int_equal(p.status, 143);
    must_say(&p, "not saved: models are written with --save FILE alone\n");
    must_say(&p, "0 of 3 runs are done; without --save nothing is left to go on with");
    program_free(&p);
    assert_int_equal(kill(child, 0), -1);
    run(0, ARGUMENTS(SWEPT, "--epochs", "1"));
    unsetenv("TMPDIR");
    assert_int_equal(scratch_count(), count);
    assert_int_equal(unlink(scratch_path("tmp/other")), 0);
    assert_int_equal(rmdir(scratch_path("tmp")), 0);
}

/* They do not train on for nobody. */
static void runs_end_with_their_sweep(void **state)
{
    (void)state;
    program p =
        program_start(ARGUMENTS(SWEPT, "--epochs", "1000000000", "--save", "m.safetensors"));
    await_file("m-seed=1.safetensors");
    pid_t child = await_child(p.pid);
    kill(p.pid, SIGKILL);
    program_finish(&p);
    program_free(&p);
    char path[64], line[512];
    bool alive = true;
    for (int i = 0; i < 12000 && alive; i++, pause_briefly()) {
        snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
        FILE *f = fopen(path, "r");
        alive = f && fgets(line, sizeof line, f) && !strstr(line, ") Z ");
        if (f)
            fclose(f);
    }
    assert_false(alive);
}

static void values_of_many_metrics_are_read_and_shown(void **state)
{
    (void)state;
    char recipe[4096], *page;
    size_t size;
    int length = snprintf(recipe, sizeof recipe, "%s",
                          "data: mnist\n"
                          "model: {input: [28, 28, 1], layers: [Flatten, {Dense: {units: 10, "
                          "activation: softmax}}]}\n"
                          "compile: {optimizer: sgd, loss: categorical_crossentropy, metrics: [");
    for (int i = 0; i < 40; i++)
        length += snprintf(recipe + length, sizeof recipe - (size_t)length,
                           "{top_k_categorical_accuracy: {k: 2, name: top%d}}, ", i);
    length += snprintf(recipe + length, sizeof recipe - (size_t)length,
                       "accuracy]}\nfit: {epochs: 1, validation: test}\n");
    scratch_write("many.yaml", recipe, (size_t)length);
    program p = run_with_status(0, ARGUMENTS("train", "many.yaml", "--data", "mnist", "--sweep",
                                             "seed=1,2", "--html", "p.html"));
    must_say(&p, "run 1 of 2: seed=1: val_loss ");
    program_free(&p);
    expect_ok(file_read(scratch_path("p-seed=1.html"), 1 << 24, &page, &size));
    assert_non_null(memmem(page, size, "val_top39", 9));
    assert_non_null(memmem(page, size, "learning_rate", 13));
    free(page);
}

/* Of the recipe's own each run has its own. */
static void files_of_the_recipe_lie_apart(void **state)
{
    static const char recipe[] = "data: mnist\n"
                                 "model: {input: [28, 28, 1], layers: [Flatten, {Dense: {units: "
                                 "10, activation: softmax}}]}\n"
                                 "compile: {optimizer: sgd, loss: categorical_crossentropy}\n"
                                 "fit: {epochs: 1, callbacks: [{csv_logger: {path: own.csv}}]}\n";
    (void)state;
    scratch_write("logged.yaml", recipe, sizeof recipe - 1);
    run(0, ARGUMENTS("train", "logged.yaml", "--data", "mnist", "--sweep", "seed=1,2", "--html",
                     "p.html", "--quiet"));
    assert_true(exists("seed=1/own.csv") && exists("seed=2/own.csv"));
    assert_true(exists("p-seed=1.html") && exists("p-seed=2.html"));
    run(0, ARGUMENTS("train", "logged.yaml", "--data", "mnist", "--sweep", "seed=1,2", "--output",
                     "there", "--quiet"));
    assert_true(exists("there/seed=1/own.csv") && exists("there/seed=2/own.csv"));
}

/* Weights, slots and buffers of some 300 MB each, which 8 times are more than what there is. */
static void only_as_many_run_at_once_as_fit_into_memory(void **state)
{
    static const char recipe[] = "data: mnist\n"
                                 "model: {input: [28, 28, 1], layers: [Flatten, {Dense: {units: "
                                 "20000}}, {Dense: {units: 10, "
                                 "activation: softmax}}]}\n"
                                 "compile: {optimizer: sgd, loss: categorical_crossentropy}\n"
                                 "fit: {epochs: 1, steps_per_epoch: 1, validation: none}\n";
    (void)state;
    if (SANITIZED)
        skip(); /* sanitizers take addresses of their own */
    scratch_write("large.yaml", recipe, sizeof recipe - 1);
    program p = program_start_within(
        ARGUMENTS("train", "large.yaml", "--data", "mnist", "--sweep", "seed=1..8", "--jobs", "8"),
        -1, &(program_limits){.address_space = (rlim_t)1200 << 20});
    program_finish(&p);
    must_say(&p, "memory for ");
    must_say(&p, " of 8 runs at a time: each may need ");
    must_say(&p, "run 8 of 8: seed=8: ");
    assert_null(strstr(p.out, ", 8 at a time with "));
    program_free(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_open_small, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_run_has_the_files_of_its_own_command),
        TEST(a_learning_rate_is_the_recipes),
        TEST(the_table_has_the_best_first_and_fits_80_columns),
        TEST(a_run_that_fails_is_a_row_and_the_others_go_on),
        TEST(a_run_that_is_killed_is_a_row),
        TEST(an_interrupted_sweep_goes_on_with_the_same_bits),
        TEST(a_sweep_that_is_done_reads_nothing_and_changes_nothing),
        TEST(without_a_model_file_nothing_is_left),
        TEST(runs_end_with_their_sweep),
        TEST(values_of_many_metrics_are_read_and_shown),
        TEST(files_of_the_recipe_lie_apart),
        TEST(only_as_many_run_at_once_as_fit_into_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
