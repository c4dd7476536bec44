/* Batch normalization over [rows][channels]. Sums over rows are taken in doubles, a partial sum per
   chunk of rows, added in the order of the chunks; the variance is taken around the mean (two
   passes), so that a large mean costs no digits. */
#include "device/cpu/kernels/batch_norm.h"
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

CPU_ISA_TABLE(batch_norm_kernels, cpu_batch_norm_kernels);

enum { ROWS_LEAST = 32 }; /* of a chunk: partial sums stay below a tenth of the data */

typedef struct norm_state {
    const batch_norm_kernels *kernels;
    int64_t rows, channels, rows_per_chunk, chunks;
    double *parts;  /* [chunks][2][channels] */
    double *totals; /* [2][channels] */
    float *factors; /* [3][channels]: a pass's factors of each channel */
} norm_state;

static void release(void *state)
{
    norm_state *s = state;
    if (!s)
        return;
    free(s->parts);
    free(s->totals);
    free(s->factors);
    free(s);
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    (void)pool;
    norm_state *s = NULL;
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    cornu_status status = memory_new(1, sizeof *s, "batch normalization", &s);
    if (status != CORNU_OK)
        return status;
    s->kernels = cpu_batch_norm_kernels[isa];
    tensor_matrix(OP_IN(p, o, 0), &s->rows, &s->channels);
    s->rows_per_chunk = cpu_rows_per_chunk(s->channels);
    if (s->rows_per_chunk < ROWS_LEAST)
        s->rows_per_chunk = ROWS_LEAST;
    s->chunks = cpu_divide_up(s->rows, s->rows_per_chunk);
    size_t columns = (size_t)s->channels, parts = (size_t)s->chunks * 2 * columns;
    TRY_GOTO(memory_new(parts, sizeof(double), "batch normalization", &s->parts));
    TRY_GOTO(memory_new(2 * columns, sizeof(double), "batch normalization", &s->totals));
    TRY_GOTO(memory_new(3 * columns, sizeof(float), "batch normalization", &s->factors));
    *scratch_bytes += (parts + 2 * columns) * sizeof(double) + 3 * columns * sizeof(float);
    *state = s;
done:
    if (status != CORNU_OK)
        release(s);
    return status;
}

typedef struct norm_run {
    const norm_state *s;
    const float *x, *dy, *mean;
    const float *factors[3];
    float *out;
} norm_run;

static void sum_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const norm_run *n = context;
    const norm_state *s = n->s;
    int64_t begin, end, c = s->channels;
    cpu_part(s->rows, s->rows_per_chunk, chunk, &begin, &end);
    double *sum = s->parts + chunk * 2 * c, *second = sum + c;
    memset(sum, 0, (size_t)(2 * c) * sizeof *sum);
    for (int64_t r = begin; r < end; r++) {
        const float *x = n->x + r * c;
        if (n->dy)
            s->kernels->add_gradients(x, n->dy + r * c, n->mean, sum, second, c);
        else if (n->mean)
            s->kernels->add_squares(x, n->mean, second, c);
        else
            s->kernels->add_row(x, sum, c);
    }
}

/* totals[half] over all chunks, in their order */
static void total(const norm_state *s, int half)
{
    int64_t c = s->channels;
    double *to = s->totals + half * c;
    memcpy(to, s->parts + half * c, (size_t)c * sizeof *to);
    for (int64_t chunk = 1; chunk < s->chunks; chunk++)
        for (int64_t i = 0; i < c; i++)
            to[i] += s->parts[(chunk * 2 + half) * c + i];
}

static void write_chunk(void *context, int64_t chunk, int worker)
{
    (void)worker;
    const norm_run *n = context;
    const norm_state *s = n->s;
    int64_t begin, end, c = s->channels;
    cpu_part(s->rows, s->rows_per_chunk, chunk, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        if (n->dy)
            s->kernels->gradient_row(n->x + r * c, n->dy + r * c, n->mean, n->factors[0],
                                     n->factors[1], n->factors[2], n->out + r * c, c);
        else
            s->kernels->normalize_row(n->x + r * c, n->mean, n->factors[0], n->factors[1],
                                      n->out + r * c, c);
    }
}

/* `rest`: what the means lost when they became floats; NULL: nothing. */
static void normalize(const op_run *r, const float *mean, const double *rest, const float *inverse)
{
    const norm_state *s = r->state;
    const float *gamma = r->in[1], *beta = r->in[2];
    float *scale = s->factors, *shift = scale + s->channels;
    for (int64_t i = 0; i < s->channels; i++) {
        scale[i] = gamma ? gamma[i] * inverse[i] : inverse[i];
        double lost = rest ? rest[i] * (double)scale[i] : 0;
        shift[i] = (float)((beta ? (double)beta[i] : 0) - lost);
    }
    norm_run n = {.s = s, .x = r->in[0], .mean = mean, .factors = {scale, shift}, .out = r->out[0]};
    threads_run(r->pool, s->chunks, write_chunk, &n);
}

static cornu_status run_forward(const op_run *r)
{
    const norm_state *s = r->state;
    float *mean = r->out[1], *inverse = r->out[2], *moving_mean = r->out[3],
          *moving_variance = r->out[4], momentum = r->op->a.batch_norm.momentum;
    norm_run n = {.s = s, .x = r->in[0]};
    threads_run(r->pool, s->chunks, sum_chunk, &n);
    total(s, 0);
    for (int64_t i = 0; i < s->channels; i++) {
        mean[i] = (float)(s->totals[i] / (double)s->rows);
        s->totals[i] = s->totals[i] / (double)s->rows - (double)mean[i];
    }
    n.mean = mean;
    threads_run(r->pool, s->chunks, sum_chunk, &n);
    total(s, 1);
    for (int64_t i = 0; i < s->channels; i++) {
        double variance = s->totals[s->channels + i] / (double)s->rows;
        inverse[i] = (float)(1.0 / sqrt(variance + (double)r->op->a.batch_norm.epsilon));
        moving_mean[i] = moving_mean[i] * momentum + mean[i] * (1 - momentum);
        moving_variance[i] = moving_variance[i] * momentum + (float)variance * (1 - momentum);
    }
    normalize(r, mean, s->totals, inverse);
    return CORNU_OK;
}

static cornu_status run_inference(const op_run *r)
{
    const norm_state *s = r->state;
    float *inverse = s->factors + 2 * s->channels;
    for (int64_t i = 0; i < s->channels; i++)
        inverse[i] = (float)(1.0 / sqrt((double)r->in[4][i] + (double)r->op->a.batch_norm.epsilon));
    normalize(r, r->in[3], NULL, inverse);
    return CORNU_OK;
}

/* With d = 1/deviation, n rows: dgamma = d sum(dy (x - mean)), dbeta = sum(dy),
   dx = gamma d (dy - dbeta / n - (x - mean) d dgamma / n). */
static cornu_status run_backward(const op_run *r)
{
    const norm_state *s = r->state;
    int64_t c = s->channels;
    const float *gamma = r->in[2], *mean = r->in[3], *inverse = r->in[4];
    float *dgamma = r->out[1], *dbeta = r->out[2];
    float *scale = s->factors, *shift = scale + c, *slope = shift + c;
    norm_run n = {.s = s, .x = r->in[0], .dy = r->in[1], .mean = mean, .out = r->out[0]};
    threads_run(r->pool, s->chunks, sum_chunk, &n);
    total(s, 0);
    total(s, 1);
    for (int64_t i = 0; i < c; i++) {
        double d = (double)inverse[i], sum = s->totals[i], product = s->totals[c + i] * d;
        double factor = gamma ? (double)gamma[i] * d : d;
        if (dbeta)
            dbeta[i] = (float)sum;
        if (dgamma)
            dgamma[i] = (float)product;
        scale[i] = (float)factor;
        shift[i] = (float)(factor * sum / (double)s->rows);
        slope[i] = (float)(factor * d * product / (double)s->rows);
    }
    n.factors[0] = scale;
    n.factors[1] = shift;
    n.factors[2] = slope;
    threads_run(r->pool, s->chunks, write_chunk, &n);
    return CORNU_OK;
}

const kernel cpu_batch_norm_forward = {
    .name = "vector", .prepare = prepare, .release = release, .run = run_forward};
const kernel cpu_batch_norm_inference = {
    .name = "vector", .prepare = prepare, .release = release, .run = run_inference};
const kernel cpu_batch_norm_backward = {
    .name = "vector", .prepare = prepare, .release = release, .run = run_backward};
