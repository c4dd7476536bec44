/* Damaged files: each must give its own clear message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/tensor_file.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

typedef struct buffer {
    uint8_t data[1 << 16];
    size_t size;
} buffer;

static void put(buffer *b, const void *data, size_t size)
{
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_number(buffer *b, uint64_t value, size_t size)
{
    put(b, &value, size);
}

static void assert_refused(const char *path, cornu_status status, const char *message)
{
    tensor_file *file;
    cornu_status found = tensor_file_open(path, &file);
    if (found != status || !strstr(cornu_last_error(), message))
        fail_msg("found %s (%s); expected %s (%s)", cornu_status_name(found), cornu_last_error(),
                 cornu_status_name(status), message);
    assert_null(file);
    assert_non_null(strstr(cornu_last_error(), path));
}

/* ---- safetensors ------------------------------------------------------------------------ */

static const char *safetensors(uint64_t header_size, const char *header, size_t data_size)
{
    static const char data[256];
    static buffer b;
    b.size = 0;
    put_number(&b, header_size ? header_size : strlen(header), 8);
    put(&b, header, strlen(header));
    put(&b, data, data_size);
    return scratch_write("x.safetensors", b.data, b.size);
}

static void damaged_safetensors_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t header_size;
        const char *header;
        size_t data_size;
        cornu_status status;
        const char *message;
    } cases[] = {
        {UINT64_MAX, "{}", 0, CORNU_BAD_FILE, "found a header of 18446744073709551615 bytes"},
        {3, "{}", 0, CORNU_BAD_FILE, "expected a safetensors header within the file"},
        {0, "{", 0, CORNU_BAD_FILE, "damaged header"},
        {0, "[]", 0, CORNU_BAD_FILE, "no map"},
        {0, "{\"a\":1}", 0, CORNU_BAD_FILE, "a: found no map"},
        {0, "{\"__metadata__\":{\"k\":1}}", 0, CORNU_BAD_FILE, "__metadata__: k: found no string"},
        {0,
         "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
         "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
         8, CORNU_BAD_FILE, "found two tensors named a; expected one"},
        {0, "{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, CORNU_BAD_FILE,
         "__metadata__: found a duplicate key k"},
        {0, "{\"__metadata__\":{}} {}", 0, CORNU_BAD_FILE, "more behind the map than spaces"},
        {0, "{\"__metadata__\":{\"k\":\"1\" \"l\":\"2\"}}", 0, CORNU_BAD_FILE, "no comma"},
        {0, "{\"__metadata__\" {}}", 0, CORNU_BAD_FILE, "no colon"},
        {0, "{\"__metadata__\":{},}", 0, CORNU_BAD_FILE, "no name"},
        {0, "{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
         CORNU_UNSUPPORTED, "a: found dtype BF16; expected F32, F64, U8, I8, I32 or I64"},
        {0, "{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
         CORNU_UNSUPPORTED, "a: found dtype F16"},
        {0, "{\"a\":{\"shape\":[2],\"data_offsets\":[0,4]}}", 4, CORNU_BAD_FILE, "no \"dtype\""},
        {0, "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, CORNU_BAD_FILE,
         "no \"shape\""},
        {0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4, CORNU_BAD_FILE,
         "no whole number"},
        {0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, CORNU_BAD_FILE,
         "found dimension -1"},
        {0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}",
         4, CORNU_BAD_FILE, "more than 2^63 bytes"},
        {0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
         CORNU_UNSUPPORTED, "found 9 dimensions; expected at most 8"},
        {0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, CORNU_BAD_FILE, "no \"data_offsets\""},
        {0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, CORNU_BAD_FILE,
         "found data offsets 0 to 8; expected them within the 4 bytes"},
        {0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 4, CORNU_BAD_FILE,
         "found data offsets -4 to 0"},
        {0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, CORNU_BAD_FILE,
         "found data offsets 4 to 0"},
        {0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8, CORNU_BAD_FILE,
         "found 8 bytes of data; expected 4 from its shape"},
        {0,
         "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}",
         6, CORNU_BAD_FILE, "b: found data at offset 2, overlapping another tensor"},
        {0,
         "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[4,6]}}",
         6, CORNU_BAD_FILE, "b: found data at offset 4, after a hole; expected it at 2"},
        {0, "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 3, CORNU_BAD_FILE,
         "found 3 bytes of data; expected 2 from the header"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(safetensors(cases[i].header_size, cases[i].header, cases[i].data_size),
                       cases[i].status, cases[i].message);
}

static void misaligned_safetensors_are_read(void **state)
{
    (void)state;
    tensor_file *file;
    const char *path =
        safetensors(0, "{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}   ", 8);
    assert_int_equal(tensor_file_open(path, &file), CORNU_OK);
    double value = 1;
    assert_int_equal(tensor_read(&file->tensors[0], &value), CORNU_OK);
    assert_true(value == 0);
    tensor_file_close(file);
}

/* The memory that a process of its own needs to read a file made of `entry` (with a number),
   repeated between `begin` and `end`; in bytes per byte of the header. */
static double memory_of_header(const char *begin, const char *entry, const char *end)
{
    enum { SIZE = 4 << 20 };
    char *all = malloc(SIZE + 400);
    size_t size = 8 + (size_t)sprintf(all + 8, "%s", begin);
    for (int i = 0; size < SIZE; i++)
        size += (size_t)sprintf(all + size, entry, i);
    size += (size_t)sprintf(all + size, "%s", end);
    memcpy(all, &(uint64_t){size - 8}, 8);
    const char *path = scratch_write("large.safetensors", all, size);
    free(all);
    pid_t child = fork();
    if (child == 0) {
        struct rusage before, after;
        tensor_file *file;
        getrusage(RUSAGE_SELF, &before);
        cornu_status status = tensor_file_open(path, &file);
        getrusage(RUSAGE_SELF, &after);
        if (status == CORNU_OK)
            tensor_file_close(file);
        _exit((int)((after.ru_maxrss - before.ru_maxrss) * 1024 * 4 / (long)size));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) / 4.0;
}

static void a_header_takes_at_most_16_times_its_size(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* their memory is not the program's */
    static const char *const headers[][3] = {
        {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0],\"shape\":[", "[],", "0]}}"},
        {"{\"__metadata__\":{}", ",\"%x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
         "}"},
        {"{\"__metadata__\":{\"\":\"\"", ",\"%x\":\"\"", "}}"},
        {"{\"__metadata__\":{\"a\":[", "{},", "0]}}"},
        {"{\"a\":", "[", ""},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        double times = memory_of_header(headers[i][0], headers[i][1], headers[i][2]);
        if (times > 16)
            fail_msg("%s%s...: took %g times the header's size; expected at most 16", headers[i][0],
                     headers[i][1], times);
    }
}

/* ---- npy -------------------------------------------------------------------------------- */

static void put_npy(buffer *b, int version, const char *header, size_t data_size)
{
    static const char data[256];
    put(b, "\x93NUMPY", 6);
    put_number(b, (uint64_t)version, 2);
    put_number(b, strlen(header), version == 1 ? 2 : 4);
    put(b, header, strlen(header));
    put(b, data, data_size);
}

static const char *npy(int version, const char *header, size_t data_size)
{
    static buffer b;
    b.size = 0;
    put_npy(&b, version, header, data_size);
    return scratch_write("x.npy", b.data, b.size);
}

static void npy_headers_of_every_version_are_read(void **state)
{
    (void)state;
    static const struct {
        int version;
        const char *header;
        size_t data_size;
        element_type type;
        int rank;
    } cases[] = {
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", 48, ELEMENT_F32, 2},
        {2, "{'shape': (), 'fortran_order': False, 'descr': '<f8'}\n", 8, ELEMENT_F64, 0},
        {3, "{\"descr\":\"|u1\",\"fortran_order\":False,\"shape\":(5,)}", 5, ELEMENT_U8, 1},
        {1, "{'descr': '|b1', 'fortran_order': True, 'shape': (5L,), }", 5, ELEMENT_U8, 1},
        {1, "{'descr': '<i8', 'fortran_order': False, 'shape': (0, 7), }", 0, ELEMENT_I64, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tensor_file *file;
        const char *path = npy(cases[i].version, cases[i].header, cases[i].data_size);
        if (tensor_file_open(path, &file) != CORNU_OK)
            fail_msg("%s", cornu_last_error());
        assert_int_equal(file->count, 1);
        assert_string_equal(file->tensors[0].name, "x");
        assert_int_equal(file->tensors[0].type, cases[i].type);
        assert_int_equal(file->tensors[0].rank, cases[i].rank);
        tensor_file_close(file);
    }
}

/* ndarrays may have 64 dimensions; a shape holds 8. */
static void an_array_of_more_than_8_dimensions_is_refused(void **state)
{
    (void)state;
    static const int ranks[] = {8, 9, 10, 11, 64, 65};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        char header[512], shape[256] = "", message[64];
        for (int k = 0; k < ranks[i]; k++)
            strcat(shape, k == 0 ? "8, " : "1, ");
        snprintf(header, sizeof header, "{'descr': '|u1', 'fortran_order': False, 'shape': (%s), }",
                 shape);
        snprintf(message, sizeof message, ": found %d dimensions; expected at most 8", ranks[i]);
        const char *path = npy(1, header, 8);
        if (ranks[i] > 8) {
            assert_refused(path, ranks[i] > 64 ? CORNU_BAD_FILE : CORNU_UNSUPPORTED,
                           ranks[i] > 64 ? "damaged NumPy header" : message);
            continue;
        }
        tensor_file *file;
        assert_int_equal(tensor_file_open(path, &file), CORNU_OK);
        assert_int_equal(file->tensors[0].rank, 8);
        assert_int_equal(file->tensors[0].shape[0], 8);
        assert_int_equal(file->tensors[0].shape[7], 1);
        assert_int_equal(file->tensors[0].count, 8);
        tensor_file_close(file);
    }
}

static void damaged_npy_is_refused(void **state)
{
    (void)state;
#define HEADER(descr, order, shape) \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"
    static const struct {
        const char *header;
        cornu_status status;
        const char *message;
    } cases[] = {
        {HEADER("'>f4'", "False", "(2,)"), CORNU_UNSUPPORTED, "found dtype >f4 (big-endian)"},
        {HEADER("'<f2'", "False", "(2,)"), CORNU_UNSUPPORTED, "found dtype <f2; expected float32"},
        {HEADER("'|O'", "False", "(2,)"), CORNU_UNSUPPORTED, "found dtype |O"},
        {HEADER("[('a', '<f4')]", "False", "(2,)"), CORNU_UNSUPPORTED, "a list of fields"},
        {HEADER("'<f4'", "True", "(1, 2)"), CORNU_UNSUPPORTED, "found Fortran order"},
        {HEADER("'<f4'", "False", "(3,)"), CORNU_BAD_FILE, "found 8 bytes of data; expected 12"},
        {HEADER("'<f4'", "False", "(1,)"), CORNU_BAD_FILE, "found 8 bytes of data; expected 4"},
        {HEADER("'<f4'", "False", "(2)"), CORNU_BAD_FILE, "damaged NumPy header"},
        {HEADER("'<f4'", "False", "(-2,)"), CORNU_BAD_FILE, "damaged NumPy header"},
        {HEADER("'<f4'", "False", "(99999999999999999999,)"), CORNU_BAD_FILE, "damaged NumPy"},
        {HEADER("'<f4'", "False", "(4294967296, 4294967296)"), CORNU_BAD_FILE, "than 2^63 bytes"},
        {HEADER("'<f4'", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 2)"), CORNU_UNSUPPORTED,
         "found 9 dimensions"},
        {HEADER("'<f4'", "0", "(2,)"), CORNU_BAD_FILE, "damaged NumPy header"},
        {HEADER("'<f4'", "False", "(2,), 'x': 1"), CORNU_BAD_FILE, "damaged NumPy header"},
        {HEADER("'<f4'", "False", "(2,), 'shape': (2,)"), CORNU_BAD_FILE, "damaged NumPy header"},
        {"{'descr': '<f4', 'shape': (2,), }", CORNU_BAD_FILE, "damaged NumPy header"},
        {HEADER("'<f4'", "False", "(2,)") "__import__('os')", CORNU_BAD_FILE, "damaged NumPy"},
        {"{'descr': '<f4", CORNU_BAD_FILE, "damaged NumPy header"},
        {"", CORNU_BAD_FILE, "damaged NumPy header"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(npy(1, cases[i].header, 8), cases[i].status, cases[i].message);
    assert_refused(npy(4, cases[0].header, 8), CORNU_UNSUPPORTED, "found .npy version 4");
    assert_refused(scratch_write("x.npy", "\x93NUMPY\1\0\xff\xff{", 11), CORNU_BAD_FILE,
                   "found 11 bytes; expected a header of 65545");
    assert_refused(scratch_write("x.npy", "\x93NUMPY\2\0\xff\xff\xff\xff{", 13), CORNU_BAD_FILE,
                   "found a NumPy header of 4294967295 bytes");
    assert_refused(scratch_write("x.npy", "PK\3\4 not an array", 18), CORNU_BAD_FILE,
                   "found no NumPy header");
}

/* ---- npz -------------------------------------------------------------------------------- */

typedef struct member {
    const char *name;
    const buffer *content;
    int method;             /* 0 stored, 8 deflated */
    uint32_t declared_size; /* 0: the true one */
    uint32_t wrong_crc;     /* xor */
    int at;                 /* offset of another member to point to instead; -1 none */
} member;

static void put_entry_fields(buffer *b, const member *m, uint32_t packed)
{
    put_number(b, 20, 2); /* version needed */
    put_number(b, 0, 2);  /* flags */
    put_number(b, (uint64_t)m->method, 2);
    put_number(b, 0x00210000, 4); /* date and time */
    put_number(b, crc32(0, m->content->data, (uInt)m->content->size) ^ m->wrong_crc, 4);
    put_number(b, packed, 4);
    put_number(b, m->declared_size ? m->declared_size : m->content->size, 4);
    put_number(b, strlen(m->name), 2);
}

static void put_packed(buffer *b, const member *m, uint32_t *packed)
{
    static buffer deflated;
    const buffer *content = m->content;
    if (m->method == 8) {
        z_stream z = {.next_in = (Bytef *)(uintptr_t)content->data,
                      .avail_in = (uInt)content->size,
                      .next_out = deflated.data,
                      .avail_out = sizeof deflated.data};
        assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        deflated.size = z.total_out;
        deflateEnd(&z);
        content = &deflated;
    }
    *packed = (uint32_t)content->size;
    put(b, "PK\3\4", 4);
    put_entry_fields(b, m, *packed);
    put_number(b, 0, 2);
    put(b, m->name, strlen(m->name));
    put(b, content->data, content->size);
}

static const char *npz(const member *members, int count)
{
    static buffer b, directory;
    b.size = directory.size = 0;
    uint32_t packed = 0;
    for (int i = 0; i < count; i++) {
        size_t at = members[i].at >= 0 ? (size_t)members[i].at : b.size;
        if (members[i].at < 0)
            put_packed(&b, &members[i], &packed);
        put(&directory, "PK\1\2", 4);
        put_number(&directory, 20, 2);
        put_entry_fields(&directory, &members[i], packed);
        put_number(&directory, 0, 8); /* extra, comment, disk, attributes */
        put_number(&directory, 0, 4);
        put_number(&directory, at, 4);
        put(&directory, members[i].name, strlen(members[i].name));
    }
    size_t start = b.size;
    put(&b, directory.data, directory.size);
    put(&b, "PK\5\6\0\0\0\0", 8);
    put_number(&b, (uint64_t)count, 2);
    put_number(&b, (uint64_t)count, 2);
    put_number(&b, directory.size, 4);
    put_number(&b, start, 4);
    put_number(&b, 0, 2);
    return scratch_write("x.npz", b.data, b.size);
}

static buffer array_of(const char *header, size_t data_size)
{
    static buffer b;
    b.size = 0;
    put_npy(&b, 1, header, 0);
    memset(b.data + b.size, 7, data_size);
    b.size += data_size;
    return b;
}

static const char *const u1_100 = "{'descr': '|u1', 'fortran_order': False, 'shape': (100,), }\n";

static void stored_and_deflated_members_are_read(void **state)
{
    (void)state;
    static buffer content;
    content = array_of(u1_100, 100);
    const member members[] = {{"a.npy", &content, 0, 0, 0, -1},
                              {"b.npy", &content, 8, 0, 0, -1},
                              {"readme.txt", &content, 0, 0, 0, -1}};
    tensor_file *file;
    if (tensor_file_open(npz(members, 3), &file) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    assert_int_equal(file->count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(file->tensors[i].count, 100);
        assert_int_equal(((const uint8_t *)file->tensors[i].data)[99], 7);
    }
    tensor_file_close(file);
}

static void damaged_npz_is_refused(void **state)
{
    (void)state;
    static buffer good, large, little, bomb, other, fields;
    good = array_of(u1_100, 100);
    large = array_of("{'descr': '|u1', 'fortran_order': False, 'shape': (2000,), }\n", 2000);
    little = array_of(u1_100, 99);
    bomb = array_of("{'descr': '|u1', 'fortran_order': False, 'shape': (4000000000,), }\n", 1000);
    other = array_of("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }\n", 16);
    fields = (buffer){.size = 4, .data = "abcd"};
    const uint32_t bomb_size = (uint32_t)(bomb.size - 1000) + 4000000000u;
    const struct {
        member members[2];
        int count;
        cornu_status status;
        const char *message;
    } cases[] = {
        {{{"a.npy", &good, 0, 0, 1, -1}}, 1, CORNU_BAD_FILE, "a: CRC error"},
        {{{"a.npy", &good, 8, 0, 1, -1}}, 1, CORNU_BAD_FILE, "a: CRC error"},
        {{{"a.npy", &little, 0, 0, 0, -1}},
         1,
         CORNU_BAD_FILE,
         "a: found 99 bytes of data; expected 100 from its shape"},
        {{{"a.npy", &other, 0, 0, 0, -1}}, 1, CORNU_UNSUPPORTED, "a: found dtype <c8"},
        {{{"a.npy", &fields, 0, 0, 0, -1}}, 1, CORNU_BAD_FILE, "a: found no NumPy header"},
        {{{"a.npy", &bomb, 8, bomb_size, 0, -1}}, 1, CORNU_BAD_FILE, "found 4000000"},
        {{{"a.npy", &bomb, 0, bomb_size, 0, -1}}, 1, CORNU_BAD_FILE, "found 4000000"},
        {{{"a.npy", &good, 12, 0, 0, -1}}, 1, CORNU_UNSUPPORTED, "expected stored or deflated"},
        {{{"a.npy", &good, 0, 0, 0, -1}, {"a.npy", &good, 8, 0, 0, -1}},
         2,
         CORNU_BAD_FILE,
         "found two tensors named a"},
        /* Two entries for the same bytes: a way to unpack to far more than the file's size. */
        {{{"a.npy", &large, 0, 0, 0, -1}, {"b.npy", &large, 0, 0, 0, 0}},
         2,
         CORNU_BAD_FILE,
         "b.npy: found more packed bytes than the file holds"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(npz(cases[i].members, cases[i].count), cases[i].status, cases[i].message);
    assert_refused(scratch_write("x.npz", "not an archive", 14), CORNU_BAD_FILE,
                   "Not a zip archive");
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(damaged_safetensors_are_refused),
        IN_SCRATCH(misaligned_safetensors_are_read),
        IN_SCRATCH(npy_headers_of_every_version_are_read),
        IN_SCRATCH(a_header_takes_at_most_16_times_its_size),
        IN_SCRATCH(an_array_of_more_than_8_dimensions_is_refused),
        IN_SCRATCH(damaged_npy_is_refused),
        IN_SCRATCH(stored_and_deflated_members_are_read),
        IN_SCRATCH(damaged_npz_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
