#include "device/largest_batch.h"
#include <stdio.h>

const char *batch_plan_does(const plan *p)
{
    static const char *const does[] = {
        [PLAN_TRAIN] = "training", [PLAN_EVALUATE] = "evaluating", [PLAN_PREDICT] = "predicting"};
    return does[p->mode];
}

/* The plan of the same work with another batch: all that changes what memory it needs is as in p.
 */
static cornu_status plan_with_batch(const plan *p, int64_t batch, plan **out)
{
    const plan_options options = {.mode = p->mode,
                                  .scope = p->scope == SCOPE_UPDATES ? SCOPE_STEP : p->scope,
                                  .batch = batch,
                                  .weighted = p->weighted,
                                  .exact_convolution = p->exact_convolution,
                                  .keep_input_gradient = p->input_gradient != NO_TENSOR};
    return plan_build(p->model, &options, out);
}

/* 0 where even batch 1 does not fit. */
static int64_t largest_batch(const plan *p, batch_fits *fits, void *context)
{
    int64_t fitting = 0, too_large = p->batch;
    while (p->model && too_large - fitting > 1) {
        int64_t batch = fitting + (too_large - fitting) / 2;
        plan *smaller = NULL;
        if (plan_with_batch(p, batch, &smaller) != CORNU_OK)
            return 0;
        bool yes = fits(context, smaller);
        plan_free(smaller);
        if (yes)
            fitting = batch;
        else
            too_large = batch;
    }
    return fitting;
}

const char *batch_advice(const plan *p, batch_fits *fits, void *context, char text[BATCH_ADVICE])
{
    int64_t batch = largest_batch(p, fits, context);
    if (batch > 0)
        snprintf(text, BATCH_ADVICE, "the largest batch that fits is %lld", (long long)batch);
    else
        snprintf(text, BATCH_ADVICE, "not even batch 1 fits");
    return text;
}
