#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/reader.h"
#include <stdlib.h>

/* numpy.lib.format: the data of an array begins at a multiple of 64 bytes, for mapping it. */
static void npy_headers_end_at_a_multiple_of_64_bytes(void **state)
{
    (void)state;
    for (int64_t first = 1; first < INT64_C(1) << 40; first *= 10)
        for (int rank = 0; rank <= TENSOR_RANK_MAX; rank++) {
            file_tensor t = {.type = ELEMENT_F32, .rank = rank};
            for (int i = 0; i < rank; i++)
                t.shape[i] = i == 0 ? first : 1;
            char *header;
            size_t size;
            assert_int_equal(npy_header_print(&t, &header, &size), CORNU_OK);
            assert_int_equal(size % 64, 0);
            assert_int_equal((uint8_t)header[8] + 256 * (uint8_t)header[9] + 10, size);
            assert_int_equal(header[size - 1], '\n');
            free(header);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_headers_end_at_a_multiple_of_64_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
