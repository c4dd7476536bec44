/* What a constraint makes of the weights of one norm: the factor that each is multiplied by, as
   Keras computes it. The including file defines RULE. */
#ifndef DEVICE_RULES_CONSTRAINT_H
#define DEVICE_RULES_CONSTRAINT_H

RULE float rule_constrained(float norm, float least, float most, float rate)
{
    const float within = norm < least ? least : norm > most ? most : norm;
    return (rate * within + (1 - rate) * norm) / (1e-7f + norm);
}

#endif
