/* Windows over height and width of NHWC, channel by channel. */
#include "device/reference/reference.h"
#include <math.h>
#include <string.h>

/* The taps of one output position's window that lie inside the image. */
typedef struct taps {
    int64_t first[2], step[2], count[2];
} taps;

static taps taps_of(const window2d *w, const shape *x, const int64_t out[2])
{
    taps s;
    for (int i = 0; i < 2; i++) {
        int64_t start = out[i] * w->stride[i] - w->before[i];
        s.step[i] = w->dilation[i];
        s.first[i] = start;
        s.count[i] = w->kernel[i];
        while (s.count[i] > 0 && s.first[i] < 0) {
            s.first[i] += s.step[i];
            s.count[i]--;
        }
        while (s.count[i] > 0 && s.first[i] + (s.count[i] - 1) * s.step[i] >= x->dim[1 + i])
            s.count[i]--;
    }
    return s;
}

/* The index of element `k` (row by row) of the taps, for channel c of sample n. */
static int64_t element(const taps *s, const shape *x, int64_t n, int64_t k, int64_t c)
{
    int64_t row = s->first[0] + k / s->count[1] * s->step[0];
    int64_t column = s->first[1] + k % s->count[1] * s->step[1];
    return ((n * x->dim[1] + row) * x->dim[2] + column) * x->dim[3] + c;
}

/* Sample, position and channel of element i of y. */
static void split(const shape *y, int64_t i, int64_t *n, int64_t out[2], int64_t *c)
{
    *c = i % y->dim[3];
    out[1] = i / y->dim[3] % y->dim[2];
    out[0] = i / (y->dim[3] * y->dim[2]) % y->dim[1];
    *n = i / (y->dim[3] * y->dim[2] * y->dim[1]);
}

cornu_status reference_max_pool_forward(const op_run *r)
{
    const shape *x = &OP_IN(r->plan, r->op, 0)->shape, *y = &OP_OUT(r->plan, r->op, 0)->shape;
    int64_t n, out[2], c, count = OP_OUT(r->plan, r->op, 0)->count;
    for (int64_t i = 0; i < count; i++) {
        split(y, i, &n, out, &c);
        taps s = taps_of(&r->op->a.window, x, out);
        float largest = -INFINITY;
        for (int64_t k = 0; k < s.count[0] * s.count[1]; k++) {
            float value = r->in[0][element(&s, x, n, k, c)];
            if (value > largest || isnan(value))
                largest = value;
        }
        r->out[0][i] = largest;
    }
    return CORNU_OK;
}

cornu_status reference_max_pool_backward(const op_run *r)
{
    const tensor *dx = OP_OUT(r->plan, r->op, 0), *dy = OP_IN(r->plan, r->op, 2);
    int64_t n, out[2], c;
    memset(r->out[0], 0, (size_t)dx->count * sizeof(float));
    for (int64_t i = 0; i < dy->count; i++) {
        split(&dy->shape, i, &n, out, &c);
        taps s = taps_of(&r->op->a.window, &dx->shape, out);
        for (int64_t k = 0; k < s.count[0] * s.count[1]; k++) {
            int64_t at = element(&s, &dx->shape, n, k, c);
            if (r->in[0][at] == r->in[1][i]) {
                r->out[0][at] += r->in[2][i];
                break;
            }
        }
    }
    return CORNU_OK;
}

cornu_status reference_average_pool_forward(const op_run *r)
{
    const shape *x = &OP_IN(r->plan, r->op, 0)->shape, *y = &OP_OUT(r->plan, r->op, 0)->shape;
    int64_t n, out[2], c, count = OP_OUT(r->plan, r->op, 0)->count;
    for (int64_t i = 0; i < count; i++) {
        split(y, i, &n, out, &c);
        taps s = taps_of(&r->op->a.window, x, out);
        double sum = 0;
        for (int64_t k = 0; k < s.count[0] * s.count[1]; k++)
            sum += (double)r->in[0][element(&s, x, n, k, c)];
        r->out[0][i] = (float)(sum / (double)(s.count[0] * s.count[1]));
    }
    return CORNU_OK;
}

cornu_status reference_average_pool_backward(const op_run *r)
{
    const tensor *dx = OP_OUT(r->plan, r->op, 0), *dy = OP_IN(r->plan, r->op, 0);
    int64_t n, out[2], c;
    memset(r->out[0], 0, (size_t)dx->count * sizeof(float));
    for (int64_t i = 0; i < dy->count; i++) {
        split(&dy->shape, i, &n, out, &c);
        taps s = taps_of(&r->op->a.window, &dx->shape, out);
        float each = r->in[0][i] / (float)(s.count[0] * s.count[1]);
        for (int64_t k = 0; k < s.count[0] * s.count[1]; k++)
            r->out[0][element(&s, &dx->shape, n, k, c)] += each;
    }
    return CORNU_OK;
}
