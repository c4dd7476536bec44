#include "bench/wires.h"
#include "parallel/ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model -------------------------------------------------------------------------- */

/* The message in which every rank announces that it takes part, or its losses. */
static double share_seconds(const wire *w, int ranks)
{
    return log2(ranks) * w->latency;
}

/* Numbers in transit, in buckets. */
typedef struct journey {
    const wire *w;
    int ranks, halves; /* halves: 2 for an all-reduce, 1 for a reduce-scatter or an all-gather */
    int left;          /* number of the halves' messages, at the end, that are not sent */
    int64_t values, buckets_of;
    double value_bytes, add_seconds;
    double begins;              /* earliest start */
    const shard_layout *layout; /* when the values exist; NULL: evenly */
    double evenly;              /* without a layout: seconds in which the values are made */
} journey;

/* When the numbers before `end` exist. */
static double made_at(const journey *j, int64_t end)
{
    const shard_layout *l = j->layout;
    double seconds = l ? 0 : j->evenly * (double)end / (double)j->values;
    for (int i = 0; l && i < l->count && l->parts[i].at < end; i++)
        seconds = fmax(seconds, l->parts[i].seconds);
    return seconds;
}

/* When the last bucket is complete. */
static double ended_at(const journey *j)
{
    const wire *w = j->w;
    int64_t bucket = ranks_bucket(j->buckets_of);
    double messages = (j->halves * log2(j->ranks) - j->left) * w->latency, done = j->begins;
    double freed[RANKS_BUCKETS] = {0}; /* when a bucket's slot is free */
    for (int64_t i = 0, k = 0; i < j->values; i += bucket, k++) {
        int64_t end = i + bucket < j->values ? i + bucket : j->values;
        double bytes = (double)(end - i) * j->value_bytes * (j->ranks - 1 - j->left) / j->ranks;
        double sent = bytes * (j->halves * w->byte_seconds + j->add_seconds);
        double begun = fmax(fmax(made_at(j, end), freed[k % RANKS_BUCKETS]), j->begins);
        done = fmax(begun + messages, done) + sent;
        freed[k % RANKS_BUCKETS] = done;
    }
    return done;
}

double wire_sum_seconds(const wire *w, int ranks, int64_t values, double add_seconds)
{
    return ended_at(&(journey){.w = w,
                               .ranks = ranks,
                               .halves = 2,
                               .values = values,
                               .buckets_of = values,
                               .value_bytes = sizeof(float),
                               .add_seconds = add_seconds,
                               .begins = share_seconds(w, ranks)});
}

/* The gradients of a step; all exist, unless `layout` says when. */
static journey sum_of(const wire *w, int ranks, const lone_step *step, const shard_layout *layout)
{
    return (journey){.w = w,
                     .ranks = ranks,
                     .halves = step->divided ? 1 : 2,
                     .left = step->rests,
                     .values = step->layout->values,
                     .buckets_of = step->layout->values,
                     .value_bytes = step->bf16 ? sizeof(float) / 2.0 : sizeof(float),
                     .add_seconds = step->add_seconds,
                     .begins = share_seconds(w, ranks),
                     .layout = layout};
}

double wire_add_seconds(const wire *w, int ranks, const lone_step *step)
{
    const journey j = sum_of(w, ranks, step, NULL);
    return ended_at(&j);
}

double wire_wait_seconds(const wire *w, int ranks, const lone_step *step)
{
    const journey j = sum_of(w, ranks, step, step->layout);
    return fmax(ended_at(&j) - step->made, 0);
}

/* Each rank updates its share, and sends the first of it meanwhile. */
static double apply_seconds(const wire *w, int ranks, const lone_step *step)
{
    if (!step->divided || ranks == 1)
        return step->applied;
    return ended_at(&(journey){.w = w,
                               .ranks = ranks,
                               .halves = 1,
                               .values = step->layout->gradient_values,
                               .buckets_of = step->layout->values,
                               .value_bytes = sizeof(float),
                               .evenly = step->applied / ranks});
}

double wire_step_seconds(const wire *w, int ranks, const lone_step *step)
{
    double alone = step->made + apply_seconds(w, ranks, step);
    return ranks == 1 ? alone : alone + wire_wait_seconds(w, ranks, step) + share_seconds(w, ranks);
}

/* ---- names ------------------------------------------------------------------------------ */

static const wire known[] = {
#define WIRE(name_, latency_, rate_) \
    {.name = name_, .latency = latency_, .byte_seconds = 1 / (rate_)},
#include "bench/wires.def"
#undef WIRE
};

typedef struct unit {
    const char *name;
    double factor;
} unit;

static const unit rates[] = {{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}, {NULL, 0}};
static const unit times[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};

/* A number above 0 and its unit; NAN: not a number. *rest: the text after it. */
static double quantity(const char *text, const unit *units, const char **rest)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || value <= 0)
        return NAN;
    for (const unit *u = units; u->name; u++)
        if (strncmp(end, u->name, strlen(u->name)) == 0) {
            *rest = end + strlen(u->name);
            return value * u->factor;
        }
    return NAN;
}

static bool parse_one(const char *text, wire *out)
{
    const char *rest;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i].name) == 0) {
            *out = known[i];
            return true;
        }
    double rate = quantity(text, rates, &rest);
    if (isnan(rate) || *rest != '@')
        return false;
    double latency = quantity(rest + 1, times, &rest);
    if (isnan(latency) || *rest)
        return false;
    *out = (wire){.latency = latency, .byte_seconds = 8 / rate};
    snprintf(out->name, sizeof out->name, "%s", text);
    return true;
}

cornu_status wires_parse(const char *text, wire out[WIRES_MOST], int *count)
{
    char one[32];
    *count = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        bool fits = length < sizeof one;
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        if (*count == WIRES_MOST)
            return status_fail(CORNU_INVALID, "forecast: expected at most %d networks", WIRES_MOST);
        if (!fits || !parse_one(one, &out[(*count)++]))
            return status_fail(CORNU_INVALID,
                               "forecast: found %.*s; expected a network (1GbE, 10GbE, 25GbE, "
                               "100GbE, IB) or a rate and a latency (1Gbit@200us)",
                               (int)length, at);
        at += length;
        if (*at == ',' && !*++at)
            return status_fail(CORNU_INVALID, "forecast: found a comma at the end");
    }
    return *count > 0 ? CORNU_OK
                      : status_fail(CORNU_INVALID, "forecast: found nothing; expected networks");
}
