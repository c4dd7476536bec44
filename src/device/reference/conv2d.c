/* NHWC cross-correlation, kernel [kh][kw][in / groups][filters]:
   y[n][oh][ow][f] = act(b[f] + sum x[n][oh s - before + i d][ow s - before + j d][g c + k]
   W[i][j][k][f]), g the group of filter f, c the channels of a group. */
#include "base/memory.h"
#include "device/reference/reference.h"
#include "device/rows.h"
#include <stdlib.h>

typedef struct sizes {
    int64_t batch, in[2], channels, out[2], filters;
    int64_t group_channels, group_filters;
    const window2d *w;
} sizes;

static sizes sizes_of(const tensor *x, const tensor *y, const window2d *w)
{
    sizes s = {.batch = x->shape.dim[0],
               .in = {x->shape.dim[1], x->shape.dim[2]},
               .channels = x->shape.dim[3],
               .out = {y->shape.dim[1], y->shape.dim[2]},
               .filters = y->shape.dim[3],
               .w = w};
    s.group_channels = s.channels / w->groups;
    s.group_filters = s.filters / w->groups;
    return s;
}

/* Index of element (n, row, column, 0) of x, or -1 where the window's tap is in the padding. */
static int64_t tap(const sizes *s, int64_t n, const int64_t out[2], const int64_t offset[2])
{
    int64_t at[2];
    for (int i = 0; i < 2; i++) {
        at[i] = out[i] * s->w->stride[i] - s->w->before[i] + offset[i] * s->w->dilation[i];
        if (at[i] < 0 || at[i] >= s->in[i])
            return -1;
    }
    return ((n * s->in[0] + at[0]) * s->in[1] + at[1]) * s->channels;
}

/* Index of W[offset][0][0]. */
static int64_t kernel_offset(const sizes *s, const int64_t offset[2])
{
    return (offset[0] * s->w->kernel[1] + offset[1]) * s->group_channels * s->filters;
}

/* Call `each` for every output position and every tap of its window inside the image. */
typedef void visit(void *context, const sizes *s, int64_t x_at, int64_t y_at, int64_t w_at);

static void visit_taps(const sizes *s, visit *each, void *context)
{
    int64_t positions = s->batch * s->out[0] * s->out[1];
    for (int64_t i = 0; i < positions; i++) {
        int64_t n = i / (s->out[0] * s->out[1]);
        int64_t out[2] = {i / s->out[1] % s->out[0], i % s->out[1]}, offset[2];
        for (offset[0] = 0; offset[0] < s->w->kernel[0]; offset[0]++) {
            for (offset[1] = 0; offset[1] < s->w->kernel[1]; offset[1]++) {
                int64_t x_at = tap(s, n, out, offset);
                if (x_at >= 0)
                    each(context, s, x_at, i * s->filters, kernel_offset(s, offset));
            }
        }
    }
}

typedef struct operands {
    const float *x, *y, *w; /* inputs; y stands for dy */
    double *sums;           /* results */
} operands;

/* The first filter that reads channel k; there are group_filters of them. */
static int64_t first_filter(const sizes *s, int64_t k)
{
    return k / s->group_channels * s->group_filters;
}

/* Offset of the weights of channel k from the tap's first element of W. */
static int64_t weight_row(const sizes *s, int64_t k)
{
    return k % s->group_channels * s->filters;
}

static void add_forward(void *context, const sizes *s, int64_t x_at, int64_t y_at, int64_t w_at)
{
    const operands *o = context;
    for (int64_t k = 0; k < s->channels; k++) {
        const float *w = o->w + w_at + weight_row(s, k);
        int64_t first = first_filter(s, k);
        for (int64_t f = first; f < first + s->group_filters; f++)
            o->sums[y_at + f] += (double)o->x[x_at + k] * (double)w[f];
    }
}

static void add_data(void *context, const sizes *s, int64_t x_at, int64_t y_at, int64_t w_at)
{
    const operands *o = context;
    for (int64_t k = 0; k < s->channels; k++) {
        const float *w = o->w + w_at + weight_row(s, k);
        int64_t first = first_filter(s, k);
        for (int64_t f = first; f < first + s->group_filters; f++)
            o->sums[x_at + k] += (double)o->y[y_at + f] * (double)w[f];
    }
}

static void add_weights(void *context, const sizes *s, int64_t x_at, int64_t y_at, int64_t w_at)
{
    const operands *o = context;
    for (int64_t k = 0; k < s->channels; k++) {
        double *dw = o->sums + w_at + weight_row(s, k);
        int64_t first = first_filter(s, k);
        for (int64_t f = first; f < first + s->group_filters; f++)
            dw[f] += (double)o->x[x_at + k] * (double)o->y[y_at + f];
    }
}

cornu_status reference_conv2d_forward(const op_run *r)
{
    const tensor *y = OP_OUT(r->plan, r->op, 0);
    sizes s = sizes_of(OP_IN(r->plan, r->op, 0), y, &r->op->a.window);
    operands o = {.x = r->in[0], .w = r->in[1]};
    TRY(memory_new((size_t)y->count, sizeof *o.sums, "convolution", &o.sums));
    visit_taps(&s, add_forward, &o);
    for (int64_t i = 0; i < y->count; i++) {
        double bias = r->in[2] ? (double)r->in[2][i % s.filters] : 0;
        r->out[0][i] = (float)activate_element(r->op->a.conv.act, o.sums[i] + bias);
    }
    free(o.sums);
    return CORNU_OK;
}

/* Sums over all taps, rounded once into `out`. */
static cornu_status run_sums(const sizes *s, visit *each, operands *o, float *out, int64_t count)
{
    TRY(memory_new((size_t)count, sizeof *o->sums, "convolution", &o->sums));
    visit_taps(s, each, o);
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)o->sums[i];
    free(o->sums);
    return CORNU_OK;
}

cornu_status reference_conv2d_backward_data(const op_run *r)
{
    const tensor *dx = OP_OUT(r->plan, r->op, 0);
    sizes s = sizes_of(dx, OP_IN(r->plan, r->op, 0), &r->op->a.window);
    operands o = {.y = r->in[0], .w = r->in[1]};
    return run_sums(&s, add_data, &o, r->out[0], dx->count);
}

cornu_status reference_conv2d_backward_weights(const op_run *r)
{
    const tensor *dy = OP_IN(r->plan, r->op, 1);
    sizes s = sizes_of(OP_IN(r->plan, r->op, 0), dy, &r->op->a.window);
    operands o = {.x = r->in[0], .y = r->in[1]};
    for (int64_t f = 0; r->out[1] && f < s.filters; f++) {
        double sum = 0;
        for (int64_t i = f; i < dy->count; i += s.filters)
            sum += (double)o.y[i];
        r->out[1][f] = (float)sum;
    }
    return run_sums(&s, add_weights, &o, r->out[0], OP_OUT(r->plan, r->op, 0)->count);
}
