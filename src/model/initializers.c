/* The values of new weights. */
#include "model/initializers.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>

void initializer_fans(const shape *s, double *fan_in, double *fan_out)
{
    if (s->rank < 2) {
        *fan_in = *fan_out = s->rank == 1 ? (double)s->dim[0] : 1.0;
        return;
    }
    double receptive_field = 1;
    for (int i = 0; i < s->rank - 2; i++)
        receptive_field *= (double)s->dim[i];
    *fan_in = receptive_field * (double)s->dim[s->rank - 2];
    *fan_out = receptive_field * (double)s->dim[s->rank - 1];
}

static void fill_value(const shape *s, float *values, float value)
{
    int64_t count = shape_elements(s);
    for (int64_t i = 0; i < count; i++)
        values[i] = value;
}

/* Uniform in +- sqrt(3 scale / fan): a variance of scale / fan. */
static void fill_uniform(const shape *s, random_stream *r, float *values, double variance)
{
    int64_t count = shape_elements(s);
    float limit = (float)sqrt(3.0 * variance);
    for (int64_t i = 0; i < count; i++)
        values[i] = (2.0f * random_uniform(r) - 1.0f) * limit;
}

/* A standard normal number, drawn again beyond two standard deviations. */
static float truncated(random_stream *r)
{
    float x = random_normal(r);
    while (!(fabsf(x) <= 2.0f))
        x = random_normal(r);
    return x;
}

static void fill_truncated(const shape *s, random_stream *r, float *values, float mean,
                           float deviation)
{
    int64_t count = shape_elements(s);
    for (int64_t i = 0; i < count; i++)
        values[i] = mean + truncated(r) * deviation;
}

static void fill_normal(const shape *s, random_stream *r, float *values, float mean,
                        float deviation)
{
    int64_t count = shape_elements(s);
    for (int64_t i = 0; i < count; i++)
        values[i] = mean + random_normal(r) * deviation;
}

typedef cornu_status fill_function(const initializer *i, const shape *s, random_stream *r,
                                   float *values);

/* Untouched memory reads as zeros and takes no space until it is written: an optimizer's slots stay
   untouched on the host. */
static cornu_status fill_zeros(const initializer *i, const shape *s, random_stream *r,
                               float *values)
{
    (void)i;
    (void)r;
    int64_t count = shape_elements(s);
    for (int64_t k = 0; k < count; k++)
        if (values[k] != 0 || signbit(values[k]))
            values[k] = 0;
    return CORNU_OK;
}

static cornu_status fill_ones(const initializer *i, const shape *s, random_stream *r, float *values)
{
    (void)i;
    (void)r;
    fill_value(s, values, 1.0f);
    return CORNU_OK;
}

static cornu_status fill_constant(const initializer *i, const shape *s, random_stream *r,
                                  float *values)
{
    (void)r;
    fill_value(s, values, (float)i->value);
    return CORNU_OK;
}

static cornu_status fill_random_normal(const initializer *i, const shape *s, random_stream *r,
                                       float *values)
{
    fill_normal(s, r, values, (float)i->mean, (float)i->stddev);
    return CORNU_OK;
}

static cornu_status fill_truncated_normal(const initializer *i, const shape *s, random_stream *r,
                                          float *values)
{
    fill_truncated(s, r, values, (float)i->mean, (float)i->stddev);
    return CORNU_OK;
}

static cornu_status fill_random_uniform(const initializer *i, const shape *s, random_stream *r,
                                        float *values)
{
    int64_t count = shape_elements(s);
    for (int64_t k = 0; k < count; k++)
        values[k] = (float)(i->minval + (i->maxval - i->minval) * (double)random_uniform(r));
    return CORNU_OK;
}

typedef struct scaling {
    double scale;
    int fan, distribution;
} scaling;

static const scaling scalings[INITIALIZER_COUNT] = {
#define SCALED(id, class_name, name, scale, fan, distribution) \
    [INITIALIZER_##id] = {scale, fan, distribution},
#include "model/initializers.def"
};

/* The variance is scale / fan: of Glorot & Bengio 2010 2 / (fan in + fan out), of He et al. 2015
   2 / fan in, of LeCun et al. 1998 1 / fan in. */
static cornu_status fill_scaled(const initializer *i, const shape *s, random_stream *r,
                                float *values)
{
    const scaling own = {i->scale, i->mode, i->distribution};
    const scaling *c = i->kind == INITIALIZER_VARIANCE_SCALING ? &own : &scalings[i->kind];
    double in, out;
    initializer_fans(s, &in, &out);
    double fan = c->fan == FAN_IN ? in : c->fan == FAN_OUT ? out : (in + out) / 2.0;
    double variance = c->scale / fmax(1.0, fan), deviation = sqrt(variance);
    /* The standard deviation of a standard normal distribution truncated at 2. */
    const double truncated_deviation = 0.87962566103423978;
    if (c->distribution == DISTRIBUTION_UNIFORM)
        fill_uniform(s, r, values, variance);
    else if (c->distribution == DISTRIBUTION_UNTRUNCATED)
        fill_normal(s, r, values, 0, (float)deviation);
    else
        fill_truncated(s, r, values, 0, (float)(deviation / truncated_deviation));
    return CORNU_OK;
}

static cornu_status fill_identity(const initializer *i, const shape *s, random_stream *r,
                                  float *values)
{
    (void)r;
    fill_value(s, values, 0.0f);
    for (int64_t k = 0; k < s->dim[0] && k < s->dim[1]; k++)
        values[k * s->dim[1] + k] = (float)i->gain;
    return CORNU_OK;
}

/* ---- orthogonal ------------------------------------------------------------------------- */

/* Eight partial sums, which the compiler adds as vectors. */
static double dot(const double *a, const double *b, int64_t count)
{
    double sum[8] = {0};
    int64_t k = 0;
    for (; k + 8 <= count; k += 8)
        for (int lane = 0; lane < 8; lane++)
            sum[lane] += a[k + lane] * b[k + lane];
    for (; k < count; k++)
        sum[0] += a[k] * b[k];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/* Draw vector `at` of q[][length] and make it one of length 1 that is orthogonal to those before:
   Gram-Schmidt, twice because of rounding. A draw that almost depends on them is repeated. */
static void draw_orthogonal(double *q, int64_t at, int64_t length, random_stream *r)
{
    double *v = q + at * length, norm = 0;
    while (!(norm > 1e-8)) {
        for (int64_t k = 0; k < length; k++)
            v[k] = (double)random_normal(r);
        for (int64_t i = 0; i < 2 * at; i++) {
            const double *other = q + i % at * length;
            double along = dot(other, v, length);
            for (int64_t k = 0; k < length; k++)
                v[k] -= along * other[k];
        }
        norm = sqrt(dot(v, v, length));
    }
    for (int64_t k = 0; k < length; k++)
        v[k] /= norm;
}

/* Saxe et al. 2014: Q of the QR decomposition of normal numbers, R's diagonal positive. The kernel
   is a matrix [all but the last dimension][last]; its shorter side's vectors are orthonormal. */
static cornu_status fill_orthogonal(const initializer *i, const shape *s, random_stream *r,
                                    float *values)
{
    int64_t columns = s->dim[s->rank - 1], rows = shape_elements(s) / columns;
    int64_t length = rows > columns ? rows : columns, count = rows > columns ? columns : rows;
    double *q;
    TRY(memory_new((size_t)(count * length), sizeof *q, "an orthogonal matrix", &q));
    for (int64_t at = 0; at < count; at++) {
        draw_orthogonal(q, at, length, r);
        for (int64_t k = 0; k < length; k++)
            values[rows > columns ? k * columns + at : at * columns + k] =
                (float)(i->gain * q[at * length + k]);
    }
    free(q);
    return CORNU_OK;
}

/* ---- rows ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    fill_function *fill;
} rows[] = {
#define INITIALIZER(id, class_name, other_name, name, function, options) {name, function},
#include "model/initializers.def"
};

cornu_status initializer_check(const initializer *i, const char *name, const shape *s)
{
    const int least = i->kind == INITIALIZER_IDENTITY || i->kind == INITIALIZER_ORTHOGONAL ? 2 : 0;
    const int most = i->kind == INITIALIZER_IDENTITY ? 2 : SHAPE_MAX;
    char found[128];
    if (s->rank >= least && s->rank <= most)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "%s: found shape %s for the initializer %s; expected %s",
                       name, shape_show(s, false, found), rows[i->kind].name,
                       most == 2 ? "two dimensions" : "two dimensions or more");
}

cornu_status initializer_fill(const initializer *i, const shape *s, random_stream *r, float *values)
{
    return rows[i->kind].fill(i, s, r, values);
}
