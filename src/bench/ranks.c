#include "bench/ranks.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "bench/candidate.h"
#include "bench/report.h"
#include "parallel/ranks.h"
#include "train/shards.h"
#include <cornu/parallel.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model of communication ----------------------------------------------------------- */

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

/* ---- networks by name ------------------------------------------------------------------- */

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
static const unit latencies[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};

/* A number above 0 and its unit; NAN: not a number. *rest: the text after it. */
static double quantity(const char *from, const unit *units, const char **rest)
{
    char *end;
    double value = strtod(from, &end);
    if (end == from || !isfinite(value) || value <= 0)
        return NAN;
    for (const unit *u = units; u->name; u++)
        if (strncmp(end, u->name, strlen(u->name)) == 0) {
            *rest = end + strlen(u->name);
            return value * u->factor;
        }
    return NAN;
}

static bool parse_one(const char *from, wire *out)
{
    const char *rest;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(from, known[i].name) == 0) {
            *out = known[i];
            return true;
        }
    double rate = quantity(from, rates, &rest);
    if (isnan(rate) || *rest != '@')
        return false;
    double latency = quantity(rest + 1, latencies, &rest);
    if (isnan(latency) || *rest)
        return false;
    *out = (wire){.latency = latency, .byte_seconds = 8 / rate};
    snprintf(out->name, sizeof out->name, "%s", from);
    return true;
}

cornu_status wires_parse(const char *from, wire out[WIRES_MOST], int *count)
{
    char one[32];
    *count = 0;
    for (const char *at = from; *at;) {
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

/* Floats of a large all-reduce: many buckets. */
enum { LARGE = 1 << 22, ADDED = 1 << 20, TIMES_MOST = 1000, ROUNDS_LEAST = 5 };
static const double MESSAGE_SECONDS = 0.5, ROUND_SECONDS = 0.3;

/* ---- values of all ranks ------------------------------------------------------------------- */

typedef enum merging { LARGEST, MEAN } merging;

/* Merge `count` numbers of each rank. */
static cornu_status merge(cornu_ranks *r, double *values, int count, merging how)
{
    int ranks = cornu_ranks_count(r);
    double *all;
    TRY(memory_new((size_t)(ranks * count), sizeof *all, "times of ranks", &all));
    cornu_status status = ranks_share(r, values, all, (size_t)count * sizeof *all);
    for (int k = 0; k < count && status == CORNU_OK; k++) {
        double most = -INFINITY, sum = 0;
        for (int i = 0; i < ranks; i++) {
            most = fmax(most, all[i * count + k]);
            sum += all[i * count + k];
        }
        values[k] = how == LARGEST ? most : sum / ranks;
    }
    free(all);
    return status;
}

/* How many times work of `each` seconds fits into `seconds`; the same on all ranks. */
static cornu_status repeats(cornu_ranks *r, double each, double seconds, int *out)
{
    TRY(merge(r, &each, 1, LARGEST));
    double fit = seconds / fmax(each, 1e-7);
    *out = fit < 3 ? 3 : fit < TIMES_MOST ? (int)fit : TIMES_MOST;
    return CORNU_OK;
}

/* ---- messages --------------------------------------------------------------------------- */

static cornu_status time_sum(cornu_ranks *r, float *values, const ranks_numbers *n, double *seconds)
{
    double begin = clock_seconds();
    bool all;
    ranks_sum_begin(r, values, n, true);
    ranks_sum_ready(r, n->count);
    TRY(ranks_sum_end(r, CORNU_OK, &all));
    *seconds = clock_seconds() - begin;
    return CORNU_OK;
}

/* Median time of the all-reduce of `n` numbers, the same on all ranks. */
static cornu_status time_sums(cornu_ranks *r, float *values, const ranks_numbers *n,
                              double *seconds)
{
    double each[TIMES_MOST];
    int times = 0;
    for (int i = 0; i < 3; i++)
        TRY(time_sum(r, values, n, &each[0]));
    TRY(repeats(r, each[0], MESSAGE_SECONDS, &times));
    for (int i = 0; i < times; i++)
        TRY(time_sum(r, values, n, &each[i]));
    *seconds = statistics_median(each, times);
    return merge(r, seconds, 1, MEAN);
}

static double time_addition(float *values)
{
    double least = INFINITY;
    for (int k = 0; k < 5; k++) {
        double begin = clock_seconds();
        for (int64_t i = 0; i < ADDED; i++)
            values[i] += values[ADDED + i];
        least = fmin(least, clock_seconds() - begin);
    }
    return least / (ADDED * sizeof *values);
}

/* The all-reduce of one number takes as many messages as the model counts, and that of many numbers
   the time of their bytes. */
static cornu_status measure_messages(cornu_ranks *r, ranks_report *report)
{
    float *values;
    double small, large;
    int ranks = cornu_ranks_count(r);
    TRY(ranks_block_new(r, LARGE * sizeof *values, "messages", &values));
    cornu_status status = time_sums(r, values, &(ranks_numbers){.count = 1}, &small);
    if (status == CORNU_OK)
        status = time_sums(r, values, &(ranks_numbers){.count = LARGE}, &large);
    report->add_seconds = time_addition(values);
    ranks_block_free(r, values);
    TRY(status);
    const wire without = {.latency = 1};
    double messages = wire_sum_seconds(&without, ranks, 1, 0);
    snprintf(report->here.name, sizeof report->here.name, "here");
    report->here.latency = small / messages;
    const wire bytes = {.byte_seconds = 1};
    report->here.byte_seconds =
        fmax(large - small, 1e-9) / wire_sum_seconds(&bytes, ranks, LARGE, 0);
    return CORNU_OK;
}

/* ---- one workload ----------------------------------------------------------------------- */

typedef struct racer {
    cornu_ranks *ranks;
    candidate own; /* a step of this rank's samples */
    shards *shards;
    int64_t batch; /* of all ranks together */
    int64_t *index;
    int64_t next;
} racer;

enum { STEP, MADE, SLOWEST, WAITED, APPLIED, UPDATED, ALONE, TIMES };

/* The same samples on all ranks, in no particular order. */
static const int64_t *next_batch(racer *c)
{
    for (int64_t i = 0; i < c->batch; i++)
        c->index[i] = (c->next + i) % c->own.samples.count;
    c->next += c->batch;
    return c->index;
}

static cornu_status step_together(racer *c, double *sums, double *made)
{
    shards_vote agreed;
    double begin = clock_seconds();
    TRY(shards_begin(c->shards, &c->own.samples, next_batch(c), c->batch));
    TRY(shards_agree(c->shards, VOTE_GO, &agreed));
    TRY(shards_end(c->shards, c->batch));
    TRY(session_device(c->own.session)->ops->synchronize(session_device(c->own.session)));
    shards_times t = shards_last_times(c->shards);
    *made = t.made;
    sums[STEP] += clock_seconds() - begin;
    sums[MADE] += t.made;
    sums[WAITED] += t.waited;
    sums[APPLIED] += t.applied;
    sums[UPDATED] += t.updated;
    return CORNU_OK;
}

static cornu_status step_alone(racer *c, double *seconds)
{
    device *d = session_device(c->own.session);
    double begin = clock_seconds();
    TRY(session_step(c->own.session, c->own.plan, &c->own.samples, next_batch(c)));
    TRY(d->ops->synchronize(d));
    *seconds += clock_seconds() - begin;
    return CORNU_OK;
}

/* `steps` together and as many alone: means, also over the ranks. */
static cornu_status run_round(racer *c, int steps, double means[TIMES])
{
    double made[TIMES_MOST];
    for (int i = 0; i < TIMES; i++)
        means[i] = 0;
    for (int i = 0; i < steps; i++)
        TRY(step_together(c, means, &made[i]));
    TRY(merge(c->ranks, made, steps, LARGEST));
    for (int i = 0; i < steps; i++)
        means[SLOWEST] += made[i];
    for (int i = 0; i < steps; i++)
        TRY(step_alone(c, &means[ALONE]));
    for (int i = 0; i < TIMES; i++)
        means[i] /= steps;
    return merge(c->ranks, means, TIMES, MEAN);
}

/* If one rank wants to stop, all stop. */
static cornu_status check_stopped(const ranks_options *o)
{
    double stops = o->bench->should_stop && o->bench->should_stop(o->bench->user);
    TRY(merge(o->ranks, &stops, 1, LARGEST));
    return stops > 0 ? status_fail(CORNU_STOPPED, "bench: stopped") : CORNU_OK;
}

static cornu_status run_rounds(racer *c, const ranks_options *o, ranks_report *report,
                               ranks_result *out)
{
    double rounds[TIMES][TIMES_MOST];
    const bench_effort effort = bench_effort_of(o->bench);
    double means[TIMES], spent = 0;
    int steps = 1, count = 0;
    for (int i = 0; i < 3; i++)
        TRY(run_round(c, 1, means)); /* the first round is slower */
    if (o->bench->steps > 0)
        steps = o->bench->steps < TIMES_MOST ? (int)o->bench->steps : TIMES_MOST;
    else
        TRY(repeats(c->ranks, means[STEP], ROUND_SECONDS, &steps));
    while (count < TIMES_MOST && (count < ROUNDS_LEAST || spent < effort.budget_seconds)) {
        cornu_status stopped = check_stopped(o);
        report->interrupted = stopped == CORNU_STOPPED && count > 0;
        if (report->interrupted)
            break; /* the results so far are reported */
        TRY(stopped);
        TRY(run_round(c, steps, means));
        for (int i = 0; i < TIMES; i++)
            rounds[i][count] = means[i];
        count++;
        spent += steps * (means[STEP] + means[ALONE]);
    }
    const statistics step = statistics_of(rounds[STEP], count);
    out->step = step.median;
    out->step_least = step.minimum;
    out->made = statistics_median(rounds[MADE], count);
    out->slowest = statistics_median(rounds[SLOWEST], count);
    out->waited = statistics_median(rounds[WAITED], count);
    out->applied = statistics_median(rounds[APPLIED], count);
    out->updated = statistics_median(rounds[UPDATED], count);
    out->alone = statistics_median(rounds[ALONE], count);
    return CORNU_OK;
}

static cornu_status keep_layout(const racer *c, ranks_result *out)
{
    const shard_layout *l = shards_layout(c->shards);
    const double slower = out->slowest / shards_last_times(c->shards).made;
    out->layout = *l;
    out->layout.parts = NULL;
    out->values = l->values;
    TRY(memory_new((size_t)l->count, sizeof *l->parts, "layout", &out->layout.parts));
    for (int i = 0; i < l->count; i++) {
        out->layout.parts[i] = l->parts[i];
        out->layout.parts[i].seconds *= slower;
    }
    return CORNU_OK;
}

/* The all-reduce of the gradients with no other work. The shards' own memory is released. */
static cornu_status measure_sum(racer *c, ranks_result *out)
{
    const ranks_numbers numbers = *shards_numbers(c->shards);
    float *values;
    shards_close(c->shards);
    c->shards = NULL;
    TRY(ranks_block_new(c->ranks, (size_t)numbers.count * sizeof *values + 1, "gradients",
                        &values));
    memset(values, 0, (size_t)numbers.count * sizeof *values);
    double rests = ranks_rest(c->ranks, &numbers, values) != NULL;
    cornu_status status = merge(c->ranks, &rests, 1, MEAN);
    out->rests = rests == 1;
    if (status == CORNU_OK)
        status = time_sums(c->ranks, values, &numbers, &out->sum);
    ranks_block_free(c->ranks, values);
    return status;
}

static cornu_status open_racer(racer *c, const bench_workload *w, const ranks_options *o,
                               bench_options *own, const ranks_report *report, bench_report *notes)
{
    int ranks = cornu_ranks_count(o->ranks);
    bench_effort effort = bench_effort_of(o->bench);
    cornu_model *model;
    TRY(cornu_model_open(w->name, &model));
    c->batch = o->bench->batch > 0 ? o->bench->batch : model->batch > 0 ? model->batch : 32;
    cornu_model_close(model);
    if (c->batch % ranks != 0)
        return status_fail(CORNU_INVALID, "batch: found %jd, and %d ranks; expected a multiple",
                           (intmax_t)c->batch, ranks);
    *own = *o->bench;
    own->batch = c->batch / ranks;
    c->ranks = o->ranks;
    const char *on = o->bench->device ? o->bench->device : "cpu";
    TRY(candidate_open(&c->own, w, on, NULL, own, &effort, notes));
    if (c->batch > c->own.samples.count)
        return status_fail(CORNU_INVALID, "batch: found %jd; expected at most the %jd samples",
                           (intmax_t)c->batch, (intmax_t)c->own.samples.count);
    TRY(candidate_start(&c->own, own));
    TRY(memory_new((size_t)c->batch, sizeof *c->index, "batch", &c->index));
    shards_options of_shards = {.count = ranks,
                                .ranks = o->ranks,
                                .threads = own->threads,
                                .bf16 = report->bf16,
                                .divides = o->divides};
    TRY(shards_open(c->own.session, &of_shards, &c->shards));
    return shards_prepare(c->shards, c->batch, samples_weighting(&c->own.samples));
}

static cornu_status measure_workload(const bench_workload *w, const ranks_options *o,
                                     ranks_report *report)
{
    racer c = {.ranks = o->ranks};
    bench_options own;
    bench_report notes = {.count = 0};
    ranks_result *out = &report->results[report->count];
    *out = (ranks_result){.workload = w->name};
    cornu_status status = open_racer(&c, w, o, &own, report, &notes);
    if (status == CORNU_OK)
        status = run_rounds(&c, o, report, out);
    out->batch = c.batch;
    if (status == CORNU_OK)
        status = keep_layout(&c, out);
    if (status == CORNU_OK)
        status = measure_sum(&c, out);
    report->count++; /* its memory is freed with the report */
    shards_close(c.shards);
    candidate_close(&c.own);
    free(c.index);
    bench_report_free(&notes);
    return status;
}

/* ---- all workloads ---------------------------------------------------------------------- */

static int count_hosts(const cornu_ranks *r)
{
    int hosts = 0;
    for (int i = 0; i < cornu_ranks_count(r); i++) {
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen |= strcmp(strchr(ranks_name(r, i), '('), strchr(ranks_name(r, k), '(')) == 0;
        hosts += !seen;
    }
    return hosts;
}

static void notice(const ranks_options *o, const char *line)
{
    if (o->bench->on_notice)
        o->bench->on_notice(o->bench->user, line);
}

static cornu_status measure_all(const bench_workload *chosen, const ranks_options *o,
                                ranks_report *report)
{
    char line[128];
    *report = (ranks_report){.ranks = cornu_ranks_count(o->ranks),
                             .forecast = o->forecast,
                             .forecasts = o->forecasts,
                             .divided = o->divides};
    TRY(gradient_dtype_find(o->gradient_dtype, &report->bf16));
    if (report->ranks < 2)
        return status_fail(CORNU_INVALID,
                           "bench: found one process; expected several, as mpirun -n 2 starts");
    report->hosts = count_hosts(o->ranks);
    int count = 0;
    while (chosen[count].name)
        count++;
    TRY(memory_new((size_t)count, sizeof *report->results, "results", &report->results));
    snprintf(report->device, sizeof report->device, "%s",
             o->bench->device ? o->bench->device : "cpu");
    report->threads = o->bench->threads;
    notice(o, "messages between ranks");
    TRY(measure_messages(o->ranks, report));
    for (const bench_workload *w = chosen; w->name && !report->interrupted; w++) {
        snprintf(line, sizeof line, "%s by %d ranks", w->name, report->ranks);
        notice(o, line);
        cornu_status status = measure_workload(w, o, report);
        if (status != CORNU_OK)
            return status_prefix(status, "%s", w->name);
    }
    return CORNU_OK;
}

cornu_status ranks_bench(const ranks_options *o, ranks_report *report)
{
    bench_workload *chosen;
    *report = (ranks_report){.count = 0};
    TRY(bench_choose(o->bench, &chosen));
    cornu_status status = measure_all(chosen, o, report);
    free(chosen);
    return status;
}

void ranks_report_free(ranks_report *report)
{
    for (int i = 0; i < report->count; i++)
        free(report->results[i].layout.parts);
    free(report->results);
    *report = (ranks_report){.count = 0};
}

/* ---- forecasts ----------------------------------------------------------------------------- */

static lone_step step_of(const ranks_report *report, const ranks_result *r)
{
    return (lone_step){.made = r->slowest,
                       .applied = report->divided ? r->updated * report->ranks : r->applied,
                       .layout = &r->layout,
                       .bf16 = report->bf16,
                       .divided = report->divided,
                       .rests = r->rests};
}

/* The same step on another network, where numbers are added after they arrive. */
static lone_step step_on_network(const ranks_report *report, const ranks_result *r)
{
    lone_step step = step_of(report, r);
    step.add_seconds = report->add_seconds;
    step.rests = false;
    if (r->rests)
        step.applied -= (double)r->values * sizeof(float) * report->add_seconds;
    return step;
}

/* The model's forecast for a result: seconds of a step on `ranks` ranks with network `w`, where
   each rank has as many samples as now. `w` NULL: on the measured network. */
static double ranks_forecast(const ranks_report *report, const ranks_result *r, const wire *w,
                             int ranks)
{
    const lone_step step = w ? step_on_network(report, r) : step_of(report, r);
    return wire_step_seconds(w ? w : &report->here, ranks, &step);
}

/* The fractions of `sum` that could be hidden by the backward pass, by the model, and that were. */
static double ranks_hideable(const ranks_report *report, const ranks_result *r)
{
    const lone_step step = step_of(report, r);
    double sum = wire_add_seconds(&report->here, report->ranks, &step);
    return fmax(1 - wire_wait_seconds(&report->here, report->ranks, &step) / sum, 0);
}

static double ranks_hidden(const ranks_result *r)
{
    double for_messages = r->waited - (r->slowest - r->made);
    return fmin(fmax(1 - for_messages / r->sum, 0), 1);
}

/* ---- in words and as JSON ------------------------------------------------------------------- */

static const char *ms(double seconds, char to[16])
{
    double value = seconds * 1e3;
    snprintf(to, 16, "%.*f ms", value < 9.95 ? 2 : value < 99.5 ? 1 : 0, value);
    return to;
}

static const char *rate(double byte_seconds, char to[24])
{
    double megabytes = 1e-6 / byte_seconds;
    if (megabytes < 999)
        snprintf(to, 24, "%.0f MB/s", megabytes);
    else
        snprintf(to, 24, "%.1f GB/s", megabytes / 1e3);
    return to;
}

static double percent(double share)
{
    return 100 * share;
}

static void print_result(const ranks_report *report, const ranks_result *r, FILE *out)
{
    char a[16], b[16], bytes[16];
    double model = ranks_forecast(report, r, NULL, report->ranks);
    fprintf(out, "\n%s: batches of %jd, %jd a rank; %s of gradients\n", r->workload,
            (intmax_t)r->batch, (intmax_t)(r->batch / report->ranks),
            memory_human((double)r->values * sizeof(float), bytes));
    fprintf(out, "  step                 %10s   least %s\n", ms(r->step, a), ms(r->step_least, b));
    fprintf(out, "    own gradients      %10s   the slowest rank's %s\n", ms(r->made, a),
            ms(r->slowest, b));
    fprintf(out, "    waiting            %10s   %.0f %% of the step\n", ms(r->waited, a),
            percent(r->waited / r->step));
    fprintf(out, "    update             %10s", ms(r->applied, a));
    if (report->divided)
        fprintf(out, "   of a part of the weights %s, then the others' come", ms(r->updated, b));
    fputc('\n', out);
    fprintf(out, "  a rank's step alone  %10s   efficiency %.0f %%\n", ms(r->alone, a),
            percent(r->alone / r->step));
    fprintf(out, "  adding alone         %10s   ", ms(r->sum, a));
    if (r->rests)
        fprintf(out, "the update adds, from the others' memory\n");
    else
        fprintf(out, "%.0f %% hidden, of %.0f %% that could be\n", percent(ranks_hidden(r)),
                percent(ranks_hideable(report, r)));
    fprintf(out, "  by the model         %10s   %+.1f %%\n", ms(model, a),
            percent(model / r->step - 1));
}

static void print_forecast(const ranks_report *report, const ranks_result *r, FILE *out)
{
    char to[16];
    fprintf(out, "\n  %s, forecast; %jd samples a rank as above\n  ranks", r->workload,
            (intmax_t)(r->batch / report->ranks));
    for (int i = 0; i < report->forecasts; i++)
        fprintf(out, "  %19.19s", report->forecast[i].name);
    fputc('\n', out);
    for (int ranks = 1; ranks <= FORECAST_MOST; ranks *= 2) {
        fprintf(out, "  %5d", ranks);
        for (int i = 0; i < report->forecasts; i++) {
            double seconds = ranks_forecast(report, r, &report->forecast[i], ranks);
            fprintf(out, "  %11s %5.1f %%", ms(seconds, to), percent(r->alone / seconds));
        }
        fputc('\n', out);
    }
}

void ranks_print(const ranks_report *report, FILE *out)
{
    char to[24];
    fprintf(out, "%d ranks on %d host%s, %s; messages take %.0f us and %s\n", report->ranks,
            report->hosts, PLURAL(report->hosts, "", "s"), report->device,
            report->here.latency * 1e6, rate(report->here.byte_seconds, to));
    for (int i = 0; i < report->count; i++) {
        print_result(report, &report->results[i], out);
        if (report->forecasts > 0)
            print_forecast(report, &report->results[i], out);
    }
    if (report->interrupted)
        fprintf(out,
                "\nNote: interrupted: these are the figures of what was measured until then.\n");
    if (report->forecasts > 0)
        fputs("\n  In percent: a rank's step alone over this one, the efficiency. All ranks are "
              "taken to be\n  as fast as these, and the network to carry all their messages at "
              "once.\n",
              out);
}

static json_t *forecast_json(const ranks_report *report, const ranks_result *r, const wire *w)
{
    json_t *steps = json_array();
    for (int ranks = 1; ranks <= FORECAST_MOST; ranks *= 2) {
        double seconds = ranks_forecast(report, r, w, ranks);
        json_array_append_new(steps, json_pack("{si sf sf}", "ranks", ranks, "seconds", seconds,
                                               "efficiency", r->alone / seconds));
    }
    return json_pack("{ss sf sf so}", "name", w->name, "latency", w->latency, "bytes_per_second",
                     1 / w->byte_seconds, "steps", steps);
}

static json_t *result_json(const ranks_report *report, const ranks_result *r)
{
    json_t *forecasts = json_array();
    for (int i = 0; i < report->forecasts; i++)
        json_array_append_new(forecasts, forecast_json(report, r, &report->forecast[i]));
    json_t *hidden = r->rests ? json_null() : json_real(ranks_hidden(r));
    json_t *hideable = r->rests ? json_null() : json_real(ranks_hideable(report, r));
    return json_pack("{ss sI sI sf sf sf sf sf sf sf sf sf sf so so so}", "workload", r->workload,
                     "batch", (json_int_t)r->batch, "values", (json_int_t)r->values, "step_seconds",
                     r->step, "step_seconds_min", r->step_least, "made_seconds", r->made,
                     "slowest_seconds", r->slowest, "waited_seconds", r->waited, "applied_seconds",
                     r->applied, "updated_seconds", r->updated, "alone_seconds", r->alone,
                     "sum_seconds", r->sum, "model_seconds",
                     ranks_forecast(report, r, NULL, report->ranks), "hidden", hidden, "hideable",
                     hideable, "forecasts", forecasts);
}

cornu_status ranks_write_json(const ranks_report *report, const char *path)
{
    json_t *results = json_array();
    for (int i = 0; i < report->count; i++)
        json_array_append_new(results, result_json(report, &report->results[i]));
    json_t *all =
        json_pack("{ss sb si si ss ss sb sf sf so}", "cornu", CORNU_VERSION, "interrupted",
                  (int)report->interrupted, "ranks", report->ranks, "hosts", report->hosts,
                  "device", report->device, "gradient_dtype", gradient_dtype_name(report->bf16),
                  "shard_optimizer", report->divided, "latency", report->here.latency,
                  "bytes_per_second", 1 / report->here.byte_seconds, "results", results);
    cornu_status status = bench_write_json(all, path);
    json_decref(all);
    return status;
}
