#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/scratch.h"
#include <stdlib.h>

/* A file whose stated size is 0: its length is unknown before its end. */
static cornu_status read_unsized(size_t limit, size_t *size)
{
    char *data = NULL;
    cornu_status status = file_read("/proc/version", limit, &data, size);
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
    assert_int_equal(read_unsized(10000, &size), CORNU_OK);
    size_t whole = size;
    assert_true(whole > 0);
    assert_int_equal(read_unsized(whole, &size), CORNU_OK);
    assert_int_equal(size, whole);
    assert_int_equal(read_unsized(whole - 1, &size), CORNU_BAD_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_many_bytes_as_the_limit_are_read_and_one_more_is_refused,
                                        scratch_open, scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
