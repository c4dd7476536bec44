/* What the command line refuses before anything is opened. */
#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void must_say(program p, int status, const char *message)
{
    assert_int_equal(p.status, status);
    assert_int_equal(count_lines(p.err), 1);
    if (!strstr(p.err, message))
        fail_msg("found: %s; expected: %s", p.err, message);
    program_free(&p);
}

static void a_number_may_be_the_least_and_the_most(void **state)
{
    (void)state;
    static const char *const good[] = {"1", "1000000"}, *const bad[] = {"0", "1000001"};
    for (int i = 0; i < 2; i++) {
        must_say(program_run(ARGUMENTS("predict", "no.safetensors", "no.png", "--top", good[i])), 1,
                 "no.safetensors");
        must_say(program_run(ARGUMENTS("predict", "no.safetensors", "no.png", "--top", bad[i])), 2,
                 "expected a whole number from 1 to 1000000");
    }
}

static void a_file_that_cannot_be_written_is_named_first(void **state)
{
    (void)state;
    assert_int_equal(mkdir(scratch_path("folder"), 0777), 0);
    must_say(program_run(ARGUMENTS("train", "no.yaml", "--log", "folder")), 1,
             "folder: cannot write: Is a directory");
    must_say(program_run(ARGUMENTS("train", "no.yaml", "--log", "none/log.csv")), 1,
             "none/log.csv: cannot write: No such file or directory");
}

/* Its folder's reason counts, not that the file is not there yet. */
static void a_folder_that_takes_no_file_says_why(void **state)
{
    (void)state;
    static const char *const places[] = {"/sys", "/proc/sys", "/"};
    for (int i = 0; i < 3; i++) {
        char path[64], message[128];
        if (access(places[i], W_OK) == 0)
            continue; /* root may */
        snprintf(message, sizeof message, "cannot write: %s", strerror(errno));
        snprintf(path, sizeof path, "%s/cornu-test.csv", places[i]);
        must_say(program_run(ARGUMENTS("train", "no.yaml", "--log", path)), 1, message);
    }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_number_may_be_the_least_and_the_most),
        TEST(a_file_that_cannot_be_written_is_named_first),
        TEST(a_folder_that_takes_no_file_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
