/* LOSS and METRIC: a launch over the rows each, the softmax or sigmoid whose logits the loss reads
   with that, and another for the sum where several groups share the rows. */
#include "device/opencl/plugin/kernels/shared.h"
#include "device/opencl/plugin/ops/ops.h"

_Static_assert((int)RESULT_METRICS_MOST >= (int)MODEL_METRICS_MAX, "a slot for each");

/* ---- the blocking of rows ----------------------------------------------------------------- */

enum { SUM2_BYTES = 2 * (int)sizeof(float) };

typedef struct rows_blocking {
    int lanes;
    int64_t groups;
} rows_blocking;

static rows_blocking blocking_of(const plan *p, const op *o)
{
    int64_t rows, n;
    tensor_matrix(&p->tensors[o->in[0]], &rows, &n);
    rows_blocking c = {.lanes = gpu_head_lanes(p, o, WORK_ITEMS), .groups = 1};
    if (rows > GPU_HEAD_ROUNDS_MOST * (WORK_ITEMS / c.lanes))
        c.groups = gpu_blocks(rows, WORK_ITEMS / c.lanes, GPU_HEAD_BLOCKS_MOST);
    return c;
}

/* ---- launches ------------------------------------------------------------------------------- */

/* The rows of a LOSS or METRIC, and where their sum goes. */
typedef struct rows {
    gpu_address output, target, partials; /* partials: 0: of one group */
    int64_t rows, n, targets, batch;
    rows_blocking blocking;
    int slot;      /* kernels/shared.h */
    bool whole;    /* of a metric: the sum itself counts, not its mean over rows */
    int term, own; /* a loss that is a term of the step's; the metric that is this loss, or -1 */
    float weight;  /* 1 if it is none */
} rows;

static rows rows_of(const gpu_op *r, const op *o)
{
    rows t = {.output = gpu_address_of(r, o->in[0]),
              .target = gpu_address_of(r, o->in[1]),
              .batch = r->plan->batch,
              .blocking = blocking_of(r->plan, o),
              .slot = o->kind == OP_LOSS ? RESULT_LOSS : RESULT_METRICS + o->a.metric.slot,
              .own = -1,
              .whole = o->kind == OP_METRIC && o->a.metric.whole,
              .weight = 1};
    if (o->kind == OP_LOSS && o->a.loss.term) {
        t.term = 1;
        t.own = o->a.loss.slot;
        t.weight = o->a.loss.weight;
    }
    tensor_matrix(&r->plan->tensors[o->in[0]], &t.rows, &t.n);
    t.targets = r->plan->tensors[o->in[1]].count / t.rows;
    t.partials = t.blocking.groups > 1 ? r->scratch : 0;
    return t;
}

/* Arguments for a kernel's MATRICES and SUMS. */
#define A_MATRICES(t)                                                                  \
    A_ADDRESS((t)->output), A_ADDRESS((t)->target), A_LONG((t)->rows), A_LONG((t)->n), \
        A_LONG((t)->targets), A_INT((t)->blocking.lanes)
#define A_SUMS(t)                                                                      \
    A_INT((t)->slot), A_INT((t)->term), A_INT((t)->own), A_FLOAT((t)->weight),         \
        A_ADDRESS((t)->partials), A_STEP(STEP_RESULTS), A_SUM2(1 / (double)(t)->rows), \
        A_SUM2((t)->whole ? 1 : (double)(t)->batch / (double)(t)->rows)

#define A_REALS(r) A_FLOAT((r)[0]), A_FLOAT((r)[1]), A_FLOAT((r)[2])

_Static_assert(ROW_REALS == 3, "A_REALS gives each");

static cornu_status reduce(gpu *g, const rows *t)
{
    if (!t->partials)
        return CORNU_OK;
    return OPENCL_LAUNCH(g, OPENCL_rows_reduce, opencl_line(1), A_LONG(t->blocking.groups),
                         A_SUMS(t));
}

static opencl_function loss_function(loss_id id, bool logits)
{
    static const opencl_function functions[LOSS_COUNT][2] = {
#define LOSS(id, ...) [LOSS_##id] = {OPENCL_loss_##id, OPENCL_loss_##id},
#define LOSS_WITH_LOGITS(id, ...) [LOSS_##id] = {OPENCL_loss_##id, OPENCL_loss_##id##_logits},
#include "model/losses.def"
    };
    return functions[id][logits];
}

/* `act`: the activation of the loss's logits, or NULL. */
static cornu_status launch_loss(const gpu_op *r, const op *o, const op *act)
{
    const rows all = rows_of(r, o), *t = &all;
    TRY(OPENCL_LAUNCH(r->g, loss_function(o->a.loss.id, o->a.loss.logits),
                      opencl_line(t->blocking.groups), A_MATRICES(t),
                      A_ADDRESS(gpu_address_of(r, o->in[2])),
                      A_ADDRESS(gpu_address_of(r, o->out[0])),
                      A_ADDRESS(act ? gpu_address_of(r, act->out[0]) : 0),
                      A_LONG(t->rows / t->batch), A_INT(act ? act->a.act.kind : ACTIVATION_LINEAR),
                      A_FLOAT(loss_row_factor(o, t->rows)), A_REALS(o->a.loss.reals), A_SUMS(t)));
    return reduce(r->g, t);
}

static opencl_function sum_function(row_sum sum)
{
    static const opencl_function functions[SUM_COUNT] = {
#define SUM(id, ...) [SUM_##id] = OPENCL_sum_##id,
#include "model/metrics.def"
    };
    return functions[sum];
}

/* A loss's values without weights and gradients. */
static cornu_status launch_loss_values(const gpu_op *r, const op *o, const rows *t)
{
    return OPENCL_LAUNCH(r->g, loss_function(o->a.metric.loss, o->a.metric.logits),
                         opencl_line(t->blocking.groups), A_MATRICES(t),
                         A_ADDRESS(gpu_address_of(r, o->in[2])), A_ADDRESS(0), A_ADDRESS(0),
                         A_LONG(t->rows / t->batch), A_INT(ACTIVATION_LINEAR), A_FLOAT(1),
                         A_REALS(o->a.metric.reals), A_SUMS(t));
}

static cornu_status launch_metric(const gpu_op *r, const op *o)
{
    const rows all = rows_of(r, o), *t = &all;
    if (o->a.metric.of_loss)
        TRY(launch_loss_values(r, o, t));
    else
        TRY(OPENCL_LAUNCH(r->g, sum_function(o->a.metric.sum), opencl_line(t->blocking.groups),
                          A_MATRICES(t), A_ADDRESS(gpu_address_of(r, o->in[2])),
                          A_LONG(t->rows / t->batch), A_REALS(o->a.metric.reals),
                          A_LONG(o->a.metric.k), A_SUMS(t)));
    return reduce(r->g, t);
}

static cornu_status enqueue(const gpu_op *r)
{
    const gpu_head h = gpu_head_of(r->plan, r->op, r->group);
    if (h.loss)
        TRY(launch_loss(r, h.loss, h.activation));
    for (int i = 0; i < h.metric_count; i++)
        TRY(launch_metric(r, &h.metrics[i]));
    return CORNU_OK;
}

static cornu_status prepare(gpu *g, const plan *p, const op *o, void **state, size_t *scratch_bytes)
{
    (void)g, (void)state;
    rows_blocking c = blocking_of(p, o->kind == OP_ACTIVATION_FORWARD ? o + 1 : o);
    if (c.groups > 1)
        *scratch_bytes += (size_t)c.groups * SUM2_BYTES;
    return CORNU_OK;
}

const gpu_kernel opencl_head = {.name = "rows",
                                .group = GROUP_HEAD,
                                .accepts = gpu_accepts_head,
                                .prepare = prepare,
                                .enqueue = enqueue};
static const gpu_kernel alone = {.name = "rows", .prepare = prepare, .enqueue = enqueue};
const gpu_kernel *const opencl_loss[] = {&opencl_head, &alone, NULL};
const gpu_kernel *const opencl_metric[] = {&opencl_head, &alone, NULL};
