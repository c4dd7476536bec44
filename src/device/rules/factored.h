/* Shazeer & Stern 2018: Adafactor's step on a weight, in Keras's order of operations. The including
   file defines RULE and rule_sqrt. */
#ifndef DEVICE_RULES_FACTORED_H
#define DEVICE_RULES_FACTORED_H

RULE float rule_factored_square(float g, float epsilon_1)
{
    return g * g + epsilon_1;
}

RULE float rule_factored_mean(float beta_2, float before, float mean)
{
    return beta_2 * before + (1 - beta_2) * mean;
}

/* mean: of r over the rows */
RULE float rule_factored_velocity(float r, float mean, float c)
{
    return r / mean * c;
}

/* A row and a column of gradients that are all 0 have a velocity that rounds to 0: Keras then
   divides 0 by 0. */
RULE float rule_factored_direction(float g, float v)
{
    return v == 0 ? 0 : g / rule_sqrt(v);
}

/* The factor of all directions, from the root mean squares of the weight and of the directions. A
   NaN stays a NaN. */
RULE float rule_factored_rate(float rho, float epsilon_2, float weight, float direction,
                              float clip_threshold)
{
    const float most = direction / clip_threshold;
    const float size = weight <= epsilon_2 ? epsilon_2 : weight;
    return size * rho / (most <= 1 ? 1 : most);
}

#endif
