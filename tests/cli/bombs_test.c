/* No input of 1 MB or less takes more than 2 seconds of processor time or 512 MB of memory: small
   files that claim far more than they hold, given to the built program. */
#include "data/images/image.h"
#include "support/bombs.h"
#include "support/made.h"
#include "support/net.h"
#include "support/program.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What is promised of a program as users have it. A build for debugging is slower; a sanitizer's
   memory is not the program's. */
#ifdef __OPTIMIZE__
enum { CPU_SECONDS = SANITIZED ? 30 : 2 };
#else
enum { CPU_SECONDS = SANITIZED ? 30 : 8 };
#endif
enum { MEASURES_MEMORY = !SANITIZED };
/* Neighbours on the memory make the same work take up to twice as much of a core's time. */
enum { SLOWED = 2 };
enum { INPUT_MOST = 1000000, RESIDENT_MOST = 512000000 / 1024 /* in units of 1024 bytes */ };

static const char recipe[] = "data: {folder: none, interpolation: lanczos, workers: 8}\n"
                             "model:\n"
                             "  input: [224, 224, 3]\n"
                             "  layers: [Flatten, {Dense: {units: 2, activation: softmax}}]\n"
                             "compile: {optimizer: sgd, loss: categorical_crossentropy}\n";

static int open_folder(void **state)
{
    if (made_open(state))
        return -1;
    cornu_model *model = net_model(recipe);
    cornu_status status = cornu_model_save(model, scratch_path("m.safetensors"));
    cornu_model_close(model);
    return status == CORNU_OK ? 0 : -1;
}

static void run_within(const char *name, const char *const *arguments, int expected)
{
    /* Mapped memory is no promise, but a machine that tests should survive a fault. */
    program_limits limits = {.cpu_seconds = SLOWED * CPU_SECONDS,
                             .address_space = MEASURES_MEMORY ? 3000000000u : 0,
                             .cpus = 2};
    program p = program_start_within(arguments, -1, &limits);
    program_finish(&p);
    /* And now and then far more than SLOWED times as much. */
    for (int again = 0; again < 2 && p.status == 128 + SIGXCPU; again++) {
        program_free(&p);
        p = program_start_within(arguments, -1, &limits);
        program_finish(&p);
    }
    if (getenv("BOMBS_SHOWN"))
        print_message("%-34s %-8s status %d, %4ld MB, %ld.%02ld s: %.120s\n", name, arguments[0],
                      p.status, p.usage.ru_maxrss * 1024 / 1000000, p.usage.ru_utime.tv_sec,
                      p.usage.ru_utime.tv_usec / 10000, p.err);
    if (p.status >= 128)
        fail_msg("%s: %s ended by signal %d; expected at most %d s (%s)", name, arguments[0],
                 p.status - 128, SLOWED * CPU_SECONDS, p.err);
    if (MEASURES_MEMORY && p.usage.ru_maxrss > RESIDENT_MOST)
        fail_msg("%s: %s took %ld KiB; expected at most %d", name, arguments[0], p.usage.ru_maxrss,
                 RESIDENT_MOST);
    if (expected >= 0 && p.status != expected)
        fail_msg("%s: %s ended with %d (%s); expected %d", name, arguments[0], p.status, p.err,
                 expected);
    program_free(&p);
}

static void picture_within_limits(const char *name, const void *data, size_t size, int expected)
{
    char folder[64], path[128];
    snprintf(folder, sizeof folder, "of-%s", name);
    snprintf(path, sizeof path, "%s/class/%s", folder, name);
    made_file(path, data, size);
    run_within(name, ARGUMENTS("predict", "m.safetensors", path), expected);
    if (!SANITIZED) /* the same reader */
        run_within(name, ARGUMENTS("data", "show", folder, "--png", "shown.png"), expected);
}

/* Marks the rows of formats.def that the file's first bytes match. */
static void mark_rows(const uint8_t *data, bool *found)
{
    int row = 0;
#define FORMAT(title, magic, decode)                              \
    for (size_t i = 0; i < sizeof magic; i++) {                   \
        if (i + 1 == sizeof magic)                                \
            found[row] = true;                                    \
        else if (magic[i] != '?' && (uint8_t)magic[i] != data[i]) \
            break;                                                \
    }                                                             \
    row++;
#include "data/images/formats.def"
}

static void no_small_picture_takes_much(void **state)
{
    (void)state;
    bool found[64] = {false};
    picture_within_limits("good.pgm", "P5 2 2 255\n1234", 15, 0);
    for (const bomb *b = bombs_pictures; b->name; b++) {
        bytes data = {0};
        b->make(&data);
        put(&data, "", 1);
        data.size--;
        assert_in_range(data.size, 16, INPUT_MOST);
        mark_rows(data.data, found);
        picture_within_limits(b->name, data.data, data.size, -1);
        free(data.data);
    }
    int row = 0;
#define FORMAT(title, magic, decode) \
    if (!found[row++])               \
        fail_msg("row %d of formats.def (%s): found no bomb; expected one", row, title);
#include "data/images/formats.def"
}

static void no_other_small_file_takes_much(void **state)
{
    (void)state;
    made_mnist("mnist", 10, 10, 1);
    made_idx("mnist/train-labels-idx1-ubyte.gz", 1, (uint32_t[]){1250000}, 10);
    made_cifar10("cifar", 325);
    for (const bomb *b = bombs_files; b->name; b++) {
        bytes data = {0};
        char folder[64];
        b->make(&data);
        assert_in_range(data.size, 16, INPUT_MOST);
        made_file(b->name, data.data, data.size);
        snprintf(folder, sizeof folder, "./%.*s", (int)strcspn(b->name, "/"), b->name);
        run_within(b->name, ARGUMENTS("summary", b->name), -1);
        run_within(b->name, ARGUMENTS("data", "show", folder), -1);
        if (!SANITIZED) /* the same readers */
            run_within(b->name, ARGUMENTS("predict", "m.safetensors", "--data", folder), -1);
        free(data.data);
    }
}

/* Eight workers, each with a picture that it may have alone. */
enum { TOGETHER = SANITIZED ? 2 : 8 };

static void a_folder_of_bombs_takes_no_more_than_one(void **state)
{
    (void)state;
    char name[64];
    bytes data = bombs_picture("narrow.bmp");
    for (int i = 0; i < TOGETHER; i++) {
        snprintf(name, sizeof name, "many/class/%d.bmp", i);
        made_file(name, data.data, data.size);
    }
    free(data.data);
    program p = program_run(ARGUMENTS("predict", "m.safetensors", "--data", "many"));
    if (p.status != 0)
        fail_msg("%s", p.err);
    assert_int_equal(count_lines(p.out), TOGETHER + 1); /* and the total */
    if (MEASURES_MEMORY)
        assert_in_range(p.usage.ru_maxrss, 1, RESIDENT_MOST);
    program_free(&p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_folder, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(no_small_picture_takes_much),
                                       TEST(no_other_small_file_takes_much),
                                       TEST(a_folder_of_bombs_takes_no_more_than_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
