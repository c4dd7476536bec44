/* Normalization: of channels over a batch, and of each row. */
#include "device/reference/reference.h"
#include <math.h>

/* ---- batch norm -------------------------------------------------------------------------- */

/* y = (x - mean) inverse_deviation gamma + beta over the last dimension, as in Keras 3:
   normalization and the moving variance use the population's variance. */

cornu_status reference_batch_norm_forward(const op_run *r)
{
    int64_t rows, n;
    tensor_matrix(OP_IN(r->plan, r->op, 0), &rows, &n);
    const float *x = r->in[0];
    double momentum = (double)r->op->a.batch_norm.momentum;
    for (int64_t c = 0; c < n; c++) {
        double sum = 0, squares = 0;
        for (int64_t i = c; i < rows * n; i += n)
            sum += (double)x[i];
        double mean = sum / (double)rows;
        for (int64_t i = c; i < rows * n; i += n)
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        double variance = squares / (double)rows;
        double inverse = 1 / sqrt(variance + (double)r->op->a.batch_norm.epsilon);
        double gamma = or_else(r->in[1], c, 1), beta = or_else(r->in[2], c, 0);
        for (int64_t i = c; i < rows * n; i += n)
            r->out[0][i] = (float)(((double)x[i] - mean) * inverse * gamma + beta);
        r->out[1][c] = (float)mean;
        r->out[2][c] = (float)inverse;
        if (!r->out[3])
            continue;
        r->out[3][c] = (float)((double)r->in[3][c] * momentum + mean * (1 - momentum));
        r->out[4][c] = (float)((double)r->in[4][c] * momentum + variance * (1 - momentum));
    }
    return CORNU_OK;
}

cornu_status reference_batch_norm_inference(const op_run *r)
{
    int64_t rows, n;
    tensor_matrix(OP_IN(r->plan, r->op, 0), &rows, &n);
    for (int64_t c = 0; c < n; c++) {
        double mean = or_else(r->in[3], c, 0);
        double inverse = 1 / sqrt((double)r->in[4][c] + (double)r->op->a.batch_norm.epsilon);
        double gamma = or_else(r->in[1], c, 1), beta = or_else(r->in[2], c, 0);
        for (int64_t i = c; i < rows * n; i += n)
            r->out[0][i] = (float)(((double)r->in[0][i] - mean) * inverse * gamma + beta);
    }
    return CORNU_OK;
}

/* With h = (x - mean) inverse_deviation: dbeta = sum dy, dgamma = sum dy h,
   dx = gamma inverse_deviation (dy - dbeta / rows - h dgamma / rows) */
cornu_status reference_batch_norm_backward(const op_run *r)
{
    int64_t rows, n;
    tensor_matrix(OP_IN(r->plan, r->op, 0), &rows, &n);
    const float *x = r->in[0], *dy = r->in[1];
    for (int64_t c = 0; c < n; c++) {
        double mean = (double)r->in[3][c], inverse = (double)r->in[4][c];
        double dgamma = 0, dbeta = 0;
        for (int64_t i = c; i < rows * n; i += n) {
            dbeta += (double)dy[i];
            dgamma += (double)dy[i] * ((double)x[i] - mean) * inverse;
        }
        double scale = or_else(r->in[2], c, 1) * inverse;
        for (int64_t i = c; i < rows * n; i += n) {
            double h = ((double)x[i] - mean) * inverse;
            r->out[0][i] =
                (float)(scale * ((double)dy[i] - dbeta / (double)rows - h * dgamma / (double)rows));
        }
        if (r->out[1])
            r->out[1][c] = (float)dgamma;
        if (r->out[2])
            r->out[2][c] = (float)dbeta;
    }
    return CORNU_OK;
}

/* ---- layer norm -------------------------------------------------------------------------- */

/* y = (x - mean) inverse_deviation gamma + beta, each row by itself, as in Keras 3: the variance is
   the population's. */

cornu_status reference_layer_norm_forward(const op_run *r)
{
    int64_t rows, n;
    tensor_matrix(OP_IN(r->plan, r->op, 0), &rows, &n);
    for (int64_t row = 0; row < rows; row++) {
        const float *x = r->in[0] + row * n;
        double sum = 0, squares = 0;
        for (int64_t c = 0; c < n; c++)
            sum += (double)x[c];
        double mean = sum / (double)n;
        for (int64_t c = 0; c < n; c++)
            squares += ((double)x[c] - mean) * ((double)x[c] - mean);
        double inverse = 1 / sqrt(squares / (double)n + (double)r->op->a.reals[0]);
        for (int64_t c = 0; c < n; c++)
            r->out[0][row * n + c] =
                (float)(((double)x[c] - mean) * inverse * or_else(r->in[1], c, 1) +
                        or_else(r->in[2], c, 0));
        if (r->out[1])
            r->out[1][row] = (float)mean;
        if (r->out[2])
            r->out[2][row] = (float)inverse;
    }
    return CORNU_OK;
}

/* With h = (x - mean) inverse_deviation and g = dy gamma: dgamma = sum dy h and dbeta = sum dy over
   rows; dx = inverse_deviation (g - mean of g - h mean of g h) over columns */
cornu_status reference_layer_norm_backward(const op_run *r)
{
    int64_t rows, n;
    tensor_matrix(OP_IN(r->plan, r->op, 0), &rows, &n);
    const float *x = r->in[0], *dy = r->in[1];
    for (int64_t row = 0; row < rows; row++) {
        double mean = (double)r->in[3][row], inverse = (double)r->in[4][row], sum = 0, product = 0;
        for (int64_t i = row * n; i < (row + 1) * n; i++) {
            double g = (double)dy[i] * or_else(r->in[2], i - row * n, 1);
            sum += g;
            product += g * ((double)x[i] - mean) * inverse;
        }
        for (int64_t i = row * n; i < (row + 1) * n; i++) {
            double g = (double)dy[i] * or_else(r->in[2], i - row * n, 1);
            double h = ((double)x[i] - mean) * inverse;
            r->out[0][i] = (float)(inverse * (g - sum / (double)n - h * product / (double)n));
        }
    }
    for (int64_t c = 0; c < n; c++) {
        double dgamma = 0, dbeta = 0;
        for (int64_t row = 0; row < rows; row++) {
            double d = (double)dy[row * n + c];
            dgamma += d * ((double)x[row * n + c] - (double)r->in[3][row]) * (double)r->in[4][row];
            dbeta += d;
        }
        if (r->out[1])
            r->out[1][c] = (float)dgamma;
        if (r->out[2])
            r->out[2][c] = (float)dbeta;
    }
    return CORNU_OK;
}
