#include "make_model.h"

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
        "acc",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        metric m = read_metric(forms[i], 10, true), again;
        assert_string_equal(metric_name(&m), "acc");
        json_t *json = metric_to_json(&m);
        char *shown = json_dumps(json, JSON_ENCODE_ANY);
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
        cmocka_unit_test(accuracy_means_what_keras_makes_of_it),
        cmocka_unit_test(top_k_takes_k),
        cmocka_unit_test(a_name_of_its_own_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
