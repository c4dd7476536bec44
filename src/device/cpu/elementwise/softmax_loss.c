/* Softmax, losses and metrics. */
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/elementwise_kernels.h"
#include "device/rows.h"

/* ---- softmax, alone or with the cross-entropy and metrics after it ----------------------- */

/* Softmax, its cross-entropies, and the metrics after them, in one pass over blocks of rows by the
   kernels of softmax_kernels.c and the rows of metrics.def. Each task is a block, and
   the tasks' sums are added in order. */

enum { ELEMENT_COST = 16 }; /* cost of one output relative to an addition: it takes exponentials */

CPU_ISA_TABLE(softmax_kernels, cpu_softmax_kernels);
CPU_ISA_PREPARE(prepare_kernels, cpu_softmax_kernels)

/* The operations that run as one: those of a HEAD, or one of its first two alone. */
typedef struct head {
    const op *softmax, *loss, *metrics; /* NULL: absent; metrics are consecutive */
    int metric_count;
} head;

static bool is_cross_entropy(const op *o)
{
    return o->kind == OP_LOSS && o->a.loss.logits &&
           (o->a.loss.id == LOSS_CATEGORICAL_CROSSENTROPY ||
            o->a.loss.id == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
}

static int64_t rows_of(const plan *p, const op *o, int64_t *n)
{
    int64_t rows;
    tensor_matrix(OP_IN(p, o, 0), &rows, n);
    return rows;
}

static head head_of(const plan *p, const op *o, const op_group *g)
{
    head h = {.softmax = o->kind == OP_ACTIVATION_FORWARD ? o : NULL,
              .loss = o->kind == OP_LOSS ? o : group_op(p, g, ROLE_LOSS),
              .metrics = group_op(p, g, ROLE_METRICS)};
    if (h.metrics)
        h.metric_count = (int)(&p->ops[g->first + g->count] - h.metrics);
    return h;
}

static int64_t task_count(const plan *p, const op *o)
{
    int64_t n, rows = rows_of(p, o, &n);
    return cpu_divide_up(rows, cpu_rows_per_task(n * ELEMENT_COST));
}

static bool softmax_accepts(const plan *p, const op *o, const char **why)
{
    (void)p;
    *why = "another activation";
    return o->a.act.kind == ACTIVATION_SOFTMAX;
}

static bool loss_accepts(const plan *p, const op *o, const char **why)
{
    (void)p;
    *why = "not a cross-entropy of classes on logits";
    return is_cross_entropy(o);
}

static bool head_accepts(const plan *p, const op *o, const char **why)
{
    head h = head_of(p, o, plan_group(p, o, GROUP_HEAD));
    return (!h.softmax || softmax_accepts(p, o, why)) && loss_accepts(p, h.loss, why);
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    cpu_need_scratch(scratch_bytes, CPU_DOUBLE * task_count(p, o) * HEAD_OPS_MAX);
    return prepare_kernels(p, o, pool, state, scratch_bytes);
}

typedef struct head_run {
    const op_run *r;
    const softmax_kernels *kernels;
    head ops;
    int64_t rows, n, tasks;
    double (*partials)[HEAD_OPS_MAX]; /* [tasks]: sums of the loss and of the metrics */
} head_run;

/* Row by row, because each loss is multiplied by its sample's weight. */
static double weighted_loss(const head_run *h, const cross_entropy_rows *rows, int64_t begin,
                            const float *weight)
{
    const int64_t rows_per_sample = h->rows / h->r->plan->batch;
    cross_entropy_rows row = *rows;
    double sum = 0;
    row.rows = 1;
    for (int64_t i = 0; i < rows->rows; i++) {
        float w = weight[(begin + i) / rows_per_sample];
        row.x = rows->x + i * h->n;
        row.target = rows->target ? rows->target + i * h->n : NULL;
        row.classes = rows->classes ? rows->classes + i : NULL;
        row.gradient = rows->gradient ? rows->gradient + i * h->n : NULL;
        row.scale = rows->scale * w;
        sum += (double)w * h->kernels->cross_entropy(&row);
    }
    return sum;
}

static double loss_of(const head_run *h, int64_t begin, int64_t end)
{
    const op *o = h->ops.loss;
    float *const *at = h->r->tensors;
    const bool sparse = loss_kind_of(o->a.loss.id)->sparse;
    const float factor = loss_row_factor(o, h->rows);
    float *gradient = o->out[0] == NO_TENSOR ? NULL : at[o->out[0]];
    cross_entropy_rows rows = {.x = at[o->in[0]] + begin * h->n,
                               .target = sparse ? NULL : at[o->in[1]] + begin * h->n,
                               .classes = sparse ? at[o->in[1]] + begin : NULL,
                               .gradient = gradient ? gradient + begin * h->n : NULL,
                               .rows = end - begin,
                               .n = h->n,
                               .scale = factor * loss_weight(o) / (float)h->rows};
    if (o->in[2] == NO_TENSOR)
        return (double)factor * h->kernels->cross_entropy(&rows);
    return (double)factor * weighted_loss(h, &rows, begin, at[o->in[2]]);
}

static double metric_of(const head_run *h, const op *o, int64_t begin, int64_t end)
{
    const float *output = h->r->tensors[o->in[0]], *target = h->r->tensors[o->in[1]];
    const float *weight = o->in[2] == NO_TENSOR ? NULL : h->r->tensors[o->in[2]];
    const int64_t rows_per_sample = h->rows / h->r->plan->batch;
    int64_t n, targets = OP_IN(h->r->plan, o, 1)->count / rows_of(h->r->plan, o, &n);
    double sum = 0;
    for (int64_t i = begin; i < end; i++)
        sum += (weight ? (double)weight[i / rows_per_sample] : 1) *
               host_metric_row(o, output + i * n, target + i * targets, n);
    return sum;
}

static void run_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const head_run *h = context;
    const head *ops = &h->ops;
    float *const *at = h->r->tensors;
    int64_t begin, end;
    threads_range(h->rows, h->tasks, task, 1, &begin, &end);
    if (ops->softmax)
        h->kernels->forward(at[ops->softmax->in[0]] + begin * h->n,
                            at[ops->softmax->out[0]] + begin * h->n, end - begin, h->n);
    if (ops->loss)
        h->partials[task][0] = loss_of(h, begin, end);
    for (int i = 0; i < ops->metric_count; i++)
        h->partials[task][1 + i] = metric_of(h, &ops->metrics[i], begin, end);
}

static double sum_of(const head_run *h, int number)
{
    double sum = 0;
    for (int64_t i = 0; i < h->tasks; i++)
        sum += h->partials[i][number];
    return sum;
}

static void add_metric(const head_run *h, int number)
{
    const op *o = &h->ops.metrics[number];
    const double sum = sum_of(h, 1 + number);
    h->r->results->metrics[o->a.metric.slot] +=
        o->a.metric.whole ? sum : sum / (double)h->rows * (double)h->r->plan->batch;
}

static cornu_status run(const op_run *r)
{
    head_run h = {.r = r,
                  .kernels = r->state,
                  .ops = head_of(r->plan, r->op, r->group),
                  .tasks = task_count(r->plan, r->op),
                  .partials = r->scratch};
    h.rows = rows_of(r->plan, r->op, &h.n);
    threads_run(r->pool, h.tasks, run_task, &h);
    if (h.ops.loss)
        host_add_loss(r, h.ops.loss, sum_of(&h, 0) / (double)h.rows);
    for (int i = 0; i < h.ops.metric_count; i++)
        add_metric(&h, i);
    return CORNU_OK;
}

static void backward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const op_run *r = context;
    const softmax_kernels *kernels = r->state;
    int64_t n, rows = rows_of(r->plan, r->op, &n), begin, end;
    threads_range(rows, cpu_divide_up(rows, cpu_rows_per_task(n)), task, 1, &begin, &end);
    kernels->backward(r->in[0] + begin * n, r->in[1] + begin * n, r->out[0] + begin * n,
                      end - begin, n);
}

static cornu_status run_backward(const op_run *r)
{
    int64_t n, rows = rows_of(r->plan, r->op, &n);
    threads_run(r->pool, cpu_divide_up(rows, cpu_rows_per_task(n)), backward_task, (void *)r);
    return CORNU_OK;
}

const kernel cpu_softmax_head = {.name = "softmax",
                                 .group = GROUP_HEAD,
                                 .accepts = head_accepts,
                                 .prepare = prepare,
                                 .run = run};
const kernel cpu_softmax_forward = {
    .name = "softmax", .accepts = softmax_accepts, .prepare = prepare, .run = run};
const kernel cpu_softmax_backward = {
    .name = "softmax", .accepts = softmax_accepts, .prepare = prepare_kernels, .run = run_backward};
const kernel cpu_softmax_loss = {
    .name = "softmax", .accepts = loss_accepts, .prepare = prepare, .run = run};

/* ---- other losses and metrics ------------------------------------------------------------ */

/* LOSS and METRIC: the rows of losses.def and metrics.def, over blocks of rows. Each task is a
   block, and the tasks' sums are added in order. */

enum {
    ROWS_ELEMENT_COST = 16
}; /* cost of one output relative to an addition: it takes a logarithm */

typedef struct rows_run {
    const float *output, *target;
    const float *weight; /* [rows / rows_per_sample], or NULL */
    double factor;       /* of each row's loss */
    const float *reals;  /* the numbers of the loss's options */
    double share;        /* of the loss in the step's: gradients times this */
    float *gradient;     /* NULL: not needed */
    int64_t rows_per_sample;
    int64_t rows, n, targets, rows_per_task;
    loss_row *loss;   /* or */
    const op *metric; /* one of the two */
    double *partials;
} rows_run;

static int64_t rows_per_task(int64_t n)
{
    return cpu_rows_per_task(n * ROWS_ELEMENT_COST);
}

static void rows_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const rows_run *s = context;
    int64_t begin, end;
    double sum = 0;
    cpu_task_range(s->rows, s->rows_per_task, task, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const float *output = s->output + i * s->n, *target = s->target + i * s->targets;
        float *gradient = s->gradient ? s->gradient + i * s->n : NULL;
        double weight =
            s->weight ? s->factor * (double)s->weight[i / s->rows_per_sample] : s->factor;
        sum += weight * (s->loss ? s->loss(output, target, s->n, s->reals, gradient)
                                 : host_metric_row(s->metric, output, target, s->n));
        for (int64_t j = 0; gradient && j < s->n; j++)
            gradient[j] = (float)((double)gradient[j] * (weight * s->share) / (double)s->rows);
    }
    s->partials[task] = sum;
}

static double sum_rows(const op_run *r, rows_run *s)
{
    tensor_matrix(OP_IN(r->plan, r->op, 0), &s->rows, &s->n);
    s->targets = OP_IN(r->plan, r->op, 1)->count / s->rows;
    s->factor = r->op->kind == OP_LOSS ? (double)loss_row_factor(r->op, s->rows) : 1;
    s->output = r->in[0];
    s->target = r->in[1];
    s->rows_per_sample = s->rows / r->plan->batch;
    s->partials = r->scratch;
    s->rows_per_task = rows_per_task(s->n);
    int64_t tasks = cpu_divide_up(s->rows, s->rows_per_task);
    threads_run(r->pool, tasks, rows_task, s);
    double sum = 0;
    for (int64_t i = 0; i < tasks; i++)
        sum += s->partials[i];
    return sum;
}

static cornu_status rows_prepare(const plan *p, const op *o, threads *pool, void **state,
                                 size_t *scratch_bytes)
{
    (void)pool, (void)state;
    int64_t rows, n;
    tensor_matrix(OP_IN(p, o, 0), &rows, &n);
    cpu_need_scratch(scratch_bytes, CPU_DOUBLE * cpu_divide_up(rows, rows_per_task(n)));
    return CORNU_OK;
}

static cornu_status run_loss(const op_run *r)
{
    rows_run s = {.loss = loss_row_of(r->op->a.loss.id, r->op->a.loss.logits),
                  .weight = r->in[2],
                  .reals = r->op->a.loss.reals,
                  .share = (double)loss_weight(r->op),
                  .gradient = r->out[0]};
    double sum = sum_rows(r, &s);
    host_add_loss(r, r->op, sum / (double)s.rows);
    return CORNU_OK;
}

static cornu_status run_metric(const op_run *r)
{
    rows_run s = {.metric = r->op, .weight = r->in[2]};
    double sum = sum_rows(r, &s);
    r->results->metrics[r->op->a.metric.slot] += metric_result(r->op, sum, r->plan->batch, s.rows);
    return CORNU_OK;
}

const kernel cpu_loss = {.name = "rows", .prepare = rows_prepare, .run = run_loss};
const kernel cpu_metric = {.name = "rows", .prepare = rows_prepare, .run = run_metric};
