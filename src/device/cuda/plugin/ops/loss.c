/* LOSS and METRIC, and the softmax or sigmoid whose logits the loss reads: as one launch over the
   rows. Where one block is enough for them it also ends the step's count. */
#include "device/cuda/plugin/kernels/kernels.h"
#include "device/cuda/plugin/kernels/rows.h"
#include "device/cuda/plugin/ops/ops.h"
#include <string.h>

_Static_assert((int)ROWS_METRICS >= (int)HEAD_OPS_MAX, "room for every group");

/* ---- the blocking of rows -----------------------------------------------------------------------
 */

enum {
    SHARED_THREADS = 256 /* threads of a block, if there are several */
};

typedef struct rows_blocking {
    int lanes;
    unsigned threads, blocks;
} rows_blocking;

static rows_blocking blocking_of(const plan *p, const op *o)
{
    int64_t rows, n;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &n);
    rows_blocking c = {
        .lanes = gpu_head_lanes(p, o, ROWS_THREADS), .threads = ROWS_THREADS, .blocks = 1};
    if (rows <= ROWS_THREADS / c.lanes) {
        c.threads = (unsigned)(rows * c.lanes + 31) / 32 * 32;
    } else if (rows > GPU_HEAD_ROUNDS_MOST * (ROWS_THREADS / c.lanes)) {
        c.threads = SHARED_THREADS;
        c.blocks = (unsigned)gpu_blocks(rows, SHARED_THREADS / c.lanes, GPU_HEAD_BLOCKS_MOST);
    }
    return c;
}

/* The last loss: with it the step's is complete. */
static const op *find_loss(const plan *p)
{
    for (int i = p->op_count - 1; i >= 0; i--)
        if (p->ops[i].kind == OP_LOSS)
            return &p->ops[i];
    return NULL;
}

bool cuda_loss_counts_step(const plan *p)
{
    const op *o = find_loss(p);
    return o && blocking_of(p, o).blocks == 1;
}

cuda_clock cuda_clock_of(const gpu_op *r)
{
    cuda_clock clock = cuda_of(r->g)->clock;
    const op *counts = find_loss(r->plan);
    clock.back = counts && r->op > counts && cuda_loss_counts_step(r->plan);
    return clock;
}

/* ---- the launch ----------------------------------------------------------------------------- */

static const float *address_of(const gpu_op *r, tensor_ref t)
{
    return (const float *)gpu_address_of(r, t);
}

/* The rows of `o`, a LOSS or a METRIC. */
static rows_params params_of(const gpu_op *r, const op *o)
{
    rows_params p = {.target = address_of(r, o->in[1]),
                     .batch = r->plan->batch,
                     .loss = -1,
                     .share = 1,
                     .factor = 1,
                     .own = -1,
                     .lanes = blocking_of(r->plan, o).lanes,
                     .results = cuda_of(r->g)->results};
    tensor_matrix(&r->plan->tensors[o->in[0]], &p.rows, &p.n);
    p.targets = r->plan->tensors[o->in[1]].count / p.rows;
    return p;
}

static void add_metrics(const gpu_op *r, rows_params *p, const op *o, int count)
{
    for (int i = 0; i < count; i++) {
        p->metrics[i] =
            (rows_metric){.sum = (int32_t)o[i].a.metric.sum,
                          .loss = o[i].a.metric.of_loss ? (int32_t)o[i].a.metric.loss : -1,
                          .logits = o[i].a.metric.logits,
                          .slot = o[i].a.metric.slot,
                          .whole = o[i].a.metric.whole,
                          .weight = o[i].in[2] == NO_TENSOR ? NULL : address_of(r, o[i].in[2]),
                          .k = o[i].a.metric.k};
        memcpy(p->metrics[i].reals, o[i].a.metric.reals, sizeof o[i].a.metric.reals);
    }
    p->metric_count = count;
    if (count > 0)
        p->judged = address_of(r, o->in[0]);
}

static void add_loss(const gpu_op *r, rows_params *p, const op *o)
{
    p->loss = (int32_t)o->a.loss.id;
    p->logits = o->a.loss.logits;
    p->factor = loss_row_factor(o, p->rows);
    memcpy(p->reals, o->a.loss.reals, sizeof p->reals);
    if (o->a.loss.term) {
        p->share = o->a.loss.weight;
        p->further = o->a.loss.further;
        p->own = o->a.loss.slot;
    }
    p->output = address_of(r, o->in[0]);
    if (o->in[2] != NO_TENSOR)
        p->weight = address_of(r, o->in[2]);
    if (o->out[0] != NO_TENSOR)
        p->gradient = (float *)r->tensors[o->out[0]];
    if (cuda_loss_counts_step(r->plan) && o == find_loss(r->plan))
        p->position = cuda_of(r->g)->position;
}

static cornu_status launch(const gpu_op *r, rows_params *p, const op *o)
{
    rows_blocking c = blocking_of(r->plan, o);
    cuda_grid grid = {.x = c.blocks, .threads = c.threads};
    if (c.blocks == 1)
        return cuda_launch(r->g, CUDA_rows, grid, p);
    p->partials = (sum2 *)r->scratch;
    TRY(cuda_launch(r->g, CUDA_rows, grid, p));
    rows_reduce_params f = {.r = *p, .partial_count = c.blocks};
    return cuda_launch(r->g, CUDA_rows_reduce, (cuda_grid){.x = 1, .threads = SHARED_THREADS}, &f);
}

static cornu_status enqueue_head(const gpu_op *r)
{
    const gpu_head h = gpu_head_of(r->plan, r->op, r->group);
    const op *o = h.loss ? h.loss : h.metrics;
    rows_params p = params_of(r, o);
    if (h.loss)
        add_loss(r, &p, h.loss);
    add_metrics(r, &p, h.metrics, h.metric_count);
    if (h.activation) {
        p.activation = (int32_t)h.activation->a.act.kind;
        p.activated = (float *)r->out[0];
    }
    return launch(r, &p, o);
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    (void)g, (void)state;
    unsigned blocks = blocking_of(p, o->kind == OP_ACTIVATION_FORWARD ? o + 1 : o).blocks;
    if (blocks > 1)
        *scratch_bytes += blocks * (1 + (size_t)HEAD_OPS_MAX) * sizeof(sum2);
    return CORNU_OK;
}

const gpu_kernel cuda_head = {.name = "rows",
                              .group = GROUP_HEAD,
                              .accepts = gpu_accepts_head,
                              .prepare = prepare,
                              .enqueue = enqueue_head};
static const gpu_kernel rows = {.name = "rows", .prepare = prepare, .enqueue = enqueue_head};
const gpu_kernel *const cuda_loss[] = {&cuda_head, &rows, NULL};
const gpu_kernel *const cuda_metric[] = {&cuda_head, &rows, NULL};

/* ---- the end of the step -------------------------------------------------------------------- */

cornu_status cuda_end_step_enqueue(gpu *g, const plan *p)
{
    const cuda_gpu *c = cuda_of(g);
    if (cuda_loss_counts_step(p))
        return CORNU_OK;
    end_step_params f = {.position = c->position,
                         .results = c->results,
                         .batch = p->batch,
                         .has_loss = find_loss(p) != NULL};
    return cuda_launch(g, CUDA_end_step, (cuda_grid){.x = 1, .threads = 32}, &f);
}
