/* y = act(x W + b); x [rows][in], W [in][units], b [units], y [rows][units] */
#include "base/memory.h"
#include "device/matmul.h"
#include "device/reference/reference.h"
#include "device/rows.h"
#include <stdlib.h>
#include <string.h>

/* x [rows][in], dy [rows][units] */
typedef struct dense_sizes {
    int64_t rows, in, units;
} dense_sizes;

static dense_sizes sizes_of(const tensor *x, const tensor *w)
{
    dense_sizes s = {.units = w->shape.dim[1]};
    tensor_matrix(x, &s.rows, &s.in);
    return s;
}

/* One row of sums at a time, so that W and dW are accessed in memory order. */
static cornu_status new_row(const dense_sizes *s, double **sums)
{
    return memory_new((size_t)s->units, sizeof **sums, "dense", sums);
}

cornu_status reference_dense_forward(const op_run *r)
{
    dense_sizes s = sizes_of(OP_IN(r->plan, r->op, 0), OP_IN(r->plan, r->op, 1));
    const float *x = r->in[0], *w = r->in[1], *bias = r->in[2];
    double *sums;
    TRY(new_row(&s, &sums));
    for (int64_t row = 0; row < s.rows; row++) {
        for (int64_t u = 0; u < s.units; u++)
            sums[u] = bias ? (double)bias[u] : 0;
        for (int64_t i = 0; i < s.in; i++)
            for (int64_t u = 0; u < s.units; u++)
                sums[u] += (double)x[row * s.in + i] * (double)w[i * s.units + u];
        for (int64_t u = 0; u < s.units; u++)
            r->out[0][row * s.units + u] = (float)activate_element(r->op->a.dense.act, sums[u]);
    }
    free(sums);
    return CORNU_OK;
}

cornu_status reference_dense_backward_data(const op_run *r)
{
    dense_sizes s = sizes_of(OP_OUT(r->plan, r->op, 0), OP_IN(r->plan, r->op, 1));
    const float *dy = r->in[0], *w = r->in[1];
    for (int64_t row = 0; row < s.rows; row++) {
        for (int64_t i = 0; i < s.in; i++) {
            double sum = 0;
            for (int64_t u = 0; u < s.units; u++)
                sum += (double)dy[row * s.units + u] * (double)w[i * s.units + u];
            r->out[0][row * s.in + i] = (float)sum;
        }
    }
    return CORNU_OK;
}

/* Row i of x' dy into sums[units]. */
static void gradient_row(const float *x, const float *dy, const dense_sizes *s, int64_t i,
                         double *sums)
{
    memset(sums, 0, (size_t)s->units * sizeof *sums);
    for (int64_t row = 0; row < s->rows; row++)
        for (int64_t u = 0; u < s->units; u++)
            sums[u] += (double)x[row * s->in + i] * (double)dy[row * s->units + u];
}

cornu_status reference_dense_backward_weights(const op_run *r)
{
    dense_sizes s;
    const float *x = r->in[0], *dy = r->in[1];
    double *sums;
    tensor_matrix(OP_IN(r->plan, r->op, 0), &s.rows, &s.in);
    tensor_matrix(OP_IN(r->plan, r->op, 1), &s.rows, &s.units);
    TRY(new_row(&s, &sums));
    for (int64_t i = 0; i < s.in; i++) {
        gradient_row(x, dy, &s, i, sums);
        for (int64_t u = 0; u < s.units; u++)
            r->out[0][i * s.units + u] = (float)sums[u];
    }
    free(sums);
    for (int64_t u = 0; r->out[1] && u < s.units; u++) {
        double sum = 0;
        for (int64_t row = 0; row < s.rows; row++)
            sum += (double)dy[row * s.units + u];
        r->out[1][u] = (float)sum;
    }
    return CORNU_OK;
}

/* ---- MATMUL ------------------------------------------------------------------------------ */

cornu_status reference_matmul(const op_run *r)
{
    const matmul_shape s = matmul_shape_of(r->plan, r->op);
    for (int64_t n = 0; n < s.count; n++)
        for (int64_t i = 0; i < s.rows; i++)
            for (int64_t k = 0; k < s.columns; k++) {
                const float *a = r->in[0] + n * s.rows * s.depth + i * s.a_row;
                const float *b = r->in[1] + n * s.depth * s.columns + k * s.b_column;
                double sum = 0;
                for (int64_t j = 0; j < s.depth; j++)
                    sum += (double)a[j * s.a_depth] * (double)b[j * s.b_depth];
                r->out[0][(n * s.rows + i) * s.columns + k] = (float)sum;
            }
    return CORNU_OK;
}
