/* You et al. 2019: the direction of Lamb's step on a weight, from the two moments of its gradient,
   in Keras's order of operations. The including file defines RULE and rule_sqrt. */
#ifndef DEVICE_RULES_LAYERWISE_H
#define DEVICE_RULES_LAYERWISE_H

/* share_1 and share_2: 1 - beta^t */
RULE float rule_layerwise(float m, float v, float share_1, float share_2, float epsilon)
{
    return m / share_1 / (rule_sqrt(v / share_2) + epsilon);
}

/* The direction's factor beside the learning rate, from both norms. */
RULE float rule_layerwise_ratio(float weights, float directions)
{
    return weights > 0 && directions > 0 ? weights / directions : 1;
}

#endif
