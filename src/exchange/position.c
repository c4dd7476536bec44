#include "exchange/position.h"
#include "base/number.h"
#include "parallel/shard_layout.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

json_t *exact_to_json(double value)
{
    char text[NUMBER_SIZE];
    return json_string(number_print(text, "%a", value));
}

bool exact_from_json(const json_t *text, double *value)
{
    const char *string = json_string_value(text);
    return string && number_read(string, value);
}

bool count_from_json(const json_t *number, int64_t *value)
{
    *value = json_integer_value(number);
    return json_is_integer(number) && *value >= 0 && *value <= INT32_MAX;
}

/* The whole numbers of a position: key, field. */
typedef struct counter {
    const char *key;
    size_t offset;
} counter;

static const counter counters[] = {
    {"iterations", offsetof(position, iterations)},
    {"epoch", offsetof(position, epoch)},
    {"step", offsetof(position, step)},
    {"samples", offsetof(position, samples)},
    {"batch", offsetof(position, batch)},
    {"steps_per_epoch", offsetof(position, steps_per_epoch)},
    {"train_samples", offsetof(position, train_samples)},
    {"epochs", offsetof(position, epochs)},
};
enum { COUNTERS = sizeof counters / sizeof *counters };

static int64_t *counter_of(const position *p, const counter *c)
{
    return (int64_t *)(void *)((char *)(uintptr_t)p + c->offset);
}

json_t *position_to_json(const position *p, int metric_count)
{
    char seed[32]; /* JSON readers keep only 53 bits of a number */
    snprintf(seed, sizeof seed, "%" PRIu64, p->seed);
    json_t *object = json_object(), *totals = json_array();
    json_object_set_new(object, "seed", json_string(seed));
    for (int i = 0; i < COUNTERS; i++)
        json_object_set_new(object, counters[i].key, json_integer(*counter_of(p, &counters[i])));
    for (int i = 0; i <= metric_count; i++)
        json_array_append_new(totals, exact_to_json(p->totals[i]));
    json_object_set_new(object, "totals", totals);
    json_object_set_new(object, "learning_rate_factor", exact_to_json(p->learning_rate_factor));
    json_object_set_new(object, "seconds", exact_to_json(p->seconds));
    if (p->shards > 1)
        json_object_set_new(object, "shards", json_integer(p->shards));
    if (p->wire_bf16)
        json_object_set_new(object, "wire", json_string(shards_wire_name(true)));
    return object;
}

static cornu_status fail_key(const char *path, const char *key, const char *expected)
{
    return status_fail(CORNU_BAD_FILE, "%s: position: %s: found none or a damaged one; expected %s",
                       path, key, expected);
}

static cornu_status read_seed(const json_t *object, const char *path, uint64_t *seed)
{
    const char *text = json_string_value(json_object_get(object, "seed"));
    char *end = NULL;
    errno = 0;
    if (text && *text >= '0' && *text <= '9')
        *seed = strtoull(text, &end, 10);
    return end && *end == 0 && errno == 0 ? CORNU_OK
                                          : fail_key(path, "seed", "a whole number as a string");
}

cornu_status position_from_json(const json_t *object, int metric_count, const char *path,
                                position *out)
{
    position p = {0};
    if (!json_is_object(object))
        return status_fail(CORNU_BAD_FILE, "%s: position: found no map; expected one", path);
    TRY(read_seed(object, path, &p.seed));
    for (int i = 0; i < COUNTERS; i++) {
        const json_t *value = json_object_get(object, counters[i].key);
        /* A billion billion steps are enough; products of two counters must not overflow. */
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > INT64_C(1000000000000000000))
            return fail_key(path, counters[i].key, "a whole number of at least 0");
        *counter_of(&p, &counters[i]) = json_integer_value(value);
    }
    if (p.batch > INT32_MAX || p.steps_per_epoch > INT32_MAX || p.epochs > INT32_MAX ||
        p.epoch > INT32_MAX || p.step > INT32_MAX)
        return fail_key(path, "batch, epoch, step", "numbers below 2^31");
    const json_t *totals = json_object_get(object, "totals");
    if (json_array_size(totals) != (size_t)metric_count + 1)
        return fail_key(path, "totals", "one sum for the loss and one for each metric");
    for (int i = 0; i <= metric_count; i++)
        if (!exact_from_json(json_array_get(totals, (size_t)i), &p.totals[i]))
            return fail_key(path, "totals", "numbers as strings");
    const json_t *factor = json_object_get(object, "learning_rate_factor");
    if (!exact_from_json(factor, &p.learning_rate_factor) || !(p.learning_rate_factor >= 0))
        return fail_key(path, "learning_rate_factor", "a number of at least 0 as a string");
    const json_t *seconds = json_object_get(object, "seconds"); /* older files have none */
    if (seconds &&
        (!exact_from_json(seconds, &p.seconds) || !(p.seconds >= 0) || !(p.seconds < 1e15)))
        return fail_key(path, "seconds", "a number of at least 0 as a string");
    const json_t *divided = json_object_get(object, "shards"); /* older files have none */
    p.shards = 1;
    if (divided && (!count_from_json(divided, &p.shards) ||
                    shards_check(p.shards, SHARDS_MOST, NULL) != CORNU_OK))
        return fail_key(path, "shards", "a power of two, 1 to 1024");
    const json_t *wire = json_object_get(object, "wire"); /* older files have none */
    if (wire && (!json_is_string(wire) ||
                 shards_wire_find(json_string_value(wire), &p.wire_bf16) != CORNU_OK))
        return fail_key(path, "wire", "fp32 or bf16");
    *out = p;
    return CORNU_OK;
}

/* ---- features ---------------------------------------------------------------------------- */

json_t *features_to_json(const feature_statistics *s)
{
    json_t *object = json_object(), *mean = json_array(), *std = json_array();
    for (int c = 0; c < s->channels; c++) {
        json_array_append_new(mean, exact_to_json((double)s->mean[c]));
        json_array_append_new(std, exact_to_json((double)s->std[c]));
    }
    json_object_set_new(object, "mean", mean);
    json_object_set_new(object, "std", std);
    return object;
}

static bool read_list(const json_t *object, const char *key, size_t count, float *values)
{
    const json_t *list = json_object_get(object, key);
    if (json_array_size(list) != count)
        return false;
    for (size_t c = 0; c < count; c++) {
        double value;
        if (!exact_from_json(json_array_get(list, c), &value) || !isfinite((float)value))
            return false;
        values[c] = (float)value;
    }
    return true;
}

cornu_status features_from_json(const json_t *object, const char *path, feature_statistics *out)
{
    feature_statistics s = {0};
    size_t count = json_array_size(json_object_get(object, "mean"));
    bool fits = count >= 1 && count <= AUGMENT_CHANNELS_MOST &&
                read_list(object, "mean", count, s.mean) && read_list(object, "std", count, s.std);
    for (size_t c = 0; fits && c < count; c++)
        fits = s.std[c] >= 0;
    if (!fits)
        return status_fail(CORNU_BAD_FILE,
                           "%s: features: found none or damaged ones; expected lists mean and std "
                           "of 1 to %d numbers as strings",
                           path, AUGMENT_CHANNELS_MOST);
    s.channels = (int)count;
    *out = s;
    return CORNU_OK;
}

/* ---- for callers ------------------------------------------------------------------------- */

cornu_status cornu_model_position(const cornu_model *model, cornu_position *out)
{
    if (!model || !out)
        return status_fail(CORNU_INVALID,
                           "cornu_model_position: found NULL; expected a model and a place");
    const position *p = &model->training.position;
    *out = (cornu_position){
        .iterations = p->iterations, .epoch = p->epoch, .step = p->step, .epochs = p->epochs};
    return CORNU_OK;
}
