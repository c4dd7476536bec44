#include "base/memory.h"
#include "make_model.h"
#include "model/model.h"

/* As Keras 3.15 prints it on a terminal of 80 columns, but with decimal MB (Keras: 18.70 MB of
   2^20 bytes), which the last line says. */
static const char expected[] =
    "Model: \"sequential\"\n"
    "┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓\n"
    "┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃\n"
    "┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩\n"
    "│ conv2d (Conv2D)                 │ (None, 35, 35, 4)      │           112 │\n"
    "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
    "│ batch_normalization             │ (None, 35, 35, 4)      │            16 │\n"
    "│ (BatchNormalization)            │                        │               │\n"
    "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
    "│ flatten (Flatten)               │ (None, 4900)           │             0 │\n"
    "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
    "│ dense (Dense)                   │ (None, 1000)           │     4,901,000 │\n"
    "└─────────────────────────────────┴────────────────────────┴───────────────┘\n"
    " Total params: 4,901,128 (19.60 MB)\n"
    " Trainable params: 4,901,120 (19.60 MB)\n"
    " Non-trainable params: 8 (32.00 B)\n"
    " (1 MB is 1,000,000 bytes; Keras's table counts 1,048,576 as one)\n";

static void must_show(const char *shown, const char *part)
{
    if (!strstr(shown, part))
        fail_msg("found\n%s\nexpected\n%s", shown, part);
}

static void the_table_is_kerass(void **state)
{
    (void)state;
    cornu_model *m = make_model(
        "model: {input: [35, 35, 3], layers: [Conv2D: {filters: 4, kernel_size: 3, padding: same},"
        " BatchNormalization, Flatten, Dense: {units: 1000}]}\n");
    text t = {0};
    model_summary_table(m, false, &t);
    assert_string_equal(t.data, expected);
    text_free(&t);
    cornu_model_close(m);
}

/* As Keras prints the connections of a layer's calls, one after the other. */
static void a_shared_layer_is_one_row_with_all_its_inputs(void **state)
{
    (void)state;
    cornu_model *m =
        make_model("model: {layers: [InputLayer: {shape: [4], name: x}, Dense: {units: 4, name: "
                   "head}, Call: {layer: head}, Add: {inputs: [head, head/call_2], name: sum}]}\n");
    text t = {0};
    model_summary_table(m, false, &t);
    must_show(t.data,
              "│ head (Dense)        │ (None, 4)         │         20 │ x[0][0],          │\n"
              "│                     │                   │            │ head[0][0]        │\n");
    must_show(t.data,
              "│ sum (Add)           │ (None, 4)         │          0 │ head[0][0],       │\n"
              "│                     │                   │            │ head[1][0]        │\n");
    must_show(t.data, "Total params: 20 (80.00 B)");
    text_free(&t);
    cornu_model_close(m);
}

/* Keras's rows, without and with expand_nested. */
static void a_model_within_is_one_row_or_has_its_layers_below(void **state)
{
    (void)state;
    cornu_model *m = make_model(
        "model: {input: [5], layers: [{Model: {name: two, layers: [{Dense: {units: 3, name: in}}, "
        "{Model: {name: s, layers: [{Dense: {units: 2, name: d}}]}}, {ReLU: {inputs: in, name: "
        "r}}], outputs: [s, r]}}, {Concatenate: {inputs: [two/s, two/r], name: c}}]}\n");
    text row = {0}, rows = {0};
    model_summary_table(m, false, &row);
    must_show(row.data,
              "│ two (Functional)    │ [(None, 2),       │         26 │ input_layer[0][0] │\n"
              "│                     │ (None, 3)]        │            │                   │\n");
    must_show(row.data, "│ two[0][0],        │\n");
    must_show(row.data, "│ two[0][1]         │\n");
    assert_null(strstr(row.data, "└ "));
    model_summary_table(m, true, &rows);
    must_show(rows.data,
              "│    └ s (Sequential) │ (None, 2)         │          8 │ -                 │\n"
              "├─────────────────────┼───────────────────┼────────────┼───────────────────┤\n"
              "│       └ d (Dense)   │ (None, 2)         │          8 │ -                 │\n"
              "├─────────────────────┼───────────────────┼────────────┼───────────────────┤\n"
              "│    └ r (ReLU)       │ (None, 3)         │          0 │ -                 │\n");
    must_show(rows.data, "Total params: 26 (104.00 B)");
    text_free(&row);
    text_free(&rows);
    cornu_model_close(m);
}

/* Keras's numbers for this network after a fit, where the first layer and the norm were frozen. */
static void the_totals_of_a_trained_model_count_the_optimizer(void **state)
{
    (void)state;
    cornu_model *m = make_model(
        "model: {input: [4], layers: [{Dense: {units: 3, trainable: false}}, {BatchNormalization: "
        "{trainable: false}}, {Dense: {units: 2}}]}\n"
        "compile: {optimizer: adam, loss: mse}\n");
    text before = {0}, after = {0};
    model_summary_table(m, false, &before);
    assert_null(strstr(before.data, "Optimizer"));
    assert_non_null(strstr(before.data, " Total params: 35 (140.00 B)\n"));
    m->training.position.iterations = 1;
    model_summary_table(m, false, &after);
    assert_non_null(strstr(after.data, " Total params: 53 (216.00 B)\n"
                                       " Trainable params: 8 (32.00 B)\n"
                                       " Non-trainable params: 27 (108.00 B)\n"
                                       " Optimizer params: 18 (76.00 B)\n"));
    text_free(&after);
    must(cornu_model_compile(m, "{optimizer: nadam, loss: mse}"));
    m->training.position.iterations = 1;
    model_summary_table(m, false, &after);
    assert_non_null(strstr(after.data, " Optimizer params: 19 (80.00 B)\n"));
    text_free(&before);
    text_free(&after);
    cornu_model_close(m);
}

/* Widest line in characters. */
static size_t widest(const char *shown)
{
    size_t most = 0, at = 0;
    for (; *shown; shown++) {
        if (*shown == '\n')
            at = 0;
        else if (((unsigned char)*shown & 0xC0) != 0x80 && ++at > most)
            most = at;
    }
    return most;
}

static void long_names_and_shapes_are_wrapped(void **state)
{
    (void)state;
    cornu_model *m =
        make_model("model: {input: [100000, 100000, 1, 1], layers: [{ReLU: {name: "
                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü}}]}\n");
    text t = {0};
    model_summary_table(m, false, &t);
    assert_int_equal(widest(t.data), 76);
    assert_non_null(strstr(t.data, "(None, 100000, 100000,"));
    text_free(&t);
    cornu_model_close(m);
}

static void workloads_show_their_parameters(void **state)
{
    (void)state;
    static const char *const totals[][2] = {
        {"cifar10-mlp", " Total params: 12,230,010 (48.92 MB)\n"},
        {"cifar100-mlp", " Total params: 1,730,404 (6.92 MB)\n"},
        {"photos-cnn", " Total params: 42,520,584 (170.08 MB)\n"},
        {"cifar10-cnn", " Total params: 1,337,002 (5.35 MB)\n"},
    };
    for (int i = 0; i < 4; i++) {
        cornu_model *m = make_model(recipe_text(totals[i][0]));
        text t = {0};
        model_summary_table(m, false, &t);
        assert_non_null(strstr(t.data, totals[i][1]));
        text_free(&t);
        cornu_model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_kerass),
        cmocka_unit_test(a_shared_layer_is_one_row_with_all_its_inputs),
        cmocka_unit_test(a_model_within_is_one_row_or_has_its_layers_below),
        cmocka_unit_test(the_totals_of_a_trained_model_count_the_optimizer),
        cmocka_unit_test(long_names_and_shapes_are_wrapped),
        cmocka_unit_test(workloads_show_their_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
