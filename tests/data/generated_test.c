/* Generated samples fit the model that they are made for, whatever it reads and learns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/data.h"
#include "model/model.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <math.h>
#include <string.h>

enum { SAMPLES = 50 };

typedef struct made {
    cornu_model *model;
    cornu_data *data;
    const sample_block *block;
    const float *x, *y;
} made;

/* For the model section `model` under the loss or losses `loss`. */
static made make(const char *model, const char *loss, uint64_t seed)
{
    char text[1024];
    made m = {0};
    snprintf(text, sizeof text, "model: %s\ncompile: {optimizer: sgd, loss: %s}\n", model, loss);
    expect_ok(cornu_model_parse(text, "r.yaml", &m.model));
    expect_ok(data_generate_for_model(m.model, SAMPLES, seed, &m.data));
    m.block = &m.data->block[CORNU_TRAIN];
    assert_int_equal(m.block->count, SAMPLES);
    assert_true(m.data->generated);
    expect_ok(data_check_samples(m.model, m.block, "generated data"));
    m.x = m.block->x;
    m.y = m.block->y;
    return m;
}

static void end(made *m)
{
    cornu_data_close(m->data);
    cornu_model_close(m->model);
}

/* `count` numbers of each of the rows from `first` on are whole, from 0 to below - 1, and the first
   and the last of these occur; below 0: they are in [0, 1) and not all whole. */
static void expect_numbers(const float *rows, int64_t row, int64_t first, int64_t count,
                           double below)
{
    double least = INFINITY, most = -INFINITY;
    bool whole = true;
    for (int64_t i = 0; i < SAMPLES * count; i++) {
        const double v = rows[i / count * row + first + i % count];
        least = fmin(least, v);
        most = fmax(most, v);
        whole = whole && v == floor(v);
    }
    if (below > 0) {
        assert_true(whole);
        assert_true(least == 0 && most == below - 1);
    } else {
        assert_false(whole);
        assert_true(least >= 0 && most < 1);
    }
}

static const char CLASSIFIER[] =
    "{input: [6, 5, 3], layers: [Flatten, {Dense: {units: 4, activation: softmax}}]}";

static void classes_of_samples_get_pixels_and_class_numbers(void **state)
{
    (void)state;
    static const char *const losses[] = {"sparse_categorical_crossentropy",
                                         "categorical_crossentropy"};
    for (int i = 0; i < 2; i++) {
        made m = make(CLASSIFIER, losses[i], 1);
        cornu_data *pixels;
        expect_ok(cornu_data_generate((const int64_t[]){6, 5, 3}, 3, 4, SAMPLES, 1, &pixels));
        assert_int_equal(m.block->x_type, SAMPLE_U8);
        assert_memory_equal(m.x, pixels->block[0].x, SAMPLES * 90);
        assert_memory_equal(m.y, pixels->block[0].y, SAMPLES * sizeof(int32_t));
        cornu_data_close(pixels);
        end(&m);
    }
}

static void an_embedding_gets_numbers_of_its_rows(void **state)
{
    (void)state;
    made m = make("{input: [6, 2], layers: [{Reshape: {target_shape: [12]}}, "
                  "{Embedding: {input_dim: 7, output_dim: 3}}, Flatten, "
                  "{Dense: {units: 1, activation: sigmoid}}]}",
                  "binary_crossentropy", 1);
    expect_numbers(m.x, 12, 0, 12, 7);
    expect_numbers(m.y, 1, 0, 1, 0);
    end(&m);
}

static void an_autoencoder_gets_a_value_for_each_of_its_outputs(void **state)
{
    (void)state;
    made m = make("{input: [4, 4, 1], layers: [{Conv2D: {filters: 2, kernel_size: 3, "
                  "padding: same}}]}",
                  "mse", 1);
    assert_int_equal(shape_elements(&m.block->y_shape), 32);
    expect_numbers(m.x, 16, 0, 16, 0);
    expect_numbers(m.y, 32, 0, 32, 0);
    end(&m);
}

static void each_place_gets_a_class_number(void **state)
{
    (void)state;
    made m = make("{input: [4, 4, 1], layers: [{Conv2D: {filters: 5, kernel_size: 1, "
                  "activation: softmax}}]}",
                  "sparse_categorical_crossentropy", 1);
    assert_int_equal(shape_elements(&m.block->y_shape), 16);
    expect_numbers(m.y, 16, 0, 16, 5);
    end(&m);
}

static void several_inputs_and_outputs_get_their_own(void **state)
{
    (void)state;
    made m = make("{inputs: {a: [3], b: [2]}, outputs: [c, d], layers: ["
                  "{Embedding: {name: e, inputs: a, input_dim: 9, output_dim: 2}}, "
                  "{Flatten: {name: f, inputs: e}}, {Concatenate: {name: j, inputs: [f, b]}}, "
                  "{Dense: {name: c, inputs: j, units: 4, activation: softmax}}, "
                  "{Dense: {name: d, inputs: j, units: 2}}]}",
                  "{c: sparse_categorical_crossentropy, d: hinge}", 1);
    expect_numbers(m.x, 5, 0, 3, 9);
    expect_numbers(m.x, 5, 3, 2, 0);
    expect_numbers(m.y, 3, 0, 1, 4);
    expect_numbers(m.y, 3, 1, 2, 2);
    end(&m);
}

static void the_same_seed_makes_the_same_samples(void **state)
{
    (void)state;
    static const char model[] = "{input: [3], layers: [{Reshape: {target_shape: [3, 1]}}, "
                                "{Dense: {units: 2}}]}";
    made a = make(model, "mse", 1), b = make(model, "mse", 1), c = make(model, "mse", 2);
    assert_memory_equal(a.x, b.x, SAMPLES * 3 * sizeof(float));
    assert_memory_equal(a.y, b.y, SAMPLES * 6 * sizeof(float));
    assert_memory_not_equal(a.x, c.x, SAMPLES * 3 * sizeof(float));
    end(&a);
    end(&b);
    end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_of_samples_get_pixels_and_class_numbers),
        cmocka_unit_test(an_embedding_gets_numbers_of_its_rows),
        cmocka_unit_test(an_autoencoder_gets_a_value_for_each_of_its_outputs),
        cmocka_unit_test(each_place_gets_a_class_number),
        cmocka_unit_test(several_inputs_and_outputs_get_their_own),
        cmocka_unit_test(the_same_seed_makes_the_same_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
