/* What is kept from step to step beside an optimizer's own numbers: sums of gradients, and averages
   of weights, in Keras's order of operations. The including file defines RULE. */
#ifndef DEVICE_RULES_AVERAGING_H
#define DEVICE_RULES_AVERAGING_H

/* Adds a gradient to the sum of those since the last update; in the last of `steps` steps the
   gradient becomes their mean, and the sum begins anew. */
RULE void rule_accumulate(float steps, int last, float *g, float *sum)
{
    const float both = *g + *sum;
    *g = last ? both / steps : *g;
    *sum = last ? 0 : both;
}

RULE float rule_average(float momentum, float average, float w)
{
    return momentum * average + (1 - momentum) * w;
}

#endif
