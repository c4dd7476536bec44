#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/scratch.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* 10000 bytes through a pipe, whose size nobody knows before its end. */
static cornu_status read_pipe(size_t limit, size_t *size)
{
    static char bytes[10000];
    int ends[2];
    char path[32], *data = NULL;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, sizeof bytes), sizeof bytes);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    cornu_status status = file_read(path, limit, &data, size);
    close(ends[0]);
    free(data);
    return status;
}

static void as_many_bytes_as_the_limit_are_read_and_one_more_is_refused(void **state)
{
    (void)state;
    const char *path = scratch_write("ten", "0123456789", 10);
    char *data;
    size_t size;
    assert_int_equal(file_read(path, 10, &data, &size), CORNU_OK);
    assert_int_equal(size, 10);
    assert_string_equal(data, "0123456789");
    free(data);
    assert_int_equal(file_read(path, 9, &data, &size), CORNU_BAD_FILE);
    assert_int_equal(read_pipe(10000, &size), CORNU_OK);
    assert_int_equal(size, 10000);
    assert_int_equal(read_pipe(9999, &size), CORNU_BAD_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_many_bytes_as_the_limit_are_read_and_one_more_is_refused,
                                        scratch_open, scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
