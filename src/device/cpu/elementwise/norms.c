/* Normalization: of channels over a batch, and of each row. */
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/elementwise_kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- batch norm -------------------------------------------------------------------------- */

/* Batch normalization over [rows][channels]. Sums over rows are in doubles: each task's block of
   rows has a partial sum, and these are added in task order. One pass sums the distances from the
   first row and their squares: whatever the mean, these are no larger than the deviations allow, so
   that it costs no digits. An addition and an activation that
   follow (GROUP_RESIDUAL) are made while a block is in the L1 cache. */

CPU_ISA_TABLE(batch_norm_kernels, cpu_batch_norm_kernels);
CPU_ISA_TABLE(element_kernels, cpu_element_kernels);

enum { BATCH_NORM_ROWS_LEAST = 32 }; /* per task: partial sums stay below a tenth of the data */

typedef struct batch_norm_state {
    const batch_norm_kernels *kernels;
    cpu_isa isa;
    int64_t rows, channels, rows_per_task, tasks;
} batch_norm_state;

static cornu_status batch_norm_prepare(const plan *p, const op *o, threads *pool, void **state,
                                       size_t *scratch_bytes)
{
    (void)pool;
    batch_norm_state *s = NULL;
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s, "batch normalization", &s));
    s->isa = isa;
    s->kernels = cpu_batch_norm_kernels[isa];
    tensor_matrix(OP_IN(p, o, 0), &s->rows, &s->channels);
    s->rows_per_task = cpu_rows_per_task(s->channels);
    if (s->rows_per_task < BATCH_NORM_ROWS_LEAST)
        s->rows_per_task = BATCH_NORM_ROWS_LEAST;
    s->tasks = cpu_divide_up(s->rows, s->rows_per_task);
    cpu_need_scratch(scratch_bytes, (CPU_DOUBLE * 2 * (s->tasks + 1) + 3) * s->channels);
    *state = s;
    return CORNU_OK;
}

/* One pass over the rows. */
typedef struct norm_run {
    const batch_norm_state *s;
    batch_norm_block whole; /* all rows; sum and second: each task has its own */
    void (*pass)(const batch_norm_block *b);
    double *totals, *partials; /* scratch memory: [2][channels], [tasks][2][channels] */
    const float *addend;       /* the addition's other operand; NULL: none */
    const activation *act;     /* NULL: none */
} norm_run;

static norm_run begin_run(const op_run *r)
{
    const batch_norm_state *s = r->state;
    double *totals = r->scratch;
    norm_run n = {
        .s = s,
        .whole = {.x = r->in[0], .out = r->out[0], .rows = s->rows, .channels = s->channels},
        .totals = totals,
        .partials = totals + 2 * s->channels};
    const op *sum = r->group ? group_op(r->plan, r->group, ROLE_ADD) : NULL;
    const op *act = r->group ? group_op(r->plan, r->group, ROLE_ACTIVATION) : NULL;
    if (sum)
        n.addend = r->tensors[sum->in[sum->in[0] == r->op->out[0]]];
    if (act)
        n.act = &act->a.act;
    if (sum || act)
        n.whole.out = r->tensors[(act ? act : sum)->out[0]];
    return n;
}

/* [3][channels], a pass's factors of each channel, after the sums */
static float *factors_of(const norm_run *n)
{
    return (float *)(void *)(n->partials + n->s->tasks * 2 * n->s->channels);
}

static batch_norm_block block_of(const norm_run *n, int64_t begin, int64_t end)
{
    batch_norm_block b = n->whole;
    b.x += begin * b.channels;
    if (b.dy)
        b.dy += begin * b.channels;
    if (b.out)
        b.out += begin * b.channels;
    b.rows = end - begin;
    return b;
}

static void sum_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const norm_run *n = context;
    const batch_norm_state *s = n->s;
    int64_t begin, end, c = s->channels;
    cpu_task_range(s->rows, s->rows_per_task, task, &begin, &end);
    batch_norm_block b = block_of(n, begin, end);
    b.sum = n->partials + task * 2 * c;
    b.second = b.sum + c;
    memset(b.sum, 0, (size_t)(2 * c) * sizeof *b.sum);
    n->pass(&b);
}

/* totals[half] = the sum of all partial sums, in task order */
static void total(const norm_run *n, int half)
{
    int64_t c = n->s->channels;
    double *to = n->totals + half * c;
    memcpy(to, n->partials + half * c, (size_t)c * sizeof *to);
    for (int64_t task = 1; task < n->s->tasks; task++)
        for (int64_t i = 0; i < c; i++)
            to[i] += n->partials[(task * 2 + half) * c + i];
}

static void write_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const norm_run *n = context;
    const batch_norm_state *s = n->s;
    int64_t begin, end;
    cpu_task_range(s->rows, s->rows_per_task, task, &begin, &end);
    const bool more = n->addend || n->act;
    const int64_t step = more ? cpu_most(1, CPU_BLOCK / s->channels) : end - begin;
    for (; begin < end; begin += step) {
        const batch_norm_block b = block_of(n, begin, cpu_least(begin + step, end));
        const int64_t count = b.rows * b.channels;
        n->pass(&b);
        if (n->addend)
            cpu_element_kernels[s->isa]->add(n->addend + begin * b.channels, b.out, count);
        if (n->act)
            cpu_activate(s->isa, *n->act, b.out, b.out, count);
    }
}

/* `rest`: rounding errors of the means as floats; NULL: none. */
static void normalize(const op_run *r, const float *mean, const double *rest, const float *inverse)
{
    const batch_norm_state *s = r->state;
    const float *gamma = r->in[1], *beta = r->in[2];
    norm_run n = begin_run(r);
    float *scale = factors_of(&n), *shift = scale + s->channels;
    for (int64_t i = 0; i < s->channels; i++) {
        scale[i] = gamma ? gamma[i] * inverse[i] : inverse[i];
        double lost = rest ? rest[i] * (double)scale[i] : 0;
        shift[i] = (float)((beta ? (double)beta[i] : 0) - lost);
    }
    n.whole.mean = mean;
    n.whole.scale = scale;
    n.whole.shift = shift;
    n.pass = s->kernels->normalize;
    threads_run(r->pool, s->tasks, write_task, &n);
}

static cornu_status batch_norm_run_forward(const op_run *r)
{
    const batch_norm_state *s = r->state;
    float *mean = r->out[1], *inverse = r->out[2], *moving_mean = r->out[3],
          *moving_variance = r->out[4], momentum = r->op->a.batch_norm.momentum;
    norm_run n = begin_run(r);
    n.whole.mean = r->in[0];
    n.pass = s->kernels->add_moments;
    threads_run(r->pool, s->tasks, sum_task, &n);
    total(&n, 0);
    total(&n, 1);
    for (int64_t i = 0; i < s->channels; i++) {
        double further = n.totals[i] / (double)s->rows, exact = (double)r->in[0][i] + further;
        double variance = n.totals[s->channels + i] / (double)s->rows - further * further;
        variance = variance < 0 ? 0 : variance;
        mean[i] = (float)exact;
        n.totals[i] = exact - (double)mean[i];
        inverse[i] = (float)(1.0 / sqrt(variance + (double)r->op->a.batch_norm.epsilon));
        if (!moving_mean)
            continue;
        moving_mean[i] = moving_mean[i] * momentum + mean[i] * (1 - momentum);
        moving_variance[i] = moving_variance[i] * momentum + (float)variance * (1 - momentum);
    }
    normalize(r, mean, n.totals, inverse);
    return CORNU_OK;
}

static cornu_status run_inference(const op_run *r)
{
    const batch_norm_state *s = r->state;
    norm_run n = begin_run(r);
    float *inverse = factors_of(&n) + 2 * s->channels, *no_mean = (float *)(void *)n.totals;
    for (int64_t i = 0; i < s->channels; i++)
        inverse[i] = (float)(1.0 / sqrt((double)r->in[4][i] + (double)r->op->a.batch_norm.epsilon));
    if (!r->in[3])
        memset(no_mean, 0, (size_t)s->channels * sizeof *no_mean);
    normalize(r, r->in[3] ? r->in[3] : no_mean, NULL, inverse);
    return CORNU_OK;
}

/* With d = 1/deviation, n rows: dgamma = d sum(dy (x - mean)), dbeta = sum(dy),
   dx = gamma d (dy - dbeta / n - (x - mean) d dgamma / n). */
static cornu_status batch_norm_run_backward(const op_run *r)
{
    const batch_norm_state *s = r->state;
    int64_t c = s->channels;
    const float *gamma = r->in[2], *mean = r->in[3], *inverse = r->in[4];
    float *dgamma = r->out[1], *dbeta = r->out[2];
    norm_run n = begin_run(r);
    float *scale = factors_of(&n), *shift = scale + c, *slope = shift + c;
    n.whole.dy = r->in[1];
    n.whole.mean = mean;
    n.pass = s->kernels->add_gradients;
    threads_run(r->pool, s->tasks, sum_task, &n);
    total(&n, 0);
    total(&n, 1);
    for (int64_t i = 0; i < c; i++) {
        double d = (double)inverse[i], sum = n.totals[i], product = n.totals[c + i] * d;
        double factor = gamma ? (double)gamma[i] * d : d;
        if (dbeta)
            dbeta[i] = (float)sum;
        if (dgamma)
            dgamma[i] = (float)product;
        scale[i] = (float)factor;
        shift[i] = (float)(factor * sum / (double)s->rows);
        slope[i] = (float)(factor * d * product / (double)s->rows);
    }
    n.whole.scale = scale;
    n.whole.shift = shift;
    n.whole.slope = slope;
    n.pass = s->kernels->gradient;
    threads_run(r->pool, s->tasks, write_task, &n);
    return CORNU_OK;
}

const kernel cpu_batch_norm_forward_residual = {.name = "vector",
                                                .group = GROUP_RESIDUAL,
                                                .prepare = batch_norm_prepare,
                                                .release = free,
                                                .run = batch_norm_run_forward};
const kernel cpu_batch_norm_forward = {.name = "vector",
                                       .prepare = batch_norm_prepare,
                                       .release = free,
                                       .run = batch_norm_run_forward};
const kernel cpu_batch_norm_inference_residual = {.name = "vector",
                                                  .group = GROUP_RESIDUAL,
                                                  .prepare = batch_norm_prepare,
                                                  .release = free,
                                                  .run = run_inference};
const kernel cpu_batch_norm_inference = {
    .name = "vector", .prepare = batch_norm_prepare, .release = free, .run = run_inference};
const kernel cpu_batch_norm_backward = {.name = "vector",
                                        .prepare = batch_norm_prepare,
                                        .release = free,
                                        .run = batch_norm_run_backward};

/* ---- layer norm -------------------------------------------------------------------------- */

/* Layer normalization over [rows][n]: each row by itself, sums in doubles. The gradients of gamma
   and beta go over the rows: a partial sum for each task's block of rows, added in their order. */

CPU_ISA_TABLE(layer_norm_kernels, cpu_layer_norm_kernels);

enum {
    LAYER_NORM_ROWS_LEAST = 32
}; /* of a task with partial sums: those stay below a tenth of the data */

typedef struct layer_norm_state {
    const layer_norm_kernels *kernels;
    int64_t rows, n, rows_per_task, tasks;
    bool sums_columns; /* gamma's or beta's gradient is wanted */
} layer_norm_state;

static cornu_status layer_norm_prepare(const plan *p, const op *o, threads *pool, void **state,
                                       size_t *scratch_bytes)
{
    (void)pool;
    layer_norm_state *s = NULL;
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    TRY(memory_new(1, sizeof *s, "layer normalization", &s));
    s->kernels = cpu_layer_norm_kernels[isa];
    tensor_matrix(OP_IN(p, o, 0), &s->rows, &s->n);
    s->sums_columns =
        o->kind == OP_LAYER_NORM_BACKWARD && (o->out[1] != NO_TENSOR || o->out[2] != NO_TENSOR);
    s->rows_per_task = cpu_rows_per_task(2 * s->n);
    if (s->sums_columns)
        s->rows_per_task = cpu_most(s->rows_per_task, LAYER_NORM_ROWS_LEAST);
    s->tasks = cpu_divide_up(s->rows, s->rows_per_task);
    if (s->sums_columns)
        cpu_need_scratch(scratch_bytes, CPU_DOUBLE * 2 * s->tasks * s->n);
    *state = s;
    return CORNU_OK;
}

/* ---- layer norm: forward ----------------------------------------------------------------- */

static void forward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const op_run *r = context;
    const layer_norm_state *s = r->state;
    const double n = (double)s->n, epsilon = (double)r->op->a.reals[0];
    int64_t begin, end;
    cpu_task_range(s->rows, s->rows_per_task, task, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        const float *x = r->in[0] + row * s->n;
        double mean = s->kernels->sum(x, s->n) / n;
        float inverse = (float)(1 / sqrt(s->kernels->squares(x, mean, s->n) / n + epsilon));
        s->kernels->normalize(x, mean, inverse, r->in[1], r->in[2], r->out[0] + row * s->n, s->n);
        if (r->out[1])
            r->out[1][row] = (float)mean;
        if (r->out[2])
            r->out[2][row] = inverse;
    }
}

static cornu_status layer_norm_run_forward(const op_run *r)
{
    const layer_norm_state *s = r->state;
    threads_run(r->pool, s->tasks, forward_task, (void *)(uintptr_t)r);
    return CORNU_OK;
}

/* ---- layer norm: backward ---------------------------------------------------------------- */

/* [tasks][2][n] in scratch memory: gamma's and beta's. */
static double *partials_of(const op_run *r, int64_t task)
{
    const layer_norm_state *s = r->state;
    return (double *)r->scratch + task * 2 * s->n;
}

/* With h = (x - mean) inverse and g = dy gamma: dx = inverse (g - mean of g - h mean of g h) */
static void backward_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const op_run *r = context;
    const layer_norm_state *s = r->state;
    const double n = (double)s->n;
    double *dgamma = partials_of(r, task), *dbeta = dgamma + s->n;
    int64_t begin, end;
    cpu_task_range(s->rows, s->rows_per_task, task, &begin, &end);
    if (s->sums_columns)
        memset(dgamma, 0, 2 * (size_t)s->n * sizeof *dgamma);
    for (int64_t row = begin; row < end; row++) {
        const float *x = r->in[0] + row * s->n, *dy = r->in[1] + row * s->n;
        const float mean = r->in[3][row], inverse = r->in[4][row];
        double sums[2], square = (double)inverse * (double)inverse;
        s->kernels->gradient_sums(x, dy, r->in[2], mean, s->n, sums);
        s->kernels->gradient(x, dy, r->in[2], mean, inverse, (float)(sums[0] / n),
                             (float)(sums[1] * square / n), r->out[0] + row * s->n, s->n);
        if (s->sums_columns)
            s->kernels->add_columns(x, dy, mean, inverse, dgamma, dbeta, s->n);
    }
}

/* Half 0: gamma's, 1: beta's. */
static void write_columns(const op_run *r, int half, float *out)
{
    const layer_norm_state *s = r->state;
    double *sum = partials_of(r, 0) + half * s->n;
    for (int64_t task = 1; task < s->tasks; task++)
        for (int64_t i = 0; i < s->n; i++)
            sum[i] += partials_of(r, task)[half * s->n + i];
    for (int64_t i = 0; i < s->n; i++)
        out[i] = (float)sum[i];
}

static cornu_status layer_norm_run_backward(const op_run *r)
{
    const layer_norm_state *s = r->state;
    threads_run(r->pool, s->tasks, backward_task, (void *)(uintptr_t)r);
    if (r->out[1])
        write_columns(r, 0, r->out[1]);
    if (r->out[2])
        write_columns(r, 1, r->out[2]);
    return CORNU_OK;
}

const kernel cpu_layer_norm_forward = {.name = "vector",
                                       .prepare = layer_norm_prepare,
                                       .release = free,
                                       .run = layer_norm_run_forward};
const kernel cpu_layer_norm_backward = {.name = "vector",
                                        .prepare = layer_norm_prepare,
                                        .release = free,
                                        .run = layer_norm_run_backward};
