/* Convolutions as products ("direct"), which accept everything; winograd.c is tried first. */
#include "device/opencl/plugin/kernels/conv.h"
#include "device/opencl/plugin/ops/product.h"
#include <stdlib.h>

typedef struct conv_state {
    conv_window window;
    product product;
    int64_t filters, positions; /* filters and positions of y */
    bool with_bias;             /* the weights' product makes the bias's gradient, too */
} conv_state;

/* ---- windows ------------------------------------------------------------------------------ */

/* Elements of a row and of a tensor, too, are counted in int by kernels/conv.cl. */
static cornu_status check_sizes(const gpu_conv_roles *r, const window2d *w)
{
    TRY(gpu_conv_check_sides(r, w));
    int64_t channels = r->x->shape.dim[3], filters = r->y->shape.dim[3];
    int64_t line = (r->x->shape.dim[2] + w->before[1] + w->after[1]) *
                   (channels > filters ? channels : filters);
    if (line > INT32_MAX)
        return status_fail(CORNU_UNSUPPORTED,
                           "found %lld numbers in a row of an image with its padding; expected at "
                           "most %d",
                           (long long)line, INT32_MAX);
    int64_t most = r->x->count > r->y->count ? r->x->count : r->y->count;
    most = most > r->w->count ? most : r->w->count;
    if (most > INT32_MAX)
        return status_fail(CORNU_UNSUPPORTED,
                           "found images or weights of %lld numbers; expected at most %d",
                           (long long)most, INT32_MAX);
    return CORNU_OK;
}

/* Compute the multiplier and shift with which window_divide of kernels/conv.cl divides by d. */
static void divide_by(int d, int *multiplier, int *shift)
{
    for (*shift = 0; (int64_t)1 << *shift < d;)
        ++*shift;
    uint64_t above = ((uint64_t)1 << *shift) - (uint64_t)d;
    *multiplier = (int)(uint32_t)((above << 32) / (uint64_t)d + 1);
}

/* Positions are those of `positions`. */
static conv_window window_of(const tensor *image, const tensor *positions, const window2d *w)
{
    conv_window v = {.height = (int)image->shape.dim[1],
                     .width = (int)image->shape.dim[2],
                     .channels = (int)image->shape.dim[3],
                     .rows = (int)positions->shape.dim[1],
                     .columns = (int)positions->shape.dim[2],
                     .taps = (int)w->kernel[1],
                     .tap_channels = (int)(image->shape.dim[3] / w->groups)};
    divide_by(v.rows, &v.rows_multiplier, &v.rows_shift);
    divide_by(v.columns, &v.columns_multiplier, &v.columns_shift);
    return v;
}

static void divide_by_taps(conv_window *v)
{
    divide_by(v->taps, &v->taps_multiplier, &v->taps_shift);
    divide_by(v->tap_channels, &v->tap_channels_multiplier, &v->tap_channels_shift);
}

/* row_taps: kernels/conv.h. */
static conv_window window_forward(const gpu_conv_roles *r, const window2d *w, bool row_taps)
{
    conv_window v = window_of(r->x, r->y, w);
    v.stride_rows = (int)w->stride[0];
    v.stride_columns = (int)w->stride[1];
    v.offset_rows = -(int)w->before[0];
    v.offset_columns = -(int)w->before[1];
    v.step_rows = (int)w->dilation[0];
    v.step_columns = (int)w->dilation[1];
    if (row_taps && w->groups == 1 && w->dilation[1] == 1) {
        v.tap_channels *= v.taps;
        v.taps = 1;
    }
    divide_by_taps(&v);
    return v; /* nothing shrinks */
}

static conv_window window_backward(const gpu_conv_roles *r, const window2d *w)
{
    conv_window v = window_of(r->y, r->x, w);
    v.stride_rows = v.stride_columns = 1;
    v.offset_rows = (int)w->before[0];
    v.offset_columns = (int)w->before[1];
    v.step_rows = -(int)w->dilation[0];
    v.step_columns = -(int)w->dilation[1];
    v.shrink_rows = (int)w->stride[0];
    v.shrink_columns = (int)w->stride[1];
    divide_by(v.shrink_rows, &v.shrink_rows_multiplier, &v.shrink_rows_shift);
    divide_by(v.shrink_columns, &v.shrink_columns_multiplier, &v.shrink_columns_shift);
    divide_by_taps(&v);
    return v;
}

/* ---- products ----------------------------------------------------------------------------- */

static product_size product_of(op_kind kind, const gpu_conv_roles *r, const window2d *w)
{
    int64_t channels = r->x->shape.dim[3], filters = r->y->shape.dim[3];
    int64_t group_channels = channels / w->groups, group_filters = filters / w->groups;
    int64_t taps = w->kernel[0] * w->kernel[1];
    product_size p = {.batch = w->groups, .k_groups = 1};
    switch (kind) {
    case OP_CONV2D_FORWARD:
        p.m = r->y->count / filters;
        p.n = p.b_step = p.c_step = group_filters;
        p.k = taps * group_channels;
        p.a_step = group_channels;
        p.c_stride = filters;
        break;
    case OP_CONV2D_BACKWARD_DATA:
        p.m = r->x->count / channels;
        p.n = p.c_step = group_channels;
        p.k = taps * group_filters;
        p.a_step = p.b_step = group_filters;
        p.c_stride = channels;
        break;
    default:
        p.m = taps * group_channels;
        p.n = p.b_step = p.c_step = group_filters;
        p.k = r->y->count / filters;
        p.a_step = group_channels;
        p.c_stride = filters;
    }
    p.count = p.m * p.c_stride;
    return p;
}

/* On a GPU, which would read all of dy from memory once more for column sums, the product may make
   the bias's gradient, too, as one more row of C, unless that costs more. */
static cornu_status choose_bias(gpu *g, const gpu_conv_roles *roles, product_size size,
                                conv_state *s)
{
    product with;
    size.rest = size.c_stride;
    size.count += size.rest;
    TRY(product_choose(g, &size, &with));
    const double sums = product_launch_cost(g, (double)roles->y->count * sizeof(float));
    s->with_bias = with.cost < s->product.cost + sums;
    if (!s->with_bias)
        return CORNU_OK;
    s->product = with;
    s->window.bias_row = 1;
    return CORNU_OK;
}

static cornu_status choose(gpu *g, const op *o, const gpu_conv_roles *roles, conv_state *s)
{
    const window2d *w = &o->a.window;
    const opencl_blocking *b = &opencl_of(g)->blocking;
    product_size size = product_of(o->kind, roles, w);
    if (o->kind != OP_CONV2D_FORWARD)
        size.k_groups = CONV_GRADIENT_K_GROUPS(b->gemm_m, b->gemm_n, b->item_m, b->item_n);
    TRY(check_sizes(roles, w));
    s->window = o->kind == OP_CONV2D_BACKWARD_DATA ? window_backward(roles, w)
                                                   : window_forward(roles, w, b->item_n > 8);
    s->filters = roles->y->shape.dim[3];
    s->positions = roles->y->count / s->filters;
    TRY(product_choose(g, &size, &s->product));
    if (o->kind != OP_CONV2D_BACKWARD_WEIGHTS || !roles->b || opencl_of(g)->is_cpu)
        return CORNU_OK;
    return choose_bias(g, roles, size, s);
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    const gpu_conv_roles roles = gpu_conv_roles_of(p, o);
    conv_state *s;
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    cornu_status status = choose(g, o, &roles, s);
    if (status != CORNU_OK) {
        free(s);
        return status;
    }
    size_t sums = 0;
    if (o->kind == OP_CONV2D_BACKWARD_WEIGHTS && roles.b && !s->with_bias)
        sums = opencl_column_sums_scratch(s->positions, s->filters);
    *scratch_bytes = s->product.scratch_bytes > sums ? s->product.scratch_bytes : sums;
    *state = s;
    return CORNU_OK;
}

static void release(gpu *g, void *state)
{
    (void)g;
    free(state);
}

/* b_stride: from one row of the weights, or of dy, to the next. */
static cornu_status enqueue(const gpu_op *r, opencl_function square, gpu_address bias,
                            activation act)
{
#define A_FIELD(name) , A_INT(s->window.name)
    const conv_state *s = r->state;
    const product *q = &s->product;
    const product_result result = {
        .c = r->out[0], .bias = bias, .act = act, .rest = s->with_bias ? r->out[1] : 0};
    TRY(OPENCL_LAUNCH(r->g, product_function(q, square), product_grid(r->g, q),
                      A_PRODUCT(q, r->in[0], r->in[1], &result, r->scratch),
                      A_INT(s->filters) WINDOW_FIELDS(A_FIELD)));
    return product_reduce(r->g, q, &result, r->scratch);
#undef A_FIELD
}

static cornu_status forward(const gpu_op *r)
{
    return enqueue(r, OPENCL_conv_forward_square, r->in[2], r->op->a.conv.act);
}

static cornu_status backward_data(const gpu_op *r)
{
    return enqueue(r, OPENCL_conv_backward_data_square, 0, PRODUCT_LINEAR);
}

static cornu_status backward_weights(const gpu_op *r)
{
    const conv_state *s = r->state;
    TRY(enqueue(r, OPENCL_conv_backward_weights_square, 0, PRODUCT_LINEAR));
    if (!r->out[1] || s->with_bias)
        return CORNU_OK;
    return opencl_column_sums(r->g, r->in[1], s->positions, s->filters, r->scratch, r->out[1]);
}

static const gpu_kernel direct_forward = {
    .name = "direct", .prepare = prepare, .release = release, .enqueue = forward};
static const gpu_kernel direct_backward_data = {
    .name = "direct", .prepare = prepare, .release = release, .enqueue = backward_data};
static const gpu_kernel direct_backward_weights = {
    .name = "direct", .prepare = prepare, .release = release, .enqueue = backward_weights};

const gpu_kernel *const opencl_conv2d_forward[] = {&opencl_winograd_forward, &direct_forward, NULL};
const gpu_kernel *const opencl_conv2d_backward_data[] = {&opencl_winograd_backward_data,
                                                         &direct_backward_data, NULL};
const gpu_kernel *const opencl_conv2d_backward_weights[] = {&direct_backward_weights, NULL};
