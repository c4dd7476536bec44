#include "bench/wires.h"
#include "ranks/ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model -------------------------------------------------------------------------- */

/* Everybody says that it joins, or what its losses are. */
static double share_seconds(const wire *w, int ranks)
{
    return log2(ranks) * w->latency;
}

/* When the numbers before `end` are made; NULL: at once. */
static double made_at(const shard_layout *l, int64_t end)
{
    double seconds = 0;
    for (int i = 0; l && i < l->count && l->parts[i].at < end; i++)
        seconds = fmax(seconds, l->parts[i].seconds);
    return seconds;
}

/* When the last of the buckets has been added, from the step's beginning. */
static double added_at(const wire *w, int ranks, int64_t values, const shard_layout *layout,
                       double add_seconds)
{
    int64_t bucket = ranks_bucket(values);
    double messages = 2 * log2(ranks) * w->latency, done = share_seconds(w, ranks);
    double freed[RANKS_BUCKETS] = {0}; /* when a bucket's place is */
    for (int64_t i = 0, k = 0; i < values; i += bucket, k++) {
        int64_t end = i + bucket < values ? i + bucket : values;
        double bytes = (double)(end - i) * sizeof(float) * (ranks - 1) / ranks;
        double sent = bytes * (2 * w->byte_seconds + add_seconds);
        double begun =
            fmax(fmax(made_at(layout, end), freed[k % RANKS_BUCKETS]), share_seconds(w, ranks));
        done = fmax(begun + messages, done) + sent;
        freed[k % RANKS_BUCKETS] = done;
    }
    return done;
}

double wire_sum_seconds(const wire *w, int ranks, int64_t values, double add_seconds)
{
    return added_at(w, ranks, values, NULL, add_seconds);
}

double wire_wait_seconds(const wire *w, int ranks, const lone_step *step)
{
    const shard_layout *l = step->layout;
    return fmax(added_at(w, ranks, l->values, l, step->add_seconds) - step->made, 0);
}

double wire_step_seconds(const wire *w, int ranks, const lone_step *step)
{
    double alone = step->made + step->applied;
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

/* A number above 0 and its unit; NAN: it is none. *rest: what follows. */
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
