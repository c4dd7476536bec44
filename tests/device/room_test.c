#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include <stdlib.h>
#include <string.h>

/* What a device says of a training plan of this batch, which it must refuse. */
static const char *refusal(device *d, const cornu_model *model, int64_t batch)
{
    plan *p;
    prepared *ready = NULL;
    assert_int_equal(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = batch}, &p),
                     CORNU_OK);
    assert_int_equal(d->ops->prepare(d, p, &ready), CORNU_OUT_OF_MEMORY);
    assert_null(ready);
    plan_free(p);
    return cornu_last_error();
}

/* Not only what is far too large: half as much again as fits is refused before anything is taken,
   with the batch that fits. */
static void a_batch_little_larger_than_fits_is_refused_with_advice(void **state)
{
    (void)state;
    static const char advice[] = "the largest batch that fits is ";
    cornu_model *model = net_model("model: {input: [1000], layers: [{Dense: {units: 4}}]}\n"
                                   "compile: {optimizer: sgd, loss: mean_squared_error}");
    for (int i = 0; net_device(i); i++) {
        device *d = net_device_open(net_device(i), &(device_options){.threads = 1});
        assert_int_equal(d->ops->bind(d, model), CORNU_OK);
        const char *found = strstr(refusal(d, model, 1000000000), advice);
        assert_non_null(found);
        int64_t fits = atoll(found + strlen(advice));
        assert_non_null(strstr(refusal(d, model, fits + fits / 2), advice));
        d->ops->close(d);
    }
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_little_larger_than_fits_is_refused_with_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
