#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/winograd/winograd.h"
#include "support/net.h"
#include <stdio.h>

/* Does Winograd's algorithm accept this convolution of 32x32 images? `why`: the refusal. */
static bool is_accepted(const char *convolution, const char **why)
{
    char recipe[400];
    snprintf(recipe, sizeof recipe,
             "model: {input: [32, 32, 16], layers: [{Conv2D: {filters: 16, %s}}, Flatten, {Dense: "
             "{units: 2}}]}\n"
             "compile: {optimizer: sgd, loss: mean_squared_error}",
             convolution);
    cornu_model *model = net_model(recipe);
    plan *p;
    int conv;
    assert_int_equal(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = 8}, &p),
                     CORNU_OK);
    assert_int_equal(net_count(p, OP_CONV2D_FORWARD, &conv), 1);
    bool accepted = winograd_accepts(p, &p->ops[conv], why);
    plan_free(p);
    cornu_model_close(model);
    return accepted;
}

static void what_it_cannot_compute_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"kernel_size: 3, dilation_rate: 2", "strided or dilated"},
        {"kernel_size: 3, dilation_rate: [1, 2]", "strided or dilated"},
        {"kernel_size: 3, strides: 2", "strided or dilated"},
        {"kernel_size: 3, strides: [2, 1]", "strided or dilated"},
        {"kernel_size: 3, groups: 2", "in groups"},
        {"kernel_size: [3, 5]", "neither 3x3 nor 5x5"},
        {"kernel_size: 7", "neither 3x3 nor 5x5"},
    };
    const char *why;
    assert_true(is_accepted("kernel_size: 3", &why));
    assert_true(is_accepted("kernel_size: 5, padding: same", &why));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_false(is_accepted(refused[i][0], &why));
        assert_string_equal(why, refused[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_cannot_compute_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
