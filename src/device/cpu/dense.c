/* Dense layers by oneDNN's sgemm on the plan's plain layouts.

   One product C[m][n] = A[m][k] B[k][n] is cut along one dimension, so that at small batch every
   chunk streams its own slab of whole rows of W: forward           y  = x W    few rows: over k =
   in, partial sums added in order; many: over rows backward data     dx = dy W'  few rows: over n =
   in; many: over rows backward weights  dW = x' dy  over m = in; many rows and few inputs: over k =
   rows, partial sums Splitting the forward pass over in beats splitting over units by 1.1 to 1.7
   (memory order). */
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include <oneapi/dnnl/dnnl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY_ROWS = 1024,  /* from here on, rows alone give enough chunks */
    CHUNKS_MOST = 16,  /* balances up to 8 threads */
    PARTS_MOST = 8,    /* of dW, whose partial sums are large */
    VERY_FEW_ROWS = 4, /* below, sgemm adds in one run without blocks, */
    RUN_MOST = 1024,   /* so that long sums are cut for the sake of precision, */
    RUNS_MOST = 256,   /* into no more parts than this */
    SLAB_LEAST = 64,   /* rows of W in a chunk: packing costs less than a tenth of the products */
    DATA_SLAB_LEAST = 256, /* the same for dx, where W is transposed while packing */
    GRAIN = 16             /* cuts keep 64-byte alignment */
};
#define CHUNK_FLOPS 4e6 /* about 50 microseconds */
#define PARTIAL_SUMS_BYTES ((size_t)64 << 20)

typedef enum split { SPLIT_M, SPLIT_N, SPLIT_K } split;

typedef struct dense_state {
    op_kind kind;
    char transposed_a, transposed_b; /* 'N' or 'T', as sgemm takes them */
    int64_t m, n, k, lda, ldb;
    split split;
    int64_t chunks;
    float *parts; /* SPLIT_K: [chunks][stride] */
    int64_t stride;
    activation act;
} dense_state;

static int64_t chunks_of(double flops, int64_t size, int64_t least, int64_t most)
{
    int64_t chunks = (int64_t)(flops / CHUNK_FLOPS);
    chunks = cpu_least(cpu_least(chunks, most), size / least);
    return chunks < 1 ? 1 : chunks;
}

static void choose_split(dense_state *s)
{
    double flops = 2.0 * (double)s->m * (double)s->n * (double)s->k;
    bool many = (s->kind == OP_DENSE_BACKWARD_WEIGHTS ? s->k : s->m) >= MANY_ROWS;
    if (s->kind == OP_DENSE_BACKWARD_WEIGHTS) {
        s->split = many && s->m < SLAB_LEAST * CHUNKS_MOST ? SPLIT_K : SPLIT_M;
        s->chunks = s->split == SPLIT_K ? chunks_of(flops, s->k, SLAB_LEAST, PARTS_MOST)
                                        : chunks_of(flops, s->m, SLAB_LEAST, CHUNKS_MOST);
    } else if (many) {
        s->split = SPLIT_M;
        s->chunks = chunks_of(flops, s->m, SLAB_LEAST, CHUNKS_MOST);
    } else if (s->kind == OP_DENSE_FORWARD) {
        s->split = SPLIT_K;
        s->chunks = chunks_of(flops, s->k, SLAB_LEAST, CHUNKS_MOST);
        int64_t runs = cpu_least(cpu_divide_up(s->k, RUN_MOST), RUNS_MOST);
        if (s->m < VERY_FEW_ROWS && s->chunks < runs)
            s->chunks = runs;
    } else {
        s->split = SPLIT_N;
        s->chunks = chunks_of(flops, s->n, DATA_SLAB_LEAST, CHUNKS_MOST);
    }
    size_t part = (size_t)(s->m * s->n) * sizeof(float);
    if (s->split == SPLIT_K && part * (size_t)s->chunks > PARTIAL_SUMS_BYTES)
        s->chunks = part > PARTIAL_SUMS_BYTES / 2 ? 1 : (int64_t)(PARTIAL_SUMS_BYTES / part);
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    (void)pool;
    dense_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "dense layer", &s));
    int64_t rows, in, units;
    bool weights = o->kind == OP_DENSE_BACKWARD_WEIGHTS;
    tensor_matrix(weights ? OP_OUT(p, o, 0) : OP_IN(p, o, 1), &in, &units);
    rows = OP_IN(p, o, 0)->count / (o->kind == OP_DENSE_BACKWARD_DATA ? units : in);
    s->kind = o->kind;
    s->transposed_a = weights ? 'T' : 'N';
    s->transposed_b = o->kind == OP_DENSE_BACKWARD_DATA ? 'T' : 'N';
    s->m = weights ? in : rows;
    s->n = o->kind == OP_DENSE_BACKWARD_DATA ? in : units;
    s->k = weights ? rows : o->kind == OP_DENSE_FORWARD ? in : units;
    s->lda = o->kind == OP_DENSE_BACKWARD_DATA ? units : in;
    s->ldb = units;
    if (o->kind == OP_DENSE_FORWARD)
        s->act = o->a.dense.act;
    choose_split(s);
    if (s->split == SPLIT_K && s->chunks > 1) {
        s->stride = (s->m * s->n + GRAIN - 1) / GRAIN * GRAIN;
        size_t bytes = (size_t)(s->stride * s->chunks) * sizeof(float);
        cornu_status status = memory_new_aligned(bytes, "partial sums of a dense layer", &s->parts);
        if (status != CORNU_OK) {
            free(s);
            return status;
        }
        *scratch_bytes += bytes;
    }
    *state = s;
    return CORNU_OK;
}

static void release(void *state)
{
    dense_state *s = state;
    if (s)
        memory_free_aligned(s->parts);
    free(s);
}

typedef struct dense_run {
    const dense_state *s;
    const float *a, *b, *bias;
    float *c;
    _Atomic int error; /* first dnnl_status_t that was not success */
} dense_run;

static void finish_rows(const dense_state *s, float *y, int64_t rows, const float *bias)
{
    if (bias || s->act.kind != ACTIVATION_LINEAR)
        cpu_bias_activate(y, rows, s->n, bias, s->act);
}

static void multiply(void *context, int64_t chunk, int worker)
{
    (void)worker;
    dense_run *r = context;
    const dense_state *s = r->s;
    int64_t m = s->m, n = s->n, k = s->k, begin, end;
    const float *a = r->a, *b = r->b;
    float *c = r->c;
    threads_part(s->split == SPLIT_M   ? m
                 : s->split == SPLIT_N ? n
                                       : k,
                 s->chunks, chunk, GRAIN, &begin, &end);
    switch (s->split) {
    case SPLIT_M:
        a += s->transposed_a == 'T' ? begin : begin * s->lda;
        c += begin * s->n;
        m = end - begin;
        break;
    case SPLIT_N:
        b += s->transposed_b == 'T' ? begin * s->ldb : begin;
        c += begin;
        n = end - begin;
        break;
    case SPLIT_K:
        a += s->transposed_a == 'T' ? begin * s->lda : begin;
        b += s->transposed_b == 'T' ? begin : begin * s->ldb;
        k = end - begin;
        c = s->parts ? s->parts + chunk * s->stride : c;
        break;
    }
    onednn_scope before = cpu_onednn_begin();
    dnnl_status_t status = dnnl_sgemm(s->transposed_a, s->transposed_b, m, n, k, 1.0f, a, s->lda, b,
                                      s->ldb, 0.0f, c, s->n);
    cpu_onednn_end(&before);
    int none = dnnl_success;
    if (status != dnnl_success)
        atomic_compare_exchange_strong(&r->error, &none, (int)status);
    if (s->kind == OP_DENSE_FORWARD && !s->parts)
        finish_rows(s, c, m, r->bias);
}

/* Forward, split over in: add the parts of some rows, then bias and activation. */
static void add_parts(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const dense_run *r = context;
    const dense_state *s = r->s;
    int64_t begin, end;
    cpu_part(s->m, cpu_rows_per_chunk(s->n * s->chunks), chunk, &begin, &end);
    float *y = r->c + begin * s->n;
    cpu_sum_range(s->parts + begin * s->n, (end - begin) * s->n, s->chunks, s->stride, y);
    finish_rows(s, y, end - begin, r->bias);
}

static cornu_status multiply_all(const op_run *r, dense_run *c)
{
    threads_run(r->pool, c->s->chunks, multiply, c);
    int error = atomic_load(&c->error);
    if (error != dnnl_success)
        return status_fail(CORNU_DEVICE, "%s: oneDNN's sgemm failed with status %d; expected 0",
                           r->op->name, error);
    return CORNU_OK;
}

static cornu_status forward_run(const op_run *r)
{
    const dense_state *s = r->state;
    dense_run c = {.s = s, .a = r->in[0], .b = r->in[1], .bias = r->in[2], .c = r->out[0]};
    TRY(multiply_all(r, &c));
    if (s->parts)
        threads_run(r->pool, cpu_divide_up(s->m, cpu_rows_per_chunk(s->n * s->chunks)), add_parts,
                    &c);
    return CORNU_OK;
}

static cornu_status backward_data_run(const op_run *r)
{
    dense_run c = {.s = r->state, .a = r->in[0], .b = r->in[1], .c = r->out[0]};
    return multiply_all(r, &c);
}

/* db: sums over rows in their order, for a strip of columns. */
typedef struct column_sums {
    const float *dy;
    float *db;
    int64_t rows, units, strip;
} column_sums;

static void sum_columns(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const column_sums *c = context;
    int64_t begin, end;
    cpu_part(c->units, c->strip, chunk, &begin, &end);
    cpu_sum_range(c->dy + begin, end - begin, c->rows, c->units, c->db + begin);
}

static cornu_status backward_weights_run(const op_run *r)
{
    const dense_state *s = r->state;
    dense_run c = {.s = s, .a = r->in[0], .b = r->in[1], .c = r->out[0]};
    TRY(multiply_all(r, &c));
    if (s->parts)
        cpu_sum_parts(r->pool, s->parts, s->m * s->n, s->chunks, s->stride, r->out[0]);
    if (r->out[1]) {
        int64_t strip = cpu_divide_up(cpu_rows_per_chunk(s->k), GRAIN) * GRAIN;
        column_sums sums = {r->in[1], r->out[1], s->k, s->n, strip};
        threads_run(r->pool, cpu_divide_up(s->n, strip), sum_columns, &sums);
    }
    return CORNU_OK;
}

const kernel cpu_dense_forward = {
    .name = "onednn_sgemm", .prepare = prepare, .release = release, .run = forward_run};
const kernel cpu_dense_backward_data = {
    .name = "onednn_sgemm", .prepare = prepare, .release = release, .run = backward_data_run};
const kernel cpu_dense_backward_weights = {
    .name = "onednn_sgemm", .prepare = prepare, .release = release, .run = backward_weights_run};
