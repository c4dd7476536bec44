#include "model/losses.h"
#include "model/config.h"
#include "model/names.h"
#include <math.h>
#include <string.h>
#include <strings.h>

/* Keras's epsilon, and 1 - epsilon, as the 32-bit floats that TensorFlow clips probabilities to.
   The gradient of a clipped value is 0; on the limits themselves it passes. */
#define CLIP_LOW ((double)1e-7f)
#define CLIP_HIGH ((double)(float)(1.0 - 1e-7))

static double clip(double x)
{
    return x < CLIP_LOW ? CLIP_LOW : x > CLIP_HIGH ? CLIP_HIGH : x;
}

static bool passes(double x)
{
    return x >= CLIP_LOW && x <= CLIP_HIGH;
}

/* log(sum(exp(x))), shifted by the largest so that nothing overflows. */
static double log_sum_exp(const float *x, int64_t n)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        largest = (double)x[i] > largest ? (double)x[i] : largest; /* fmax: GCC 12 fails on ARM */
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)x[i] - largest);
    return largest + log(sum);
}

/* A class number outside 0..n-1 has no value; data sets are checked when they are read. */
static bool is_class(float target, int64_t n)
{
    return target >= 0.0f && target < (float)n;
}

static double no_loss(int64_t n, float *grad)
{
    for (int64_t i = 0; grad && i < n; i++)
        grad[i] = NAN;
    return (double)NAN;
}

/* p = o / sum(o), c = clip(p), L = -sum(t log c).
   dL/do_j = (g_j - sum_i(g_i p_i)) / sum(o) with g_i = -t_i / c_i where p_i is not clipped, else 0.
 */
static double categorical_crossentropy(const float *output, const float *target, int64_t n,
                                       float *grad)
{
    double sum = 0, value = 0, mean = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)output[i];
    for (int64_t i = 0; i < n; i++) {
        double p = (double)output[i] / sum;
        value -= (double)target[i] * log(clip(p));
        if (passes(p))
            mean -= (double)target[i];
    }
    for (int64_t i = 0; grad && i < n; i++) {
        double p = (double)output[i] / sum;
        double g = passes(p) ? -(double)target[i] / p : 0.0;
        grad[i] = (float)((g - mean) / sum);
    }
    return value;
}

/* L = sum(t (logsumexp(z) - z)); the gradient is softmax(z) - t, as TensorFlow's kernel has it,
   which is exact for targets that add up to 1. */
static double categorical_crossentropy_logits(const float *output, const float *target, int64_t n,
                                              float *grad)
{
    double total = log_sum_exp(output, n), value = 0;
    for (int64_t i = 0; i < n; i++)
        value += (double)target[i] * (total - (double)output[i]);
    for (int64_t i = 0; grad && i < n; i++)
        grad[i] = (float)(exp((double)output[i] - total) - (double)target[i]);
    return value;
}

/* Keras on TensorFlow: c = clip(o), then softmax cross-entropy on log(c), that is
   L = log(sum(c)) - log(c_t). dL/do_j = 1 / sum(c) - [j = t] / c_t where o_j is not clipped. */
static double sparse_categorical_crossentropy(const float *output, const float *target, int64_t n,
                                              float *grad)
{
    double sum = 0;
    if (!is_class(target[0], n))
        return no_loss(n, grad);
    int64_t t = (int64_t)target[0];
    for (int64_t i = 0; i < n; i++)
        sum += clip((double)output[i]);
    double c = clip((double)output[t]);
    for (int64_t i = 0; grad && i < n; i++)
        grad[i] = passes((double)output[i]) ? (float)(1.0 / sum - (i == t ? 1.0 / c : 0.0)) : 0.0f;
    return log(sum) - log(c);
}

/* L = logsumexp(z) - z_t; gradient softmax(z) - [j = t]. */
static double sparse_categorical_crossentropy_logits(const float *output, const float *target,
                                                     int64_t n, float *grad)
{
    if (!is_class(target[0], n))
        return no_loss(n, grad);
    int64_t t = (int64_t)target[0];
    double total = log_sum_exp(output, n);
    for (int64_t i = 0; grad && i < n; i++)
        grad[i] = (float)(exp((double)output[i] - total) - (i == t ? 1.0 : 0.0));
    return total - (double)output[t];
}

/* c = clip(o), L = mean(-t log c - (1 - t) log(1 - c)). */
static double binary_crossentropy(const float *output, const float *target, int64_t n, float *grad)
{
    double value = 0;
    for (int64_t i = 0; i < n; i++) {
        double t = (double)target[i], c = clip((double)output[i]);
        value -= t * log(c) + (1.0 - t) * log(1.0 - c);
        if (grad)
            grad[i] = passes((double)output[i])
                          ? (float)(((1.0 - t) / (1.0 - c) - t / c) / (double)n)
                          : 0.0f;
    }
    return value / (double)n;
}

/* L = mean(max(z, 0) - z t + log(1 + exp(-|z|))); gradient (sigmoid(z) - t) / n. */
static double binary_crossentropy_logits(const float *output, const float *target, int64_t n,
                                         float *grad)
{
    double value = 0;
    for (int64_t i = 0; i < n; i++) {
        double t = (double)target[i], z = (double)output[i], e = exp(-fabs(z));
        value += fmax(z, 0.0) - z * t + log1p(e);
        if (grad) {
            double sigmoid = z >= 0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
            grad[i] = (float)((sigmoid - t) / (double)n);
        }
    }
    return value / (double)n;
}

/* L = mean((o - t)^2). */
static double mean_squared_error(const float *output, const float *target, int64_t n, float *grad)
{
    double value = 0;
    for (int64_t i = 0; i < n; i++) {
        double difference = (double)output[i] - (double)target[i];
        value += difference * difference;
        if (grad)
            grad[i] = (float)(2.0 * difference / (double)n);
    }
    return value / (double)n;
}

/* ---- the table -------------------------------------------------------------------------- */

static const loss_kind kinds[] = {
#define LOSS(id, name, class_name, sparse, row, logits_row) \
    {name, class_name, sparse, logits_row != NULL, row, logits_row},
#include "model/losses.def"
#undef LOSS
};

const loss_kind *loss_kind_of(loss_id id)
{
    return &kinds[id];
}

#define KERAS_KEYS                                                                \
    OPTION_IGNORED("name"), OPTION_DTYPE, OPTION_IGNORED("fn"),                   \
        OPTION_NEUTRAL("reduction", "\"sum_over_batch_size\"|\"auto\"|\"mean\""), \
        OPTION_NEUTRAL("label_smoothing", "0.0|0"), OPTION_NEUTRAL("axis", "-1"), \
        OPTION_NEUTRAL("ignore_class", "null")

static const config_field plain_fields[] = {KERAS_KEYS, OPTIONS_END};
static const config_field logits_fields[] = {
    OPTION_AS("from_logits", BOOL, loss, from_logits, .fallback = "false"),
    KERAS_KEYS,
    OPTIONS_END,
};

static const config_field *fields_of(loss_id id)
{
    return kinds[id].has_logits ? logits_fields : plain_fields;
}

static bool find(const char *name, loss_id *id)
{
    /* The one short name that recipes in the wild use often. */
    if (strcasecmp(name, "mse") == 0)
        name = "mean_squared_error";
    for (int i = 0; i < LOSS_COUNT; i++)
        if (strcmp(kinds[i].class_name, name) == 0 || strcmp(kinds[i].name, name) == 0) {
            *id = (loss_id)i;
            return true;
        }
    return false;
}

cornu_status loss_read(const doc *d, loss *out)
{
    const char *name;
    const doc *options;
    TRY(name_split(d, "a loss", &name, &options));
    if (!find(name, &out->id)) {
        const char *names[LOSS_COUNT];
        for (int i = 0; i < LOSS_COUNT; i++)
            names[i] = kinds[i].name;
        return name_fail(d, "loss", name, names, LOSS_COUNT);
    }
    out->from_logits = false;
    const config_field *fields = fields_of(out->id);
    TRY(config_check_keys(kinds[out->id].name, options, fields, NULL));
    return config_read(kinds[out->id].name, d, options, fields, out);
}

json_t *loss_to_json(const loss *l)
{
    json_t *config = json_object();
    if (!config || config_write(fields_of(l->id), l, config) != CORNU_OK) {
        json_decref(config);
        return NULL;
    }
    return config_keras_object("keras.losses", kinds[l->id].class_name, config);
}
