/* Softmax and the cross-entropies on top of it, by the kernels of kernels/softmax.c, over chunks of
   rows, whose losses are added in their order. */
#include "device/cpu/kernels/softmax.h"
#include "device/cpu/cpu.h"

CPU_ISA_TABLE(softmax_kernels, cpu_softmax_kernels);

/* ---- forward ---------------------------------------------------------------------------- */

CPU_ISA_PREPARE(forward_prepare, cpu_softmax_kernels)

static bool forward_accepts(const plan *p, const op *o, const char **why)
{
    (void)p;
    *why = "another activation";
    return o->a.act.kind == ACTIVATION_SOFTMAX;
}

typedef struct forward_run {
    const softmax_kernels *kernels;
    const float *x;
    float *y;
    int64_t rows, n, per_chunk;
} forward_run;

static void forward_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const forward_run *f = context;
    int64_t begin, end;
    cpu_part(f->rows, f->per_chunk, chunk, &begin, &end);
    f->kernels->forward(f->x + begin * f->n, f->y + begin * f->n, end - begin, f->n);
}

static cornu_status run_forward(const op_run *r)
{
    forward_run f = {.kernels = r->state, .x = r->in[0], .y = r->out[0]};
    tensor_matrix(OP_OUT(r->plan, r->op, 0), &f.rows, &f.n);
    f.per_chunk = cpu_rows_per_chunk(f.n);
    threads_run(r->pool, cpu_divide_up(f.rows, f.per_chunk), forward_chunk, &f);
    return CORNU_OK;
}

/* ---- loss -------------------------------------------------------------------------------- */

typedef struct loss_run {
    const softmax_kernels *kernels;
    cross_entropy_rows whole;
    int64_t per_chunk;
    double *parts;
} loss_run;

static bool loss_accepts(const plan *p, const op *o, const char **why)
{
    (void)p;
    loss_id id = o->a.loss.id;
    *why = "not a cross-entropy of classes on logits";
    return o->a.loss.logits &&
           (id == LOSS_CATEGORICAL_CROSSENTROPY || id == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
}

static cornu_status loss_prepare(const plan *p, const op *o, threads *pool, void **state,
                                 size_t *scratch_bytes)
{
    int64_t rows, n;
    tensor_matrix(OP_IN(p, o, 0), &rows, &n);
    cpu_need_scratch(scratch_bytes, CPU_DOUBLE * cpu_divide_up(rows, cpu_rows_per_chunk(n)));
    return forward_prepare(p, o, pool, state, scratch_bytes);
}

static void loss_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const loss_run *s = context;
    cross_entropy_rows part = s->whole;
    int64_t begin, end;
    cpu_part(part.rows, s->per_chunk, chunk, &begin, &end);
    part.x += begin * part.n;
    part.target = part.target ? part.target + begin * part.n : NULL;
    part.classes = part.classes ? part.classes + begin : NULL;
    part.gradient = part.gradient ? part.gradient + begin * part.n : NULL;
    part.rows = end - begin;
    s->parts[chunk] = s->kernels->cross_entropy(&part);
}

static cornu_status run_loss(const op_run *r)
{
    bool sparse = loss_kind_of(r->op->a.loss.id)->sparse;
    loss_run s = {.kernels = r->state,
                  .whole = {.x = r->in[0],
                            .target = sparse ? NULL : r->in[1],
                            .classes = sparse ? r->in[1] : NULL,
                            .gradient = r->out[0]},
                  .parts = r->scratch};
    tensor_matrix(OP_IN(r->plan, r->op, 0), &s.whole.rows, &s.whole.n);
    s.whole.scale = 1.0f / (float)s.whole.rows;
    s.per_chunk = cpu_rows_per_chunk(s.whole.n);
    int64_t chunks = cpu_divide_up(s.whole.rows, s.per_chunk);
    threads_run(r->pool, chunks, loss_chunk, &s);
    double sum = 0;
    for (int64_t i = 0; i < chunks; i++)
        sum += s.parts[i];
    r->results->last_loss = sum / (double)s.whole.rows;
    r->results->loss += r->results->last_loss * (double)r->plan->batch;
    return CORNU_OK;
}

const kernel cpu_softmax_forward = {
    .name = "softmax", .accepts = forward_accepts, .prepare = forward_prepare, .run = run_forward};
const kernel cpu_loss_softmax = {
    .name = "softmax", .accepts = loss_accepts, .prepare = loss_prepare, .run = run_loss};
