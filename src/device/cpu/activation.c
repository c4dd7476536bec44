/* Activations, forward and backward, as loops that the compiler turns into vector instructions: so
   exp is computed here, from additions and multiplications alone. */
#include "device/cpu/cpu.h"
#include <math.h>
#include <string.h>

/* exp(x) - 1 for x <= 0, to about 1 unit in the last place: x = n ln 2 + r with |r| <= ln 2 / 2, so
   that exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1); exp(r) - 1 by its series to r^7 / 5040 (the next
   term is below 6e-9). NaN stays NaN. */
static inline float expm1_negative(float x)
{
    const float log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    const float to_integer = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    x = x < -87.0f ? -87.0f : x;
    float shifted = x * log2_e + to_integer, n = shifted - to_integer;
    float r = x - n * ln2_high - n * ln2_low;
    float series = 1.0f / 5040;
    series = series * r + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 0.5f;
    series = series * r * r + r;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits); /* n is in its lowest bits */
    bits = (bits + 127u) << 23;
    float power;
    memcpy(&power, &bits, sizeof power); /* 2^n */
    return power * series + (power - 1.0f);
}

static inline float sigmoid(float x)
{
    float e = expm1_negative(-fabsf(x)) + 1.0f; /* exp(-|x|) */
    float y = 1.0f / (1.0f + e);
    return x < 0 ? e * y : y;
}

/* (1 - exp(-2|x|)) / (1 + exp(-2|x|)) with x's sign */
static inline float hyperbolic_tangent(float x)
{
    float e = expm1_negative(-2.0f * fabsf(x));
    return copysignf(-e / (2.0f + e), x);
}

/* x Phi(x), Phi the normal distribution */
static inline float gelu(float x)
{
    return 0.5f * x * erfcf(x * -0.70710678f);
}

static inline float gelu_derivative(float x)
{
    return 0.5f * erfcf(x * -0.70710678f) + x * 0.39894228f * expf(-0.5f * x * x);
}

CPU_CLONES static void relu_range(const float *x, float *y, int64_t count)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

CPU_CLONES static void leaky_relu_range(const float *x, float *y, int64_t count, float alpha)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++)
        y[i] = x[i] > 0 ? x[i] : alpha * x[i];
}

CPU_CLONES static void elu_range(const float *x, float *y, int64_t count, float alpha)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++) {
        float e = alpha * expm1_negative(x[i] > 0 ? 0 : x[i]);
        y[i] = x[i] > 0 ? x[i] : e;
    }
}

CPU_CLONES static void sigmoid_range(const float *x, float *y, int64_t count)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++)
        y[i] = sigmoid(x[i]);
}

CPU_CLONES static void tanh_range(const float *x, float *y, int64_t count)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++)
        y[i] = hyperbolic_tangent(x[i]);
}

void cpu_activate(activation act, const float *x, float *y, int64_t count)
{
    switch (act.kind) {
    case ACTIVATION_RELU:
        relu_range(x, y, count);
        break;
    case ACTIVATION_LEAKY_RELU:
        leaky_relu_range(x, y, count, act.alpha);
        break;
    case ACTIVATION_ELU:
        elu_range(x, y, count, act.alpha);
        break;
    case ACTIVATION_GELU:
        for (int64_t i = 0; i < count; i++)
            y[i] = gelu(x[i]);
        break;
    case ACTIVATION_SIGMOID:
        sigmoid_range(x, y, count);
        break;
    case ACTIVATION_TANH:
        tanh_range(x, y, count);
        break;
    case ACTIVATION_LINEAR:
    case ACTIVATION_SOFTMAX: /* by rows: softmax */
    case ACTIVATION_COUNT:
        if (x != y)
            memcpy(y, x, (size_t)count * sizeof *y);
        break;
    }
}

CPU_CLONES static void softmax_row(const float *x, float *y, int64_t columns)
{
    float most = x[0];
    double sum = 0; /* rows may be long */
    for (int64_t i = 1; i < columns; i++)
        most = x[i] > most ? x[i] : most;
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < columns; i++)
        y[i] = expm1_negative(x[i] - most) + 1.0f;
    for (int64_t i = 0; i < columns; i++)
        sum += (double)y[i];
    float scale = (float)(1.0 / sum);
    for (int64_t i = 0; i < columns; i++)
        y[i] *= scale;
}

static void softmax(const float *x, float *y, int64_t rows, int64_t columns)
{
    for (int64_t r = 0; r < rows; r++)
        softmax_row(x + r * columns, y + r * columns, columns);
}

CPU_CLONES static void bias_range(float *y, const float *bias, int64_t count)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++)
        y[i] += bias[i];
}

CPU_CLONES static void bias_relu_range(float *y, const float *bias, int64_t count)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++) {
        float v = y[i] + bias[i];
        y[i] = v < 0 ? 0 : v;
    }
}

void cpu_bias_activate(float *y, int64_t rows, int64_t columns, const float *bias, activation act)
{
    for (int64_t r = 0; r < rows; r++) {
        float *row = y + r * columns;
        if (bias && act.kind == ACTIVATION_RELU) {
            bias_relu_range(row, bias, columns);
            continue;
        }
        if (bias)
            bias_range(row, bias, columns);
        if (act.kind != ACTIVATION_LINEAR)
            cpu_activate(act, row, row, columns);
    }
}

/* ---- backward --------------------------------------------------------------------------- */

CPU_CLONES static void relu_backward(const float *y, const float *dy, float *dx, int64_t count)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}

CPU_CLONES static void leaky_relu_backward(const float *y, const float *dy, float *dx,
                                           int64_t count, float alpha)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++)
        dx[i] = y[i] > 0 ? dy[i] : alpha * dy[i];
}

CPU_CLONES static void elu_backward(const float *y, const float *dy, float *dx, int64_t count,
                                    float alpha)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++)
        dx[i] = y[i] > 0 ? dy[i] : dy[i] * (y[i] + alpha);
}

CPU_CLONES static void sigmoid_backward(const float *y, const float *dy, float *dx, int64_t count)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++)
        dx[i] = dy[i] * y[i] * (1.0f - y[i]);
}

CPU_CLONES static void tanh_backward(const float *y, const float *dy, float *dx, int64_t count)
{
    CPU_ELEMENTWISE
    for (int64_t i = 0; i < count; i++)
        dx[i] = dy[i] * (1.0f - y[i] * y[i]);
}

/* `from`: the activation's output, or for gelu its input. */
static void backward_range(activation act, const float *from, const float *dy, float *dx,
                           int64_t count)
{
    switch (act.kind) {
    case ACTIVATION_RELU:
        relu_backward(from, dy, dx, count);
        break;
    case ACTIVATION_LEAKY_RELU:
        leaky_relu_backward(from, dy, dx, count, act.alpha);
        break;
    case ACTIVATION_ELU:
        elu_backward(from, dy, dx, count, act.alpha);
        break;
    case ACTIVATION_GELU:
        for (int64_t i = 0; i < count; i++)
            dx[i] = dy[i] * gelu_derivative(from[i]);
        break;
    case ACTIVATION_SIGMOID:
        sigmoid_backward(from, dy, dx, count);
        break;
    case ACTIVATION_TANH:
        tanh_backward(from, dy, dx, count);
        break;
    case ACTIVATION_LINEAR:
    case ACTIVATION_SOFTMAX: /* by rows */
    case ACTIVATION_COUNT:
        if (dx != dy)
            memcpy(dx, dy, (size_t)count * sizeof *dx);
        break;
    }
}

/* dx = y (dy - sum(dy y)) */
static void softmax_backward(const float *y, const float *dy, float *dx, int64_t rows,
                             int64_t columns)
{
    for (int64_t r = 0; r < rows; r++, y += columns, dy += columns, dx += columns) {
        double sum = 0;
        for (int64_t i = 0; i < columns; i++)
            sum += (double)dy[i] * (double)y[i];
        for (int64_t i = 0; i < columns; i++)
            dx[i] = y[i] * (float)((double)dy[i] - sum);
    }
}

/* ---- kernels ---------------------------------------------------------------------------- */

typedef struct activation_run {
    activation act;
    const float *x, *dy; /* dy: backward only */
    float *y;
    int64_t rows, columns,
        rows_per_chunk; /* softmax; the others see one long row of single columns */
} activation_run;

static void run_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const activation_run *a = context;
    int64_t begin, end;
    cpu_part(a->rows, a->rows_per_chunk, chunk, &begin, &end);
    int64_t first = begin * a->columns, count = (end - begin) * a->columns;
    const float *x = a->x + first;
    float *y = a->y + first;
    if (a->act.kind == ACTIVATION_SOFTMAX && a->dy)
        softmax_backward(x, a->dy + first, y, end - begin, a->columns);
    else if (a->act.kind == ACTIVATION_SOFTMAX)
        softmax(x, y, end - begin, a->columns);
    else if (a->dy)
        backward_range(a->act, x, a->dy + first, y, count);
    else
        cpu_activate(a->act, x, y, count);
}

static cornu_status run(const op_run *r)
{
    const tensor *t = OP_OUT(r->plan, r->op, 0);
    activation_run a = {r->op->a.act, r->in[0], NULL, r->out[0], t->count, 1, CPU_CHUNK};
    if (r->op->kind == OP_ACTIVATION_BACKWARD)
        a.dy = r->in[1];
    if (a.act.kind == ACTIVATION_SOFTMAX) {
        tensor_matrix(t, &a.rows, &a.columns);
        a.rows_per_chunk = cpu_rows_per_chunk(a.columns);
    }
    threads_run(r->pool, cpu_divide_up(a.rows, a.rows_per_chunk), run_chunk, &a);
    return CORNU_OK;
}

const kernel cpu_activation_forward = {.name = "vector", .run = run};
const kernel cpu_activation_backward = {.name = "vector", .run = run};
