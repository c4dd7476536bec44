#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/doc.h"
#include "base/memory.h"
#include "support/scratch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static doc *parse(const char *input)
{
    doc *d = NULL;
    if (doc_parse(input, strlen(input), "f.yaml", &d) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    return d;
}

/* Both compare whole messages: the place, the text found, the text expected. */
static void assert_refused(const char *input, const char *message)
{
    doc *d;
    assert_int_equal(doc_parse(input, strlen(input), "f.yaml", &d), CORNU_INVALID);
    assert_null(d);
    assert_string_equal(cornu_last_error(), message);
}

static void scalars_have_the_core_schema_types(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        doc_type type;
        double value;
    } cases[] = {
        {"null", DOC_NULL, 0},
        {"~", DOC_NULL, 0},
        {"", DOC_NULL, 0},
        {"true", DOC_BOOL, 1},
        {"False", DOC_BOOL, 0},
        {"yes", DOC_STRING, 0},
        {"no", DOC_STRING, 0},
        {"on", DOC_STRING, 0},
        {"12", DOC_INT, 12},
        {"-7", DOC_INT, -7},
        {"+7", DOC_INT, 7},
        {"010", DOC_INT, 10},
        {"1e-3", DOC_REAL, 1e-3},
        {"1E5", DOC_REAL, 1e5},
        {".5", DOC_REAL, 0.5},
        {"5.", DOC_REAL, 5},
        {"-2.5e+1", DOC_REAL, -25},
        {".inf", DOC_REAL, INFINITY},
        {"1e", DOC_STRING, 0},
        {"-Infinity", DOC_REAL, -INFINITY},
        {"1.2.3", DOC_STRING, 0},
        {"0x10", DOC_STRING, 0},
        {"'12'", DOC_STRING, 0},
        {"\"true\"", DOC_STRING, 0},
        {"1_000", DOC_STRING, 0},
        {".", DOC_STRING, 0},
        {"9223372036854775807", DOC_INT, 0x1p63},
        {"9223372036854775808", DOC_REAL, 0x1p63},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char input[64];
        snprintf(input, sizeof input, "a: %s\n", cases[i].word);
        doc *d = parse(input);
        const doc *a = doc_get(d, "a");
        if (a->type != cases[i].type)
            fail_msg("%s is %s", cases[i].word, doc_type_name(a->type));
        if (a->type == DOC_BOOL)
            assert_int_equal(a->boolean, cases[i].value != 0);
        else
            assert_true(a->real == cases[i].value);
        doc_free(d);
    }
    doc *d = parse("NaN");
    assert_true(d->type == DOC_REAL && isnan(d->real));
    doc_free(d);
}

static void nodes_know_their_place(void **state)
{
    (void)state;
    doc *d = parse("model:\n  layers:\n    - Dense: {units: 3}\n    - [1, 2]\n");
    const doc *layers = doc_get(doc_get(d, "model"), "layers");
    assert_int_equal(layers->type, DOC_LIST);
    assert_int_equal(layers->count, 2);
    assert_int_equal(layers->line, 3);
    const doc *units = doc_get(doc_get(layers->items[0], "Dense"), "units");
    assert_int_equal(units->line, 3);
    doc_fail(units, "found %d", 3);
    assert_string_equal(cornu_last_error(), "f.yaml:3: model.layers[0].Dense.units: found 3");
    doc_fail(layers->items[1]->items[1], "no");
    assert_string_equal(cornu_last_error(), "f.yaml:4: model.layers[1][1]: no");
    doc_fail(d, "no");
    assert_string_equal(cornu_last_error(), "f.yaml:1: no");
    doc_fail(NULL, "no");
    assert_string_equal(cornu_last_error(), "no");
    assert_null(doc_get(NULL, "a"));
    assert_null(doc_get(layers, "a"));
    doc_free(d);
}

static void what_is_not_supported_is_refused_with_its_place(void **state)
{
    (void)state;
    assert_refused("a: 1\nb: 2\na: 3\n",
                   "f.yaml:3: a: this key stands twice in its map, first in line 1");
    assert_refused("a: &x 1", "f.yaml:1:4: anchors (&) and tags (!) are not supported");
    assert_refused("a: !!python/object 1",
                   "f.yaml:1:4: anchors (&) and tags (!) are not supported");
    assert_refused("a: &x [1]", "f.yaml:1:4: anchors (&) and tags (!) are not supported");
    assert_refused("a: *x", "f.yaml:1:4: aliases (*) are not supported");
    assert_refused("a: 1\n---\nb: 2", "f.yaml:2:1: found a second document; expected one");
    assert_refused("? [a]\n: 1", "f.yaml:1:3: found a list or map as a key; expected a word");
    assert_refused("a: \"x\\0y\"", "f.yaml:1:4: found a zero byte in a string; expected text");
    assert_refused("a: b: c", "f.yaml:1:5: mapping values are not allowed in this context");
    assert_refused("a: [1, 2\nb: }", "f.yaml:2:2: did not find expected ',' or ']' (while parsing "
                                     "a flow sequence, line 1)");
    assert_refused("a: 1\nb: \x01", "f.yaml:2:4: control characters are not allowed");
    assert_refused("ab\xff", "f.yaml:1:3: invalid leading UTF-8 octet");
}

static void depth_and_size_are_limited(void **state)
{
    (void)state;
    char deep[70];
    doc *d;
    memset(deep, '[', sizeof deep);
    assert_int_equal(doc_parse(deep, sizeof deep, "f", &d), CORNU_INVALID);
    assert_string_equal(cornu_last_error(),
                        "f:1:65: found more than 64 levels; expected at most 64");
    assert_int_equal(doc_parse("", DOC_BYTES_MAX + 1, "f", &d), CORNU_INVALID);
    assert_string_equal(cornu_last_error(), "f: found 2097153 bytes; expected at most 2097152");
}

/* libyaml compares every %TAG with all previous ones: a line that begins with one is refused
   unread. */
static void directives_are_refused_before_parsing(void **state)
{
    (void)state;
#define REFUSED "found a line that begins with %; directives are not supported"
    assert_refused("%TAG ! tag:x,2000:\n---\na: 1\n", "f.yaml:1:1: " REFUSED);
    assert_refused("a: 1\n...\n%YAML 1.1\n---\nb: 1\n", "f.yaml:3:1: " REFUSED);
    assert_refused("a: 1\r%x", "f.yaml:1:1: " REFUSED);
    assert_refused("\xef\xbb\xbf%YAML 1.1\n---\na: 1\n", "f.yaml:1:1: " REFUSED);
    assert_refused("# a\xc2\x85%YAML 1.1\n---\na: 1\n", "f.yaml:1:1: " REFUSED);
    assert_refused("# a\xe2\x80\xa8%YAML 1.1\n---\na: 1\n", "f.yaml:1:1: " REFUSED);
    doc *d = parse("a: 5%\nb: '%'\nc: \"{epoch:%d}\"\n");
    assert_string_equal(doc_get(d, "a")->string, "5%");
    doc_free(d);
}

/* libyaml holds a plain key to 1024 characters and one line; JSON on one line must not run into it.
 */
static void json_on_one_long_line_is_read(void **state)
{
    (void)state;
    text t = {0};
    text_add(&t, "{\"class_name\":\"Sequential\",\"config\":{\"layers\":[");
    for (int i = 0; i < 500; i++)
        text_add(&t,
                 "%s{\"config\":{\"name\":\"d%d\",\"rate\":1e-3,\"shape\":[null,[[%d]]],"
                 "\"s\":\"%0500d\"},\"ok\":true}",
                 i ? "," : "", i, i, i);
    text_add(&t, "]},\"x\":NaN,\"tab\":\t\"a\\/b\\u00e4\"}");
    doc *d = parse(t.data);
    const doc *layers = doc_get(doc_get(d, "config"), "layers");
    assert_int_equal(layers->count, 500);
    const doc *shape = doc_get(doc_get(layers->items[499], "config"), "shape");
    assert_int_equal(shape->items[0]->type, DOC_NULL);
    assert_int_equal(shape->items[1]->items[0]->items[0]->integer, 499);
    assert_string_equal(doc_get(d, "tab")->string, "a/bä");
    doc_free(d);
    text_free(&t);
}

static void typed_reads_keep_defaults_and_name_what_they_found(void **state)
{
    (void)state;
    doc *d = parse("i: 3\nr: 2.5\nb: true\ns: hi\nn: null\nl: [1, 2]\n");
    int64_t i = 1;
    double r = 1;
    bool b = false;
    const char *s = "default";
    assert_int_equal(doc_read_int(d, "n", 0, 9, &i), CORNU_OK);
    assert_int_equal(doc_read_int(d, "missing", 0, 9, &i), CORNU_OK);
    assert_int_equal(i, 1);
    assert_int_equal(doc_read_int(d, "i", 0, 9, &i), CORNU_OK);
    assert_int_equal(i, 3);
    assert_int_equal(doc_read_real(d, "i", &r), CORNU_OK);
    assert_true(r == 3);
    assert_int_equal(doc_read_bool(d, "b", &b), CORNU_OK);
    assert_true(b);
    assert_int_equal(doc_read_string(d, "s", &s), CORNU_OK);
    assert_string_equal(s, "hi");
    assert_int_equal(doc_read_int(d, "i", 4, 9, &i), CORNU_INVALID);
    assert_string_equal(cornu_last_error(),
                        "f.yaml:1: i: found 3; expected a whole number from 4 to 9");
    assert_int_equal(doc_read_int(d, "r", 1, INT64_MAX, &i), CORNU_INVALID);
    assert_string_equal(cornu_last_error(),
                        "f.yaml:2: r: found 2.5; expected a whole number of at least 1");
    assert_int_equal(doc_read_real(d, "s", &r), CORNU_INVALID);
    assert_string_equal(cornu_last_error(), "f.yaml:4: s: found \"hi\"; expected a number");
    assert_int_equal(doc_read_bool(d, "l", &b), CORNU_INVALID);
    assert_string_equal(cornu_last_error(), "f.yaml:6: l: found [1, 2]; expected true or false");
    assert_int_equal(doc_read_string(d, "i", &s), CORNU_INVALID);
    assert_int_equal(doc_read_int(doc_get(d, "l"), "x", 0, 1, &i), CORNU_INVALID);
    assert_string_equal(cornu_last_error(), "f.yaml:6: l: found [1, 2]; expected a map");
    static const char *const known[] = {"i", "r", "b", "s", "l", NULL};
    assert_int_equal(doc_only_keys(d, known), CORNU_INVALID);
    assert_string_equal(cornu_last_error(), "f.yaml:5: n: unknown key; expected i, r, b, s, l");
    assert_int_equal(doc_only_keys(NULL, known), CORNU_OK);
    doc_free(d);
}

static void whole_numbers_may_be_the_least_and_the_most(void **state)
{
    (void)state;
    doc *d = parse("i: 3\n");
    int64_t i = 0;
    assert_int_equal(doc_read_int(d, "i", 3, 3, &i), CORNU_OK);
    assert_int_equal(i, 3);
    assert_int_equal(doc_read_int(d, "i", 0, 2, &i), CORNU_INVALID);
    assert_int_equal(doc_read_int(d, "i", 4, 9, &i), CORNU_INVALID);
    doc_free(d);
}

/* JSON has no such numbers; the words are Python's. */
static void what_is_no_finite_number_becomes_a_word_of_json(void **state)
{
    (void)state;
    doc *d = parse("[.inf, -.inf, .nan]");
    json_t *json = doc_to_json(d);
    char *printed = json_dumps(json, JSON_COMPACT);
    assert_string_equal(printed, "[\"Infinity\",\"-Infinity\",\"NaN\"]");
    free(printed);
    json_decref(json);
    doc_free(d);
}

static void json_comes_out_as_it_went_in(void **state)
{
    (void)state;
    const char *input = "{\"a\":[1,2.5,null,true,\"x\"],\"b\":{}}";
    doc *d = parse(input);
    json_t *json = doc_to_json(d);
    char *printed = json_dumps(json, JSON_COMPACT);
    assert_string_equal(printed, input);
    char shown[80], cut[12];
    assert_string_equal(doc_show(d, shown, sizeof shown),
                        "{a: [1, 2.5, null, true, \"x\"], b: {}}");
    assert_string_equal(doc_show(d, cut, sizeof cut), "{a: [1, ...");
    free(printed);
    json_decref(json);
    doc_free(d);
}

static void empty_text_is_null_and_a_missing_file_is_named(void **state)
{
    (void)state;
    doc *d = parse("# only a remark\n");
    assert_int_equal(d->type, DOC_NULL);
    doc_free(d);
    assert_int_equal(doc_read("/nowhere/f.yaml", &d), CORNU_NOT_FOUND);
    assert_non_null(strstr(cornu_last_error(), "/nowhere/f.yaml"));
    const char *path = scratch_write("r.yaml", "a: 1.5\n", 7);
    assert_int_equal(doc_read(path, &d), CORNU_OK);
    assert_string_equal(d->source, path);
    assert_true(doc_get(d, "a")->real == 1.5);
    doc_free(d);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

/* ---- jansson without memory ------------------------------------------------------------- */

static int left; /* allocations until the one that fails; below 0: none does */

static void *failing_malloc(size_t size)
{
    return left >= 0 && left-- == 0 ? NULL : malloc(size);
}

/* jansson loses the bytes that it has no room for, and errno in the number after them. */
static void json_that_memory_was_short_for_is_not_taken_for_another_text(void **state)
{
    (void)state;
    static const char text[] = "{\"a key of more than sixteen letters\": 12.5, \"b\": [1, 2]}";
    json_error_t error;
    bool lacks_memory;
    json_t *whole = doc_json_load(text, strlen(text), 0, &error, &lacks_memory);
    assert_non_null(whole);
    assert_false(lacks_memory);
    json_set_alloc_funcs(failing_malloc, free);
    int failed = 0;
    for (int i = 0; i < 200; i++) {
        left = i;
        json_t *found = doc_json_load(text, strlen(text), 0, &error, &lacks_memory);
        left = -1;
        assert_true(found ? !lacks_memory && json_equal(found, whole) : lacks_memory);
        failed += !found;
        json_decref(found);
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(failed > 10);
    json_decref(whole);
    assert_null(doc_json_load("{", 1, 0, &error, &lacks_memory));
    assert_false(lacks_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_have_the_core_schema_types),
        cmocka_unit_test(nodes_know_their_place),
        cmocka_unit_test(what_is_not_supported_is_refused_with_its_place),
        cmocka_unit_test(depth_and_size_are_limited),
        cmocka_unit_test(directives_are_refused_before_parsing),
        cmocka_unit_test(json_on_one_long_line_is_read),
        cmocka_unit_test(typed_reads_keep_defaults_and_name_what_they_found),
        cmocka_unit_test(whole_numbers_may_be_the_least_and_the_most),
        cmocka_unit_test(what_is_no_finite_number_becomes_a_word_of_json),
        cmocka_unit_test(json_comes_out_as_it_went_in),
        cmocka_unit_test(json_that_memory_was_short_for_is_not_taken_for_another_text),
        IN_SCRATCH(empty_text_is_null_and_a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
