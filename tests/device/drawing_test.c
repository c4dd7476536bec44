/* Random numbers of layers: their ends and frequencies, and what keys them. (Keras's own numbers
   cannot be equal; tests/parity compares layers whose ends are equal.) */
#include "support/net.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 600 };

enum { HEIGHT = 9, WIDTH = 5, PIXELS = HEIGHT * WIDTH };

/* A step of `batch` samples, the first of which is number `first` of the whole batch, through this
   layer; each image has a bright pixel and dark ones, of mean 1. */
static net *trained(const char *name, const char *layer, int64_t batch, int64_t first)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml,
             "model: {input: [%d, %d, 1], layers: [%s]}\n"
             "compile: {optimizer: sgd, loss: mean_squared_error}",
             HEIGHT, WIDTH, layer);
    net *n =
        net_open(net_model(yaml), name,
                 &(plan_options){.mode = PLAN_TRAIN, .batch = batch, .keep_input_gradient = true});
    memset(n->x, 0, (size_t)(batch * PIXELS) * sizeof *n->x);
    for (int64_t i = 0; i < batch; i++)
        n->x[i * PIXELS] = PIXELS;
    n->input.seed = 1;
    n->input.first = first;
    return n;
}

static void release(net *n)
{
    cornu_model *m = n->model;
    net_close(n);
    cornu_model_close(m);
}

/* The maps of pixels of a layer that moves them: in fresh memory. */
static float *maps(const char *name, const char *layer)
{
    int at;
    net *n = trained(name, layer, BATCH, 0);
    net_run(n);
    assert_int_equal(net_count(n->plan, OP_DRAW, &at), 1);
    float *values = net_read(n, n->plan->ops[at].out[0]);
    release(n);
    return values;
}

/* Of each image of a step, what became of its dark pixels, the last of which stands for all. */
static float *darks(net *n)
{
    const int64_t batch = n->plan->batch;
    net_run(n);
    float *y = net_read(n, n->plan->output);
    for (int64_t i = 0; i < batch; i++)
        y[i] = y[i * PIXELS + PIXELS - 1];
    release(n);
    return y;
}

/* The numbers `at`, at + stride, ... lie from low to high, and evenly: half of them in the middle
   half, and a mean in the middle, as far as chance allows (5 standard deviations). */
static void expect_even(const float *values, int at, int stride, double low, double high)
{
    double sum = 0, most = 5 / sqrt(BATCH);
    int inside = 0;
    for (int i = 0; i < BATCH; i++) {
        const double u = ((double)values[i * stride + at] - low) / (high - low);
        if (!(u >= -1e-6 && u <= 1 + 1e-6))
            fail_msg("found %.9g; expected %g to %g", (double)values[i * stride + at], low, high);
        sum += u;
        inside += u > 0.25 && u < 0.75;
    }
    assert_true(fabs(sum / BATCH - 0.5) < most * sqrt(1.0 / 12));
    assert_true(fabs((double)inside / BATCH - 0.5) < most / 2);
}

/* The numbers `at`, at + stride, ... are one of the two, each as often as chance allows. */
static void expect_half(const float *values, int at, int stride, double one, double other)
{
    int ones = 0;
    for (int i = 0; i < BATCH; i++) {
        const double v = (double)values[i * stride + at];
        const bool is_one = fabs(v - one) < 1e-6;
        assert_true(is_one || fabs(v - other) < 1e-6);
        ones += is_one;
    }
    assert_true(abs(ones - BATCH / 2) < 5 * sqrt(BATCH) / 2);
}

static void numbers_are_even_between_their_ends(void **state)
{
    (void)state;
    for (int d = 0; net_device(d); d++) {
        const char *name = net_device(d);
        float *v = darks(trained(name, "{RandomContrast: {factor: 0.4, value_range: [-9, 99]}}",
                                 BATCH, 0)); /* (0 - 1) factor + 1 */
        expect_even(v, 0, 1, -0.4, 0);
        free(v);
        v = darks(trained(name, "{RandomContrast: {factor: [0.2, 0.6], value_range: [-9, 99]}}",
                          BATCH, 0));
        expect_even(v, 0, 1, -0.6, 0.2);
        free(v);
        v = darks(
            trained(name, "{RandomBrightness: {factor: 0.5, value_range: [50, -50]}}", BATCH, 0));
        expect_even(v, 0, 1, -50, 50);
        free(v);
        v = maps(name, "{RandomTranslation: {height_factor: 0.5, width_factor: [0, 0.2]}}");
        expect_even(v, 2, MAP_NUMBERS, -1, 0);
        expect_even(v, 5, MAP_NUMBERS, -4.5, 4.5);
        free(v);
        v = maps(name, "{RandomZoom: {height_factor: 0.5, width_factor: [0.2, -0.3]}}");
        expect_even(v, 0, MAP_NUMBERS, 0.7, 1.2);
        expect_even(v, 4, MAP_NUMBERS, 0.5, 1.5);
        free(v);
        v = maps(name, "{RandomShear: {x_factor: [0.5, 0.5], y_factor: 0.4}}");
        expect_even(v, 3, MAP_NUMBERS, -0.4, 0.4);
        expect_half(v, 1, MAP_NUMBERS, -0.5, 0.5);
        free(v);
        v = maps(name, "{RandomRotation: {factor: 0.2}}");
        for (int i = 0; i < BATCH; i++)
            v[i] = atan2f(v[i * MAP_NUMBERS + 3], v[i * MAP_NUMBERS]);
        expect_even(v, 0, 1, -0.4 * 3.14159265, 0.4 * 3.14159265);
        free(v);
    }
}

/* Without a width_factor both sides are zoomed alike. */
static void one_factor_zooms_both_sides_alike(void **state)
{
    (void)state;
    for (int d = 0; net_device(d); d++) {
        float *v = maps(net_device(d), "{RandomZoom: {height_factor: 0.5}}");
        for (int i = 0; i < BATCH; i++)
            assert_true(v[i * MAP_NUMBERS] == v[i * MAP_NUMBERS + 4]);
        free(v);
    }
}

/* A probability is drawn, too. */
static void chances_are_as_often_as_they_say(void **state)
{
    (void)state;
    for (int d = 0; net_device(d); d++) {
        float *v = darks(trained(net_device(d), "{RandomInvert: {value_range: [0, 7]}}", BATCH, 0));
        expect_half(v, 0, 1, 7, 0);
        free(v);
        v = darks(trained(net_device(d),
                          "{RandomInvert: {factor: [0.9, 0.9], value_range: [0, 7]}}", BATCH, 0));
        int inverted = 0;
        for (int i = 0; i < BATCH; i++)
            inverted += v[i] > 0;
        assert_true(fabs(inverted - 0.9 * BATCH) < 5 * sqrt(0.9 * 0.1 * BATCH));
        free(v);
        v = maps(net_device(d), "{RandomPosterization: {factor: [1, 3]}}");
        expect_half(v, 0, 1, 1, 2);
        free(v);
    }
}

/* Of half of the images, boxes of the sides 4.5 and 2.5, at places of their own. */
static void boxes_are_erased(void **state)
{
    (void)state;
    for (int d = 0; net_device(d); d++) {
        net *n = trained(net_device(d),
                         "{RandomErasing: {factor: [0.5, 0.5], scale: [0.25, 0.25], "
                         "fill_value: 99}}",
                         BATCH, 0);
        int erased = 0, near_begin = 0;
        net_run(n);
        float *y = net_read(n, n->plan->output);
        for (int i = 0; i < BATCH; i++) {
            int rows = 0, columns = 0, count = 0;
            for (int k = 0; k < PIXELS; k++) {
                const bool is = y[i * PIXELS + k] > 98;
                const bool above = k >= WIDTH && y[i * PIXELS + k - WIDTH] > 98;
                const bool before = k % WIDTH > 0 && y[i * PIXELS + k - 1] > 98;
                count += is;
                columns += is && !above;
                rows += is && !before;
            }
            assert_int_equal(count, rows * columns); /* a box */
            assert_true(count == 0 || ((rows == 4 || rows == 5) && (columns == 2 || columns == 3)));
            erased += count > 0;
            near_begin += count > 0 && y[i * PIXELS + WIDTH + 1] > 98;
        }
        assert_true(abs(erased - BATCH / 2) < 5 * sqrt(BATCH) / 2);
        assert_in_range(near_begin, 5, 75); /* of 300 / 4.5 / 2.5 */
        free(y);
        release(n);
    }
}

/* Which images are erased says nothing about how wide the boxes are. */
static void a_layers_draws_are_apart(void **state)
{
    (void)state;
    net *n = trained(
        "cpu", "{RandomErasing: {factor: [0.25, 0.25], scale: [0, 1], fill_value: 99}}", BATCH, 0);
    int wide = 0;
    net_run(n);
    float *y = net_read(n, n->plan->output);
    for (int i = 0; i < BATCH; i++)
        for (int row = 0; row < HEIGHT; row++)
            wide += y[i * PIXELS + row * WIDTH + 1] > 98 && y[i * PIXELS + row * WIDTH + 4] > 98;
    assert_true(wide > 0); /* of more than 3 / 5 of the side, and a scale above 0.36 */
    free(y);
    release(n);
}

/* In one way or, as in Keras, in both ways at once. */
static void half_of_the_images_are_flipped(void **state)
{
    (void)state;
    static const struct {
        const char *layer;
        bool across, down;
    } rows[] = {{"RandomFlip", true, true},
                {"{RandomFlip: {mode: horizontal}}", true, false},
                {"{RandomFlip: {mode: vertical}}", false, true}};
    for (int d = 0; net_device(d); d++)
        for (int k = 0; k < 3; k++) {
            float *v = maps(net_device(d), rows[k].layer);
            int flipped = 0;
            for (int i = 0; i < BATCH; i++) {
                const float *m = v + i * MAP_NUMBERS;
                const bool flips = m[0] < 0 || m[4] < 0;
                flipped += flips;
                assert_true(m[0] == (flips && rows[k].across ? -1 : 1));
                assert_true(m[4] == (flips && rows[k].down ? -1 : 1));
            }
            assert_true(abs(flipped - BATCH / 2) < 5 * sqrt(BATCH) / 2);
            free(v);
        }
}

/* One place for the batch, and each of 6 x 3 in some of many steps: the images are those at it. */
static void a_batch_is_cropped_at_one_place(void **state)
{
    (void)state;
    enum { ROWS = 4, COLUMNS = 3, ROOM = (HEIGHT - ROWS + 1) * (WIDTH - COLUMNS + 1) };
    bool seen[PIXELS] = {false};
    int places = 0;
    net *n = trained("cpu", "{RandomCrop: {height: 4, width: 3}}", 2, 0);
    for (int i = 0; i < 2 * PIXELS; i++)
        n->x[i] = (float)i;
    for (int step = 0; step < 150; step++) {
        n->input.iteration = step;
        net_run(n);
        float *y = net_read(n, n->plan->output);
        const int at = (int)y[0];
        assert_true(at / WIDTH <= HEIGHT - ROWS && at % WIDTH <= WIDTH - COLUMNS);
        for (int i = 0; i < 2 * ROWS * COLUMNS; i++)
            assert_true(y[i] == (float)(at + i / (ROWS * COLUMNS) * PIXELS +
                                        i / COLUMNS % ROWS * WIDTH + i % COLUMNS));
        places += !seen[at];
        seen[at] = true;
        free(y);
    }
    release(n);
    assert_int_equal(places, ROOM);
}

/* Of all pixels of a step of one number: mean, variance, and how many are within a standard
   deviation, as far as chance allows (5 standard deviations); those in a row are not equal. */
static void expect_normal(net *n, double mean, double deviation)
{
    const int64_t count = n->plan->batch * PIXELS;
    double sum = 0, squares = 0, most = 5 / sqrt((double)count);
    int inside = 0, equal = 0;
    for (int64_t i = 0; i < count; i++)
        n->x[i] = 2;
    net_run(n);
    float *y = net_read(n, n->plan->output);
    for (int64_t i = 0; i < count; i++) {
        const double z = ((double)y[i] - mean) / deviation;
        sum += z;
        squares += z * z;
        inside += fabs(z) < 1;
        equal += i > 0 && y[i] == y[i - 1];
    }
    assert_true(fabs(sum / (double)count) < most);
    assert_true(fabs(squares / (double)count - 1) < most * sqrt(2));
    assert_true(fabs(inside / (double)count - 0.682689) < most * 0.4655);
    assert_in_range(equal, 0, 2); /* by chance */
    free(y);
    release(n);
}

static void noise_is_normal(void **state)
{
    (void)state;
    for (int d = 0; net_device(d); d++) {
        const char *name = net_device(d);
        expect_normal(trained(name, "{GaussianNoise: {stddev: 0.25}}", BATCH, 0), 2, 0.25);
        expect_normal(trained(name, "{GaussianDropout: {rate: 0.2}}", BATCH, 0), 2, 1);
    }
}

#define BRIGHTNESS "{RandomBrightness: {factor: 1, value_range: [-50, 50]}}"
#define NOISE "{GaussianNoise: {stddev: 0.25}}"

/* Darks of 8 samples, after a change of the step. */
static float *changed(const char *name, const char *layer, uint64_t seed, int64_t iteration)
{
    net *n = trained(name, layer, 8, 0);
    n->input.seed = seed;
    n->input.iteration = iteration;
    return darks(n);
}

static bool same(const float *a, const float *b, int64_t count)
{
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

/* By the seed, the step, the layer and the sample's place in the whole batch. */
static void numbers_are_keyed(void **state)
{
    (void)state;
    static const char *const layers[][2] = {{BRIGHTNESS, "Identity, " BRIGHTNESS},
                                            {NOISE, "Identity, " NOISE}};
    for (int d = 0; net_device(d); d++)
        for (int k = 0; k < 2; k++) {
            const char *name = net_device(d), *layer = layers[k][0];
            float *v = changed(name, layer, 1, 0), *again = changed(name, layer, 1, 0);
            float *step = changed(name, layer, 1, 1), *seed = changed(name, layer, 2, 0);
            float *shard = darks(trained(name, layer, 3, 4));
            float *other = darks(trained(name, layers[k][1], 8, 0));
            assert_true(same(v, again, 8));
            assert_true(same(v + 4, shard, 3));
            assert_false(same(v, step, 8));
            assert_false(same(v, seed, 8));
            assert_false(same(v, other, 8));
            assert_true(v[0] != v[1] && v[1] != v[2]);
            free(v), free(again), free(shard), free(step), free(seed), free(other);
        }
}

/* Evaluation and prediction leave images alone. */
static void only_training_draws(void **state)
{
    (void)state;
    cornu_model *m = net_model("model: {input: [9, 5, 1], layers: [RandomFlip, {RandomRotation: "
                               "{factor: 0.2}}, {RandomContrast: {factor: 0.3}}, "
                               "{RandomBrightness: {factor: 0.3}}]}\n"
                               "compile: {optimizer: sgd, loss: mean_squared_error}");
    for (plan_mode mode = PLAN_EVALUATE; mode <= PLAN_PREDICT; mode++) {
        net *n = net_open(m, "cpu", &(plan_options){.mode = mode, .batch = 2});
        int first;
        assert_int_equal(net_count(n->plan, OP_GATHER, &first), 1);
        assert_int_equal(n->plan->op_count, mode == PLAN_EVALUATE ? 2 : 1);
        net_close(n);
    }
    cornu_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_even_between_their_ends),
        cmocka_unit_test(one_factor_zooms_both_sides_alike),
        cmocka_unit_test(half_of_the_images_are_flipped),
        cmocka_unit_test(a_batch_is_cropped_at_one_place),
        cmocka_unit_test(chances_are_as_often_as_they_say),
        cmocka_unit_test(boxes_are_erased),
        cmocka_unit_test(a_layers_draws_are_apart),
        cmocka_unit_test(noise_is_normal),
        cmocka_unit_test(numbers_are_keyed),
        cmocka_unit_test(only_training_draws),
    };
    return cmocka_run_group_tests_name("random numbers of layers", tests, NULL, NULL);
}
