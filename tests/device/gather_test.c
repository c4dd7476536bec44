/* Samples as the network sees them: scaling, targets, and the random transforms of
 * ImageDataGenerator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/gather_sample.h"
#include "support/net.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 5, PIXELS = SIDE * SIDE };

/* 0, 1, ... 24 on 5 x 5. */
static float ramp[PIXELS];

static sample_block ramp_block(void)
{
    for (int i = 0; i < PIXELS; i++)
        ramp[i] = (float)i;
    return (sample_block){
        .count = 1, .x_shape = {3, {SIDE, SIDE, 1}}, .x_type = SAMPLE_F32, .x = ramp, .x_scale = 1};
}

static void expect_image(const random_transform *transform, const float *expected)
{
    float found[PIXELS];
    sample_block block = ramp_block();
    gather_augmented(&block, 0, transform, found);
    for (int i = 0; i < PIXELS; i++)
        if (fabsf(found[i] - expected[i]) > 1e-4f)
            fail_msg("pixel %d: found %g, expected %g", i, (double)found[i], (double)expected[i]);
}

/* Computed by keras.src.legacy.preprocessing.image.apply_affine_transform of Keras 3. */
static void rotation_shear_and_zoom_are_those_of_keras(void **state)
{
    (void)state;
    static const float all[PIXELS] = {2.0284922f, 2.7213125f, 4.9876437f, 7.573511f,  9.573511f,
                                      3.1081812f, 5.8010015f, 8.493822f,  11.186643f, 13.786756f,
                                      6.6143594f, 9.307179f,  12.0f,      14.692821f, 17.385641f,
                                      10.213244f, 12.813357f, 15.506178f, 18.198997f, 20.891819f,
                                      14.426489f, 16.426489f, 19.012356f, 21.278688f, 21.971508f};
    expect_image(&(random_transform){.rotation = 30, .shear = 10, .zoom_x = 0.8, .zoom_y = 1.1},
                 all);
    static const float sheared[PIXELS] = {
        4.343146f,  5.343146f,  6.343146f,  6.928932f,  6.928932f,  7.1715727f, 8.171573f,
        9.171573f,  10.171573f, 10.464466f, 10,         11,         12,         13,
        14,         13.535534f, 13.828427f, 14.828427f, 15.828427f, 16.828426f, 17.071068f,
        17.071068f, 17.656855f, 18.656855f, 19.656855f};
    expect_image(&(random_transform){.shear = 45, .zoom_x = 1, .zoom_y = 1}, sheared);
    static const float zoomed[PIXELS] = {1,     1.5f, 2,     2.5f,  3,     6,     6.5f, 7,     7.5f,
                                         8,     11,   11.5f, 12,    12.5f, 13,    16,   16.5f, 17,
                                         17.5f, 18,   21,    21.5f, 22,    22.5f, 23};
    expect_image(&(random_transform){.zoom_x = 0.5, .zoom_y = 1}, zoomed);
}

static void flips_and_shifts_move_the_side_that_they_name(void **state)
{
    (void)state;
    float left[PIXELS], up[PIXELS], mirrored[PIXELS], upside_down[PIXELS];
    for (int r = 0; r < SIDE; r++) {
        for (int c = 0; c < SIDE; c++) {
            left[r * SIDE + c] = (float)(r * SIDE + (c < 4 ? c + 1 : 4));
            up[r * SIDE + c] = (float)((r < 4 ? r + 1 : 4) * SIDE + c);
            mirrored[r * SIDE + c] = (float)(r * SIDE + 4 - c);
            upside_down[r * SIDE + c] = (float)((4 - r) * SIDE + c);
        }
    }
    expect_image(&(random_transform){.right = 1, .zoom_x = 1, .zoom_y = 1}, left);
    expect_image(&(random_transform){.down = 1, .zoom_x = 1, .zoom_y = 1}, up);
    expect_image(&(random_transform){.flip_horizontal = true, .zoom_x = 1, .zoom_y = 1}, mirrored);
    expect_image(&(random_transform){.flip_vertical = true, .zoom_x = 1, .zoom_y = 1}, upside_down);
}

static void transforms_are_keyed_by_seed_epoch_and_sample_and_stay_in_range(void **state)
{
    (void)state;
    augmentation a = {.rotation_range = 20,
                      .shear_range = 0.2f,
                      .zoom_range = {-0.3f, 0.3f},
                      .width_shift_range = {.most = 0.1f},
                      .horizontal_flip = true};
    sample_block block = ramp_block();
    step_input input = {.samples = &block, .seed = 1, .epoch = 2};
    double sum = 0, largest = 0;
    int flips = 0;
    for (int64_t i = 0; i < 2000; i++) {
        random_transform c = gather_draw(&a, &input, i), again = gather_draw(&a, &input, i);
        assert_true(c.rotation == again.rotation && c.zoom_x == again.zoom_x);
        assert_true(fabs(c.rotation) <= 20 && fabs(c.shear) <= 0.2001);
        assert_true(c.zoom_x >= 0.6999 && c.zoom_x <= 1.3001 && c.zoom_x != c.zoom_y);
        assert_true(fabs(c.right) <= 0.5001 && c.down == 0);
        assert_false(c.flip_vertical);
        sum += c.rotation;
        largest = fmax(largest, fabs(c.rotation));
        flips += c.flip_horizontal;
    }
    assert_true(fabs(sum / 2000) < 1.5 && largest > 19);
    assert_true(flips > 900 && flips < 1100);
    random_transform here = gather_draw(&a, &input, 7);
    input.epoch = 3;
    assert_true(gather_draw(&a, &input, 7).rotation != here.rotation);
    input.epoch = 2;
    input.seed = 2;
    assert_true(gather_draw(&a, &input, 7).rotation != here.rotation);
}

static void bytes_are_scaled_and_class_numbers_become_one_hot(void **state)
{
    (void)state;
    static const uint8_t pixels[] = {0, 51, 255, 102, 10, 20};
    static const int32_t labels[] = {2, 0, 1};
    cornu_model *model =
        net_model("model: {input: [2], layers: [{Dense: {units: 3, activation: softmax}}]}\n"
                  "compile: {optimizer: sgd, loss: categorical_crossentropy}");
    for (int d = 0; net_device(d); d++) {
        plan_options options = {.mode = PLAN_TRAIN, .batch = 2, .no_fusion = true};
        net *n = net_open(model, net_device(d), &options);
        sample_block block = {.count = 3,
                              .x_shape = {1, {2}},
                              .x_type = SAMPLE_U8,
                              .x = pixels,
                              .x_scale = 1 / 255.0f,
                              .y_type = SAMPLE_I32,
                              .y = labels};
        net_samples(n, &block);
        n->index[0] = 1;
        n->index[1] = 0;
        float x[4], t[6], x_expected[] = {1, 0.4f, 0, 0.2f}, t_expected[] = {1, 0, 0, 0, 0, 1};
        for (int64_t row = 0; row < 2; row++)
            gather_sample(n->plan, &n->plan->ops[0], &n->input, row, x + 2 * row, t + 3 * row);
        assert_true(net_difference(x_expected, x, 4) < 1e-6);
        assert_memory_equal(t, t_expected, sizeof t);
        assert_true(isfinite(net_run(n)));
        net_close(n);
    }
    cornu_model_close(model);
}

/* The transform of a sample does not depend on its batch, nor on the device. */
static void an_augmented_sample_is_the_same_in_any_batch_and_on_any_device(void **state)
{
    (void)state;
    cornu_model *model = net_model("model: {input: [5, 5, 1], layers: [Flatten]}\n"
                                   "compile: {optimizer: sgd, loss: mean_squared_error}");
    float *first = NULL;
    for (int d = 0; net_device(d); d++) {
        for (int64_t batch = 2; batch < 4; batch++) {
            plan_options options = {.mode = PLAN_TRAIN,
                                    .batch = batch,
                                    .augment = {.rotation_range = 40,
                                                .zoom_range = {-0.3f, 0.3f},
                                                .horizontal_flip = true}};
            net *n = net_open(model, net_device(d), &options);
            net_fill(n->x, n->x_count, 1);
            for (int i = 0; i < PIXELS; i++)
                n->x[i] = (float)i;
            n->index[0] = 1;
            n->index[batch - 1] = 0; /* last in the batch */
            net_run(n);
            float *output = net_read(n, n->plan->output);
            float *sample = output + (batch - 1) * PIXELS;
            if (!first) {
                assert_memory_not_equal(sample, n->x, PIXELS * sizeof *sample);
                first = malloc(PIXELS * sizeof *first);
                memcpy(first, sample, PIXELS * sizeof *first);
            }
            assert_true(net_difference(first, sample, PIXELS) < 1e-5);
            free(output);
            net_close(n);
        }
    }
    free(first);
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotation_shear_and_zoom_are_those_of_keras),
        cmocka_unit_test(flips_and_shifts_move_the_side_that_they_name),
        cmocka_unit_test(transforms_are_keyed_by_seed_epoch_and_sample_and_stay_in_range),
        cmocka_unit_test(bytes_are_scaled_and_class_numbers_become_one_hot),
        cmocka_unit_test(an_augmented_sample_is_the_same_in_any_batch_and_on_any_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
