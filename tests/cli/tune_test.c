/* cornu tune, through the built program: what it measures, keeps and refuses. */
#include "support/program.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The first device of CORNU_TEST_DEVICES, where that is one of OpenCL. */
static const char *opencl_device(void)
{
    const char *device = getenv("CORNU_TEST_DEVICES");
    return device && strncmp(device, "opencl", 6) == 0 ? device : NULL;
}

/* Dense products of every kind, small: the driver compiles each candidate as it is. */
static const char small[] = "model: {input: [40], layers: [{Dense: {units: 48, activation: relu}}, "
                            "{Dense: {units: 5, activation: softmax}}]}\n"
                            "compile: {optimizer: sgd, loss: categorical_crossentropy}\n"
                            "fit: {batch_size: 16}\n";

static int open_home(void **state)
{
    if (scratch_open(state))
        return -1;
    scratch_write("small.yaml", small, sizeof small - 1);
    setenv("XDG_CONFIG_HOME", scratch_path("config"), 1);
    return 0;
}

static void a_device_without_tuning_is_refused(void **state)
{
    (void)state;
    static const char *const devices[] = {"cpu", "reference"};
    for (int i = 0; i < 2; i++) {
        program p = program_run(ARGUMENTS("tune", "--device", devices[i]));
        assert_int_equal(p.status, 1);
        assert_int_equal(count_lines(p.err), 1);
        assert_non_null(strstr(p.err, devices[i]));
        assert_non_null(strstr(p.err, "has nothing to tune"));
        program_free(&p);
    }
}

static void it_is_asked_for_by_the_devices_name(void **state)
{
    (void)state;
    program p = program_run(ARGUMENTS("tune", "cifar100-mlp"));
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(p.err, "--device"));
    program_free(&p);
}

static bool is_file(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* Candidates tried: the lines that begin with a time. */
static int trials(const char *out)
{
    int count = 0;
    for (const char *line = out; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        count += strncmp(line, "  0.", 4) == 0 || strncmp(line, "  1.", 4) == 0 ||
                 strncmp(line, "  2.", 4) == 0 || strncmp(line, "  3.", 4) == 0;
    return count;
}

/* Whatever wins: the file is there where it says so, and then explain names it. */
static void what_it_says_is_what_it_has_kept(void **state)
{
    (void)state;
    const char *device = opencl_device();
    if (!device)
        skip();
    char path[1100], from_file[1200];
    snprintf(path, sizeof path, "%s", scratch_path("config/cornu/tuning"));
    snprintf(from_file, sizeof from_file, "(%s)", path);
    program p = program_run(ARGUMENTS("tune", "small.yaml", "--quick", "--device", device));
    if (p.status != 0)
        fail_msg("%s", p.err);
    assert_true(trials(p.out) > 0);
    program e = program_run(ARGUMENTS("explain", "small.yaml", "--device", device));
    assert_int_equal(e.status, 0);
    if (strstr(p.out, "kept in")) {
        assert_true(is_file(path));
        assert_non_null(strstr(p.out, path));
        assert_non_null(strstr(p.out, "dense_backward_weights"));
        assert_non_null(strstr(e.out, from_file));
    } else {
        assert_non_null(strstr(p.out, "nothing is kept"));
        assert_false(is_file(path));
        assert_non_null(strstr(e.out, "(built in)"));
    }
    program_free(&e);
    program_free(&p);
}

static void a_foreign_file_is_named_and_left_alone(void **state)
{
    (void)state;
    const char *device = opencl_device();
    if (!device)
        skip();
    mkdir(scratch_path("config"), 0700);
    mkdir(scratch_path("config/cornu"), 0700);
    const char *path = scratch_write("config/cornu/tuning", "hello\n", 6);
    static const char *const commands[] = {"tune", "explain"};
    for (int i = 0; i < 2; i++) {
        program p = program_run(ARGUMENTS(commands[i], "cifar100-mlp", "--device", device));
        assert_int_equal(p.status, 1);
        assert_int_equal(count_lines(p.err), 1);
        assert_non_null(strstr(p.err, path));
        program_free(&p);
    }
}

static void a_line_tells_how_long_the_queue_is_empty(void **state)
{
    (void)state;
    const char *device = opencl_device();
    if (!device)
        skip();
    program p = program_run(ARGUMENTS("explain", "cifar100-mlp", "--run", "--device", device));
    assert_int_equal(p.status, 0);
    const char *line = strstr(p.out, "queue: empty ");
    assert_non_null(line);
    double percent = atof(line + strlen("queue: empty "));
    assert_true(percent >= 0 && percent <= 100);
    program_free(&p);
    program host = program_run(ARGUMENTS("explain", "cifar100-mlp", "--run"));
    assert_null(strstr(host.out, "queue:"));
    assert_null(strstr(host.out, "tuning:"));
    program_free(&host);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_home, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_device_without_tuning_is_refused),
        TEST(it_is_asked_for_by_the_devices_name),
        TEST(what_it_says_is_what_it_has_kept),
        TEST(a_foreign_file_is_named_and_left_alone),
        TEST(a_line_tells_how_long_the_queue_is_empty),
    };
    return cmocka_run_group_tests_name("cornu tune", tests, NULL, NULL);
}
