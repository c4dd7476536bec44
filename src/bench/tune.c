#include "bench/tune.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "bench/report.h"
#include "train/fit_spec.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A candidate that is this much slower over the workloads so far is not tried on the others. */
static const double HOPELESS = 1.15;
enum { WORKLOADS_MOST = 32, QUICK_CANDIDATES = 3 };

typedef struct tune {
    const tune_options *options;
    tune_report *report;
    const char *workloads[WORKLOADS_MOST];
    int workload_count;
    device *device; /* open as long as candidates are needed */
} tune;

static void notice(const tune *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void notice(const tune *t, const char *format, ...)
{
    char line[512];
    va_list arguments;
    if (!t->options->on_notice)
        return;
    va_start(arguments, format);
    printable_v(line, sizeof line, format, arguments);
    va_end(arguments);
    t->options->on_notice(t->options->user, line);
}

static int rounds_of(const tune *t, bool last)
{
    if (t->options->rounds > 0)
        return t->options->rounds;
    return (t->options->quick ? 3 : 5) + (last ? 4 : 0);
}

/* ---- workloads -------------------------------------------------------------------------- */

/* The row of this operation and sizes; NULL: none. */
static tune_row *find_row(const tune_report *r, const char *operation, const char *sizes)
{
    for (size_t i = 0; i < r->row_count; i++)
        if (strcmp(r->rows[i].operation, operation) == 0 && strcmp(r->rows[i].shape, sizes) == 0)
            return &r->rows[i];
    return NULL;
}

/* Add rows for new shapes; *fresh, *all: their numbers. */
static cornu_status add_shapes(tune_report *r, const plan *p, int *fresh, int *all)
{
    char sizes[OP_SHAPE_TEXT];
    *fresh = *all = 0;
    for (int i = 0; i < p->op_count; i++) {
        const char *name = op_infos[p->ops[i].kind].name;
        if (!tune_counts(p->ops[i].kind))
            continue;
        ++*all;
        if (find_row(r, name, op_shape_show(p, &p->ops[i], sizes)))
            continue;
        ++*fresh;
        TRY(memory_grow(&r->rows, &r->row_capacity, r->row_count + 1, sizeof *r->rows));
        tune_row *row = &r->rows[r->row_count++];
        *row = (tune_row){.before = 0};
        snprintf(row->operation, sizeof row->operation, "%s", name);
        snprintf(row->shape, sizeof row->shape, "%s", sizes);
    }
    return CORNU_OK;
}

/* Are most of its products new compared with the workloads before? */
static cornu_status is_new(tune_report *r, const char *workload, bool *yes)
{
    cornu_model *model = NULL;
    plan *p = NULL;
    int fresh = 0, all = 0;
    cornu_status status = cornu_model_open(workload, &model);
    if (status == CORNU_OK)
        status = plan_build(
            model,
            &(plan_options){.mode = PLAN_TRAIN, .batch = model->batch > 0 ? model->batch : 32}, &p);
    if (status == CORNU_OK)
        status = add_shapes(r, p, &fresh, &all);
    plan_free(p);
    cornu_model_close(model);
    *yes = 2 * fresh > all;
    return status;
}

static cornu_status choose_workloads(tune *t)
{
    const char *const *asked = t->options->workloads;
    for (int i = 0; asked && asked[i] && t->workload_count < WORKLOADS_MOST; i++)
        t->workloads[t->workload_count++] = asked[i];
    if (t->workload_count > 0)
        return CORNU_OK;
    for (const bench_workload *w = bench_workloads; w->name; w++) {
        bool yes;
        TRY(is_new(t->report, w->name, &yes));
        if (yes)
            t->workloads[t->workload_count++] = w->name;
    }
    t->report->row_count = 0; /* filled again with the times */
    return CORNU_OK;
}

/* ---- one candidate ----------------------------------------------------------------------- */

/* Medians of a pair's operations into the rows; for a repeated shape, the last. */
static cornu_status add_rows(tune_report *r, const tune_pair *pair)
{
    const plan *p = pair->side[0].plan->plan;
    char sizes[OP_SHAPE_TEXT];
    int fresh, all;
    TRY(add_shapes(r, p, &fresh, &all));
    for (int i = 0; i < p->op_count; i++) {
        if (!tune_counts(p->ops[i].kind))
            continue;
        op_shape_show(p, &p->ops[i], sizes);
        tune_row *row = find_row(r, op_infos[p->ops[i].kind].name, sizes);
        row->before = tune_pair_median(pair, 0, i);
        row->after = tune_pair_median(pair, 1, i);
    }
    return CORNU_OK;
}

/* `to` against `from`, opened in this order or the other one. *failed: the side that failed. */
static cornu_status compare_once(tune *t, const char *workload, const char *const tunings[2],
                                 int first, bool rows, double *ratio, int *failed)
{
    tune_pair pair = {0};
    cornu_status status = CORNU_OK;
    for (int i = 0; i < 2 && status == CORNU_OK; i++) {
        *failed = i ^ first;
        status =
            tune_side_open(&pair.side[*failed], workload, t->options->device, tunings[*failed]);
    }
    if (status == CORNU_OK)
        status = tune_pair_run(&pair, t->options, rounds_of(t, rows), failed);
    if (status == CORNU_OK && rows)
        status = add_rows(t->report, &pair);
    *ratio = pair.ratio;
    tune_side_close(&pair.side[0]);
    tune_side_close(&pair.side[1]);
    return status;
}

/* The worse of both orders: on PoCL a session may be several times slower than another with the
   same tuning, for as long as it is open, for an unknown reason. */
static cornu_status compare_on(tune *t, const char *workload, const char *from, const char *to,
                               bool last, double *ratio, int *failed)
{
    const char *const tunings[2] = {from, to};
    double other;
    TRY(compare_once(t, workload, tunings, 0, last, ratio, failed));
    TRY(compare_once(t, workload, tunings, 1, false, &other, failed));
    *ratio = fmax(*ratio, other);
    return CORNU_OK;
}

/* The geometric mean over the workloads that fit into memory. */
static cornu_status compare(tune *t, const char *from, const char *to, bool last, double *ratio,
                            int *failed)
{
    double sum = 0;
    int measured = 0;
    cornu_status status = CORNU_OK;
    *ratio = 1;
    for (int i = 0; i < t->workload_count && (last || *ratio <= HOPELESS); i++) {
        double own;
        notice(t, "%s on %s", to, t->workloads[i]);
        status = compare_on(t, t->workloads[i], from, to, last, &own, failed);
        if (status == CORNU_OUT_OF_MEMORY && *failed == 0)
            continue;
        TRY(status);
        sum += log(own);
        *ratio = exp(sum / ++measured);
    }
    return measured > 0 ? CORNU_OK : status;
}

/* A candidate that the device cannot run loses; any other failure ends the search. */
static cornu_status try_candidate(tune *t, int stage, const char *from, const char *to,
                                  double *ratio)
{
    tune_report *r = t->report;
    int failed = 0;
    TRY(memory_grow(&r->trials, &r->trial_capacity, r->trial_count + 1, sizeof *r->trials));
    cornu_status status = compare(t, from, to, false, ratio, &failed);
    if (status != CORNU_OK && (status == CORNU_STOPPED || failed == 0))
        return status;
    tune_trial *trial = &r->trials[r->trial_count++];
    *trial = (tune_trial){.stage = stage, .ratio = *ratio};
    snprintf(trial->from, sizeof trial->from, "%s", from);
    snprintf(trial->text, sizeof trial->text, "%s", to);
    if (status != CORNU_OK) {
        *ratio = trial->ratio = INFINITY;
        snprintf(trial->failure, sizeof trial->failure, "%s", cornu_last_error());
    }
    return CORNU_OK;
}

/* ---- the search -------------------------------------------------------------------------- */

/* The best of a stage replaces `best`; *more: the stage exists. */
static cornu_status run_stage(tune *t, int stage, char best[TUNING_TEXT], bool *more)
{
    char from[TUNING_TEXT], other[TUNING_TEXT];
    double least = TUNE_GAIN;
    int tried = 0;
    snprintf(from, sizeof from, "%s", best);
    for (int i = 0; t->device->ops->tuning_candidate(t->device, from, stage, i, other); i++) {
        double ratio;
        *more = true;
        if (strcmp(other, from) == 0 || (t->options->quick && tried == QUICK_CANDIDATES))
            continue;
        tried++;
        TRY(try_candidate(t, stage, from, other, &ratio));
        if (ratio >= least)
            continue;
        least = ratio;
        snprintf(best, TUNING_TEXT, "%s", other);
    }
    return CORNU_OK;
}

/* Compare the winner with the current tuning once more: a winner by chance does not win twice. */
static cornu_status keep_winner(tune *t, const char *best)
{
    tune_report *r = t->report;
    int failed;
    if (strcmp(best, r->before.text) == 0)
        return CORNU_OK;
    TRY(compare(t, r->before.text, best, true, &r->ratio, &failed));
    if (r->ratio >= TUNE_GAIN)
        return CORNU_OK;
    return t->device->ops->tuning_keep(t->device, best, &r->after);
}

static cornu_status search(tune *t)
{
    char best[TUNING_TEXT];
    bool more = true;
    snprintf(best, sizeof best, "%s", t->report->before.text);
    TRY(choose_workloads(t));
    for (int stage = 0; more; stage++) {
        more = false;
        TRY(run_stage(t, stage, best, &more));
    }
    return keep_winner(t, best);
}

/* The current tuning. */
static cornu_status look_up(const tune *t, device_tuning *now)
{
    const device_ops *ops = t->device->ops;
    TRY(ops->tuning ? ops->tuning(t->device, now) : CORNU_OK);
    if (*now->text)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "device %s: has nothing to tune; expected one whose kernels can be tuned, "
                       "such as opencl:0",
                       t->options->device ? t->options->device : "cpu");
}

cornu_status tune_run(const tune_options *options, tune_report *report)
{
    tune t = {.options = options, .report = report};
    device_id id;
    *report = (tune_report){.ratio = 1};
    TRY(device_find(options->device, &id));
    TRY(id.ops->open(id.number, NULL, &t.device));
    cornu_status status = look_up(&t, &report->before);
    if (status == CORNU_OK)
        status = search(&t);
    t.device->ops->close(t.device);
    return status;
}

void tune_report_free(tune_report *report)
{
    free(report->trials);
    free(report->rows);
    *report = (tune_report){0};
}

/* ---- a pair --------------------------------------------------------------------------------- */

enum { STEPS_MOST = 50 }; /* of a side in a round */
static const double ROUND_SECONDS = 0.1;

cornu_status tune_side_open(tune_side *s, const char *workload, const char *on, const char *tuning)
{
    session_options open = {.where.device = on, .tuning = tuning};
    TRY(cornu_model_open(workload, &s->model));
    int64_t batch = s->model->batch > 0 ? s->model->batch : 32;
    s->model->training.position.seed = 1;
    TRY(model_recomputes(s->model, false, &open.recompute));
    TRY(session_open(s->model, &open, &s->session));
    TRY(session_plan_for(s->session, PLAN_TRAIN, batch, WEIGHTS_NONE, &s->plan));
    TRY(generated_batch_open(s->model, batch, &s->batch));
    size_t count = (size_t)s->plan->plan->op_count;
    return memory_new(count * TUNE_ROUNDS_MOST, sizeof *s->seconds, "times", &s->seconds);
}

void tune_side_close(tune_side *s)
{
    session_close(s->session);
    generated_batch_close(&s->batch);
    cornu_model_close(s->model);
    free(s->seconds);
    *s = (tune_side){0};
}

/* The learning rate is 0: training on one batch again and again would drive gradients to denormals,
   with which some CPUs are slow. */
static step_input input_of(const tune_side *s, int round)
{
    step_input input = generated_batch_input(s->model, &s->batch);
    input.iteration = round;
    input.learning_rate = 0;
    return input;
}

/* Steps as in training, by the wall clock, which is the figure that counts. Returns seconds per
   step; the first step, which finds the other side's data in the caches, does not count. */
static cornu_status run_steps(tune_side *s, int round, double *seconds)
{
    device *d = session_device(s->session);
    const step_input input = input_of(s, round);
    int steps = 0;
    TRY(d->ops->run(d, s->plan->prepared, &input, 1));
    TRY(d->ops->synchronize(d));
    double begin = clock_seconds();
    while (steps < 1 || (steps < STEPS_MOST && clock_seconds() - begin < ROUND_SECONDS)) {
        TRY(d->ops->run(d, s->plan->prepared, &input, 1));
        TRY(d->ops->synchronize(d));
        steps++;
    }
    *seconds = (clock_seconds() - begin) / steps;
    return CORNU_OK;
}

/* Also time each operation separately, for the table. */
static cornu_status run_round(tune_side *s, int round, double *seconds)
{
    device *d = session_device(s->session);
    const step_input input = input_of(s, round);
    const size_t count = (size_t)s->plan->plan->op_count;
    TRY(run_steps(s, round, seconds));
    return d->ops->time_operations(d, s->plan->prepared, &input,
                                   s->seconds + (size_t)round * count);
}

/* The sides take turns to begin a round; the first round, which finds cold caches, is measured
   again. */
cornu_status tune_pair_run(tune_pair *p, const tune_options *options, int rounds, int *failed)
{
    double ratios[TUNE_ROUNDS_MOST];
    p->rounds = rounds;
    for (int r = -1; r < rounds; r++) {
        double sums[2];
        if (options->should_stop && options->should_stop(options->user))
            return status_fail(CORNU_STOPPED, "tune: stopped; nothing is kept");
        for (int k = 0; k < 2; k++) {
            *failed = k ^ (r & 1);
            TRY(run_round(&p->side[*failed], r < 0 ? 0 : r, &sums[*failed]));
        }
        if (r >= 0)
            ratios[r] = sums[0] > 0 ? sums[1] / sums[0] : 1;
    }
    p->ratio = statistics_of(ratios, rounds).median;
    return CORNU_OK;
}

double tune_pair_median(const tune_pair *p, int side, int i)
{
    const tune_side *s = &p->side[side];
    double values[TUNE_ROUNDS_MOST];
    for (int r = 0; r < p->rounds; r++)
        values[r] = s->seconds[(size_t)r * (size_t)s->plan->plan->op_count + (size_t)i];
    return statistics_of(values, p->rounds).median;
}
