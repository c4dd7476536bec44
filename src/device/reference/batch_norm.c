/* y = (x - mean) inverse_deviation gamma + beta over the last dimension, as in Keras 3:
   normalization and the moving variance use the population's variance. */
#include "device/reference/reference.h"
#include <math.h>

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
        double mean = (double)r->in[3][c];
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
