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
    must(initializer_fill(&i, s, &r, values));
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

/* `limit`: how far from the mean values may be; INFINITY for normal ones. */
static void check_around(const char *form, const shape *s, double mean, double deviation,
                         double limit)
{
    statistics found = draw(form, s);
    /* 4 standard errors of the mean and of the deviation. */
    double n = (double)shape_elements(s), wide = isinf(limit) ? 4 * deviation : 0.99 * limit;
    assert_float_equal(found.mean, mean, 4 * deviation / sqrt(n));
    assert_float_equal(found.deviation, deviation, 4 * deviation / sqrt(2 * n));
    assert_true(found.most - mean <= limit * (1 + 1e-6));
    assert_true(found.least - mean >= -limit * (1 + 1e-6));
    /* The range is used up to its ends. */
    assert_true(found.most - mean > wide && found.least - mean < -wide);
}

static void check(const char *form, const shape *s, double deviation, double limit)
{
    check_around(form, s, 0, deviation, limit);
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
    check("lecun_uniform", &s, sqrt(1.0 / 300), sqrt(3.0 / 300));
    check("lecun_normal", &s, sqrt(1.0 / 300), 2 * sqrt(1.0 / 300) / cut);
    check("variance_scaling", &s, sqrt(1.0 / 300), 2 * sqrt(1.0 / 300) / cut);
    check("{variance_scaling: {scale: 3, mode: fan_out, distribution: uniform}}", &s,
          sqrt(3.0 / 500), sqrt(9.0 / 500));
    check("{VarianceScaling: {mode: fan_avg, distribution: untruncated_normal}}", &s,
          sqrt(1.0 / 400), INFINITY);
    check("{VarianceScaling: {mode: fan_avg, distribution: normal}}", &s, sqrt(1.0 / 400),
          2 * sqrt(1.0 / 400) / cut);
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

static void random_values_have_the_stated_mean_and_spread(void **state)
{
    (void)state;
    const shape s = {3, {30, 100, 50}};
    const double cut = 0.87962566103423978;
    check("random_normal", &s, 0.05, INFINITY);
    check_around("{RandomNormal: {mean: 3, stddev: 2, seed: 7}}", &s, 3, 2, INFINITY);
    check("truncated_normal", &s, 0.05 * cut, 0.1);
    check_around("{truncated_normal: {mean: -1, stddev: 0.5}}", &s, -1, 0.5 * cut, 1);
    check("random_uniform", &s, 0.1 / sqrt(12), 0.05);
    check_around("{RandomUniform: {minval: -1, maxval: 3}}", &s, 1, 4 / sqrt(12), 2);
}

static void fill(const char *form, const shape *s, float *values)
{
    doc *d = make_doc(form);
    initializer i;
    random_stream r = random_open(5, RANDOM_INITIALIZE, 0);
    must(initializer_read(d, &i));
    must(initializer_check(&i, "kernel", s));
    must(initializer_fill(&i, s, &r, values));
    doc_free(d);
}

static void an_identity_is_one_of_any_two_sizes(void **state)
{
    (void)state;
    float wide[6], high[6];
    fill("identity", &(shape){2, {2, 3}}, wide);
    fill("{IdentityInitializer: {gain: 2.5}}", &(shape){2, {3, 2}}, high);
    const float ones[6] = {1, 0, 0, 0, 1, 0}, gains[6] = {2.5f, 0, 0, 2.5f, 0, 0};
    assert_memory_equal(wide, ones, sizeof ones);
    assert_memory_equal(high, gains, sizeof gains);
}

/* The shorter side's vectors of the matrix have length `gain` and are at right angles; as R's
   diagonal is positive, their numbers are as often below 0 as above. */
static void expect_orthogonal(const char *form, const shape *s, double gain)
{
    const int columns = (int)s->dim[s->rank - 1], rows = (int)(shape_elements(s) / columns);
    const int count = rows < columns ? rows : columns, length = rows < columns ? columns : rows;
    const int next = rows < columns ? columns : 1, step = rows < columns ? 1 : columns;
    float *v = calloc((size_t)(rows * columns), sizeof *v);
    double sum = 0;
    fill(form, s, v);
    for (int a = 0; a < count; a++)
        for (int b = 0; b <= a; b++) {
            double product = 0;
            for (int k = 0; k < length; k++)
                product += (double)v[a * next + k * step] * (double)v[b * next + k * step];
            assert_float_equal(product, a == b ? gain * gain : 0, 1e-5);
        }
    for (int k = 0; k < rows * columns; k++)
        sum += (double)v[k];
    assert_float_equal(sum / (rows * columns), 0, 4 * gain / sqrt(length) / sqrt(rows * columns));
    free(v);
}

static void orthogonal_kernels_are_so_whichever_side_is_longer(void **state)
{
    (void)state;
    expect_orthogonal("orthogonal", &(shape){2, {30, 20}}, 1);
    expect_orthogonal("{Orthogonal: {gain: 2}}", &(shape){2, {20, 30}}, 2);
    expect_orthogonal("{OrthogonalInitializer: {gain: 0.5}}", &(shape){4, {3, 3, 4, 25}}, 0.5);
    expect_orthogonal("orthogonal", &(shape){2, {33, 33}}, 1);
    expect_orthogonal("orthogonal", &(shape){2, {1, 5}}, 1);
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
        cmocka_unit_test(random_values_have_the_stated_mean_and_spread),
        cmocka_unit_test(an_identity_is_one_of_any_two_sizes),
        cmocka_unit_test(orthogonal_kernels_are_so_whichever_side_is_longer),
        cmocka_unit_test(constants_are_constant),
        cmocka_unit_test(a_seed_draws_the_same_weights_and_another_seed_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
