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
    assert_string_equal(metric_name(&a), "SparseCategoricalAccuracy");
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

static void a_loss_is_a_metric_by_each_of_its_names(void **state)
{
    (void)state;
    static const struct {
        const char *form, *name;
        metric_id id;
    } cases[] = {
        {"mae", "mae", METRIC_MEAN_ABSOLUTE_ERROR},
        {"MSE", "MSE", METRIC_MEAN_SQUARED_ERROR},
        {"mean_absolute_error", "mean_absolute_error", METRIC_MEAN_ABSOLUTE_ERROR},
        {"MeanSquaredError", "MeanSquaredError", METRIC_MEAN_SQUARED_ERROR},
        {"{MeanSquaredError: {name: error}}", "error", METRIC_MEAN_SQUARED_ERROR},
        {"{class_name: MeanAbsoluteError, config: {}}", "mean_absolute_error",
         METRIC_MEAN_ABSOLUTE_ERROR},
        {"categorical_crossentropy", "categorical_crossentropy", METRIC_CATEGORICAL_CROSSENTROPY},
        {"{BinaryCrossentropy: {label_smoothing: 0}}", "binary_crossentropy",
         METRIC_BINARY_CROSSENTROPY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        metric m = read_metric(cases[i].form, 10, false), again;
        assert_int_equal(m.id, cases[i].id);
        assert_string_equal(metric_name(&m), cases[i].name);
        json_t *json = metric_to_json(&m);
        char *shown = json_dumps(json, JSON_ENCODE_ANY);
        again = read_metric(shown, 10, false);
        assert_int_equal(again.id, m.id);
        assert_string_equal(metric_name(&again), cases[i].name);
        free(shown);
        json_decref(json);
    }
    metric m;
    doc *d;
    must(doc_parse("mea", 3, "test", &d));
    assert_int_equal(metric_read(d, 10, false, &m), CORNU_INVALID);
    doc_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accuracy_means_what_keras_makes_of_it),
        cmocka_unit_test(top_k_takes_k),
        cmocka_unit_test(a_name_of_its_own_is_kept),
        cmocka_unit_test(a_loss_is_a_metric_by_each_of_its_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
