/* Tables of pictures and numbers: the number of each file, and errors in tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/data.h"
#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <string.h>

static notices said;

/* A network with one output for pictures of one grey pixel, whose recipe has this data section. */
static cornu_model *model_of(const char *section)
{
    char text[512];
    cornu_model *model = NULL;
    snprintf(text, sizeof text,
             "data: %s\n"
             "model: {input: [1, 1, 1], layers: [Flatten, {Dense: {units: 1}}]}\n"
             "compile: {optimizer: {sgd: {learning_rate: 0.5}}, loss: mse}\n"
             "fit: {batch_size: 2, epochs: 60}\n",
             section);
    expect_ok(cornu_model_parse(text, scratch_path("r.yaml"), &model));
    return model;
}

static cornu_status open_with(const char *section, const char *folder, cornu_data **data)
{
    cornu_model *model = model_of(section);
    cornu_data_options options = {.size = sizeof options,
                                  .folder = folder ? scratch_path(folder) : NULL,
                                  .on_notice = notices_add,
                                  .user = &said};
    said = (notices){.count = 0};
    *data = NULL;
    cornu_status status = cornu_data_open_for_model(model, &options, data);
    cornu_model_close(model);
    return status;
}

#define HOUSES "{table: houses.csv, x: file, y: price}"

/* The text as houses.csv, beside p/0.png, p/1.png, ... */
static void make_houses(const char *text)
{
    char name[32];
    made_file("houses.csv", text, strlen(text));
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "p/%d.png", i);
        made_grey(name, 40 * i);
    }
}

static void expect_values(const char *text, const float *expected, int64_t count)
{
    cornu_data *data;
    make_houses(text);
    expect_ok(open_with(HOUSES, NULL, &data));
    const sample_block *block = &data->block[CORNU_TRAIN];
    assert_int_equal(block->count, count);
    assert_int_equal(block->y_type, SAMPLE_F32);
    assert_memory_equal(block->y, expected, (size_t)count * sizeof *expected);
    assert_int_equal(data->class_count, 0);
    cornu_data_close(data);
}

static void rows_are_read_in_any_dialect_of_csv(void **state)
{
    (void)state;
    static const float two[] = {1.5f, -20};
    expect_values("file,price\np/0.png,1.5\np/1.png,-2e1\n", two, 2);
    assert_non_null(strstr(said.lines, "houses.csv: 2 pictures, price from -20 to 1.5"));
    expect_values("\xef\xbb\xbf"
                  "price,what,file\r\n1.5,\"a \"\"b\"\",\nc\",p/0.png\r\n\r\n-20,,\"p/1.png\"",
                  two, 2);
    expect_values("file;price\np/0.png;1.5\n\"p/1.png\"; -20 \n", two, 2);
    expect_values("file\tprice\np/0.png\t1.5\np/1.png\t-20\n", two, 2);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "houses.csv: found nothing; expected a line with the names of its columns"},
        {"file,price\n", "houses.csv: found a header alone; expected a row a picture"},
        {"file,cost\np/0.png,1\n",
         "houses.csv:1: found no column price, which y names; it has file, cost"},
        {"name,price\np/0.png,1\n",
         "houses.csv:1: found no column file, which x names; it has name, price"},
        {"file,price\np/0.png,1\np/1.png\n",
         "houses.csv:3: found 1 cell; expected 2, as in its header"},
        {"file,price\n\np/0.png,dear\n", "houses.csv:3: price: found \"dear\"; expected a number"},
        {"file,price\np/0.png,nan\n", "houses.csv:2: price: found \"nan\"; expected a number"},
        {"file,price\np/0.png,\n", "houses.csv:2: price: found \"\"; expected a number"},
        {"file,price\np/0.png,1.5.2\n", "houses.csv:2: price: found \"1.5.2\"; expected a number"},
        {"file,price\n,1\n", "houses.csv:2: file: found nothing; expected a picture's file"},
        {"file,price\n\"p/0.png,1\n", "houses.csv:2: found a quote that does not end"},
        {"file,price\n\"p/0.png\"x,1\n",
         "houses.csv:2: found \"x\" behind a quoted cell; expected \",\" or the end of the line"},
    };
    cornu_data *data;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_houses(cases[i].text);
        assert_int_not_equal(open_with(HOUSES, NULL, &data), CORNU_OK);
        expect_message(cases[i].message);
    }
}

static void a_table_says_its_columns(void **state)
{
    (void)state;
    static const struct {
        const char *section, *message;
    } cases[] = {
        {"{table: houses.csv, y: price}", "x is missing; a table needs it"},
        {"{table: houses.csv, x: file}", "y is missing; a table needs it"},
        {"{table: houses.txt, x: file, y: price}", "found \"houses.txt\"; expected a .csv file"},
        {"{folder: p, y: price}", "found no table; expected one beside it"},
        {"{table: houses.csv, folder: p, x: file, y: price}", "expected one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_data *data;
        expect_status(open_with(cases[i].section, NULL, &data), CORNU_INVALID);
        expect_message(cases[i].message);
    }
}

/* A file's split depends on its name, whatever rows come and go. */
static void a_share_is_set_apart_and_another_table_may_be_named(void **state)
{
    (void)state;
    cornu_data *data;
    make_houses("file,price\np/0.png,0\np/1.png,1\np/2.png,2\np/3.png,3\np/4.png,4\np/5.png,5\n");
    expect_ok(
        open_with("{table: houses.csv, x: file, y: price, validation_split: 0.5}", NULL, &data));
    assert_int_equal(made_count(data, CORNU_TRAIN) + made_count(data, CORNU_TEST), 6);
    assert_true(made_count(data, CORNU_TEST) > 0);
    cornu_data_close(data);
    made_file("other.csv", "file,price\np/0.png,7\n", 21);
    expect_ok(open_with(HOUSES, "other.csv", &data));
    assert_int_equal(made_count(data, CORNU_TRAIN), 1);
    cornu_data_close(data);
}

static void a_table_alone_does_not_say_which_columns_count(void **state)
{
    (void)state;
    cornu_data *data;
    make_houses("file,price\np/0.png,0\n");
    expect_status(open_with("{folder: p}", "houses.csv", &data), CORNU_INVALID);
    expect_message("houses.csv: found a table; expected a recipe that names its columns, such as "
                   "data: {table: houses.csv, x: file, y: price}");
    expect_status(cornu_data_open(scratch_path("houses.csv"), NULL, &data), CORNU_INVALID);
    expect_message("houses.csv: found a table; expected a recipe that names its columns");
    expect_status(open_with(HOUSES, "none.csv", &data), CORNU_NOT_FOUND);
    expect_message("none.csv: no such file");
}

static void a_fraction_of_the_rows_may_be_asked_for(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    cornu_model *model = model_of(HOUSES);
    said = (notices){.count = 0};
    const cornu_data_options options = {
        .size = sizeof options, .fraction = 0.5, .on_notice = notices_add, .user = &said};
    make_houses("file,price\np/0.png,0\np/1.png,1\np/2.png,2\np/3.png,3\n");
    expect_ok(cornu_data_open_for_model(model, &options, &data));
    assert_int_equal(made_count(data, CORNU_TRAIN), 2);
    assert_non_null(strstr(said.lines, "fraction 0.5 of the samples: 2 of 4 training samples"));
    cornu_data_close(data);
    cornu_model_close(model);
}

/* Data given for evaluating a model is used whole. */
static void a_split_is_for_training_alone(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    cornu_model *model = model_of("{table: houses.csv, x: file, y: price, validation_split: 0.5}");
    const cornu_data_options options = {
        .size = sizeof options,
        .images = &(cornu_folder_options){.size = sizeof(cornu_folder_options), .whole = true}};
    make_houses("file,price\np/0.png,0\np/1.png,1\np/2.png,2\np/3.png,3\n");
    expect_ok(cornu_data_open_for_model(model, &options, &data));
    assert_int_equal(made_count(data, CORNU_TRAIN), 4);
    cornu_data_close(data);
    cornu_model_close(model);
}

/* A missing picture is left out and reported, as in folders. */
static void a_missing_picture_is_told(void **state)
{
    (void)state;
    cornu_data *data;
    make_houses("file,price\np/0.png,0\np/none.png,1\n");
    expect_ok(open_with(HOUSES, NULL, &data));
    assert_int_equal(made_count(data, CORNU_TRAIN), 1);
    assert_non_null(strstr(said.lines, "none.png"));
    cornu_data_close(data);
}

static void numbers_are_learned_and_the_file_remembers_the_table(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    cornu_scores scores = {.size = sizeof scores};
    make_houses("file,price\np/0.png,10\np/1.png,11\np/2.png,12\np/3.png,13\np/4.png,14\n");
    cornu_model *model = model_of(HOUSES), *again = NULL;
    expect_ok(cornu_data_open_for_model(model, NULL, &data));
    expect_ok(cornu_fit(model, data, NULL, NULL));
    expect_ok(cornu_evaluate(model, data, NULL, &scores));
    assert_true(scores.value[0] < 0.5);
    expect_ok(cornu_model_save(model, scratch_path("m.safetensors")));
    cornu_data_close(data);
    expect_ok(cornu_model_open(scratch_path("m.safetensors"), &again));
    expect_ok(cornu_data_open_for_model(again, NULL, &data));
    assert_int_equal(made_count(data, CORNU_TRAIN), 5);
    cornu_data_close(data);
    cornu_model_close(model);
    cornu_model_close(again);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, made_open, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(rows_are_read_in_any_dialect_of_csv),
        TEST(what_is_wrong_is_told_with_its_line),
        TEST(a_table_says_its_columns),
        TEST(a_share_is_set_apart_and_another_table_may_be_named),
        TEST(a_table_alone_does_not_say_which_columns_count),
        TEST(a_fraction_of_the_rows_may_be_asked_for),
        TEST(a_split_is_for_training_alone),
        TEST(a_missing_picture_is_told),
        TEST(numbers_are_learned_and_the_file_remembers_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
