#include "bench/advise.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "bench/contender.h"
#include "bench/energy.h"
#include "bench/sweep.h"
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

static const bench_workload *table_row(const char *name)
{
    for (const bench_workload *w = bench_workloads; w->name; w++)
        if (strcmp(w->name, name) == 0)
            return w;
    return NULL;
}

static bool should_stop(void *user)
{
    const bench_options *o = user;
    return o->should_stop && o->should_stop(o->user);
}

/* The time of a core per picture: for some pictures, in the order of the first epoch. */
static cornu_status time_pictures(adviser *a)
{
    feed f;
    sample_block samples;
    cornu_data_loading l = {0};
    const cornu_data *data = a->data.data;
    int64_t got = 1;
    double begin = clock_seconds();
    notice(a, "decoding some pictures");
    TRY(data_samples_for(data, CORNU_TRAIN, a->model, &samples));
    TRY(feed_open(data, CORNU_TRAIN, &samples, 0, samples.count, &f));
    feed_begin(&f, 1, 0, true);
    cornu_status status = CORNU_OK;
    for (int i = 0; i < DECODE_BATCHES && got > 0 && status == CORNU_OK &&
                    clock_seconds() - begin < DECODE_SECONDS;
         i++) {
        const int64_t *index;
        status = feed_take(&f, (int64_t)i * DECODE_BATCH, DECODE_BATCH, &index, &got);
    }
    if (status == CORNU_OK)
        status = cornu_data_loading_get(data, &l);
    feed_close(&f);
    a->decode_workers = l.workers > 0 ? l.workers : 1;
    if (l.decoded > 0)
        a->report->picture_seconds = (l.decode_seconds + l.resize_seconds) / (double)l.decoded;
    return status;
}

/* Noise with the samples' shape, so that no picture is decoded during the timing. */
static cornu_status generate(adviser *a, int64_t count)
{
    const shape *x = &a->model->input, *y = &a->model->output;
    int64_t classes = y->rank > 0 ? y->dim[y->rank - 1] : 1;
    return cornu_data_generate(x->dim, x->rank, (int)(classes > 1 ? classes : 2), count, 1,
                               &a->data.data);
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
    cornu_data_options find = {.folder = o->data,
                               .background = true,
                               .cache = "off",
                               .other_data = o->data != NULL,
                               .should_stop = should_stop,
                               .user = (void *)(uintptr_t)o};
    cornu_status status = cornu_data_open_for_model(a->model, &find, &a->data.data);
    const bench_workload *w = table_row(a->options->what);
    if (status == CORNU_NOT_FOUND && w && !o->data) {
        r->samples = w->epoch_samples;
        return generate(a, GENERATED_BATCHES * BATCH_MOST);
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
    return generate(a, GENERATED_BATCHES * BATCH_MOST);
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
    session_options open = {.device = info->name,
                            .exact_convolution = a->options->bench.exact_convolution};
    memory_need need;
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
    cornu_device_info info;
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
