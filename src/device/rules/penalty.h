/* The slopes of penalties on weights. The including file defines RULE, rule_real, rule_all,
   rule_product and rule_select as for device/rules/optimizers.h. */
#ifndef DEVICE_RULES_PENALTY_H
#define DEVICE_RULES_PENALTY_H

/* The gradient of l1 |w| + l2 w^2, beside g. The slope of |w| at 0 is 0. */
RULE rule_real rule_penalized(float l1, float l2, rule_real w, rule_real g)
{
    rule_real sign =
        rule_select(w > 0.0f, rule_all(1.0f), rule_select(w < 0.0f, rule_all(-1.0f), w));
    return g + (rule_product(sign, l1) + rule_product(w, 2 * l2));
}

#endif
