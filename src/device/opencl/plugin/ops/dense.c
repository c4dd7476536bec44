/* Dense layers by products of plain matrices. */
#include "device/opencl/plugin/ops/product.h"
#include <stdlib.h>

typedef struct dense_state {
    gpu_dense_size size;
    product product;
} dense_state;

/* The product's rows, columns and depth. */
static product_size product_of(op_kind kind, const gpu_dense_size *s)
{
    product_size p = {
        .m = s->rows, .n = s->units, .k = s->in, .batch = 1, .k_groups = 1, .b_column = 1};
    if (kind == OP_DENSE_BACKWARD_DATA) {
        p.n = s->in;
        p.k = p.b_column = s->units;
    } else if (kind == OP_DENSE_BACKWARD_WEIGHTS) {
        p.m = s->in;
        p.k = s->rows;
    }
    p.c_stride = p.n;
    p.count = p.m * p.n;
    return p;
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    dense_state *s;
    TRY(memory_new(1, sizeof *s, "dense layer", &s));
    s->size = gpu_dense_size_of(p, o);
    const product_size size = product_of(o->kind, &s->size);
    cornu_status status = product_choose(g, &size, &s->product);
    if (status != CORNU_OK) {
        free(s);
        return status;
    }
    size_t sums = 0;
    if (o->kind == OP_DENSE_BACKWARD_WEIGHTS && o->out[1] != NO_TENSOR)
        sums = opencl_column_sums_scratch(s->size.rows, s->size.units);
    *scratch_bytes = s->product.scratch_bytes > sums ? s->product.scratch_bytes : sums;
    *state = s;
    return CORNU_OK;
}

static void release(gpu *g, void *state)
{
    (void)g;
    free(state);
}

static cornu_status enqueue(const gpu_op *r, opencl_function square, int64_t a_stride,
                            int64_t b_stride, gpu_address bias, activation act)
{
    const dense_state *s = r->state;
    const product_result result = {.c = r->out[0], .bias = bias, .act = act};
    return product_plain(r->g, square, &s->product,
                         &(product_matrices){r->in[0], r->in[1], a_stride, b_stride}, &result,
                         r->scratch);
}

static cornu_status forward(const gpu_op *r)
{
    const gpu_dense_size *s = &((const dense_state *)r->state)->size;
    return enqueue(r, OPENCL_product_nn_square, s->in, s->units, r->in[2], r->op->a.dense.act);
}

static cornu_status backward_data(const gpu_op *r)
{
    const gpu_dense_size *s = &((const dense_state *)r->state)->size;
    return enqueue(r, OPENCL_product_nt_square, s->units, s->units, 0, PRODUCT_LINEAR);
}

static cornu_status backward_weights(const gpu_op *r)
{
    const gpu_dense_size *s = &((const dense_state *)r->state)->size;
    TRY(enqueue(r, OPENCL_product_tn_square, s->in, s->units, 0, PRODUCT_LINEAR));
    if (!r->out[1])
        return CORNU_OK;
    return opencl_column_sums(r->g, r->in[1], s->rows, s->units, r->scratch, r->out[1]);
}

static const gpu_kernel tiled_forward = {
    .name = "tiled", .prepare = prepare, .release = release, .enqueue = forward};
static const gpu_kernel tiled_backward_data = {
    .name = "tiled", .prepare = prepare, .release = release, .enqueue = backward_data};
static const gpu_kernel tiled_backward_weights = {
    .name = "tiled", .prepare = prepare, .release = release, .enqueue = backward_weights};

const gpu_kernel *const opencl_dense_forward[] = {&tiled_forward, NULL};
const gpu_kernel *const opencl_dense_backward_data[] = {&tiled_backward_data, NULL};
const gpu_kernel *const opencl_dense_backward_weights[] = {&tiled_backward_weights, NULL};

/* ---- MATMUL ------------------------------------------------------------------------------ */

static cornu_status enqueue_matmul(const gpu_op *r)
{
    const matmul_shape s = matmul_shape_of(r->plan, r->op);
    const int64_t tiles = gpu_matmul_tiles(&s, MATMUL_SIDE);
    return OPENCL_LAUNCH(r->g, OPENCL_matmul, opencl_line(gpu_blocks(tiles, 1, 4096)),
                         A_ADDRESS(r->in[0]), A_ADDRESS(r->in[1]), A_ADDRESS(r->out[0]),
                         A_LONG(tiles), A_LONG(s.rows), A_LONG(s.depth), A_LONG(s.columns),
                         A_LONG(s.a_row), A_LONG(s.a_depth), A_LONG(s.b_depth), A_LONG(s.b_column));
}

_Static_assert(MATMUL_SIDE *MATMUL_SIDE == WORK_ITEMS, "a work-item has an element of a tile");
static const gpu_kernel matmul = {.name = "tiled", .enqueue = enqueue_matmul};
const gpu_kernel *const opencl_matmul[] = {&matmul, NULL};
