/* Losses and metrics of one row, by device/rules, in the host's doubles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/rows.h"
#include "device/tally.h"
#include "model/compile.h"
#include <math.h>
#include <string.h>

/* The loss's options as Keras has them without the user's. */
static const float *usual(loss_id id)
{
    static float reals[ROW_REALS];
    doc *d;
    loss l;
    const char *name = loss_kind_of(id)->name;
    if (id == LOSS_VALUES)
        return reals; /* has no name, and no numbers */
    assert_int_equal(doc_parse(name, strlen(name), "loss", &d), CORNU_OK);
    assert_int_equal(loss_read(d, &l), CORNU_OK);
    loss_reals(&l, reals);
    doc_free(d);
    return reals;
}

static double logits_loss(loss_id id, const float *z, const float *t, int64_t n, float *grad)
{
    return loss_row_of(id, true)(z, t, n, usual(id), grad);
}

static double row_loss(loss_id id, const float *o, const float *t, int64_t n, float *grad)
{
    return loss_row_of(id, false)(o, t, n, usual(id), grad);
}

static double value(row_sum sum, const float *output, const float *target, int64_t n, int64_t k)
{
    const float reals[ROW_REALS] = {0.5f};
    return sum_row_of(sum)(output, target, n, reals, k);
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
        if (loss_kind_of((loss_id)id)->logits == LOSS_LOGITS_NEVER)
            continue;
        const float *target = loss_kind_of((loss_id)id)->sparse ? class_1 : t;
        assert_true(isfinite(logits_loss((loss_id)id, z, target, 3, g)));
        for (int i = 0; i < 3; i++)
            assert_true(isfinite(g[i]));
    }
}

/* Central differences over exactly the step that the floats took. */
static void check_gradient(loss_id id, bool logits, const float *output, const float *target,
                           int64_t n)
{
    loss_row *row = loss_row_of(id, logits);
    const float *reals = usual(id);
    float grad[8], x[8];
    row(output, target, n, reals, grad);
    for (int64_t i = 0; i < n; i++) {
        memcpy(x, output, (size_t)n * sizeof *x);
        const float h = 1e-3f * fabsf(output[i]), high = output[i] + h, low = output[i] - h;
        x[i] = high;
        double above = row(x, target, n, reals, NULL);
        x[i] = low;
        double below = row(x, target, n, reals, NULL);
        double slope = (above - below) / ((double)high - (double)low);
        if (fabs(slope - (double)grad[i]) > 2e-4 * fmax(1.0, fabs(slope)))
            fail_msg("%s: output %d: slope %g, gradient %g", loss_kind_of(id)->name, (int)i, slope,
                     (double)grad[i]);
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
            check_gradient((loss_id)id, false, p, t, 5);
            if (k->logits != LOSS_LOGITS_NEVER)
                check_gradient((loss_id)id, true, z, t, 5);
        }
        if (k->sparse)
            continue;
        check_gradient((loss_id)id, false, p, one_hot, 5);
        check_gradient((loss_id)id, false, p, soft, 5);
        if (k->logits != LOSS_LOGITS_NEVER) {
            check_gradient((loss_id)id, true, z, one_hot, 5);
            check_gradient((loss_id)id, true, z, soft, 5);
        }
    }
}

static void the_absolute_error_has_no_gradient_where_it_is_0(void **state)
{
    (void)state;
    const float o[] = {1, -2, 0, NAN}, t[] = {0.5f, -1, 0, 0};
    float g[4];
    assert_float_equal(row_loss(LOSS_MEAN_ABSOLUTE_ERROR, o, t, 3, g), 0.5, 1e-7);
    assert_float_equal(g[0], 1.0 / 3, 1e-7);
    assert_float_equal(g[1], -1.0 / 3, 1e-7);
    assert_true(g[2] == 0);
    assert_true(isnan(row_loss(LOSS_MEAN_ABSOLUTE_ERROR, o, t, 4, g)));
    assert_true(isnan(g[3]));
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

static void the_first_of_equal_outputs_is_the_class(void **state)
{
    (void)state;
    const float tie[] = {0.1f, 0.4f, 0.4f, 0.1f}, second[] = {0, 1, 0, 0}, third[] = {0, 0, 1, 0};
    const float one[] = {1}, two[] = {2};
    assert_float_equal(value(SUM_CATEGORICAL_ACCURACY, tie, second, 4, 0), 1, 0);
    assert_float_equal(value(SUM_CATEGORICAL_ACCURACY, tie, third, 4, 0), 0, 0);
    assert_float_equal(value(SUM_SPARSE_CATEGORICAL_ACCURACY, tie, one, 4, 0), 1, 0);
    assert_float_equal(value(SUM_SPARSE_CATEGORICAL_ACCURACY, tie, two, 4, 0), 0, 0);
}

static void binary_accuracy_is_the_share_of_right_outputs(void **state)
{
    (void)state;
    const float o[] = {0.5f, 0.6f, 0.4f, 0.9f}, t[] = {0, 1, 1, 1};
    assert_float_equal(value(SUM_BINARY_ACCURACY, o, t, 4, 0), 0.75, 0);
}

/* Keras's examples of the two, and equal numbers. */
static void correlations_are_of_rows(void **state)
{
    (void)state;
    const float t[3] = {0, 1, 0.5f}, o[3] = {0.1f, 0.9f, 0.5f};
    const float other_t[3] = {1, 1, 0.2f}, other_o[3] = {1, 0.9f, 0.2f};
    assert_float_equal(value(SUM_PEARSON_CORRELATION, o, t, 3, 0), 1, 1e-6);
    assert_float_equal(value(SUM_CONCORDANCE_CORRELATION, o, t, 3, 0), 0.97560976, 1e-6);
    assert_float_equal(value(SUM_PEARSON_CORRELATION, other_o, other_t, 3, 0), 0.99339927, 1e-6);
    assert_float_equal(value(SUM_CONCORDANCE_CORRELATION, other_o, other_t, 3, 0), 0.98765432,
                       1e-6);
    assert_float_equal(value(SUM_ACCURACY, other_o, other_t, 3, 0), 2 / 3.0, 0);
}

/* tf.math.in_top_k: ties at the border all count, and no output counts beside a NaN. */
static void top_k_treats_ties_as_tensorflow(void **state)
{
    (void)state;
    const float o[] = {0.4f, 0.2f, 0.2f, 0.2f}, bad[] = {0.4f, NAN, 0.2f, 0.2f};
    for (int i = 0; i < 4; i++) {
        const float t[] = {(float)i};
        double hit = i == 0 ? 1 : 0;
        assert_float_equal(value(SUM_SPARSE_TOP_K_CATEGORICAL_ACCURACY, o, t, 4, 1), hit, 0);
        assert_float_equal(value(SUM_SPARSE_TOP_K_CATEGORICAL_ACCURACY, o, t, 4, 2), 1, 0);
        assert_float_equal(value(SUM_SPARSE_TOP_K_CATEGORICAL_ACCURACY, bad, t, 4, 4), 0, 0);
    }
    const float one_hot[] = {0, 0, 0, 1}, outside[] = {4};
    assert_float_equal(value(SUM_TOP_K_CATEGORICAL_ACCURACY, o, one_hot, 4, 1), 0, 0);
    assert_float_equal(value(SUM_TOP_K_CATEGORICAL_ACCURACY, o, one_hot, 4, 9), 1, 0);
    const float row[] = {0.4f, 0.2f, 0.2f, 0.2f, 9}; /* the element after the row would be a hit */
    assert_float_equal(value(SUM_SPARSE_TOP_K_CATEGORICAL_ACCURACY, row, outside, 4, 4), 0, 0);
}

static void counts_are_those_of_targets_and_outputs_on_either_side(void **state)
{
    (void)state;
    static const float o[] = {0.5f, 0.6f, 0.4f, 0.9f, 0.7f, 0.1f}, t[] = {1, 1, 0, 0, -2, 0};
    assert_float_equal(value(SUM_TRUE_POSITIVES, o, t, 6, -1), 2, 0);
    assert_float_equal(value(SUM_FALSE_NEGATIVES, o, t, 6, -1), 1, 0);
    assert_float_equal(value(SUM_FALSE_POSITIVES, o, t, 6, -1), 1, 0);
    assert_float_equal(value(SUM_TRUE_NEGATIVES, o, t, 6, -1), 2, 0);
    assert_float_equal(value(SUM_TRUE_POSITIVES, o, t, 6, 1), 1, 0); /* of class 1 alone */
    assert_float_equal(value(SUM_TRUE_POSITIVES, o, t, 6, 3), 0, 0);
}

/* ---- tables ------------------------------------------------------------------------------- */

enum { TABLE = 12 };

/* Two rows of three outputs; the second sample counts 2.5 times. */
static void count(const tally_spec *what, const float *output, const float *target, double *table)
{
    static const float weight[] = {1, 2.5f}, limits[] = {0.25f, 0.5f};
    const tally_rows t = {.what = what,
                          .output = output,
                          .target = target,
                          .weight = weight,
                          .limits = limits,
                          .rows = 2,
                          .n = 3,
                          .targets = what->kind == TALLY_SPARSE_BEST ? 1 : 3,
                          .rows_per_sample = 1,
                          .limit_count = 2};
    memset(table, 0, TABLE * sizeof *table);
    tally_add_rows(&t, 0, 2, table);
}

static void elements_and_rows_count_in_their_buckets(void **state)
{
    (void)state;
    static const float output[] = {0.25f, 0.5f, 0.75f, 0, 2, 0}, target[] = {0, 1, 0, 1, 0, 0},
                       classes[] = {1, 2}, numbers[] = {0, 1, 5, 1, -1, 0.5f};
    static const struct {
        tally_spec what;
        const float *output, *target;
        double table[TABLE];
    } cases[] = {
        /* 0.5 is not above the threshold 0.5; 2 counts as 1 */
        {{.kind = TALLY_EVEN, .planes = 2, .buckets = 4, .column = -1, .reals = {2}},
         output,
         target,
         {2.5, 1, 0, 0, 2.5, 1, 3.5, 0}},
        {{.kind = TALLY_EVEN, .planes = 2, .buckets = 4, .column = -1, .reals = {2, 1}},
         output,
         target,
         {0, 3.5, 0, 0, 0, 3.5, 3.5, 0}},
        {{.kind = TALLY_LIMITS, .planes = 2, .buckets = 3, .column = -1},
         output,
         target,
         {2.5, 1, 0, 3.5, 0, 3.5}},
        /* of equal outputs the first is among the two largest */
        {{.kind = TALLY_LIMITS, .planes = 2, .buckets = 3, .column = 1, .k = 1},
         output,
         target,
         {1, 0, 0, 0, 0, 2.5}},
        {{.kind = TALLY_LABELS, .planes = 2, .buckets = 6, .k = 1},
         output,
         target,
         {2.5, 0, 1, 0, 0, 0, 1, 0, 0, 2.5, 2.5, 1}},
        {{.kind = TALLY_CLASSES, .planes = 1, .buckets = 4, .k = 2, .reals = {0, -1}},
         numbers,
         target,
         {3.5, 0, 0, 3.5}},
        {{.kind = TALLY_HALVES, .planes = 1, .buckets = 4, .k = 2, .reals = {0.5f, -1}},
         output,
         target,
         {3.5, 3.5, 2.5, 1}},
        {{.kind = TALLY_BEST, .planes = 1, .of_rows = true, .buckets = 9, .k = 3, .reals = {0, 0}},
         output,
         target,
         {[5] = 1}},
        {{.kind = TALLY_SPARSE_BEST,
          .planes = 1,
          .of_rows = true,
          .buckets = 9,
          .k = 3,
          .whole_weights = true,
          .reals = {0, -1}},
         output,
         classes,
         {[5] = 1, [7] = 2}},
        {{.kind = TALLY_MOMENTS, .planes = 4, .buckets = 3},
         output,
         target,
         {3.5, 3.5, 3.5, 2.5, 1, 0, 2.5, 1, 0, 2.5625, 10.25, 0.5625}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double table[TABLE];
        count(&cases[i].what, cases[i].output, cases[i].target, table);
        for (int k = 0; k < TABLE; k++)
            if (fabs(table[k] - cases[i].table[k]) > 1e-6)
                fail_msg("case %zu, number %d: found %g; expected %g", i, k, table[k],
                         cases[i].table[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_give_the_known_losses),
        cmocka_unit_test(probabilities_give_kerass_losses),
        cmocka_unit_test(huge_logits_stay_finite),
        cmocka_unit_test(every_gradient_is_the_slope),
        cmocka_unit_test(the_absolute_error_has_no_gradient_where_it_is_0),
        cmocka_unit_test(clipped_probabilities_have_no_gradient),
        cmocka_unit_test(a_class_that_is_not_there_gives_nan),
        cmocka_unit_test(the_first_of_equal_outputs_is_the_class),
        cmocka_unit_test(binary_accuracy_is_the_share_of_right_outputs),
        cmocka_unit_test(correlations_are_of_rows),
        cmocka_unit_test(top_k_treats_ties_as_tensorflow),
        cmocka_unit_test(elements_and_rows_count_in_their_buckets),
        cmocka_unit_test(counts_are_those_of_targets_and_outputs_on_either_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
