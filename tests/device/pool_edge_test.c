#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/pool/conv_pool.h"
#include "support/net.h"
#include <stdio.h>

/* May a convolution be fused with the pool after it, forward and backward? */
static bool is_taken(const char *pool, const char **why)
{
    char recipe[400];
    snprintf(recipe, sizeof recipe,
             "model: {input: [7, 7, 3], layers: [{Conv2D: {filters: 4, kernel_size: 3, padding: "
             "same}}, {MaxPooling2D: %s}, Flatten, {Dense: {units: 2}}]}\n"
             "compile: {optimizer: sgd, loss: mean_squared_error}",
             pool);
    cornu_model *model = net_model(recipe);
    plan *p;
    int forward, backward;
    assert_int_equal(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = 2}, &p),
                     CORNU_OK);
    assert_int_equal(net_count(p, OP_MAX_POOL_FORWARD, &forward), 1);
    assert_int_equal(net_count(p, OP_MAX_POOL_BACKWARD, &backward), 1);
    bool taken = conv_pool_windows(p, &p->ops[backward], why);
    assert_int_equal(conv_pool_windows(p, &p->ops[forward], why), taken);
    plan_free(p);
    cornu_model_close(model);
    return taken;
}

/* With an odd side, "same" gives a last window that is half outside. */
static void windows_that_reach_beyond_the_image_stay_apart(void **state)
{
    (void)state;
    const char *why;
    assert_true(is_taken("{pool_size: 2}", &why));
    assert_false(is_taken("{pool_size: 2, padding: same}", &why));
    assert_string_equal(why, "windows reach beyond the image");
    assert_false(is_taken("{pool_size: 3}", &why));
    assert_false(is_taken("{pool_size: 2, strides: 1}", &why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_that_reach_beyond_the_image_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
