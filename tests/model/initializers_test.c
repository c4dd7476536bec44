#include "make_model.h"
#include <math.h>

typedef struct statistics {
    double mean, deviation, least, most;
} statistics;

static statistics draw(const char *form, const shape *s)
{
    doc *d = make_doc(form);
    initializer i;
    random_stream r = random_open(5, RANDOM_INITIALIZE, 0);
    int64_t count = shape_elements(s);
    float *values = calloc((size_t)(count > 0 ? count : 0), sizeof *values);
    statistics out = {0, 0, INFINITY, -INFINITY};
    must(initializer_read(d, &i));
    initializer_fill(&i, s, &r, values);
    for (int64_t k = 0; k < count; k++) {
        out.mean += (double)values[k] / (double)count;
        out.least = fmin(out.least, (double)values[k]);
        out.most = fmax(out.most, (double)values[k]);
    }
    for (int64_t k = 0; k < count; k++)
        out.deviation += pow((double)values[k] - out.mean, 2) / (double)count;
    out.deviation = sqrt(out.deviation);
    free(values);
    doc_free(d);
    return out;
}

static void check(const char *form, const shape *s, double deviation, double limit)
{
    statistics found = draw(form, s);
    /* 4 standard errors of the mean and of the deviation. */
    double n = (double)shape_elements(s);
    assert_float_equal(found.mean, 0, 4 * deviation / sqrt(n));
    assert_float_equal(found.deviation, deviation, 4 * deviation / sqrt(2 * n));
    assert_true(found.most <= limit * (1 + 1e-6) && found.least >= -limit * (1 + 1e-6));
    /* The range is used up to its ends. */
    assert_true(found.most > 0.99 * limit && found.least < -0.99 * limit);
}

static void dense_kernels_have_the_stated_spread(void **state)
{
    (void)state;
    const shape s = {2, {300, 500}};
    const double cut = 0.87962566103423978;
    check("glorot_uniform", &s, sqrt(2.0 / 800), sqrt(6.0 / 800));
    check("glorot_normal", &s, sqrt(2.0 / 800), 2 * sqrt(2.0 / 800) / cut);
    check("he_uniform", &s, sqrt(2.0 / 300), sqrt(6.0 / 300));
    check("he_normal", &s, sqrt(2.0 / 300), 2 * sqrt(2.0 / 300) / cut);
}

static void convolution_kernels_count_their_window(void **state)
{
    (void)state;
    const shape s = {4, {3, 5, 64, 128}};
    double in, out;
    initializer_fans(&s, &in, &out);
    assert_float_equal(in, 15 * 64, 0);
    assert_float_equal(out, 15 * 128, 0);
    check("glorot_uniform", &s, sqrt(2.0 / (15 * 192)), sqrt(6.0 / (15 * 192)));
    check("he_normal", &s, sqrt(2.0 / (15 * 64)), 2 * sqrt(2.0 / (15 * 64)) / 0.87962566103423978);
}

static void constants_are_constant(void **state)
{
    (void)state;
    static const struct {
        const char *form;
        double value;
    } cases[] = {
        {"zeros", 0},
        {"Ones", 1},
        {"{constant: 0.25}", 0.25},
        {"{Constant: {value: -3}}", -3},
        {"{class_name: Constant, config: {value: 7.5}, module: keras, registered_name: null}", 7.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        statistics found = draw(cases[i].form, &(shape){1, {11}});
        assert_float_equal(found.least, cases[i].value, 0);
        assert_float_equal(found.most, cases[i].value, 0);
    }
}

static void a_seed_draws_the_same_weights_and_another_seed_others(void **state)
{
    (void)state;
    cornu_model *m = make_model("model: {input: [9], layers: [Dense: {units: 8}, Dense: {units: 8},"
                                " BatchNormalization]}\n");
    float first[72], again[72], other[72], second[64];
    must(cornu_model_initialize(m, 1));
    must(cornu_model_get_weight(m, 0, first, 72));
    must(cornu_model_get_weight(m, 2, second, 64));
    must(cornu_model_initialize(m, 2));
    must(cornu_model_get_weight(m, 0, other, 72));
    must(cornu_model_initialize(m, 1));
    must(cornu_model_get_weight(m, 0, again, 72));
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    assert_memory_not_equal(first, second, sizeof second);
    float variance[8];
    must(cornu_model_get_weight(m, 7, variance, 8));
    assert_float_equal(variance[3], 1, 0);
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_kernels_have_the_stated_spread),
        cmocka_unit_test(convolution_kernels_count_their_window),
        cmocka_unit_test(constants_are_constant),
        cmocka_unit_test(a_seed_draws_the_same_weights_and_another_seed_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
