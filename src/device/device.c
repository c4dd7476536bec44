/* What all devices have in common. Linked into the library and into each plug-in. */
#include "device/device.h"
#include <stdio.h>
#include <string.h>

/* ---- names of the products' precisions --------------------------------------------------- */

static const char *const precisions[] = {
    [PRECISION_FP32] = "fp32", [PRECISION_TF32] = "tf32", [PRECISION_BF16] = "bf16"};

const char *device_precision_name(device_precision precision)
{
    return precisions[precision];
}

cornu_status device_precision_find(const char *name, device_precision *out)
{
    *out = PRECISION_FP32;
    for (int i = 0; name && i <= PRECISION_BF16; i++)
        if (strcmp(name, precisions[i]) == 0) {
            *out = (device_precision)i;
            return CORNU_OK;
        }
    return name ? status_fail(CORNU_INVALID, "precision: found %s; expected fp32, tf32 or bf16",
                              name)
                : CORNU_OK;
}

/* ---- advice for a plan that does not fit ------------------------------------------------- */

const char *batch_plan_does(const plan *p)
{
    static const char *const does[] = {
        [PLAN_TRAIN] = "training", [PLAN_EVALUATE] = "evaluating", [PLAN_PREDICT] = "predicting"};
    return does[p->mode];
}

/* The plan of the same work with another batch: all that changes what memory it needs is as in p.
 */
static cornu_status plan_with_batch(const plan *p, int64_t batch, bool recompute, plan **out)
{
    const plan_options options = {.mode = p->mode,
                                  .scope = p->scope == SCOPE_UPDATES ? SCOPE_STEP : p->scope,
                                  .batch = batch,
                                  .weighted = p->weighted,
                                  .exact_convolution = p->exact_convolution,
                                  .recompute = recompute,
                                  .keep_input_gradient = p->input_gradient != NO_TENSOR};
    return plan_build(p->model, &options, out);
}

/* The largest batch that fits, up to p's own if that is computed otherwise; 0 where even batch 1
   does not fit. */
static int64_t largest_batch(const plan *p, bool recompute, batch_fits *fits, void *context)
{
    int64_t fitting = 0, too_large = p->batch + (recompute != p->recompute);
    while (p->model && too_large - fitting > 1) {
        int64_t batch = fitting + (too_large - fitting) / 2;
        plan *smaller = NULL;
        if (plan_with_batch(p, batch, recompute, &smaller) != CORNU_OK)
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

/* Would the training of p need less memory with recomputation? */
static bool recomputation_helps(const plan *p)
{
    plan *other = NULL;
    if (!p->model || p->mode != PLAN_TRAIN || p->scope == SCOPE_UPDATES ||
        plan_with_batch(p, p->batch, true, &other) != CORNU_OK)
        return false;
    const bool less = other->arena_bytes < p->arena_bytes;
    plan_free(other);
    return less;
}

const char *batch_advice(const plan *p, batch_fits *fits, void *context, char text[BATCH_ADVICE])
{
    const int64_t batch = largest_batch(p, p->recompute, fits, context),
                  more = recomputation_helps(p) ? largest_batch(p, true, fits, context) : 0;
    int length = batch > 0 ? snprintf(text, BATCH_ADVICE, "the largest batch that fits is %lld",
                                      (long long)batch)
                           : snprintf(text, BATCH_ADVICE, "not even batch 1 fits");
    if (more > batch)
        snprintf(text + length, BATCH_ADVICE - (size_t)length, "; with the option recompute, %lld",
                 (long long)more);
    return text;
}
