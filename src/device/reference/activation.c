#include "device/reference/reference.h"
#include <math.h>

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* 0.5 (1 + erf(x / sqrt 2)): the normal distribution's share below x. */
static double normal_share(double x)
{
    return 0.5 * (1 + erf(x * 0.70710678118654752440));
}

double reference_activate(activation act, double x)
{
    double alpha = (double)act.alpha;
    switch (act.kind) {
    case ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case ACTIVATION_LEAKY_RELU:
        return x < 0 ? alpha * x : x;
    case ACTIVATION_ELU:
        return x < 0 ? alpha * expm1(x) : x;
    case ACTIVATION_GELU:
        return x * normal_share(x);
    case ACTIVATION_SIGMOID:
        return sigmoid(x);
    case ACTIVATION_TANH:
        return tanh(x);
    default: /* linear; softmax is not element by element */
        return x;
    }
}

/* The derivative, from the output y (from the input x for gelu). */
static double slope(activation act, double v)
{
    double alpha = (double)act.alpha;
    switch (act.kind) {
    case ACTIVATION_RELU:
        return v > 0;
    case ACTIVATION_LEAKY_RELU:
        return v > 0 ? 1 : alpha;
    case ACTIVATION_ELU:
        return v < 0 ? v + alpha : 1;
    case ACTIVATION_GELU: /* share(x) + x density(x) */
        return normal_share(v) + v * 0.39894228040143267794 * exp(-0.5 * v * v);
    case ACTIVATION_SIGMOID:
        return v * (1 - v);
    case ACTIVATION_TANH:
        return 1 - v * v;
    default:
        return 1;
    }
}

static void softmax(const float *x, float *y, int64_t n)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        largest = (double)x[i] > largest ? (double)x[i] : largest;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)x[i] - largest);
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)(exp((double)x[i] - largest) / sum);
}

/* dx = y (dy - sum(dy y)) */
static void softmax_backward(const float *y, const float *dy, float *dx, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)dy[i] * (double)y[i];
    for (int64_t i = 0; i < n; i++)
        dx[i] = (float)((double)y[i] * ((double)dy[i] - sum));
}

cornu_status reference_activation_forward(const op_run *r)
{
    const tensor *y = OP_OUT(r->plan, r->op, 0);
    activation act = r->op->a.act;
    int64_t rows, n;
    tensor_matrix(y, &rows, &n);
    if (act.kind == ACTIVATION_SOFTMAX) {
        for (int64_t row = 0; row < rows; row++)
            softmax(r->in[0] + row * n, r->out[0] + row * n, n);
        return CORNU_OK;
    }
    for (int64_t i = 0; i < y->count; i++)
        r->out[0][i] = (float)reference_activate(act, (double)r->in[0][i]);
    return CORNU_OK;
}

cornu_status reference_activation_backward(const op_run *r)
{
    const tensor *dx = OP_OUT(r->plan, r->op, 0);
    activation act = r->op->a.act;
    int64_t rows, n;
    tensor_matrix(dx, &rows, &n);
    if (act.kind == ACTIVATION_SOFTMAX) {
        for (int64_t row = 0; row < rows; row++)
            softmax_backward(r->in[0] + row * n, r->in[1] + row * n, r->out[0] + row * n, n);
        return CORNU_OK;
    }
    for (int64_t i = 0; i < dx->count; i++)
        r->out[0][i] = (float)((double)r->in[1][i] * slope(act, (double)r->in[0][i]));
    return CORNU_OK;
}
