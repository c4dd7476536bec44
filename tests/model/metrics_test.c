#include "make_model.h"
#include <math.h>

static double value(metric_id id, const float *output, const float *target, int64_t n, int64_t k)
{
    return metric_kind_of(id)->row(output, target, n, k);
}

static void the_first_of_equal_outputs_is_the_class(void **state)
{
    (void)state;
    const float tie[] = {0.1f, 0.4f, 0.4f, 0.1f}, second[] = {0, 1, 0, 0}, third[] = {0, 0, 1, 0};
    const float one[] = {1}, two[] = {2};
    assert_float_equal(value(METRIC_CATEGORICAL_ACCURACY, tie, second, 4, 0), 1, 0);
    assert_float_equal(value(METRIC_CATEGORICAL_ACCURACY, tie, third, 4, 0), 0, 0);
    assert_float_equal(value(METRIC_SPARSE_CATEGORICAL_ACCURACY, tie, one, 4, 0), 1, 0);
    assert_float_equal(value(METRIC_SPARSE_CATEGORICAL_ACCURACY, tie, two, 4, 0), 0, 0);
}

static void binary_accuracy_is_the_share_of_right_outputs(void **state)
{
    (void)state;
    const float o[] = {0.5f, 0.6f, 0.4f, 0.9f}, t[] = {0, 1, 1, 1};
    assert_float_equal(value(METRIC_BINARY_ACCURACY, o, t, 4, 0), 0.75, 0);
}

/* tf.math.in_top_k: ties at the border all count, and nothing does beside a NaN. */
static void top_k_treats_ties_as_tensorflow(void **state)
{
    (void)state;
    const float o[] = {0.4f, 0.2f, 0.2f, 0.2f}, bad[] = {0.4f, NAN, 0.2f, 0.2f};
    for (int i = 0; i < 4; i++) {
        const float t[] = {(float)i};
        double hit = i == 0 ? 1 : 0;
        assert_float_equal(value(METRIC_SPARSE_TOP_K_CATEGORICAL_ACCURACY, o, t, 4, 1), hit, 0);
        assert_float_equal(value(METRIC_SPARSE_TOP_K_CATEGORICAL_ACCURACY, o, t, 4, 2), 1, 0);
        assert_float_equal(value(METRIC_SPARSE_TOP_K_CATEGORICAL_ACCURACY, bad, t, 4, 4), 0, 0);
    }
    const float one_hot[] = {0, 0, 0, 1}, outside[] = {4};
    assert_float_equal(value(METRIC_TOP_K_CATEGORICAL_ACCURACY, o, one_hot, 4, 1), 0, 0);
    assert_float_equal(value(METRIC_TOP_K_CATEGORICAL_ACCURACY, o, one_hot, 4, 9), 1, 0);
    const float row[] = {0.4f, 0.2f, 0.2f, 0.2f, 9}; /* what lies behind it would be a hit */
    assert_float_equal(value(METRIC_SPARSE_TOP_K_CATEGORICAL_ACCURACY, row, outside, 4, 4), 0, 0);
}

static metric read_metric(const char *form, int64_t outputs, bool sparse)
{
    doc *d = make_doc(form);
    metric m;
    must(metric_read(d, outputs, sparse, &m));
    doc_free(d);
    return m;
}

static void accuracy_means_what_keras_makes_of_it(void **state)
{
    (void)state;
    assert_int_equal(read_metric("accuracy", 1, false).id, METRIC_BINARY_ACCURACY);
    assert_int_equal(read_metric("accuracy", 2, false).id, METRIC_CATEGORICAL_ACCURACY);
    assert_int_equal(read_metric("acc", 10, true).id, METRIC_SPARSE_CATEGORICAL_ACCURACY);
    metric a = read_metric("accuracy", 10, true);
    assert_string_equal(metric_name(&a), "accuracy");
    a = read_metric("SparseCategoricalAccuracy", 10, true);
    assert_string_equal(metric_name(&a), "sparse_categorical_accuracy");
}

static void top_k_takes_k(void **state)
{
    (void)state;
    assert_int_equal(read_metric("top_k_categorical_accuracy", 9, false).k, 5);
    metric m = read_metric("{top_k_categorical_accuracy: {k: 3}}", 9, false);
    assert_int_equal(m.k, 3);
    json_t *json = metric_to_json(&m);
    char *shown = json_dumps(json, 0);
    assert_int_equal(read_metric(shown, 9, false).k, 3);
    free(shown);
    json_decref(json);
}

static void a_name_of_its_own_is_kept(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "{class_name: SparseCategoricalAccuracy, config: {name: acc, dtype: float32}}",
        "{sparse_top_k_categorical_accuracy: {k: 2, name: acc}}",
        "{accuracy: {name: acc}}",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        metric m = read_metric(forms[i], 10, true), again;
        assert_string_equal(metric_name(&m), "acc");
        json_t *json = metric_to_json(&m);
        char *shown = json_dumps(json, 0);
        again = read_metric(shown, 10, true);
        assert_string_equal(metric_name(&again), "acc");
        assert_int_equal(again.id, m.id);
        assert_int_equal(again.k, m.k);
        free(shown);
        json_decref(json);
    }
    metric plain = read_metric("{SparseCategoricalAccuracy: {name: null}}", 10, true);
    assert_string_equal(metric_name(&plain), "sparse_categorical_accuracy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_equal_outputs_is_the_class),
        cmocka_unit_test(binary_accuracy_is_the_share_of_right_outputs),
        cmocka_unit_test(top_k_treats_ties_as_tensorflow),
        cmocka_unit_test(accuracy_means_what_keras_makes_of_it),
        cmocka_unit_test(top_k_takes_k),
        cmocka_unit_test(a_name_of_its_own_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
