#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "format/reader.h"
#include "format/tensor_file.h"
#include "support/scratch.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static float floats[6] = {1, -2.5f, 0, INFINITY, 1e-42f, 3};
static double doubles[2] = {0.1, -1e300};
static uint8_t bytes[5] = {0, 1, 127, 128, 255};
static int8_t chars[3] = {-128, 0, 127};
static int32_t ints[2] = {INT32_MIN, INT32_MAX};
static int64_t longs[2] = {INT64_MIN, INT64_MAX};

/* An odd number of bytes precedes wider types, so that alignment matters. */
static const file_tensor samples[] = {
    {.name = "bytes", ELEMENT_U8, 1, {5}, 5, bytes},
    {.name = "dense/kernel", ELEMENT_F32, 2, {2, 3}, 6, floats},
    {.name = "chars", ELEMENT_I8, 3, {1, 3, 1}, 3, chars},
    {.name = "doubles", ELEMENT_F64, 1, {2}, 2, doubles},
    {.name = "scalar", ELEMENT_F32, 0, {0}, 1, floats + 1},
    {.name = "ints", ELEMENT_I32, 1, {2}, 2, ints},
    {.name = "none", ELEMENT_F32, 2, {0, 4}, 0, NULL},
    {.name = "longs \"\303\244\"", ELEMENT_I64, 1, {2}, 2, longs},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static void assert_samples(const tensor_file *file)
{
    assert_int_equal(file->count, SAMPLES);
    for (int i = 0; i < SAMPLES; i++) {
        const file_tensor *e = &samples[i], *t = tensor_file_find(file, e->name);
        assert_non_null(t);
        assert_int_equal(t->type, e->type);
        assert_int_equal(t->rank, e->rank);
        assert_memory_equal(t->shape, e->shape, (size_t)e->rank * sizeof *e->shape);
        assert_int_equal(t->count, e->count);
        if (t->count > 0) {
            char data[64];
            size_t bytes = (size_t)t->count * element_size(t->type);
            assert_int_equal((uintptr_t)t->data % element_size(t->type), 0);
            assert_true(bytes <= sizeof data);
            assert_int_equal(tensor_read(t, data), CORNU_OK);
            assert_memory_equal(data, e->data, bytes);
        }
    }
    assert_null(tensor_file_find(file, "other"));
}

static tensor_file *open_file(const char *path)
{
    tensor_file *file = NULL;
    if (tensor_file_open(path, &file) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    return file;
}

/* A mapping would end the process with SIGBUS. */
static void a_file_that_is_cut_after_it_was_opened_is_an_error(void **state)
{
    (void)state;
    static float many[10000], copy[10000];
    static const file_tensor t = {.name = "many", ELEMENT_F32, 1, {10000}, 10000, many};
    const char *path = scratch_path("a.safetensors");
    many[9999] = 7;
    assert_int_equal(safetensors_write(path, &t, 1, NULL, 0), CORNU_OK);
    tensor_file *file = open_file(path);
    assert_int_equal(tensor_read(&file->tensors[0], copy), CORNU_OK);
    assert_memory_equal(copy, many, sizeof many);
    assert_int_equal(truncate(path, 4096), 0);
    assert_int_equal(tensor_read(&file->tensors[0], copy), CORNU_BAD_FILE);
    assert_non_null(strstr(cornu_last_error(), "a.safetensors: found its end at byte 4096"));
    tensor_file_close(file);
    assert_int_equal(npz_write(scratch_path("a.npz"), &t, 1), CORNU_OK);
    file = open_file(scratch_path("a.npz"));
    assert_int_equal(truncate(scratch_path("a.npz"), 1), 0);
    assert_int_equal(tensor_read(&file->tensors[0], copy), CORNU_OK);
    assert_memory_equal(copy, many, sizeof many);
    tensor_file_close(file);
}

static void an_npy_that_is_cut_after_it_was_opened_stays_as_it_was(void **state)
{
    (void)state;
    static const char header[] =
        "\x93NUMPY\1\0\75\0{'descr': '|u1', 'fortran_order': False, 'shape': (9000,), }\n";
    static uint8_t content[sizeof header - 1 + 9000], copy[9000];
    memcpy(content, header, sizeof header - 1);
    content[sizeof content - 1] = 9;
    const char *path = scratch_write("a.npy", content, sizeof content);
    tensor_file *file = open_file(path);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(tensor_read(&file->tensors[0], copy), CORNU_OK);
    assert_int_equal(copy[8999], 9);
    tensor_file_close(file);
}

static void safetensors_come_back_as_written(void **state)
{
    (void)state;
    const char *path = scratch_path("a.safetensors");
    static const metadata_entry metadata[] = {{"recipe", "a: 1\n"}, {"epoch", "3"}};
    assert_int_equal(safetensors_write(path, samples, SAMPLES, metadata, 2), CORNU_OK);
    assert_int_equal(scratch_count(), 1);
    tensor_file *file = open_file(path);
    assert_samples(file);
    assert_int_equal(file->metadata_count, 2);
    assert_string_equal(tensor_file_metadata(file, "recipe"), "a: 1\n");
    assert_string_equal(tensor_file_metadata(file, "epoch"), "3");
    assert_null(tensor_file_metadata(file, "none"));
    tensor_file_close(file);
    assert_int_equal(safetensors_write(path, NULL, 0, NULL, 0), CORNU_OK);
    file = open_file(path);
    assert_int_equal(file->count, 0);
    tensor_file_close(file);
    tensor_file_close(NULL);
}

static void npz_comes_back_as_written(void **state)
{
    (void)state;
    const char *path = scratch_path("a.npz");
    assert_int_equal(npz_write(path, samples, SAMPLES), CORNU_OK);
    assert_int_equal(scratch_count(), 1);
    tensor_file *file = open_file(path);
    assert_samples(file);
    assert_int_equal(file->metadata_count, 0);
    tensor_file_close(file);
}

static void same_tensors_give_the_same_file(void **state)
{
    (void)state;
    static char content[2][2][4096];
    static const char *const names[] = {"a.npz", "a.safetensors"};
    for (int round = 0; round < 2; round++)
        for (int format = 0; format < 2; format++) {
            const char *path = scratch_path(names[format]);
            assert_int_equal(format ? safetensors_write(path, samples, SAMPLES, NULL, 0)
                                    : npz_write(path, samples, SAMPLES),
                             CORNU_OK);
            FILE *f = fopen(path, "rb");
            size_t size = fread(content[round][format], 1, 4096, f);
            fclose(f);
            assert_in_range(size, 100, 4095);
        }
    assert_memory_equal(content[0], content[1], sizeof content[0]);
}

/* Other readers of the format map the data: it begins at a multiple of 8 bytes, after spaces. */
static void a_header_is_padded_to_a_multiple_of_8(void **state)
{
    (void)state;
    static const double value = 1.5;
    for (int length = 1; length <= 8; length++) {
        char name[16], content[512];
        snprintf(name, sizeof name, "%.*s", length, "abcdefgh");
        const file_tensor t = {.name = name, ELEMENT_F64, 1, {1}, 1, &value};
        const char *path = scratch_path("a.safetensors");
        assert_int_equal(safetensors_write(path, &t, 1, NULL, 0), CORNU_OK);
        FILE *f = fopen(path, "rb");
        size_t size = fread(content, 1, sizeof content, f);
        fclose(f);
        uint64_t header;
        memcpy(&header, content, 8);
        assert_int_equal(header % 8, 0);
        assert_int_equal(size, 8 + header + sizeof value);
        assert_memory_equal(content + 8 + header, &value, sizeof value);
        uint64_t written = header;
        while (content[8 + written - 1] == ' ')
            written--;
        assert_int_equal(content[8 + written - 1], '}');
        assert_true(header - written < 8);
        tensor_file *file = open_file(path);
        double back = 0;
        assert_int_equal(tensor_read(&file->tensors[0], &back), CORNU_OK);
        assert_true(back == value);
        tensor_file_close(file);
    }
}

static void bad_tensors_are_not_written(void **state)
{
    (void)state;
    const char *paths[] = {scratch_path("a.npz"), scratch_path("a.safetensors")};
    static const file_tensor bad[][2] = {
        {{.name = "a", ELEMENT_F32, 1, {7}, 6, floats},
         {.name = "b", ELEMENT_U8, 1, {1}, 1, bytes}},
        {{.name = "a", ELEMENT_F32, 9, {1}, 1, floats},
         {.name = "b", ELEMENT_U8, 1, {1}, 1, bytes}},
        {{.name = "a", ELEMENT_F32, 1, {1}, 1, NULL}, {.name = "b", ELEMENT_U8, 1, {1}, 1, bytes}},
        {{.name = "a", ELEMENT_F32, 1, {1}, 1, floats},
         {.name = "a", ELEMENT_U8, 1, {1}, 1, bytes}},
        {{.name = "", ELEMENT_F32, 1, {1}, 1, floats}, {.name = "b", ELEMENT_U8, 1, {1}, 1, bytes}},
        {{.name = "a", ELEMENT_F32, 1, {-1}, -1, floats},
         {.name = "b", ELEMENT_U8, 1, {1}, 1, bytes}},
        {{.name = "\377", ELEMENT_F32, 1, {1}, 1, floats},
         {.name = "b", ELEMENT_U8, 1, {1}, 1, bytes}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(npz_write(paths[0], bad[i], 2), CORNU_INVALID);
        assert_int_equal(safetensors_write(paths[1], bad[i], 2, NULL, 0), CORNU_INVALID);
    }
    file_tensor reserved = {.name = "__metadata__", ELEMENT_U8, 1, {1}, 1, bytes};
    assert_int_equal(safetensors_write(paths[1], &reserved, 1, NULL, 0), CORNU_INVALID);
    assert_int_equal(scratch_count(), 0);
}

/* A limit on the file size stands in for a full disk. */
static void full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    static float big[20000];
    const file_tensor t = {.name = "big", ELEMENT_F32, 1, {20000}, 20000, big};
    const char *paths[] = {scratch_path("a.npz"), scratch_path("a.safetensors")};
    assert_int_equal(npz_write(paths[0], samples, SAMPLES), CORNU_OK);
    assert_int_equal(safetensors_write(paths[1], samples, SAMPLES, NULL, 0), CORNU_OK);
    struct rlimit before, small;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 8192;
    setrlimit(RLIMIT_FSIZE, &small);
    cornu_status npz = npz_write(paths[0], &t, 1);
    char *npz_message = strdup(cornu_last_error());
    cornu_status safetensors = safetensors_write(paths[1], &t, 1, NULL, 0);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(npz, CORNU_IO);
    assert_non_null(strstr(npz_message, paths[0]));
    assert_non_null(strstr(npz_message, "File too large"));
    free(npz_message);
    assert_int_equal(safetensors, CORNU_IO);
    assert_non_null(strstr(cornu_last_error(), "File too large"));
    assert_int_equal(scratch_count(), 2);
    for (int i = 0; i < 2; i++) {
        tensor_file *file = open_file(paths[i]);
        assert_samples(file);
        tensor_file_close(file);
    }
}

static void other_files_are_named(void **state)
{
    (void)state;
    tensor_file *file;
    assert_int_equal(tensor_file_open(scratch_path("a.onnx"), &file), CORNU_UNSUPPORTED);
    assert_non_null(
        strstr(cornu_last_error(), "expected .safetensors, .npz, .npy, .keras, .h5 or .hdf5"));
    static const char *const names[] = {"none.npz", "none.npy", "none.safetensors"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tensor_file_open(scratch_path(names[i]), &file), CORNU_NOT_FOUND);
        assert_null(file);
        assert_non_null(strstr(cornu_last_error(), names[i]));
        scratch_write(names[i], "", 0);
        assert_int_equal(tensor_file_open(scratch_path(names[i]), &file), CORNU_BAD_FILE);
    }
}

/* Whatever is truncated or flipped, opening ends with a status; with ASan also without invalid
   reads. */
static void damage_anywhere_is_survived(void **state)
{
    (void)state;
    static const char *const names[] = {"a.npz", "a.safetensors"};
    npz_write(scratch_path(names[0]), samples, SAMPLES);
    safetensors_write(scratch_path(names[1]), samples, SAMPLES, NULL, 0);
    for (int format = 0; format < 2; format++) {
        static char content[8192];
        FILE *f = fopen(scratch_path(names[format]), "rb");
        size_t size = fread(content, 1, sizeof content, f);
        fclose(f);
        tensor_file *file;
        for (size_t cut = 0; cut < size; cut += 3) {
            const char *path = scratch_write(names[format], content, cut);
            assert_int_equal(tensor_file_open(path, &file), CORNU_BAD_FILE);
        }
        for (size_t at = 0; at < size; at++) {
            content[at] = (char)(content[at] ^ 0x55);
            if (tensor_file_open(scratch_write(names[format], content, size), &file) == CORNU_OK)
                tensor_file_close(file);
            content[at] = (char)(content[at] ^ 0x55);
        }
    }
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

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
        IN_SCRATCH(a_file_that_is_cut_after_it_was_opened_is_an_error),
        IN_SCRATCH(an_npy_that_is_cut_after_it_was_opened_stays_as_it_was),
        IN_SCRATCH(safetensors_come_back_as_written),
        IN_SCRATCH(npz_comes_back_as_written),
        IN_SCRATCH(same_tensors_give_the_same_file),
        IN_SCRATCH(a_header_is_padded_to_a_multiple_of_8),
        IN_SCRATCH(bad_tensors_are_not_written),
        IN_SCRATCH(full_disk_leaves_the_old_file),
        IN_SCRATCH(other_files_are_named),
        IN_SCRATCH(damage_anywhere_is_survived),
        cmocka_unit_test(npy_headers_end_at_a_multiple_of_64_bytes),
        cmocka_unit_test(no_part_of_a_shape_overflows_even_beside_a_zero),
        cmocka_unit_test_setup_teardown(wide_elements_stand_first_in_safetensors, scratch_open,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
