/* Operations on elements and rows: samples, activations, dropout, scaling and padding, loss and
   metrics. */
#include "base/memory.h"
#include "base/philox.h"
#include "device/gather_sample.h"
#include "device/recolor.h"
#include "device/reference/reference.h"
#include "device/resample.h"
#include "device/rows.h"
#include "device/tally.h"
#include <stdlib.h>
#include <string.h>

/* ---- samples ----------------------------------------------------------------------------- */

cornu_status reference_gather_samples(const op_run *r)
{
    const plan *p = r->plan;
    int64_t x_size = OP_OUT(p, r->op, 0)->count / p->batch;
    int64_t t_size = r->out[1] ? OP_OUT(p, r->op, 1)->count / p->batch : 0;
    for (int64_t i = 0; r->out[2] && i < p->batch; i++)
        r->out[2][i] = gather_weight(r->input->samples, r->input->index[i]);
    for (int64_t i = 0; i < p->batch; i++)
        gather_sample(p, r->op, r->input, i, r->out[0] + i * x_size,
                      r->out[1] ? r->out[1] + i * t_size : NULL);
    return CORNU_OK;
}

/* ---- activations ------------------------------------------------------------------------- */

cornu_status reference_activation_forward(const op_run *r)
{
    const tensor *y = OP_OUT(r->plan, r->op, 0);
    activation act = r->op->a.act;
    int64_t rows, n;
    tensor_matrix(y, &rows, &n);
    if (activation_is_of_rows(act.kind)) {
        for (int64_t row = 0; row < rows; row++)
            activate_row(act.kind, r->in[0] + row * n, r->out[0] + row * n, n);
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
    if (activation_is_of_rows(act.kind)) {
        for (int64_t row = 0; row < rows; row++)
            activate_row_back(act.kind, r->in[0] + row * n, r->in[1] + row * n, r->out[0] + row * n,
                              n);
        return CORNU_OK;
    }
    for (int64_t i = 0; i < dx->count; i++)
        r->out[0][i] = (float)activate_element_back(act, (double)r->in[0][i], (double)r->in[1][i]);
    return CORNU_OK;
}

/* ---- dropout ----------------------------------------------------------------------------- */

/* Element e of the step's whole batch is kept if word e % 4 of Philox(seed, layer; e / 4,
   iteration) as a number in [0, 1) is at least the rate: the backward pass draws the same mask
   again. */

cornu_status reference_dropout(const op_run *r)
{
    int64_t count = OP_OUT(r->plan, r->op, 0)->count;
    float rate = r->op->a.dropout.rate, scale = 1 / (1 - rate);
    uint64_t key = random_key(r->input->seed, RANDOM_DROPOUT, r->op->a.dropout.stream);
    uint64_t iteration = (uint64_t)r->input->iteration;
    uint64_t first = (uint64_t)(r->input->first * (count / r->plan->batch));
    uint32_t bits[4];
    for (int64_t i = 0; i < count; i++) {
        uint64_t e = first + (uint64_t)i, block = e / 4;
        if (i == 0 || e % 4 == 0)
            philox(key, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)iteration,
                   (uint32_t)(iteration >> 32), bits);
        r->out[0][i] = random_to_float(bits[e % 4]) >= rate ? r->in[0][i] * scale : 0;
    }
    return CORNU_OK;
}

/* ---- random numbers and resampled images --------------------------------------------------- */

cornu_status reference_draw(const op_run *r)
{
    for (int64_t i = 0; i < OP_OUT(r->plan, r->op, 0)->shape.dim[0]; i++)
        draw_sample(r, i);
    return CORNU_OK;
}

cornu_status reference_resample_forward(const op_run *r)
{
    const resample_size s = resample_size_of(r->plan, r->op);
    resample_rows(r, &s, 0, s.batch * s.out_height);
    return CORNU_OK;
}

cornu_status reference_resample_backward(const op_run *r)
{
    const resample_size s = resample_size_of(r->plan, r->op);
    for (int64_t n = 0; n < s.batch; n++)
        resample_sample_back(r, &s, n);
    return CORNU_OK;
}

cornu_status reference_recolor_forward(const op_run *r)
{
    recolor_pixels(r, 0, recolor_count(r));
    return CORNU_OK;
}

cornu_status reference_recolor_backward(const op_run *r)
{
    return reference_recolor_forward(r);
}

/* ---- scale, add ------------------------------------------------------------------------- */

cornu_status reference_scale(const op_run *r)
{
    int64_t count = OP_OUT(r->plan, r->op, 0)->count;
    float scale = r->op->a.scale.scale, offset = r->op->a.scale.offset;
    for (int64_t i = 0; i < count; i++)
        r->out[0][i] = r->in[0][i] * scale + offset;
    return CORNU_OK;
}

cornu_status reference_add(const op_run *r)
{
    int64_t count = OP_OUT(r->plan, r->op, 0)->count;
    for (int64_t i = 0; i < count; i++)
        r->out[0][i] = r->in[0][i] + r->in[1][i];
    return CORNU_OK;
}

/* ---- operations of two tensors --------------------------------------------------------- */

/* The element of x, which repeats the dimensions of 1, for element i of y. */
static int64_t repeated(const shape *y, const shape *x, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int d = y->rank - 1; d >= 0; d--) {
        if (x->dim[d] != 1)
            at += i % y->dim[d] * stride;
        stride *= x->dim[d];
        i /= y->dim[d];
    }
    return at;
}

cornu_status reference_binary_forward(const op_run *r)
{
    const tensor *y = OP_OUT(r->plan, r->op, 0);
    const shape *a = &OP_IN(r->plan, r->op, 0)->shape, *b = &OP_IN(r->plan, r->op, 1)->shape;
    for (int64_t i = 0; i < y->count; i++)
        r->out[0][i] =
            (float)binary_element(r->op->a.binary.kind, (double)r->in[0][repeated(&y->shape, a, i)],
                                  (double)r->in[1][repeated(&y->shape, b, i)]);
    return CORNU_OK;
}

/* The value of an input for element i of y; 0 where the input is absent. */
static double repeated_value(const op_run *r, int input, const shape *y, int64_t i)
{
    if (!r->in[input])
        return 0;
    return (double)r->in[input][repeated(y, &OP_IN(r->plan, r->op, input)->shape, i)];
}

cornu_status reference_binary_backward(const op_run *r)
{
    const tensor *dy = OP_IN(r->plan, r->op, 2), *dx = OP_OUT(r->plan, r->op, 0);
    double *sums;
    TRY(memory_new((size_t)dx->count, sizeof *sums, "sums", &sums));
    for (int64_t i = 0; i < dy->count; i++)
        sums[repeated(&dy->shape, &dx->shape, i)] += binary_element_back(
            r->op->a.binary.kind, r->op->a.binary.of, repeated_value(r, 0, &dy->shape, i),
            repeated_value(r, 1, &dy->shape, i), (double)r->in[2][i]);
    for (int64_t i = 0; i < dx->count; i++)
        r->out[0][i] = (float)sums[i];
    free(sums);
    return CORNU_OK;
}

/* ---- slices ----------------------------------------------------------------------------- */

/* The element of the whole that is element i of the slice. */
static int64_t sliced(const op *o, const shape *whole, const shape *slice, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int d = slice->rank - 1; d >= 0; d--) {
        int64_t index = i % slice->dim[d];
        if (d == o->a.slice.axis)
            index = o->a.slice.begin + index * o->a.slice.step;
        at += index * stride;
        stride *= whole->dim[d];
        i /= slice->dim[d];
    }
    return at;
}

cornu_status reference_slice(const op_run *r)
{
    const tensor *x = OP_IN(r->plan, r->op, 0), *y = OP_OUT(r->plan, r->op, 0);
    for (int64_t i = 0; i < y->count; i++)
        r->out[0][i] = r->in[0][sliced(r->op, &x->shape, &y->shape, i)];
    return CORNU_OK;
}

cornu_status reference_insert(const op_run *r)
{
    const tensor *x = OP_IN(r->plan, r->op, 0), *y = OP_OUT(r->plan, r->op, 0);
    if (insert_spreads(r->op))
        memset(r->out[0], 0, (size_t)y->count * sizeof(float));
    for (int64_t i = 0; i < x->count; i++)
        r->out[0][sliced(r->op, &y->shape, &x->shape, i)] = r->in[0][i];
    return CORNU_OK;
}

cornu_status reference_transpose(const op_run *r)
{
    const tensor *x = OP_IN(r->plan, r->op, 0), *y = OP_OUT(r->plan, r->op, 0);
    for (int64_t i = 0; i < y->count; i++) {
        int64_t index[SHAPE_MAX], left = i, from = 0;
        for (int d = y->shape.rank - 1; d >= 0; d--) {
            index[r->op->a.order[d]] = left % y->shape.dim[d];
            left /= y->shape.dim[d];
        }
        for (int d = 0; d < x->shape.rank; d++)
            from = from * x->shape.dim[d] + index[d];
        r->out[0][i] = r->in[0][from];
    }
    return CORNU_OK;
}

/* ---- pad, crop -------------------------------------------------------------------------- */

/* The row of the larger image that contains row `row` of sample n of the smaller one, as an
   index. */
static int64_t large_row(const shape *large, const int64_t before[2], int64_t n, int64_t row)
{
    return ((n * large->dim[1] + row + before[0]) * large->dim[2] + before[1]) * large->dim[3];
}

cornu_status reference_pad(const op_run *r)
{
    const tensor *x = OP_IN(r->plan, r->op, 0), *y = OP_OUT(r->plan, r->op, 0);
    int64_t line = x->shape.dim[2] * x->shape.dim[3];
    memset(r->out[0], 0, (size_t)y->count * sizeof(float));
    for (int64_t n = 0; n < x->shape.dim[0]; n++)
        for (int64_t row = 0; row < x->shape.dim[1]; row++)
            memcpy(r->out[0] + large_row(&y->shape, r->op->a.pad.before, n, row),
                   r->in[0] + (n * x->shape.dim[1] + row) * line, (size_t)line * sizeof(float));
    return CORNU_OK;
}

cornu_status reference_crop(const op_run *r)
{
    const tensor *dy = OP_IN(r->plan, r->op, 0), *dx = OP_OUT(r->plan, r->op, 0);
    int64_t line = dx->shape.dim[2] * dx->shape.dim[3];
    for (int64_t n = 0; n < dx->shape.dim[0]; n++)
        for (int64_t row = 0; row < dx->shape.dim[1]; row++)
            memcpy(r->out[0] + (n * dx->shape.dim[1] + row) * line,
                   r->in[0] + large_row(&dy->shape, r->op->a.pad.before, n, row),
                   (size_t)line * sizeof(float));
    return CORNU_OK;
}

/* ---- loss and metrics -------------------------------------------------------------------- */

/* Loss and metrics, row by row; a row is the last dimension. */

cornu_status reference_loss(const op_run *r)
{
    loss_row *row = loss_row_of(r->op->a.loss.id, r->op->a.loss.logits);
    int64_t rows, n, targets;
    tensor_matrix(OP_IN(r->plan, r->op, 0), &rows, &n);
    targets = OP_IN(r->plan, r->op, 1)->count / rows;
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        float *grad = r->out[0] ? r->out[0] + i * n : NULL;
        const double factor = (double)loss_row_factor(r->op, rows);
        const double weight =
            r->in[2] ? factor * (double)r->in[2][i * r->plan->batch / rows] : factor;
        sum += weight * row(r->in[0] + i * n, r->in[1] + i * targets, n, r->op->a.loss.reals, grad);
        const double share = weight * (double)loss_weight(r->op);
        for (int64_t k = 0; grad && k < n; k++)
            grad[k] = (float)((double)grad[k] * share / (double)rows);
    }
    host_add_loss(r, r->op, sum / (double)rows);
    return CORNU_OK;
}

cornu_status reference_metric(const op_run *r)
{
    int64_t rows, n, targets;
    tensor_matrix(OP_IN(r->plan, r->op, 0), &rows, &n);
    targets = OP_IN(r->plan, r->op, 1)->count / rows;
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        const double weight = r->in[2] ? (double)r->in[2][i * r->plan->batch / rows] : 1;
        sum += weight * host_metric_row(r->op, r->in[0] + i * n, r->in[1] + i * targets, n);
    }
    r->results->metrics[r->op->a.metric.slot] += metric_result(r->op, sum, r->plan->batch, rows);
    return CORNU_OK;
}

cornu_status reference_tally(const op_run *r)
{
    const tally_rows t = tally_rows_of(r->plan, r->op, r->in);
    tally_add_rows(&t, 0, t.rows, r->results->tables + r->op->a.tally.table);
    return CORNU_OK;
}
