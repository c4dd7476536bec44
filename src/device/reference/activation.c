#include "device/reference/reference.h"
#include "device/rows.h"

cornu_status reference_activation_forward(const op_run *r)
{
    const tensor *y = OP_OUT(r->plan, r->op, 0);
    activation act = r->op->a.act;
    int64_t rows, n;
    tensor_matrix(y, &rows, &n);
    if (act.kind == ACTIVATION_SOFTMAX) {
        for (int64_t row = 0; row < rows; row++)
            softmax_row(r->in[0] + row * n, r->out[0] + row * n, n);
        return CORNU_OK;
    }
    for (int64_t i = 0; i < y->count; i++)
        r->out[0][i] = (float)activate_element(act, (double)r->in[0][i]);
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
            softmax_row_back(r->in[0] + row * n, r->in[1] + row * n, r->out[0] + row * n, n);
        return CORNU_OK;
    }
    for (int64_t i = 0; i < dx->count; i++)
        r->out[0][i] = (float)activate_element_back(act, (double)r->in[0][i], (double)r->in[1][i]);
    return CORNU_OK;
}
