/* y = act(x W + b), dx = dy W', dW = x' dy and db; x [rows][in], W [in][units]. cornu's kernels
   ("tiled") accept everything; cublaslt.c is tried first. */
#include "device/cuda/plugin/kernels/matmul.h"
#include "device/cuda/plugin/ops/product.h"
#include <stdlib.h>

typedef struct dense_state {
    gpu_dense_size size;
    product product;
} dense_state;

static cornu_status choose(const gpu *g, const op *o, dense_state *s)
{
    int64_t rows = s->size.rows, in = s->size.in, units = s->size.units;
    switch (o->kind) {
    case OP_DENSE_FORWARD:
        return product_choose(g, rows, units, in, 1, PRODUCT_MATRIX_TILES, units, 0, &s->product);
    case OP_DENSE_BACKWARD_DATA:
        return product_choose(g, rows, in, units, 1, PRODUCT_MATRIX_TILES, in, 0, &s->product);
    default:
        return product_choose(g, in, units, rows, 1, PRODUCT_MATRIX_TILES, units, 0, &s->product);
    }
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    dense_state *s;
    TRY(memory_new(1, sizeof *s, "dense layer", &s));
    s->size = gpu_dense_size_of(p, o);
    cornu_status status = choose(g, o, s);
    if (status != CORNU_OK) {
        free(s);
        return status;
    }
    size_t sums = 0;
    if (o->kind == OP_DENSE_BACKWARD_WEIGHTS && o->out[1] != NO_TENSOR)
        sums = cuda_column_sums_scratch(s->size.rows, s->size.units);
    *scratch_bytes = s->product.scratch_bytes > sums ? s->product.scratch_bytes : sums;
    *state = s;
    return CORNU_OK;
}

static void release(gpu *g, void *state)
{
    (void)g;
    free(state);
}

static cornu_status forward(const gpu_op *r)
{
    const dense_state *s = r->state;
    product_params p = {.a = device_floats(r->in[0]),
                        .b = device_floats(r->in[1]),
                        .a_stride = s->size.in,
                        .b_stride = s->size.units};
    return product_enqueue(r->g, CUDA_product_nn, &s->product, &p.blocking, r->scratch, r->in[2],
                           r->out[0], r->op->a.dense.act);
}

static cornu_status backward_data(const gpu_op *r)
{
    const dense_state *s = r->state;
    product_params p = {.a = device_floats(r->in[0]),
                        .b = device_floats(r->in[1]),
                        .a_stride = s->size.units,
                        .b_stride = s->size.units};
    return product_enqueue(r->g, CUDA_product_nt, &s->product, &p.blocking, r->scratch, 0,
                           r->out[0], (activation){ACTIVATION_LINEAR, 0});
}

static cornu_status backward_weights(const gpu_op *r)
{
    const dense_state *s = r->state;
    product_params p = {.a = device_floats(r->in[0]),
                        .b = device_floats(r->in[1]),
                        .a_stride = s->size.in,
                        .b_stride = s->size.units};
    TRY(product_enqueue(r->g, CUDA_product_tn, &s->product, &p.blocking, r->scratch, 0, r->out[0],
                        (activation){ACTIVATION_LINEAR, 0}));
    return r->out[1] == 0 ? CORNU_OK
                          : cuda_column_sums(r->g, r->in[1], s->size.rows, s->size.units,
                                             r->scratch, r->out[1]);
}

static const gpu_kernel tiled_forward = {
    .name = "tiled", .prepare = prepare, .release = release, .enqueue = forward};
static const gpu_kernel tiled_backward_data = {
    .name = "tiled", .prepare = prepare, .release = release, .enqueue = backward_data};
static const gpu_kernel tiled_backward_weights = {
    .name = "tiled", .prepare = prepare, .release = release, .enqueue = backward_weights};

const gpu_kernel *const cuda_dense_forward[] = {&cuda_cublaslt_forward, &tiled_forward, NULL};
const gpu_kernel *const cuda_dense_backward_data[] = {&cuda_cublaslt_backward_data,
                                                      &tiled_backward_data, NULL};
const gpu_kernel *const cuda_dense_backward_weights[] = {
    &cuda_dense_with_updates, &cuda_cublaslt_backward_weights, &tiled_backward_weights, NULL};

/* ---- MATMUL ------------------------------------------------------------------------------ */

static cornu_status enqueue_matmul(const gpu_op *r)
{
    const matmul_shape s = matmul_shape_of(r->plan, r->op);
    matmul_params p = {.a = (const float *)r->in[0],
                       .b = (const float *)r->in[1],
                       .y = (float *)r->out[0],
                       .tiles = gpu_matmul_tiles(&s, MATMUL_SIDE),
                       .rows = s.rows,
                       .depth = s.depth,
                       .columns = s.columns,
                       .a_row = s.a_row,
                       .a_depth = s.a_depth,
                       .b_depth = s.b_depth,
                       .b_column = s.b_column};
    return cuda_launch(r->g, CUDA_matmul,
                       cuda_line(gpu_blocks(p.tiles, 1, 4096), MATMUL_SIDE * MATMUL_SIDE), &p);
}

static const gpu_kernel matmul = {.name = "shared", .enqueue = enqueue_matmul};
const gpu_kernel *const cuda_matmul[] = {&matmul, NULL};
