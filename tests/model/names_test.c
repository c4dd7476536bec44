/* "Did you mean" is for slips, and not for names that mean another thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/config.h"
#include <string.h>

/* All names of the kinds that can be looked up. */
static const char *const names[] = {
    "batch_size",
    "epochs",
    "steps_per_epoch",
    "validation_steps",
    "validation",
    "callbacks",
    "validation_split",
    "shuffle",
    "Dense",
    "Conv2D",
    "MaxPooling2D",
    "GlobalAveragePooling2D",
    "ReLU",
    "ELU",
    "BatchNormalization",
    "relu",
    "gelu",
    "glorot_normal",
    "he_normal",
    "he_uniform",
    "SGD",
    "Adam",
    "mean_squared_error",
    "binary_crossentropy",
    "ExponentialDecay",
    "CosineDecay",
    "accuracy",
    "categorical_crossentropy",
};

static void slips_get_the_name_that_was_meant_and_other_names_none(void **state)
{
    (void)state;
    static const struct {
        const char *found, *meant; /* NULL: nothing is suggested */
    } cases[] = {
        /* slips */
        {"validation_step", "validation_steps"},
        {"validation_spilt", "validation_split"},
        {"validaton", "validation"},
        {"Dnese", "Dense"},
        {"BatchNormalisation", "BatchNormalization"},
        {"max_pooling2d", "MaxPooling2D"},
        {"MaxPool2D", "MaxPooling2D"},
        {"binary_cross_entropy", "binary_crossentropy"},
        {"sgdd", "SGD"},
        /* beginnings, either way */
        {"batch", "batch_size"},
        {"validation_data", "validation"},
        {"epochs_in_all", "epochs"},
        {"categorical", "categorical_crossentropy"},
        /* other things */
        {"mean_absolute_error", NULL},
        {"binary_focal_crossentropy", NULL},
        {"categorical_focal_crossentropy", NULL},
        {"lecun_normal", NULL},
        {"lecun_uniform", NULL},
        {"GlobalMaxPooling2D", NULL},
        {"PolynomialDecay", NULL},
        {"class_weight", NULL},
        {"initial_epoch", NULL},
        {"Conv3D", NULL},
        {"MaxPooling3D", NULL},
        {"lamb", NULL},
        {"adafactor", NULL},
        {"clip_threshold", NULL},
        {"log_softmax", NULL},
        {"muon", NULL},
    };
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int nearest = name_nearest(cases[i].found, names, (int)(sizeof names / sizeof *names));
        const char *meant = nearest < 0 ? "none" : names[nearest];
        const char *expected = cases[i].meant ? cases[i].meant : "none";
        if (strcmp(meant, expected) != 0) {
            print_error("%s: found %s; expected %s\n", cases[i].found, meant, expected);
            failures++;
        }
    }
    assert_int_equal(failures, 0);
}

static void a_name_that_keras_alone_has_is_called_that(void **state)
{
    (void)state;
    assert_int_equal(name_fail(NULL, "layer", "Conv3D", names, 3), CORNU_INVALID);
    assert_non_null(strstr(cornu_last_error(),
                           "unknown layer \"Conv3D\", which Keras has and cornu has not; cornu "
                           "has batch_size, epochs, steps_per_epoch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_get_the_name_that_was_meant_and_other_names_none),
        cmocka_unit_test(a_name_that_keras_alone_has_is_called_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
