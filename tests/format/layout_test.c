#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "format/reader.h"
#include "support/scratch.h"
#include <stdlib.h>
#include <string.h>

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

/* The format requires each tensor to be aligned for its type. */
static void wide_elements_stand_first_in_safetensors(void **state)
{
    (void)state;
    const uint8_t bytes[3] = {1, 2, 3};
    const double wide[2] = {4, 5};
    const file_tensor tensors[] = {
        {.name = "a", .type = ELEMENT_U8, .rank = 1, .shape = {3}, .count = 3, .data = bytes},
        {.name = "b", .type = ELEMENT_F64, .rank = 1, .shape = {2}, .count = 2, .data = wide}};
    const char *path = scratch_path("a.safetensors");
    assert_int_equal(safetensors_write(path, tensors, 2, NULL, 0), CORNU_OK);
    char *content;
    size_t size;
    assert_int_equal(file_read(path, 4096, &content, &size), CORNU_OK);
    assert_non_null(strstr(content + 8, "\"data_offsets\":[0,16]"));
    assert_non_null(strstr(content + 8, "\"data_offsets\":[16,19]"));
    free(content);
}

/* Callers multiply some of the dimensions. */
static void no_part_of_a_shape_overflows_even_beside_a_zero(void **state)
{
    (void)state;
    const int64_t huge = INT64_C(1) << 40;
    size_t bytes = 1;
    file_tensor t = {.type = ELEMENT_U8, .rank = 3, .shape = {0, huge, huge}};
    assert_int_equal(tensor_measure("f", "a", &t, &bytes), CORNU_BAD_FILE);
    t.shape[2] = 2;
    assert_int_equal(tensor_measure("f", "a", &t, &bytes), CORNU_OK);
    assert_int_equal(t.count, 0);
    assert_int_equal(bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_headers_end_at_a_multiple_of_64_bytes),
        cmocka_unit_test(no_part_of_a_shape_overflows_even_beside_a_zero),
        cmocka_unit_test_setup_teardown(wide_elements_stand_first_in_safetensors, scratch_open,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
