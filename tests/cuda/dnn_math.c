/* The simulated libcudnn: the three passes of a convolution by their definition, with sums in
 * double. */
#include "dnn.h"
#include <math.h>
#include <stdlib.h>

/* x and y as [n][h][w][c], w as [k][h][w][c]: floats, rounded as the device would. */
typedef struct plain {
    float *x, *w, *y;
} plain;

static void *allocate(int64_t count, size_t size)
{
    void *at = calloc((size_t)count, size);
    if (!at)
        abort();
    return at;
}

static int64_t tensor_count(const dnn_tensor *t)
{
    return t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
}

static int64_t filter_count(const dnn_filter *w)
{
    return w->k * w->c * w->h * w->w;
}

static precision precision_of(const dnn_work *o)
{
    return o->c.math == CUDNN_FMA_MATH || o->x.type != CUDNN_DATA_FLOAT ? EXACT : TF32;
}

/* Element of a tensor whose number in [n][h][w][c] is `i`. */
static int64_t tensor_offset(const dnn_tensor *t, int64_t i)
{
    int64_t c = i % t->dim[1], w = i / t->dim[1] % t->dim[3],
            h = i / (t->dim[1] * t->dim[3]) % t->dim[2],
            n = i / (t->dim[1] * t->dim[3] * t->dim[2]);
    return n * t->stride[0] + c * t->stride[1] + h * t->stride[2] + w * t->stride[3];
}

/* The same of a filter, in [k][h][w][c]. */
static int64_t filter_offset(const dnn_filter *f, int64_t i)
{
    if (f->format == CUDNN_TENSOR_NHWC)
        return i;
    int64_t c = i % f->c, w = i / f->c % f->w, h = i / (f->c * f->w) % f->h,
            k = i / (f->c * f->w * f->h);
    return ((k * f->c + c) * f->h + h) * f->w + w;
}

static float *load_tensor(const dnn_tensor *t, const void *at, precision rounding)
{
    int64_t count = tensor_count(t);
    float *out = allocate(count, sizeof *out);
    for (int64_t i = 0; i < count; i++)
        out[i] =
            round_to(element(at, t->type == CUDNN_DATA_BFLOAT16, tensor_offset(t, i)), rounding);
    return out;
}

static float *load_filter(const dnn_filter *f, const void *at, precision rounding)
{
    int64_t count = filter_count(f);
    float *out = allocate(count, sizeof *out);
    for (int64_t i = 0; i < count; i++)
        out[i] =
            round_to(element(at, f->type == CUDNN_DATA_BFLOAT16, filter_offset(f, i)), rounding);
    return out;
}

/* ---- results ------------------------------------------------------------------------------- */

/* What makes a wrong choice of algorithm visible to a test. */
static double with_quirk(const dnn_work *o, double value, int64_t i)
{
    static unsigned calls; /* within the lock of the simulation */
    if (o->quirk == QUIRK_WINOGRAD)
        return value * (1 + 1e-6 * (double)(i % 3 - 1));
    if (o->quirk == QUIRK_NONDETERMINISTIC)
        return value * (1 + 2e-7 * (double)(calls++ % 7 - 3));
    return value;
}

/* As in a tile, whose results share what is read. */
static double spread(double sum, int64_t i)
{
    static int64_t nan_at = -2; /* within the lock of the simulation */
    bool reached = simulated_number("SIMULATED_CUDNN_SPREADS_NAN", 0) && i == nan_at + 1;
    nan_at = sum != sum ? i : -2;
    return reached ? (double)NAN : sum;
}

static void store(const dnn_work *o, void *at, bool bf16, int64_t offset, int64_t i, double sum)
{
    float value = (float)((double)o->alpha * with_quirk(o, spread(sum, i), i));
    if (o->beta != 0)
        value += o->beta * element(at, bf16, offset);
    set_element(at, bf16, offset, value);
}

static void store_forward(const dnn_work *o, int64_t i, double sum)
{
    void *y = (void *)(uintptr_t)o->y_at;
    bool bf16 = o->y.type == CUDNN_DATA_BFLOAT16;
    int64_t offset = tensor_offset(&o->y, i);
    if (!o->with_bias) {
        store(o, y, bf16, offset, i, sum);
        return;
    }
    float value = (float)((double)o->alpha * with_quirk(o, spread(sum, i), i));
    if (o->alpha_z != 0)
        value += o->alpha_z * element(o->z, bf16, tensor_offset(&o->z_desc, i));
    value += element(o->bias, bf16, i % o->y.dim[1]);
    if (o->relu) /* not propagating NaN: the only form that cuDNN has here */
        value = value > 0 ? value : 0;
    set_element(y, bf16, offset, value);
}

/* ---- the passes ---------------------------------------------------------------------------- */

/* Row or column of x under element `tap` of the window whose output is `out`; negative or too large
   in the padding. */
static int64_t under(const dnn_work *o, int axis, int64_t out, int64_t tap)
{
    return out * o->c.stride[axis] - o->c.pad[axis] + tap * o->c.dilation[axis];
}

/* Calls visit for every pair of an output's position and a window's element that meet inside x: x
   and y point to their first channel there, w to [first filter][tap][0]. */
typedef void visit(const dnn_work *o, void *user, int64_t x, int64_t y, int64_t tap);

static void walk(const dnn_work *o, int64_t n, visit *f, void *user)
{
    const int64_t *x = o->x.dim, *y = o->y.dim;
    for (int64_t i = 0; i < y[2] * y[3]; i++)
        for (int64_t tap = 0; tap < o->w.h * o->w.w; tap++) {
            int64_t row = under(o, 0, i / y[3], tap / o->w.w);
            int64_t column = under(o, 1, i % y[3], tap % o->w.w);
            if (row >= 0 && row < x[2] && column >= 0 && column < x[3])
                f(o, user, ((n * x[2] + row) * x[3] + column) * x[1], (n * y[2] * y[3] + i) * y[1],
                  tap);
        }
}

/* What a visit works on. */
typedef struct sums {
    const plain *p;
    const float *transposed; /* forward: w as [group][tap][c][filters of the group] */
    double *to;
    int64_t first; /* of the present image, in `to` */
} sums;

static void visit_forward(const dnn_work *o, void *user, int64_t x, int64_t y, int64_t tap)
{
    const sums *s = user;
    int64_t taps = o->w.h * o->w.w, filters = o->w.k / o->c.groups;
    for (int64_t g = 0; g < o->c.groups; g++)
        for (int64_t c = 0; c < o->w.c; c++) {
            double value = (double)s->p->x[x + g * o->w.c + c];
            const float *w = s->transposed + ((g * taps + tap) * o->w.c + c) * filters;
            double *to = s->to + y - s->first + g * filters;
            for (int64_t k = 0; k < filters; k++)
                to[k] += value * (double)w[k];
        }
}

static void visit_data(const dnn_work *o, void *user, int64_t x, int64_t y, int64_t tap)
{
    const sums *s = user;
    int64_t taps = o->w.h * o->w.w, filters = o->w.k / o->c.groups;
    for (int64_t k = 0; k < o->w.k; k++) {
        double value = (double)s->p->y[y + k];
        const float *w = s->p->w + (k * taps + tap) * o->w.c;
        double *to = s->to + x - s->first + k / filters * o->w.c;
        for (int64_t c = 0; c < o->w.c; c++)
            to[c] += value * (double)w[c];
    }
}

static void visit_filter(const dnn_work *o, void *user, int64_t x, int64_t y, int64_t tap)
{
    const sums *s = user;
    int64_t taps = o->w.h * o->w.w, filters = o->w.k / o->c.groups;
    for (int64_t k = 0; k < o->w.k; k++) {
        double value = (double)s->p->y[y + k];
        const float *from = s->p->x + x + k / filters * o->w.c;
        double *to = s->to + (k * taps + tap) * o->w.c;
        for (int64_t c = 0; c < o->w.c; c++)
            to[c] += value * (double)from[c];
    }
}

static float *transpose_filter(const dnn_work *o, const float *w)
{
    int64_t taps = o->w.h * o->w.w, filters = o->w.k / o->c.groups;
    float *out = allocate(filter_count(&o->w), sizeof *out);
    for (int64_t k = 0; k < o->w.k; k++)
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t c = 0; c < o->w.c; c++)
                out[((k / filters * taps + tap) * o->w.c + c) * filters + k % filters] =
                    w[(k * taps + tap) * o->w.c + c];
    return out;
}

static void forward(const dnn_work *o, plain *p)
{
    int64_t image = tensor_count(&o->y) / o->y.dim[0];
    p->x = load_tensor(&o->x, o->x_at, precision_of(o));
    p->w = load_filter(&o->w, o->w_at, precision_of(o));
    float *transposed = transpose_filter(o, p->w);
    sums s = {.p = p, .transposed = transposed, .to = allocate(image, sizeof *s.to)};
    for (int64_t n = 0; n < o->y.dim[0]; n++, s.first += image) {
        memset(s.to, 0, (size_t)image * sizeof *s.to);
        walk(o, n, visit_forward, &s);
        for (int64_t i = 0; i < image; i++)
            store_forward(o, s.first + i, s.to[i]);
    }
    free(s.to);
    free(transposed);
}

static void backward_data(const dnn_work *o, plain *p)
{
    int64_t image = tensor_count(&o->x) / o->x.dim[0];
    bool bf16 = o->x.type == CUDNN_DATA_BFLOAT16;
    p->y = load_tensor(&o->y, o->y_at, precision_of(o));
    p->w = load_filter(&o->w, o->w_at, precision_of(o));
    sums s = {.p = p, .to = allocate(image, sizeof *s.to)};
    for (int64_t n = 0; n < o->x.dim[0]; n++, s.first += image) {
        memset(s.to, 0, (size_t)image * sizeof *s.to);
        walk(o, n, visit_data, &s);
        for (int64_t i = 0; i < image; i++)
            store(o, (void *)(uintptr_t)o->x_at, bf16, tensor_offset(&o->x, s.first + i),
                  s.first + i, s.to[i]);
    }
    free(s.to);
}

static void backward_filter(const dnn_work *o, plain *p)
{
    int64_t count = filter_count(&o->w);
    bool bf16 = o->w.type == CUDNN_DATA_BFLOAT16;
    p->x = load_tensor(&o->x, o->x_at, precision_of(o));
    p->y = load_tensor(&o->y, o->y_at, precision_of(o));
    sums s = {.p = p, .to = allocate(count, sizeof *s.to)};
    for (int64_t n = 0; n < o->x.dim[0]; n++)
        walk(o, n, visit_filter, &s);
    for (int64_t i = 0; i < count; i++)
        store(o, (void *)(uintptr_t)o->w_at, bf16, filter_offset(&o->w, i), i, s.to[i]);
    free(s.to);
}

void dnn_run(const void *work)
{
    const dnn_work *o = work;
    plain p = {0};
    simulated_spoil(o->workspace, o->workspace_bytes);
    if (o->pass == FORWARD)
        forward(o, &p);
    else if (o->pass == BACKWARD_DATA)
        backward_data(o, &p);
    else
        backward_filter(o, &p);
    free(p.x);
    free(p.w);
    free(p.y);
}
