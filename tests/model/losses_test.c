#include "make_model.h"
#include <math.h>

static double logits_loss(loss_id id, const float *z, const float *t, int64_t n, float *grad)
{
    return loss_kind_of(id)->logits_row(z, t, n, grad);
}

static double row_loss(loss_id id, const float *o, const float *t, int64_t n, float *grad)
{
    return loss_kind_of(id)->row(o, t, n, grad);
}

static void logits_give_the_known_losses(void **state)
{
    (void)state;
    const float z[] = {2, 1, -1}, steep[] = {100, 0, 0}, first[] = {1, 0, 0}, one[] = {1};
    const float second[] = {0, 1, 0};
    /* Real Keras 3.15: logsumexp - 1, and no clipping. */
    assert_float_equal(logits_loss(LOSS_CATEGORICAL_CROSSENTROPY, z, second, 3, NULL), 1.3490122,
                       1e-6);
    assert_float_equal(logits_loss(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, z, one, 3, NULL),
                       1.3490122, 1e-6);
    assert_float_equal(logits_loss(LOSS_CATEGORICAL_CROSSENTROPY, steep, second, 3, NULL), 100,
                       1e-6);
    assert_float_equal(logits_loss(LOSS_CATEGORICAL_CROSSENTROPY, steep, first, 3, NULL), 0, 1e-6);
    /* mean(log(1 + e^2) , log(1 + e) - 1, log(1 + e^-1)) */
    assert_float_equal(logits_loss(LOSS_BINARY_CROSSENTROPY, z, second, 3, NULL),
                       (2.1269280 + 0.3132617 + 0.3132617) / 3, 1e-6);
}

static void probabilities_give_kerass_losses(void **state)
{
    (void)state;
    const float p[] = {0.1f, 0.8f, 0.1f}, twice[] = {0.2f, 1.6f, 0.2f}, sure[] = {1, 0, 0};
    const float second[] = {0, 1, 0}, one[] = {1};
    assert_float_equal(row_loss(LOSS_CATEGORICAL_CROSSENTROPY, p, second, 3, NULL), 0.22314355,
                       1e-6);
    assert_float_equal(row_loss(LOSS_CATEGORICAL_CROSSENTROPY, twice, second, 3, NULL), 0.22314355,
                       1e-6);
    /* Clipped to 1e-7. */
    assert_float_equal(row_loss(LOSS_CATEGORICAL_CROSSENTROPY, sure, second, 3, NULL), 16.118095,
                       1e-5);
    assert_float_equal(row_loss(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, p, one, 3, NULL), 0.22314355,
                       1e-6);
    /* log(sum(clipped)) - log(clipped): the sum is 0.9999999 + 2e-7. */
    assert_float_equal(row_loss(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, sure, one, 3, NULL),
                       16.118095, 1e-5);
    assert_float_equal(row_loss(LOSS_BINARY_CROSSENTROPY, p, second, 3, NULL),
                       (2 * 0.10536052 + 0.22314355) / 3, 1e-6);
    assert_float_equal(row_loss(LOSS_MEAN_SQUARED_ERROR, p, second, 3, NULL), 0.02, 1e-6);
}

static void huge_logits_stay_finite(void **state)
{
    (void)state;
    const float z[] = {3e38f, -3e38f, 0}, t[] = {0, 1, 0}, class_1[] = {1};
    float g[3];
    for (int id = 0; id < LOSS_COUNT; id++) {
        if (!loss_kind_of((loss_id)id)->has_logits)
            continue;
        const float *target = loss_kind_of((loss_id)id)->sparse ? class_1 : t;
        assert_true(isfinite(logits_loss((loss_id)id, z, target, 3, g)));
        for (int i = 0; i < 3; i++)
            assert_true(isfinite(g[i]));
    }
}

/* Central differences over exactly the step that the floats took. */
static void check_gradient(loss_row *row, const float *output, const float *target, int64_t n)
{
    float grad[8], x[8];
    row(output, target, n, grad);
    for (int64_t i = 0; i < n; i++) {
        memcpy(x, output, (size_t)n * sizeof *x);
        const float h = 1e-3f * fabsf(output[i]), high = output[i] + h, low = output[i] - h;
        x[i] = high;
        double above = row(x, target, n, NULL);
        x[i] = low;
        double below = row(x, target, n, NULL);
        double slope = (above - below) / ((double)high - (double)low);
        if (fabs(slope - (double)grad[i]) > 2e-4 * fmax(1.0, fabs(slope)))
            fail_msg("output %d: slope %g, gradient %g", (int)i, slope, (double)grad[i]);
    }
}

static void every_gradient_is_the_slope(void **state)
{
    (void)state;
    const float p[] = {0.05f, 0.4f, 0.25f, 0.17f, 0.03f}, z[] = {-2, 0.5f, 3, 0.01f, -0.7f};
    const float one_hot[] = {0, 0, 1, 0, 0}, soft[] = {0.1f, 0.2f, 0.3f, 0.25f, 0.15f};
    for (int id = 0; id < LOSS_COUNT; id++) {
        const loss_kind *k = loss_kind_of((loss_id)id);
        for (int class_number = 0; class_number < 5 && k->sparse; class_number++) {
            const float t[] = {(float)class_number};
            check_gradient(k->row, p, t, 5);
            check_gradient(k->logits_row, z, t, 5);
        }
        if (k->sparse)
            continue;
        check_gradient(k->row, p, one_hot, 5);
        check_gradient(k->row, p, soft, 5);
        if (k->has_logits) {
            check_gradient(k->logits_row, z, one_hot, 5);
            check_gradient(k->logits_row, z, soft, 5);
        }
    }
}

static void clipped_probabilities_have_no_gradient(void **state)
{
    (void)state;
    const float p[] = {0, 1, 0}, t[] = {1, 0, 0}, first[] = {0};
    float g[3];
    row_loss(LOSS_BINARY_CROSSENTROPY, p, t, 3, g);
    for (int i = 0; i < 3; i++)
        assert_float_equal(g[i], 0, 0);
    row_loss(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, p, first, 3, g);
    for (int i = 0; i < 3; i++)
        assert_float_equal(g[i], 0, 0);
}

static void a_class_that_is_not_there_gives_nan(void **state)
{
    (void)state;
    const float z[] = {1, 2, 3}, targets[] = {-1, 3, NAN};
    for (int i = 0; i < 3; i++) {
        float g[3];
        assert_true(isnan(logits_loss(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, z, &targets[i], 3, g)));
        assert_true(isnan(g[0]));
        assert_true(isnan(row_loss(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, z, &targets[i], 3, g)));
    }
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_give_the_known_losses),
        cmocka_unit_test(probabilities_give_kerass_losses),
        cmocka_unit_test(huge_logits_stay_finite),
        cmocka_unit_test(every_gradient_is_the_slope),
        cmocka_unit_test(clipped_probabilities_have_no_gradient),
        cmocka_unit_test(a_class_that_is_not_there_gives_nan),
        cmocka_unit_test(losses_are_read_in_every_form_and_written_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
