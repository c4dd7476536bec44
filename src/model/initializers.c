/* The values of new weights. */
#include "model/initializers.h"
#include <math.h>

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
static void fill_uniform(const shape *s, random_stream *r, float *values, double scale, double fan)
{
    int64_t count = shape_elements(s);
    float limit = (float)sqrt(3.0 * scale / fmax(1.0, fan));
    for (int64_t i = 0; i < count; i++)
        values[i] = (2.0f * random_uniform(r) - 1.0f) * limit;
}

/* Normal, drawn again beyond two standard deviations. The constant is the standard deviation of a
   standard normal distribution truncated there, so that the result's variance is scale / fan (Keras
   does the same). */
static void fill_normal(const shape *s, random_stream *r, float *values, double scale, double fan)
{
    int64_t count = shape_elements(s);
    float deviation = (float)(sqrt(scale / fmax(1.0, fan)) / 0.87962566103423978);
    for (int64_t i = 0; i < count; i++) {
        float x = random_normal(r);
        while (!(fabsf(x) <= 2.0f))
            x = random_normal(r);
        values[i] = x * deviation;
    }
}

typedef void fill_function(const initializer *i, const shape *s, random_stream *r, float *values);

/* Untouched memory reads as zeros and takes no space until it is written: an optimizer's slots stay
   untouched on the host. */
static void fill_zeros(const initializer *i, const shape *s, random_stream *r, float *values)
{
    (void)i;
    (void)r;
    int64_t count = shape_elements(s);
    for (int64_t k = 0; k < count; k++)
        if (values[k] != 0 || signbit(values[k]))
            values[k] = 0;
}

static void fill_ones(const initializer *i, const shape *s, random_stream *r, float *values)
{
    (void)i;
    (void)r;
    fill_value(s, values, 1.0f);
}

static void fill_constant(const initializer *i, const shape *s, random_stream *r, float *values)
{
    (void)r;
    fill_value(s, values, (float)i->value);
}

/* Glorot & Bengio 2010: variance 2 / (fan in + fan out). */
static void fill_glorot_uniform(const initializer *i, const shape *s, random_stream *r,
                                float *values)
{
    double in, out;
    (void)i;
    initializer_fans(s, &in, &out);
    fill_uniform(s, r, values, 1.0, (in + out) / 2.0);
}

static void fill_glorot_normal(const initializer *i, const shape *s, random_stream *r,
                               float *values)
{
    double in, out;
    (void)i;
    initializer_fans(s, &in, &out);
    fill_normal(s, r, values, 1.0, (in + out) / 2.0);
}

/* He et al. 2015: variance 2 / fan in. */
static void fill_he_uniform(const initializer *i, const shape *s, random_stream *r, float *values)
{
    double in, out;
    (void)i;
    initializer_fans(s, &in, &out);
    fill_uniform(s, r, values, 2.0, in);
}

static void fill_he_normal(const initializer *i, const shape *s, random_stream *r, float *values)
{
    double in, out;
    (void)i;
    initializer_fans(s, &in, &out);
    fill_normal(s, r, values, 2.0, in);
}

static fill_function *const fill_functions[] = {
#define INITIALIZER(id, class_name, name, function) function,
#include "model/initializers.def"
#undef INITIALIZER
};

void initializer_fill(const initializer *i, const shape *s, random_stream *r, float *values)
{
    fill_functions[i->kind](i, s, r, values);
}
