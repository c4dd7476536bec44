/* Jordan et al. 2024: Muon's step on a matrix, in Keras's order of operations. The including file
   defines RULE. */
#ifndef DEVICE_RULES_MATRIX_STEP_H
#define DEVICE_RULES_MATRIX_STEP_H

/* Added to the norm that the matrix is divided by. */
#define MATRIX_STEP_EPSILON 1e-7f

RULE float rule_matrix_momentum(float m, float g, float momentum)
{
    return m + (g + m * (momentum - 1));
}

/* m: the new one */
RULE float rule_matrix_direction(float m, float g, float momentum, int nesterov)
{
    return nesterov ? g + momentum * m : m;
}

/* w: decayed; root, share: of the step's size, or 1 */
RULE float rule_matrix_step(float w, float u, float learning_rate, float root, float share)
{
    return w - learning_rate * u * root * share;
}

#endif
