/* Is a GPU worth it? The data, the schedule, what was measured, and the sentence that follows. */
#include "bench/advise.h"
#include "base/memory.h"
#include "base/show.h"
#include "bench/bench.h"
#include "bench/candidate.h"
#include "bench/cost.h"
#include "bench/report.h"
#include "bench/sweep.h"
#include "step/plan.h"
#include "train/callbacks.h"
#include "train/fit_spec.h"
#include "train/forecast.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <cornu/tables.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Without --batches: 1, 2, 4, ... up to this. */
enum { BATCH_MOST = 512 };
static const double MEASURE_SECONDS = 50;
/* Pictures are decoded for this long to measure the speed, in batches of DECODE_BATCH. */
static const double DECODE_SECONDS = 4;
enum { DECODE_BATCHES = 16, DECODE_BATCH = 16 };
/* The minimum spread: a few seconds do not show the effects of heat or other load. */
static const double SPREAD_LEAST = 0.05;
/* Batches of samples generated in place of pictures, of the largest size. */
enum { GENERATED_BATCHES = 2 };

typedef struct adviser {
    const advise_options *options;
    advise_report *report;
    cornu_model *model;
    fit_spec spec;
    bench_data data;
    int64_t validation_batch;
    int64_t batches[SWEEP_BATCHES_MOST + 1];
    double decode_workers;
    bench_workload subject[2];
} adviser;

static void notice(const adviser *a, const char *line)
{
    if (a->options->bench.on_notice)
        a->options->bench.on_notice(a->options->bench.user, line);
}

/* ---- the data --------------------------------------------------------------------------- */

static bool should_stop(void *user)
{
    const bench_options *o = user;
    return o->should_stop && o->should_stop(o->user);
}

/* The time of a core per picture: for some pictures, in the order of the first epoch. */
static cornu_status time_pictures(adviser *a)
{
    input_pipeline f;
    sample_block samples;
    cornu_data_loading l = {.size = sizeof l};
    const cornu_data *data = a->data.data;
    int64_t got = 1;
    double begin = clock_seconds();
    notice(a, "decoding some pictures");
    TRY(data_samples_for(data, CORNU_TRAIN, a->model, &samples));
    TRY(input_open(data, CORNU_TRAIN, &samples, 0, samples.count, &f));
    input_begin(&f, 1, 0, true);
    cornu_status status = CORNU_OK;
    for (int i = 0; i < DECODE_BATCHES && got > 0 && status == CORNU_OK &&
                    clock_seconds() - begin < DECODE_SECONDS;
         i++) {
        const int64_t *index;
        status = input_take(&f, (int64_t)i * DECODE_BATCH, DECODE_BATCH, &index, &got);
    }
    if (status == CORNU_OK)
        status = cornu_data_loading_get(data, &l);
    input_close(&f);
    a->decode_workers = l.workers > 0 ? l.workers : 1;
    if (l.decoded > 0)
        a->report->picture_seconds = (l.decode_seconds + l.resize_seconds) / (double)l.decoded;
    return status;
}

/* Noise with the samples' shape, so that no picture is decoded during the timing. */
static cornu_status generate(adviser *a)
{
    return data_generate_for_model(a->model, GENERATED_BATCHES * BATCH_MOST, 1, &a->data.data);
}

/* Count the samples of an epoch and of a validation. */
static cornu_status count_samples(adviser *a)
{
    advise_report *r = a->report;
    const cornu_data *data = a->data.data;
    int64_t train = data_usable(data, CORNU_TRAIN, 0, data->block[CORNU_TRAIN].count);
    int64_t test = data_usable(data, CORNU_TEST, 0, data->block[CORNU_TEST].count);
    r->pictures = data->loader ? train : 0;
    r->samples = train;
    if (a->spec.validation_split > 0) {
        r->samples = (int64_t)floor((double)train * (1 - a->spec.validation_split));
        r->validation_samples = train - r->samples;
    } else if (a->spec.validate) {
        int64_t most = a->spec.validation_samples;
        r->validation_samples = most > 0 && most < test ? most : test;
    }
    if (r->samples < 1)
        return status_fail(CORNU_INVALID, "%s: found no training samples; expected at least one",
                           data->name);
    return CORNU_OK;
}

/* Open the recipe's data; for a workload whose data are not here, the table has the number of
   samples. */
static cornu_status open_data(adviser *a)
{
    advise_report *r = a->report;
    const bench_options *o = &a->options->bench;
    cornu_data_options find = {
        .size = sizeof find,
        .folder = o->data,
        .other_data = o->data != NULL,
        .should_stop = should_stop,
        .user = (void *)(uintptr_t)o,
        .images = &(cornu_folder_options){
            .size = sizeof(cornu_folder_options), .background = true, .cache = "off"}};
    cornu_status status = cornu_data_open_for_model(a->model, &find, &a->data.data);
    const bench_workload *w = bench_workload_named(a->options->what);
    if (status == CORNU_NOT_FOUND && w && !o->data) {
        r->samples = w->epoch_samples;
        return generate(a);
    }
    TRY(status);
    if (w && o->data) { /* which rebuilds the model, and so its sections */
        TRY(cornu_model_adapt(a->model, a->data.data, NULL));
        TRY(fit_spec_read(a->model->fit, &a->spec));
    }
    r->real_data = true;
    cornu_printable(a->data.data->name, r->data_name, sizeof r->data_name);
    TRY(data_check_samples(a->model, &a->data.data->block[CORNU_TRAIN], a->data.data->name));
    TRY(count_samples(a));
    if (!a->data.data->loader)
        return CORNU_OK;
    TRY(time_pictures(a));
    cornu_data_close(a->data.data);
    a->data.data = NULL;
    return generate(a);
}

/* ---- the schedule ----------------------------------------------------------------------- */

static cornu_status find_early_stopping(adviser *a)
{
    callbacks *c;
    TRY(callbacks_open(a->spec.callbacks, &c));
    a->report->at_most = callbacks_have(c, "early_stopping");
    callbacks_close(c);
    return CORNU_OK;
}

static void plan_schedule(adviser *a)
{
    advise_report *r = a->report;
    const advise_options *o = a->options;
    const fit_spec *s = &a->spec;
    r->epochs = o->epochs ? o->epochs : s->epochs;
    r->batch = o->bench.batch ? o->bench.batch : s->batch;
    r->batch = r->batch < r->samples ? r->batch : r->samples;
    r->steps = s->steps_per_epoch ? s->steps_per_epoch : (r->samples + r->batch - 1) / r->batch;
    r->validations = r->validation_samples > 0 ? fit_spec_validations(s, 0, r->epochs) : 0;
    a->validation_batch = s->validation_batch_size ? s->validation_batch_size : r->batch;
    int64_t most = s->validation_steps * a->validation_batch;
    if (most > 0 && most < r->validation_samples)
        r->validation_samples = most;
}

/* Those asked for, and the recipe's own. */
static void choose_batches(adviser *a)
{
    const int64_t *asked = a->options->bench.batches;
    for (int i = 0; asked && asked[i]; i++)
        sweep_insert(a->batches, asked[i]);
    for (int64_t batch = 1; !asked && batch <= BATCH_MOST; batch *= 2)
        sweep_insert(a->batches, batch);
    sweep_insert(a->batches, a->report->batch);
}

/* ---- measuring -------------------------------------------------------------------------- */

static cornu_status measure(adviser *a)
{
    const advise_options *o = a->options;
    a->data.real = a->report->real_data;
    a->data.users = 1;
    a->data.epoch_samples = a->report->samples;
    a->data.workload = a->subject;
    a->subject[0] = (bench_workload){o->what, a->report->samples, (int)a->report->epochs, NULL};
    bench_options measured = o->bench;
    measured.device = o->bench.device ? o->bench.device : "all";
    measured.without = o->bench.device ? NULL : "reference";
    measured.batch = measured.main_batch = a->report->batch;
    measured.batches = a->batches;
    measured.seconds = o->bench.seconds > 0 ? o->bench.seconds : MEASURE_SECONDS;
    measured.subject = a->subject;
    measured.read = &a->data;
    measured.validation = true;
    measured.keeps_stopped = true;
    return bench_run(&measured, &a->report->bench);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* The result of the batch for training, or of the largest batch below it that was not too slow. */
static const bench_result *result_of(const adviser *a, const char *on)
{
    const advise_report *r = a->report;
    const bench_result *best = NULL;
    for (int i = 0; i < r->bench.count; i++) {
        const bench_result *x = &r->bench.results[i];
        bool better = !best || (*best->failed && !*x->failed) ||
                      (!*x->failed && x->batch > best->batch) ||
                      (*best->failed && x->batch == r->batch);
        if (strcmp(x->device, on) == 0 && x->batch <= r->batch && better)
            best = x;
    }
    return best;
}

/* Seconds that decoding adds: on the host it takes cores from the steps of the first epoch, with an
   accelerator it only has to keep up. */
static double decoding_seconds(const adviser *a, bool on_host, double epoch)
{
    const advise_report *r = a->report;
    double all = (double)r->pictures * r->picture_seconds;
    if (on_host)
        return all / fmax(r->bench.limits.threads, 1);
    return fmax(all / fmin(a->decode_workers, fmax(r->bench.machine.cores, 1)) - epoch, 0);
}

static void add_forecast(const adviser *a, const bench_result *x, bool on_host, advise_row *row)
{
    const advise_report *r = a->report;
    double scale = (double)r->batch / (double)x->batch; /* of a smaller batch: scale by samples */
    double each = (double)x->steps / fmax(x->step_ms.rounds, 1);
    forecast f = {.first_units = 1};
    for (int i = 0; x->ms && i < x->step_ms.rounds; i++)
        forecast_steps(&f, each, x->ms[i] / 1e3 * scale * each, false, 0);
    row->step_ms = forecast_mean(&f.steps) * 1e3;
    row->step_error_ms = forecast_spread(&f.steps, 1e9) * row->step_ms;
    double validation = isnan(x->validation_ms) ? row->step_ms / 2 : x->validation_ms * scale;
    row->validation_ms = validation;
    f.validation_guess = 0;
    forecast_add(&f.validation, 1,
                 validation / 1e3 * (double)r->validation_samples / (double)r->batch);
    forecast_work work = {.steps = (double)(r->epochs * r->steps),
                          .validations = (double)r->validations};
    double begin =
        x->cold_seconds + decoding_seconds(a, on_host, (double)r->steps * row->step_ms / 1e3);
    f.first_seconds = 1; /* it is forecast whatever was measured */
    (void)forecast_left(&f, &work, &row->seconds, &row->error);
    row->error = fmax(row->error, SPREAD_LEAST * row->seconds) + begin / 4;
    row->seconds += begin;
    if (x->batch < r->batch) /* a larger batch may need less time per sample */
        row->error = fmax(row->error, row->seconds / 2);
}

/* Energy: its power times the time. */
static void add_energy(const adviser *a, const bench_result *x, bool on_host, advise_row *row)
{
    const advise_report *r = a->report;
    double steps = (double)((a->subject[0].epoch_samples + x->batch - 1) / x->batch);
    double step_seconds = x->step_ms.median / 1e3;
    row->host_joules = x->host_watts * row->seconds;
    row->device_joules = on_host ? NAN : x->joules_per_epoch / steps / step_seconds * row->seconds;
    double per_hour = price_of(&r->prices, row->device, row->gpu);
    row->cost = per_hour * row->seconds / 3600;
}

static cornu_status add_row(adviser *a, const device_id *id, const cornu_device_info *info)
{
    advise_report *r = a->report;
    const bench_result *x = result_of(a, info->name);
    if (!x || r->count == BENCH_DEVICES_MOST)
        return CORNU_OK;
    advise_row *row = &r->rows[r->count++];
    *row = (advise_row){.gpu = info->gpu || strncmp(info->name, "cuda", 4) == 0,
                        .seconds = NAN,
                        .error = NAN,
                        .step_ms = NAN,
                        .step_error_ms = NAN,
                        .validation_ms = NAN,
                        .host_joules = NAN,
                        .device_joules = NAN,
                        .cost = NAN,
                        .measured_batch = x->batch,
                        .memory_free = (double)info->memory_free_bytes};
    snprintf(row->device, sizeof row->device, "%s", info->name);
    session_options open = {.where.device = info->name,
                            .where.exact_convolution = a->options->bench.exact_convolution};
    memory_need need;
    TRY(model_recomputes(a->model, a->options->bench.recompute, &open.recompute));
    row->memory_needed = NAN;
    if (session_memory(a->model, &open, PLAN_TRAIN, r->batch, &need) == CORNU_OK)
        row->memory_needed = (double)need.variables + (double)need.buffers;
    if (*x->failed) {
        snprintf(row->failed, sizeof row->failed, "%s", x->failed);
        return CORNU_OK;
    }
    bool on_host = !id->ops->upload;
    add_forecast(a, x, on_host, row);
    add_energy(a, x, on_host, row);
    return CORNU_OK;
}

static cornu_status add_rows(adviser *a)
{
    advise_report *r = a->report;
    device_id id;
    cornu_device_info info = {.size = sizeof info};
    energy host;
    for (int i = 0; device_at(i, &id, &info); i++)
        TRY(add_row(a, &id, &info));
    for (int i = 1; i < r->count; i++)
        r->rows[i].wins_from = sweep_wins_from(&r->bench, a->options->what, r->rows[i].device,
                                               r->rows[0].device, &r->rows[i].compared_up_to);
    energy_open(&host, NULL);
    snprintf(r->no_energy, sizeof r->no_energy, "%s", host.why);
    return CORNU_OK;
}

/* ---- all together ----------------------------------------------------------------------- */

static cornu_status advise(adviser *a)
{
    advise_report *r = a->report;
    double begin = clock_seconds();
    TRY(price_parse(a->options->price, &r->prices));
    TRY(cornu_model_open(a->options->what, &a->model));
    cornu_printable(a->model->name ? a->model->name : a->options->what, r->name, sizeof r->name);
    TRY(fit_spec_read(a->model->fit, &a->spec));
    TRY(find_early_stopping(a));
    TRY(open_data(a));
    plan_schedule(a);
    choose_batches(a);
    TRY(measure(a));
    TRY(add_rows(a));
    if (r->bench.interrupted && r->count == 0)
        return status_fail(CORNU_STOPPED, "advise: stopped before a device was measured");
    TRY(advise_estimate_gpus(a->options->what, a->model, r));
    advise_say(r);
    r->measured_seconds = clock_seconds() - begin;
    return CORNU_OK;
}

cornu_status advise_run(const advise_options *options, advise_report *report)
{
    adviser a = {.options = options, .report = report};
    *report = (advise_report){.count = 0};
    if (options->epochs < 0 || options->bench.batch < 0 || options->bench.threads < 0)
        return status_fail(CORNU_INVALID, "advise: found a negative number of epochs, batch or "
                                          "threads");
    cornu_status status = advise(&a);
    cornu_data_close(a.data.data);
    cornu_model_close(a.model);
    return status;
}

void advise_report_free(advise_report *report)
{
    bench_report_free(&report->bench);
    *report = (advise_report){.count = 0};
}

/* ---- GPUs that are not here ----------------------------------------------------------------- */

/* The figure is of the same workload, measured by others with another program. */
static const double SAME_FACTOR = 1.5;
/* Another network of about the same size: cache sizes and kernels differ. Steps whose FLOPs differ
   by more than this factor allow no estimate. */
static const double OTHER_FACTOR = 3, LIKE = 10;

static cornu_status step_flops(const cornu_model *model, int64_t batch, double *flops)
{
    plan *p;
    const plan_options options = {.mode = PLAN_TRAIN, .batch = batch};
    TRY(plan_build(model, &options, &p));
    *flops = p->flops;
    plan_free(p);
    return CORNU_OK;
}

static bool is_of_gpu(const published_figure *f, const char *workload)
{
    return strcmp(f->workload, workload) == 0 && strcmp(f->device_kind, "gpu") == 0 &&
           f->epoch_seconds > 0;
}

static bool has_gpu(const char *workload)
{
    for (const published_figure *f = published_figures; f->workload; f++)
        if (is_of_gpu(f, workload))
            return true;
    return false;
}

/* FLOPs of an epoch and of a step of it. */
static cornu_status workload_flops(const bench_workload *w, double *epoch, double *step)
{
    cornu_model *model;
    TRY(cornu_model_open(w->name, &model));
    int64_t batch = model->batch > 0 ? model->batch : 32;
    cornu_status status = step_flops(model, batch, step);
    cornu_model_close(model);
    *epoch = *step * (double)w->epoch_samples / (double)batch;
    return status;
}

static void add_estimates(const char *workload, double epochs, double factor, advise_report *r)
{
    for (const published_figure *f = published_figures; f->workload; f++)
        if (is_of_gpu(f, workload) && r->estimate_count < ADVISE_ESTIMATES_MOST)
            r->estimates[r->estimate_count++] =
                (advise_estimate){.hardware = f->hardware,
                                  .workload = f->workload,
                                  .seconds = f->epoch_seconds * epochs,
                                  .factor = factor};
}

/* The workload with the nearest step; *epochs: the number of its epochs with the same work. */
static cornu_status nearest(const cornu_model *model, const advise_report *r,
                            const bench_workload **out, double *epochs)
{
    double own, best = log(LIKE);
    TRY(step_flops(model, r->batch, &own));
    *out = NULL;
    for (const bench_workload *w = bench_workloads; w->name; w++) {
        double epoch, step;
        if (!has_gpu(w->name))
            continue;
        TRY(workload_flops(w, &epoch, &step));
        double apart = fabs(log(own / step));
        if (!(apart < best))
            continue;
        best = apart;
        *out = w;
        *epochs = own * (double)(r->epochs * r->steps) / epoch;
    }
    return CORNU_OK;
}

cornu_status advise_estimate_gpus(const char *what, const cornu_model *model, advise_report *report)
{
    const bench_workload *w = bench_workload_named(what);
    double epochs, samples = (double)(report->epochs * report->steps * report->batch);
    report->estimate_count = 0;
    if (w && has_gpu(w->name)) {
        add_estimates(w->name, samples / (double)w->epoch_samples, SAME_FACTOR, report);
        return CORNU_OK;
    }
    TRY(nearest(model, report, &w, &epochs));
    if (w)
        add_estimates(w->name, epochs, OTHER_FACTOR, report);
    return CORNU_OK;
}

/* ---- the sentence --------------------------------------------------------------------------- */

/* One sentence of advice, with its reason. */
/* "4.1 times" or "twice": more than two digits would exceed a forecast's accuracy. */
static void say_times(const sentence *s, double ratio)
{
    sentence_add(s, "%.*f times", ratio < 9.95 ? 1 : 0, ratio);
}

static const advise_row *fastest(const advise_report *r, const advise_row *but)
{
    const advise_row *best = NULL;
    for (int i = 0; i < r->count; i++) {
        const advise_row *row = &r->rows[i];
        bool measured = !*row->failed && row->seconds > 0 && row != but;
        if (measured && (!best || row->seconds < best->seconds))
            best = row;
    }
    return best;
}

/* The row that the fastest is compared with: the first device, which is the cpu if it is among
   them, or the best of the others. */
static const advise_row *rival_of(const advise_report *r, const advise_row *best)
{
    const advise_row *first = &r->rows[0];
    return first != best && !*first->failed && first->seconds > 0 ? first : fastest(r, best);
}

static void say_alone(const sentence *s, const advise_report *r, const advise_row *best)
{
    int failed = 0;
    sentence_add(s, "Train on %s: ", best->device);
    for (int i = 0; i < r->count; i++)
        if (*r->rows[i].failed)
            sentence_add(s, "%s%s could not be measured (%.200s)", failed++ ? ", " : "",
                         r->rows[i].device, r->rows[i].failed);
    if (!failed)
        sentence_add(s, "no other device was there to be measured");
}

/* Their costs, if both are known; `than` is the text after the better one's time. */
static void say_cost(const sentence *s, const advise_report *r, const advise_row *best,
                     const advise_row *rival)
{
    char mine[48], theirs[48];
    if (!isfinite(best->cost) || !isfinite(rival->cost))
        return;
    price_show(&r->prices, best->cost, mine);
    price_show(&r->prices, rival->cost, theirs);
    if (best->cost <= rival->cost)
        sentence_add(s, ", and costs %s in place of %s", mine, theirs);
    else
        sentence_add(s, ", but costs %s in place of %s: worth it where time counts for more", mine,
                     theirs);
}

static void say_same(const sentence *s, const advise_report *r, const advise_row *best,
                     const advise_row *rival)
{
    char times[2][DURATION_TEXT], costs[2][48];
    const advise_row *first = rival < best ? rival : best, *second = rival < best ? best : rival;
    bool priced = isfinite(first->cost) && isfinite(second->cost);
    const advise_row *cheap = second->cost < first->cost ? second : first;
    const advise_row *dear = cheap == first ? second : first;
    sentence_add(s, "Train on %s", priced ? cheap->device : first->device);
    if (!priced)
        sentence_add(s, " or %s", second->device);
    sentence_add(s, ": %s and %s cannot be told apart", duration_show(first->seconds, times[0]),
                 duration_show(second->seconds, times[1]));
    if (priced)
        sentence_add(s, ", and it costs %s in place of %s",
                     price_show(&r->prices, cheap->cost, costs[0]),
                     price_show(&r->prices, dear->cost, costs[1]));
}

/* The first device is the fastest: how far behind are the others, and does another batch change
   that? */
static void say_stay(const sentence *s, const advise_report *r, const advise_row *best,
                     const advise_row *rival)
{
    sentence_add(s, "Train on %s: %s takes ", best->device, rival->device);
    say_times(s, rival->seconds / best->seconds);
    sentence_add(s, " as long at batch %lld", (long long)r->batch);
    if (rival->wins_from > 0)
        sentence_add(s, ", and is faster from batch %lld on", (long long)rival->wins_from);
    else if (rival->compared_up_to > r->batch) /* smaller batches alone say nothing new */
        sentence_add(s, ", and is not faster at any batch up to %lld",
                     (long long)rival->compared_up_to);
    if (isfinite(best->cost) && isfinite(rival->cost) && rival->cost < best->cost) {
        char mine[48], theirs[48];
        sentence_add(s, ", but costs %s in place of %s",
                     price_show(&r->prices, rival->cost, theirs),
                     price_show(&r->prices, best->cost, mine));
    }
}

static void say_move(const sentence *s, const advise_report *r, const advise_row *best,
                     const advise_row *rival)
{
    char mine[DURATION_TEXT], theirs[DURATION_TEXT];
    if (best->gpu)
        sentence_add(s, "A GPU is worth it: %s takes ", best->device);
    else
        sentence_add(s, "Train on %s: it takes ", best->device);
    sentence_add(s, "%s in place of %s on %s (", duration_show(best->seconds, mine),
                 duration_show(rival->seconds, theirs), rival->device);
    say_times(s, rival->seconds / best->seconds);
    sentence_add(s, " as fast)");
    say_cost(s, r, best, rival);
}

/* Without a GPU here: the fastest of the published ones, if it is faster. */
static void say_estimate(const sentence *s, const advise_report *r, const advise_row *measured)
{
    const advise_estimate *best = NULL;
    char time[DURATION_TEXT];
    for (int i = 0; i < r->count; i++)
        if (r->rows[i].gpu && !*r->rows[i].failed)
            return;
    for (int i = 0; i < r->estimate_count; i++)
        if (!best || r->estimates[i].seconds < best->seconds)
            best = &r->estimates[i];
    if (best && best->seconds < measured->seconds)
        sentence_add(s, " By estimate the GPU of the published figures (%s) would take about %s.",
                     best->hardware, duration_show(best->seconds, time));
}

void advise_say(advise_report *report)
{
    const sentence s = {report->advice, sizeof report->advice};
    const advise_row *best = fastest(report, NULL);
    *report->advice = 0;
    if (!best)
        return;
    const advise_row *rival = rival_of(report, best);
    if (!rival)
        say_alone(&s, report, best);
    else if (fabs(best->seconds - rival->seconds) <= hypot(best->error, rival->error))
        say_same(&s, report, best, rival);
    else if (best == &report->rows[0])
        say_stay(&s, report, best, rival);
    else
        say_move(&s, report, best, rival);
    sentence_add(&s, ".");
    say_estimate(&s, report, best);
}
