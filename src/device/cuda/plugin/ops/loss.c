/* LOSS and METRIC, and the softmax or sigmoid whose logits the loss reads: as one launch over the
   rows. Where one block is enough for them it also ends the step's count. */
#include "device/cuda/plugin/kernels/rows.h"
#include "device/cuda/plugin/kernels/step.h"
#include "device/cuda/plugin/ops/ops.h"

_Static_assert((int)GPU_LOSS_MEAN_SQUARED_ERROR == (int)LOSS_MEAN_SQUARED_ERROR, "one table");
_Static_assert((int)GPU_METRIC_CATEGORICAL_ACCURACY == (int)METRIC_CATEGORICAL_ACCURACY,
               "one table");
_Static_assert((int)ROWS_METRICS >= (int)PLAN_SPAN_MAX, "room for every span");

/* ---- how rows are cut ----------------------------------------------------------------------- */

enum {
    PASSES_MOST = 2,      /* of one block over the rows, before several blocks share them */
    SHARED_THREADS = 256, /* of a block, where there are several */
    BLOCKS_MOST = 512,
    COLUMNS_MOST = 16 /* of a thread, before a row gets more threads */
};

typedef struct rows_cut {
    int lanes;
    unsigned threads, blocks;
} rows_cut;

static rows_cut cut_of(const plan *p, const op *o)
{
    int64_t rows, n;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &n);
    rows_cut c = {.lanes = gpu_lanes(n), .threads = ROWS_THREADS, .blocks = 1};
    while (c.lanes > 1 && rows > ROWS_THREADS / c.lanes && n <= COLUMNS_MOST * (c.lanes / 2))
        c.lanes /= 2;
    if (rows <= ROWS_THREADS / c.lanes) {
        c.threads = (unsigned)(rows * c.lanes + 31) / 32 * 32;
    } else if (rows > PASSES_MOST * (ROWS_THREADS / c.lanes)) {
        c.threads = SHARED_THREADS;
        c.blocks = gpu_blocks(rows, SHARED_THREADS / c.lanes, BLOCKS_MOST);
    }
    return c;
}

static const op *find_loss(const plan *p)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind == OP_LOSS)
            return &p->ops[i];
    return NULL;
}

bool gpu_loss_counts_step(const plan *p)
{
    const op *o = find_loss(p);
    return o && cut_of(p, o).blocks == 1;
}

gpu_clock gpu_clock_of(const gpu_op *r)
{
    gpu_clock clock = r->clock;
    const op *counts = find_loss(r->plan);
    clock.back = counts && r->op > counts && gpu_loss_counts_step(r->plan);
    return clock;
}

/* ---- which operations run together ---------------------------------------------------------- */

static bool is_last(const plan *p, const op *o)
{
    return o + 1 >= p->ops + p->op_count;
}

/* METRIC operations from `o` on that read the same tensors, at most `most`. */
static int count_metrics(const plan *p, const op *o, int most)
{
    int count = 0;
    while (count < most && o + count < p->ops + p->op_count && o[count].kind == OP_METRIC &&
           o[count].in[0] == o->in[0] && o[count].in[1] == o->in[1])
        count++;
    return count;
}

static int span_metrics(const plan *p, const op *o)
{
    return count_metrics(p, o, PLAN_SPAN_MAX);
}

/* Metrics go with a loss whose targets they share and whose rows are theirs. */
static int span_loss(const plan *p, const op *o)
{
    const op *next = o + 1;
    if (is_last(p, o) || next->kind != OP_METRIC || next->in[1] != o->in[1] ||
        p->tensors[next->in[0]].count != p->tensors[o->in[0]].count)
        return 1;
    return 1 + count_metrics(p, next, PLAN_SPAN_MAX - 1);
}

static int span_activation(const plan *p, const op *o)
{
    int span = 1 + span_loss(p, o + 1);
    return span > PLAN_SPAN_MAX ? PLAN_SPAN_MAX : span;
}

/* A softmax under a categorical cross-entropy, or a sigmoid under any, of its own logits. */
static bool accepts_activation(const gpu *g, const plan *p, const op *o, const char **why)
{
    (void)g;
    const op *next = o + 1;
    *why = "no loss reads its logits";
    if (is_last(p, o) || next->kind != OP_LOSS || !next->a.loss.logits || next->in[0] != o->in[0])
        return false;
    return o->a.act.kind == ACTIVATION_SIGMOID ||
           (o->a.act.kind == ACTIVATION_SOFTMAX && next->a.loss.id != LOSS_BINARY_CROSSENTROPY);
}

/* ---- the launch ----------------------------------------------------------------------------- */

static const float *place_of(const gpu_op *r, tensor_ref t)
{
    return (const float *)r->tensors[t];
}

/* The rows of `o`, a LOSS or a METRIC. */
static rows_params params_of(const gpu_op *r, const op *o)
{
    rows_params p = {.target = place_of(r, o->in[1]),
                     .batch = r->plan->batch,
                     .loss = -1,
                     .lanes = cut_of(r->plan, o).lanes,
                     .results = r->results};
    tensor_matrix(&r->plan->tensors[o->in[0]], &p.rows, &p.n);
    p.targets = r->plan->tensors[o->in[1]].count / p.rows;
    return p;
}

static void add_metrics(const gpu_op *r, rows_params *p, const op *o, int count)
{
    for (int i = 0; i < count; i++)
        p->metrics[i] = (rows_metric){
            .id = (int32_t)o[i].a.metric.id, .slot = o[i].a.metric.slot, .k = o[i].a.metric.k};
    p->metric_count = count;
    if (count > 0)
        p->judged = place_of(r, o->in[0]);
}

static void add_loss(const gpu_op *r, rows_params *p, const op *o)
{
    p->loss = (int32_t)o->a.loss.id;
    p->logits = o->a.loss.logits;
    p->output = place_of(r, o->in[0]);
    if (o->out[0] != NO_TENSOR)
        p->gradient = (float *)r->tensors[o->out[0]];
    if (gpu_loss_counts_step(r->plan))
        p->position = (int64_t *)(uintptr_t)r->clock.position;
}

static cornu_status launch(const gpu_op *r, rows_params *p, const op *o)
{
    rows_cut c = cut_of(r->plan, o);
    gpu_grid grid = {.x = c.blocks, .threads = c.threads};
    if (c.blocks == 1)
        return gpu_launch(r->g, GPU_rows, grid, p);
    p->parts = (double *)r->scratch;
    TRY(gpu_launch(r->g, GPU_rows, grid, p));
    rows_finish_params f = {.r = *p, .part_count = c.blocks};
    return gpu_launch(r->g, GPU_rows_finish, (gpu_grid){.x = 1, .threads = SHARED_THREADS}, &f);
}

static cornu_status enqueue_metrics(const gpu_op *r)
{
    rows_params p = params_of(r, r->op);
    add_metrics(r, &p, r->op, span_metrics(r->plan, r->op));
    return launch(r, &p, r->op);
}

static cornu_status enqueue_loss(const gpu_op *r)
{
    rows_params p = params_of(r, r->op);
    add_loss(r, &p, r->op);
    add_metrics(r, &p, r->op + 1, span_loss(r->plan, r->op) - 1);
    return launch(r, &p, r->op);
}

static cornu_status enqueue_activation(const gpu_op *r)
{
    const op *o = r->op + 1;
    rows_params p = params_of(r, o);
    add_loss(r, &p, o);
    add_metrics(r, &p, o + 1, span_activation(r->plan, r->op) - 2);
    p.activation = (int32_t)r->op->a.act.kind;
    p.activated = (float *)r->out[0];
    return launch(r, &p, o);
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    (void)g, (void)state;
    unsigned blocks = cut_of(p, o->kind == OP_ACTIVATION_FORWARD ? o + 1 : o).blocks;
    if (blocks > 1)
        *scratch_bytes += blocks * (1 + (size_t)PLAN_SPAN_MAX) * sizeof(double);
    return CORNU_OK;
}

static const gpu_kernel loss_rows = {
    .name = "rows", .prepare = prepare, .enqueue = enqueue_loss, .span = span_loss};
static const gpu_kernel metric_rows = {
    .name = "rows", .prepare = prepare, .enqueue = enqueue_metrics, .span = span_metrics};
const gpu_kernel gpu_activation_loss = {.name = "rows",
                                        .accepts = accepts_activation,
                                        .prepare = prepare,
                                        .enqueue = enqueue_activation,
                                        .span = span_activation};
const gpu_kernel *const gpu_loss[] = {&loss_rows, NULL};
const gpu_kernel *const gpu_metric[] = {&metric_rows, NULL};

/* ---- the end of the step -------------------------------------------------------------------- */

cornu_status gpu_finish_enqueue(gpu *g, const plan *p, int64_t *place, gpu_results *results)
{
    if (gpu_loss_counts_step(p))
        return CORNU_OK;
    finish_params f = {
        .position = place, .results = results, .batch = p->batch, .has_loss = find_loss(p) != NULL};
    return gpu_launch(g, GPU_finish, (gpu_grid){.x = 1, .threads = 32}, &f);
}
