/* cornu predict for other programs: folders, patterns and lists of files; rows of CSV and JSON,
   also of names that no other text has, of broken pictures, and into what takes no more. */
#include "cornu/cornu.h"
#include "support/made.h"
#include "support/program.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ODD "p/sub/a\"b,c\nd.pgm"
#define BYTES "p/sub/\xff.pgm"

/* A model of 2 x 2 pixels and three classes, and pictures in folders. */
static int make_pictures(void **state)
{
    static const char *const pictures[] = {"p/2.pgm", "p/10.pgm", ODD, BYTES, "p/.hidden.pgm"};
    static char *names[] = {"cat", "dog, \"big\"", "\xc3\xb6"};
    static const char recipe[] =
        "model: {input: [2, 2, 1], layers: [Flatten, {Dense: {units: 3, activation: softmax}}]}\n";
    cornu_model *m = NULL;
    if (made_open(state) != 0)
        return 1;
    expect_ok(cornu_model_parse(recipe, "r.yaml", &m));
    expect_ok(cornu_model_initialize(m, 1));
    expect_ok(model_set_classes(m, names, 3));
    expect_ok(cornu_model_save(m, scratch_path("m.safetensors")));
    cornu_model_close(m);
    made_file("p/sub/broken.png", "no picture", 10);
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
        made_grey(pictures[i], 20);
    return symlink("..", scratch_path("p/sub/loop"));
}

/* Its standard input is this text, of `size` bytes. */
static program run_with_input(const char *text, size_t size, const char *const *arguments)
{
    int kept = dup(STDIN_FILENO), fd = open(scratch_write("input", text, size), O_RDONLY);
    assert_true(kept >= 0 && fd >= 0 && dup2(fd, STDIN_FILENO) == 0);
    program p = program_run(arguments);
    dup2(kept, STDIN_FILENO);
    close(fd);
    close(kept);
    return p;
}

static json_t *array_of(const char *text, size_t count)
{
    json_t *array = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_array(array) || json_array_size(array) != count)
        fail_msg("found %s; expected an array of %zu", text, count);
    return array;
}

static const char *text_of(const json_t *array, size_t i, const char *key)
{
    const char *value = json_string_value(json_object_get(json_array_get(array, i), key));
    return value ? value : "";
}

/* ---- which files ------------------------------------------------------------------------ */

static void a_folder_is_all_files_below_in_order(void **state)
{
    (void)state;
    static const char *const expected[] = {"p/10.pgm", "p/2.pgm", ODD, "p/sub/broken.png",
                                           "p/sub/\\xff.pgm"};
    program p = program_run(ARGUMENTS("predict", "m.safetensors", "p", "--json", "-"));
    assert_int_equal(p.status, 1);
    assert_string_equal(p.err, "cornu: predict: 1 of 5 files could not be read\n");
    json_t *rows = array_of(p.out, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(text_of(rows, i, "file"), expected[i]);
    json_decref(rows);
    program_free(&p);
}

static void a_pattern_is_what_it_matches(void **state)
{
    (void)state;
    program p = program_run(ARGUMENTS("predict", "m.safetensors", "p/*0.pgm", "no*", "--top=1"));
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.out, "p/10.pgm  "));
    assert_null(strstr(p.out, "p/2.pgm"));
    assert_non_null(strstr(p.err, "no*: cannot read: no file matches it\n"));
    program_free(&p);
}

static void names_come_by_standard_input(void **state)
{
    (void)state;
    static const char lines[] = "p/2.pgm\n\np/10.pgm", nul[] = "p/2.pgm\0" ODD;
    program p = run_with_input(lines, sizeof lines - 1,
                               ARGUMENTS("predict", "m.safetensors", "-", "--json", "-"));
    assert_int_equal(p.status, 0);
    json_t *rows = array_of(p.out, 2);
    assert_string_equal(text_of(rows, 1, "file"), "p/10.pgm");
    json_decref(rows);
    program_free(&p);
    p = run_with_input(nul, sizeof nul,
                       ARGUMENTS("predict", "m.safetensors", "-", "--null", "--json", "-"));
    assert_int_equal(p.status, 0);
    rows = array_of(p.out, 2);
    assert_string_equal(text_of(rows, 1, "file"), ODD);
    json_decref(rows);
    program_free(&p);
}

/* As long as it likes: only so much of it is kept. */
static void a_name_without_end_is_a_row_with_its_error(void **state)
{
    (void)state;
    size_t size = 10000000;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size - 9] = '\n';
    memcpy(text + size - 8, "p/2.pgm\n", 8);
    program p =
        run_with_input(text, size, ARGUMENTS("predict", "m.safetensors", "-", "--json", "-"));
    assert_int_equal(p.status, 1);
    json_t *rows = array_of(p.out, 2);
    assert_non_null(strstr(text_of(rows, 0, "error"), "File name too long"));
    assert_string_equal(text_of(rows, 1, "file"), "p/2.pgm");
    json_decref(rows);
    program_free(&p);
    free(text);
}

/* ---- rows ------------------------------------------------------------------------------- */

static void csv_is_quoted_where_it_has_to_be(void **state)
{
    (void)state;
    program p = program_run(ARGUMENTS("predict", "m.safetensors", ODD, BYTES, "p/sub/broken.png",
                                      "--top=3", "--csv=rows.csv"));
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.out, "2 samples in "));
    program shown = program_run(ARGUMENTS("predict", "m.safetensors", ODD, BYTES,
                                          "p/sub/broken.png", "--top=3", "--csv=-"));
    assert_memory_equal(
        shown.out, "file,class_1,probability_1,class_2,probability_2,class_3,probability_3,error\n",
        77);
    assert_non_null(strstr(shown.out, "\n\"p/sub/a\"\"b,c\nd.pgm\","));
    assert_non_null(strstr(shown.out, "\n" BYTES ","));
    assert_non_null(strstr(shown.out, ",\"dog, \"\"big\"\"\",0."));
    assert_non_null(strstr(shown.out, "\np/sub/broken.png,,,,,,,\"p/sub/broken.png: found no "));
    assert_null(strstr(shown.out, "samples in"));
    FILE *f = fopen(scratch_path("rows.csv"), "rb");
    char written[4096] = "";
    assert_non_null(f);
    assert_true(fread(written, 1, sizeof written - 1, f) > 0);
    fclose(f);
    assert_string_equal(written, shown.out);
    program_free(&p);
    program_free(&shown);
}

/* A name from outside runs nothing in a spreadsheet, in the cell of the error neither. */
static void csv_holds_no_formula(void **state)
{
    (void)state;
    static const char names[] = "=1+1.pgm\n@SUM(1,1)\n-5\np/2.pgm\n";
    program p = run_with_input(names, sizeof names - 1,
                               ARGUMENTS("predict", "m.safetensors", "-", "--top=1", "--csv=-"));
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.out, "\n\"'=1+1.pgm\",,,\"'=1+1.pgm: "));
    assert_non_null(strstr(p.out, "\n\"'@SUM(1,1)\",,,\"'@SUM(1,1): "));
    assert_non_null(strstr(p.out, "\n-5,,,\"'-5: "));
    assert_non_null(strstr(p.out, "\np/2.pgm,"));
    program_free(&p);
}

static void json_holds_any_name_and_each_error(void **state)
{
    (void)state;
    program p = program_run(
        ARGUMENTS("predict", "m.safetensors", BYTES, "p/sub/broken.png", "--top=2", "--json=-"));
    json_t *rows = array_of(p.out, 2);
    assert_string_equal(text_of(rows, 0, "file"), "p/sub/\\xff.pgm");
    assert_string_equal(text_of(rows, 0, "file_hex"), "702f7375622fff2e70676d");
    const json_t *found = json_object_get(json_array_get(rows, 0), "predictions");
    assert_int_equal(json_array_size(found), 2);
    assert_true(json_is_real(json_object_get(json_array_get(found, 0), "probability")));
    assert_true(json_is_integer(json_object_get(json_array_get(found, 0), "index")));
    assert_true(json_is_string(json_object_get(json_array_get(found, 0), "class")));
    assert_non_null(strstr(text_of(rows, 1, "error"), "broken.png: found no image"));
    json_decref(rows);
    program_free(&p);
}

static void samples_of_a_set_are_rows_with_their_class(void **state)
{
    (void)state;
    made_grey("set/train/cat/1.pgm", 10);
    made_grey("set/train/dog/2.pgm", 200);
    program csv =
        program_run(ARGUMENTS("predict", "m.safetensors", "--data=set", "--csv=-", "--top=1"));
    program json =
        program_run(ARGUMENTS("predict", "m.safetensors", "--data=set", "--json=-", "--top=1"));
    assert_int_equal(csv.status, 0);
    assert_memory_equal(
        csv.out, "sample,file,true_class,class_1,probability_1\n0,set/train/cat/1.pgm,cat,", 71);
    json_t *rows = array_of(json.out, 2);
    assert_string_equal(text_of(rows, 1, "true_class"), "dog");
    json_decref(rows);
    program_free(&csv);
    program_free(&json);
}

/* ---- what takes no more ----------------------------------------------------------------- */

static char *many_names(size_t *size)
{
    enum { NAMES = 200000, LENGTH = 8 };
    char *text = malloc(NAMES * LENGTH);
    assert_non_null(text);
    for (size_t i = 0; i < NAMES; i++)
        memcpy(text + i * LENGTH, "p/2.pgm\n", LENGTH);
    *size = NAMES * LENGTH;
    return text;
}

/* Rows go out as they come, and little of them is kept. */
static void many_files_take_little_memory(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* sanitizers keep what was freed */
    size_t size;
    char *text = many_names(&size);
    program few = run_with_input(text, 8000, ARGUMENTS("predict", "m.safetensors", "-", "--csv=o"));
    program all = run_with_input(text, size, ARGUMENTS("predict", "m.safetensors", "-", "--csv=o"));
    assert_int_equal(all.status, 0);
    assert_true(all.usage.ru_maxrss < few.usage.ru_maxrss + 8192); /* kB */
    program_free(&few);
    program_free(&all);
    free(text);
}

static void a_full_disk_ends_it_with_a_line(void **state)
{
    (void)state;
    static const char *const ways[] = {"--csv=/dev/full", "--json=/dev/full"};
    size_t size;
    char *text = many_names(&size);
    for (int i = 0; i < 2; i++) {
        program p = run_with_input(text, size, ARGUMENTS("predict", "m.safetensors", "-", ways[i]));
        assert_int_equal(p.status, 1);
        assert_string_equal(p.err, "cornu: /dev/full: cannot write: No space left on device; "
                                   "stopped after 1024 rows\n");
        program_free(&p);
    }
    free(text);
}

static void nobody_reading_ends_it_silently(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    program p =
        program_start_into(ARGUMENTS("predict", "m.safetensors", "p/2.pgm", "p/10.pgm"), ends[1]);
    close(ends[1]);
    program_finish(&p);
    assert_int_equal(p.status, 0);
    assert_string_equal(p.err, "");
    program_free(&p);
}

/* Names that nobody will see the rows of stay unread: a list may be endless. */
static void nobody_reading_ends_the_list_early(void **state)
{
    (void)state;
    enum { NAMES = 6000 };
    static const char name[] = "p/2.pgm\n";
    int ends[2], kept = dup(STDIN_FILENO);
    char *text = malloc(NAMES * (sizeof name - 1));
    assert_non_null(text);
    for (int i = 0; i < NAMES; i++)
        memcpy(text + i * (sizeof name - 1), name, sizeof name - 1);
    int fd = open(scratch_write("input", text, NAMES * (sizeof name - 1)), O_RDONLY);
    assert_true(kept >= 0 && fd >= 0 && dup2(fd, STDIN_FILENO) == 0);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    program p = program_start_into(ARGUMENTS("predict", "m.safetensors", "-"), ends[1]);
    close(ends[1]);
    program_finish(&p);
    dup2(kept, STDIN_FILENO);
    close(kept);
    assert_int_equal(p.status, 0);
    assert_string_equal(p.err, "");
    assert_in_range(lseek(fd, 0, SEEK_CUR), 1, NAMES * (sizeof name - 1) / 2);
    close(fd);
    free(text);
    program_free(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_pictures, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_folder_is_all_files_below_in_order),
        TEST(a_pattern_is_what_it_matches),
        TEST(names_come_by_standard_input),
        TEST(a_name_without_end_is_a_row_with_its_error),
        TEST(csv_is_quoted_where_it_has_to_be),
        TEST(csv_holds_no_formula),
        TEST(json_holds_any_name_and_each_error),
        TEST(samples_of_a_set_are_rows_with_their_class),
        TEST(many_files_take_little_memory),
        TEST(a_full_disk_ends_it_with_a_line),
        TEST(nobody_reading_ends_it_silently),
        TEST(nobody_reading_ends_the_list_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
