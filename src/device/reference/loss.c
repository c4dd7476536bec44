/* Loss and metrics, row by row; a row is the last dimension. */
#include "device/reference/reference.h"
#include "device/rows.h"

cornu_status reference_loss(const op_run *r)
{
    loss_row *row = loss_row_of(r->op->a.loss.id, r->op->a.loss.logits);
    int64_t rows, n, targets;
    tensor_matrix(OP_IN(r->plan, r->op, 0), &rows, &n);
    targets = OP_IN(r->plan, r->op, 1)->count / rows;
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        float *grad = r->out[0] ? r->out[0] + i * n : NULL;
        double weight = r->in[2] ? (double)r->in[2][i * r->plan->batch / rows] : 1;
        sum += weight * row(r->in[0] + i * n, r->in[1] + i * targets, n, grad);
        for (int64_t k = 0; grad && k < n; k++)
            grad[k] = (float)((double)grad[k] * weight / (double)rows);
    }
    r->results->last_loss = sum / (double)rows;
    r->results->loss += r->results->last_loss * (double)r->plan->batch;
    return CORNU_OK;
}

cornu_status reference_metric(const op_run *r)
{
    metric_row *row = metric_row_of(r->op->a.metric.id);
    int64_t rows, n, targets;
    tensor_matrix(OP_IN(r->plan, r->op, 0), &rows, &n);
    targets = OP_IN(r->plan, r->op, 1)->count / rows;
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += row(r->in[0] + i * n, r->in[1] + i * targets, n, r->op->a.metric.k);
    /* results count samples, not rows */
    r->results->metrics[r->op->a.metric.slot] += sum * (double)r->plan->batch / (double)rows;
    return CORNU_OK;
}
