/* An allocation of a command fails: it ends well, or says that memory was missing. (Where jansson
   parses, it calls that a damaged text now and then, and has an assertion of its own.) */
#include "support/made.h"
#include "support/program.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int open_model(void **state)
{
    if (made_open_small(state))
        return -1;
    program p = program_run(ARGUMENTS("train", "small.yaml", "--data", "mnist", "--epochs", "1",
                                      "--steps", "1", "--quiet", "--save", "m.safetensors"));
    program_must_succeed(&p);
    program_free(&p);
    p = program_run(ARGUMENTS("export", "m.safetensors", "m.onnx"));
    program_must_succeed(&p);
    program_free(&p);
    return 0;
}

static bool speaks_of_memory(const char *line)
{
    return strstr(line, "memory") || strstr(line, "allocate");
}

static program run_without(long number, const char *const *arguments)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", number);
    setenv("LD_PRELOAD", FAILING_MALLOC, 1);
    setenv("CORNU_TEST_NO_MEMORY", text, 1);
    program p = program_start(arguments);
    unsetenv("LD_PRELOAD");
    unsetenv("CORNU_TEST_NO_MEMORY");
    program_finish(&p);
    return p;
}

/* Steps of 17 meet another allocation of a loop each time. Returns how many said something else. */
static int count_silent(const char *const *arguments)
{
    enum { STEP = 17, MOST = 4000, ENOUGH = 6 };
    int good = 0, silent = 0; /* in a row: behind the last allocation nothing fails */
    for (long i = 0; i < MOST && good < ENOUGH; i += STEP) {
        program p = run_without(i, arguments);
        good = p.status == 0 ? good + 1 : 0;
        if (p.status != 0 && (p.status != 1 || !speaks_of_memory(p.err))) {
            print_error("%s %s, allocation %ld: status %d: %s", arguments[0], arguments[1], i,
                        p.status, p.err);
            silent++;
        }
        program_free(&p);
    }
    return silent;
}

static void what_lacks_memory_says_so(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* sanitizers have allocators of their own */
    assert_int_equal(count_silent(ARGUMENTS("convert", "m.onnx", "x.safetensors")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_lacks_memory_says_so, open_model, scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
