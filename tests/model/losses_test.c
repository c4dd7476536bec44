#include "make_model.h"

static void losses_are_read_in_every_form_and_written_back(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "binary_crossentropy", "BinaryCrossentropy", "{binary_crossentropy: {from_logits: true}}",
        "{class_name: BinaryCrossentropy, config: {from_logits: true, name: b, reduction: "
        "sum_over_batch_size, label_smoothing: 0.0, axis: -1}, module: keras.losses, "
        "registered_name: null}"};
    for (int i = 0; i < 4; i++) {
        doc *d = make_doc(forms[i]), *again;
        loss l, same;
        must(loss_read(d, &l));
        assert_int_equal(l.id, LOSS_BINARY_CROSSENTROPY);
        assert_int_equal(l.from_logits, i >= 2);
        json_t *json = loss_to_json(&l);
        char *shown = json_dumps(json, 0);
        again = make_doc(shown);
        must(loss_read(again, &same));
        assert_int_equal(same.id, l.id);
        assert_int_equal(same.from_logits, l.from_logits);
        free(shown);
        json_decref(json);
        doc_free(d);
        doc_free(again);
    }
}

static void losses_go_by_keras_other_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        loss_id id;
    } cases[] = {{"mse", LOSS_MEAN_SQUARED_ERROR},
                 {"MSE", LOSS_MEAN_SQUARED_ERROR},
                 {"mae", LOSS_MEAN_ABSOLUTE_ERROR},
                 {"MAE", LOSS_MEAN_ABSOLUTE_ERROR},
                 {"MeanAbsoluteError", LOSS_MEAN_ABSOLUTE_ERROR}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        doc *d = make_doc(cases[i].name);
        loss l;
        must(loss_read(d, &l));
        assert_int_equal(l.id, cases[i].id);
        doc_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_read_in_every_form_and_written_back),
        cmocka_unit_test(losses_go_by_keras_other_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
