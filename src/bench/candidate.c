/* One workload on one device: opened with its data, warmed up, measured round by round. */
#include "bench/candidate.h"
#include "base/memory.h"
#include "data/sets/datasets.h"
#include "train/fit_spec.h"
#include "train/input_pipeline.h"
#include "train/op_times.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <cornu/tables.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* loss_first and loss_last are means over about this many steps. */
enum { LOSS_STEPS = 8, WARM_UPS_MOST = 64 };
/* With fewer steps than this a loss proves nothing. */
enum { PROOF_STEPS = 16 };
/* If only few steps fit into the time, they cycle through a few batches: otherwise their loss would
   prove nothing either. */
enum { FEW_STEPS = 128, FEW_BATCHES = 4 };
/* A step longer than this is a round of its own, without a warm-up before it. */
static const double SLOW_STEP_SECONDS = 2.0;

/* Undisturbed rounds, if runs are to be compared. */
enum { COMPARABLE_ROUNDS = 60 };

bench_effort bench_effort_of(const bench_options *options)
{
    if (options->quick)
        return (bench_effort){.warm_up_seconds = 0.2,
                              .comparable = options->comparable,
                              .round_seconds = 0.05,
                              .budget_seconds = 6,
                              .patience_seconds = 20,
                              .rounds_least = 20,
                              .rounds_most = 100};
    return (bench_effort){.warm_up_seconds = 0.5,
                          .comparable = options->comparable,
                          .round_seconds = 0.15,
                          .budget_seconds = 25,
                          .patience_seconds = 60,
                          .rounds_least = 20,
                          .rounds_most = 200};
}

static cornu_status open_model(const bench_workload *w, int64_t batch, cornu_model **model,
                               int64_t *steps_batch)
{
    TRY(cornu_model_open(w->name, model));
    *steps_batch = batch > 0 ? batch : (*model)->batch > 0 ? (*model)->batch : 32;
    return CORNU_OK;
}

/* Only CUDA devices have other precisions than fp32. */
static const char *precision_on(const char *on, const bench_options *options)
{
    bool cuda = strncmp(on, "cuda", 4) == 0;
    return cuda && options->precision ? options->precision : "fp32";
}

cornu_status candidate_memory(const bench_workload *w, const char *on, const bench_options *options,
                              double *bytes)
{
    cornu_model *model = NULL;
    memory_need need;
    int64_t batch;
    session_options open = {.where.device = on,
                            .where.precision = precision_on(on, options),
                            .where.exact_convolution = options->exact_convolution};
    cornu_status status = open_model(w, options->batch, &model, &batch);
    if (status == CORNU_OK)
        status = model_recomputes(model, options->recompute, &open.recompute);
    if (status == CORNU_OK)
        status = session_memory(model, &open, PLAN_TRAIN, batch, &need);
    cornu_model_close(model);
    /* The kernels' scratch memory may take as much as the buffers. */
    if (status == CORNU_OK)
        *bytes = (double)need.variables + (double)need.copy + 2.0 * (double)need.buffers;
    return status;
}

cornu_status candidate_start(candidate *c, const bench_options *options)
{
    data_spec spec = {0};
    if (c->model->data)
        TRY(data_spec_read(c->model->data, &spec));
    session_options open = {.where.device = c->device,
                            .where.precision = c->precision,
                            .where.exact_convolution = options->exact_convolution,
                            .where.threads = options->threads,
                            .augment = spec.augment};
    TRY(model_recomputes(c->model, options->recompute, &open.recompute));
    double begin = clock_seconds();
    TRY(session_open(c->model, &open, &c->session));
    device *d = session_device(c->session);
    if (d->ops->upload)
        TRY(d->ops->upload(d, &c->samples));
    TRY(session_plan_for(c->session, PLAN_TRAIN, c->batch, WEIGHTS_NONE, &c->plan));
    c->cold_seconds = clock_seconds() - begin;
    return CORNU_OK;
}

cornu_status candidate_open(candidate *c, const bench_workload *w, const char *on,
                            bench_data *share, const bench_options *options,
                            const bench_effort *effort, bench_report *report)
{
    *c = (candidate){.workload = w,
                     .device = on,
                     .precision = precision_on(on, options),
                     .watts = NAN,
                     .joules = NAN,
                     .clock_mhz = NAN,
                     .host_joules = NAN,
                     .validation_ms = NAN};
    TRY(open_model(w, options->batch, &c->model, &c->batch));
    if (share) {
        share->users++;
        c->data = share;
    } else {
        TRY(bench_data_open(w, c->model, c->batch, options, report, &c->data));
    }
    const cornu_data *data = c->data->data;
    TRY(data_samples_for(data, CORNU_TRAIN, c->model, &c->samples));
    TRY(input_open(data, CORNU_TRAIN, &c->samples, 0, c->samples.count, &c->input));
    c->samples_read = input_samples(&c->input);
    if (c->batch > c->samples_read)
        return status_fail(CORNU_INVALID, "batch: found %lld; expected at most the %lld samples",
                           (long long)c->batch, (long long)c->samples_read);
    c->losses_most = effort->rounds_most + WARM_UPS_MOST;
    size_t most = (size_t)c->losses_most;
    TRY(memory_new(most, sizeof *c->ms, "times", &c->ms));
    TRY(memory_new(most, sizeof *c->fastest, "times", &c->fastest));
    TRY(memory_new(most, sizeof *c->probe, "probes", &c->probe));
    TRY(memory_new(most, sizeof *c->memory, "probes", &c->memory));
    TRY(memory_new(most, sizeof *c->loss, "losses", &c->loss));
    TRY(memory_new(most, sizeof *c->loss_steps, "losses", &c->loss_steps));
    TRY(features_learn(c->model, &c->input));
    if (c->model->training.position.seed == 0)
        c->model->training.position.seed = 1;
    input_begin(&c->input, c->model->training.position.seed, 0, true);
    return CORNU_OK;
}

void candidate_close(candidate *c)
{
    session_close(c->session);
    input_close(&c->input);
    bench_data_close(c->data);
    cornu_model_close(c->model);
    free(c->ms);
    free(c->fastest);
    free(c->probe);
    free(c->memory);
    free(c->loss);
    free(c->loss_steps);
    *c = (candidate){0};
}

/* Its data stay open: other candidates may share them. */
void candidate_fail(candidate *c, cornu_status status, const char *why)
{
    candidate failed = {.workload = c->workload,
                        .device = c->device,
                        .precision = c->precision,
                        .batch = c->batch,
                        .data = c->data,
                        .failed = status,
                        .done = true};
    snprintf(failed.why, sizeof failed.why, "%s", why);
    c->data = NULL;
    candidate_close(c);
    *c = failed;
}

/* See FEW_STEPS. */
static void choose_samples_read(candidate *c, double step_seconds, const bench_effort *effort)
{
    int64_t few = FEW_BATCHES * c->batch;
    if (step_seconds * FEW_STEPS > effort->budget_seconds && few < c->samples_read)
        c->samples_read = few;
}

/* The next whole batch; a new epoch has a new order. The device may still read the old batch, so
   wait for it first. */
cornu_status candidate_batch(candidate *c, const int64_t **index)
{
    int64_t got;
    if (c->next + c->batch > c->samples_read) {
        step_results unused;
        TRY(session_results(c->session, &unused, false));
        c->model->training.position.epoch++;
        if (c->samples_read == input_samples(&c->input))
            input_begin(&c->input, c->model->training.position.seed,
                        c->model->training.position.epoch, true);
        c->next = 0;
    }
    TRY(input_take(&c->input, c->next, c->batch, index, &got));
    c->next += c->batch;
    return CORNU_OK;
}

/* How many times the kernel preempted one of this process's threads. */
static long preemptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Run and wait; *seconds: of all steps, *fastest: of the fastest that was not preempted (or
   NAN). */
static cornu_status run_steps(candidate *c, int64_t steps, double *seconds, double *fastest)
{
    step_results results;
    device *d = session_device(c->session);
    if (d->ops->timer)
        TRY(d->ops->timer(d, NULL));
    double begin = clock_seconds(), last = begin;
    long preempted = preemptions();
    *fastest = NAN;
    for (int64_t i = 0; i < steps; i++) {
        const int64_t *index;
        TRY(candidate_batch(c, &index));
        TRY(session_step(c->session, c->plan, &c->samples, index));
        double now = clock_seconds();
        long again = preemptions();
        if (!d->ops->timer && again == preempted)
            *fastest = fmin(*fastest, now - last); /* fmin(NAN, x) is x */
        last = now;
        preempted = again;
    }
    if (d->ops->timer)
        TRY(d->ops->timer(d, seconds));
    TRY(session_results(c->session, &results, true));
    if (!d->ops->timer)
        *seconds = clock_seconds() - begin;
    if (c->losses < c->losses_most && results.samples > 0) {
        c->loss[c->losses] = results.loss / (double)results.samples;
        c->loss_steps[c->losses++] = steps;
    }
    return CORNU_OK;
}

static void add_round(candidate *c, int64_t steps, double seconds, double fastest, double probe,
                      const bench_effort *effort)
{
    c->fastest[c->rounds] = fastest * 1e3;
    c->ms[c->rounds] = seconds / (double)steps * 1e3;
    c->memory[c->rounds] = NAN;
    c->probe[c->rounds++] = probe;
    c->steps += steps;
    c->seconds += seconds;
    bool used_up = c->seconds >= effort->budget_seconds && c->steps >= PROOF_STEPS;
    c->done = used_up || c->seconds >= effort->patience_seconds || c->rounds >= effort->rounds_most;
}

cornu_status candidate_warm_up(candidate *c, const bench_options *options,
                               const bench_effort *effort)
{
    double spent = 0, seconds = 0, fastest;
    double begin = clock_seconds();
    TRY(run_steps(c, 1, &seconds, &fastest));
    c->cold_seconds += clock_seconds() - begin;
    choose_samples_read(c, seconds, effort);
    /* An accelerator's driver may have compiled kernels in it. */
    if (seconds > SLOW_STEP_SECONDS && session_device(c->session)->ops->upload)
        TRY(run_steps(c, 1, &seconds, &fastest));
    if (seconds > SLOW_STEP_SECONDS) {
        c->round_steps = options->steps > 0 ? options->steps : 1;
        add_round(c, 1, seconds, fastest, NAN, effort);
        return CORNU_OK;
    }
    for (int i = 0; i < WARM_UPS_MOST - 1 && (i < 2 || spent < effort->warm_up_seconds); i++) {
        int64_t steps = (int64_t)(effort->warm_up_seconds / 4 / fmax(seconds, 1e-6));
        steps = steps < 1 ? 1 : steps > 1000 ? 1000 : steps;
        TRY(run_steps(c, steps, &seconds, &fastest));
        spent += seconds;
        seconds /= (double)steps;
    }
    int64_t fitting = (int64_t)(effort->round_seconds / fmax(seconds, 1e-6) + 0.5);
    fitting = fitting < 1 ? 1 : fitting > 1000 ? 1000 : fitting;
    c->round_steps = options->steps > 0 ? options->steps : fitting;
    return CORNU_OK;
}

/* Work without a counter adds neither joules nor seconds: otherwise it would look like a saving. */
static void add_counted(double joules, double seconds, double *sum, double *of_seconds)
{
    if (!isfinite(joules))
        return;
    *sum = *of_seconds > 0 ? *sum + joules : joules;
    *of_seconds += seconds;
}

void candidate_meter(candidate *c, double joules, double seconds)
{
    add_counted(joules, seconds, &c->host_joules, &c->host_seconds);
}

cornu_status candidate_round(candidate *c, double probe, const bench_effort *effort)
{
    double seconds, fastest;
    device *d = session_device(c->session);
    device_sensors before = {.joules = NAN}, after = {.joules = NAN};
    if (d->ops->sensors)
        TRY(d->ops->sensors(d, &before));
    TRY(run_steps(c, c->round_steps, &seconds, &fastest));
    if (d->ops->sensors) {
        TRY(d->ops->sensors(d, &after));
        c->watts = after.watts;
        c->clock_mhz = after.clock_mhz;
        c->throttled |= after.throttled;
        add_counted(after.joules - before.joules, seconds, &c->joules, &c->device_seconds);
    }
    add_round(c, c->round_steps, seconds, fastest, probe, effort);
    return CORNU_OK;
}

double candidate_memory_probe(const candidate *c, const bench_effort *effort)
{
    device *d = session_device(c->session);
    return effort->comparable && d->ops->memory_probe ? d->ops->memory_probe(d) : NAN;
}

/* Has the fastest step been found? It has if the second half of the rounds has no faster one. */
static bool has_floor(const candidate *c)
{
    double first = NAN, second = NAN; /* fmin(NAN, x) is x */
    int undisturbed = 0;
    for (int i = 0; i < c->rounds; i++) {
        double *half = i < c->rounds / 2 ? &first : &second;
        double step = isnan(c->probe[i]) ? c->ms[i] : c->fastest[i];
        undisturbed += isfinite(step);
        *half = fmin(*half, step);
    }
    return undisturbed >= COMPARABLE_ROUNDS && second > 0.995 * first;
}

cornu_status candidate_validate(candidate *c, double seconds)
{
    session_plan *ready;
    step_results results;
    int64_t steps = 0;
    TRY(session_plan_for(c->session, PLAN_EVALUATE, c->batch, WEIGHTS_NONE, &ready));
    double begin = 0, spent = 0;
    for (int64_t i = -1; i < 1 || spent < seconds; i++) { /* the first run touches new memory */
        const int64_t *index;
        begin = i <= 0 ? clock_seconds() : begin;
        TRY(candidate_batch(c, &index));
        TRY(session_step(c->session, ready, &c->samples, index));
        if (i < 0 || i % 8 == 0) /* the queue stays full between looks at the clock */
            TRY(session_results(c->session, &results, true));
        steps = i + 1;
        spent = clock_seconds() - begin;
    }
    TRY(session_results(c->session, &results, true));
    c->validation_ms = (clock_seconds() - begin) / (double)steps * 1e3;
    return CORNU_OK;
}

bool candidate_is_stable(const candidate *c, const bench_effort *effort)
{
    return c->rounds >= effort->rounds_least && statistics_stable(c->ms, c->rounds, 5, 0.02) &&
           (!effort->comparable || has_floor(c));
}

/* ---- the result ------------------------------------------------------------------------- */

/* Mean loss over LOSS_STEPS steps (at most half of all) at the front or the back. */
static double mean_loss(const candidate *c, bool from_back)
{
    int64_t all = 0, taken = 0;
    for (int i = 0; i < c->losses; i++)
        all += c->loss_steps[i];
    int64_t wanted = all / 2 < LOSS_STEPS ? all / 2 : LOSS_STEPS;
    double sum = 0;
    for (int i = 0; i < c->losses && (taken < wanted || i == 0); i++) {
        int at = from_back ? c->losses - 1 - i : i;
        sum += c->loss[at] * (double)c->loss_steps[at];
        taken += c->loss_steps[at];
    }
    return taken > 0 ? sum / (double)taken : NAN;
}

/* Statistics of the probes; NAN without any. */
static cornu_status probe_statistics(const candidate *c, statistics *out)
{
    double *probes;
    int count = 0;
    TRY(memory_new((size_t)c->rounds + 1, sizeof *probes, "probes", &probes));
    for (int i = 0; i < c->rounds; i++)
        if (!isnan(c->probe[i]))
            probes[count++] = c->probe[i];
    *out = count > 0 ? statistics_of(probes, count)
                     : (statistics){.minimum = NAN, .median = NAN, .p95 = NAN, .noise = NAN};
    free(probes);
    return CORNU_OK;
}

/* The work of the chosen kernels in a step. */
static cornu_status add_choices(const candidate *c, bench_result *out)
{
    int count = c->plan->plan->op_count;
    device *d = session_device(c->session);
    kernel_choice *choices;
    TRY(memory_new((size_t)count + 1, sizeof *choices, "kernels", &choices));
    cornu_status status = d->ops->choices(d, c->plan->prepared, choices);
    for (int i = 0; status == CORNU_OK && i < count; i++) {
        out->launches += choices[i].launches;
        out->flops_run += choices[i].flops;
        out->bytes_run += choices[i].bytes;
    }
    free(choices);
    return status;
}

static void failed_result(const candidate *c, bench_result *out)
{
    *out = (bench_result){.workload = c->workload->name,
                          .precision = c->precision,
                          .batch = c->batch,
                          .step_ms = {0, NAN, NAN, NAN, NAN},
                          .samples_per_second = NAN,
                          .epoch_seconds = NAN,
                          .loss_first = NAN,
                          .loss_last = NAN,
                          .cold_seconds = NAN,
                          .watts = NAN,
                          .joules_per_epoch = NAN,
                          .clock_mhz = NAN,
                          .host_watts = NAN,
                          .validation_ms = NAN,
                          .flops_per_step = NAN,
                          .bytes_per_step = NAN,
                          .flops_run = NAN,
                          .bytes_run = NAN,
                          .share_of_limit = NAN,
                          .working_set = NAN,
                          .probe_low = NAN,
                          .probe_median = NAN};
    snprintf(out->device, sizeof out->device, "%s", c->device);
    cornu_printable(c->why, out->failed, sizeof out->failed);
}

cornu_status candidate_result(const candidate *c, bench_result *out)
{
    if (c->failed) {
        failed_result(c, out);
        return CORNU_OK;
    }
    const plan *p = c->plan->plan;
    statistics probes;
    double *sorted;
    int64_t buffers;
    device *d = session_device(c->session);
    TRY(d->ops->buffer_bytes(d, p, &buffers));
    TRY(probe_statistics(c, &probes));
    TRY(memory_new((size_t)c->rounds + 1, sizeof *sorted, "times", &sorted));
    for (int i = 0; i < c->rounds; i++)
        sorted[i] = c->ms[i];
    *out = (bench_result){.workload = c->workload->name,
                          .precision = c->precision,
                          .cold_seconds = c->cold_seconds,
                          .watts = c->watts,
                          .clock_mhz = c->clock_mhz,
                          .host_watts = c->host_joules / c->host_seconds,
                          .validation_ms = c->validation_ms,
                          .batch = c->batch,
                          .steps = c->steps,
                          .step_ms = statistics_of(sorted, c->rounds),
                          .loss_first = mean_loss(c, false),
                          .loss_last = mean_loss(c, true),
                          .flops_per_step = p->flops,
                          .bytes_per_step = p->bytes,
                          .working_set = (double)buffers + (double)p->variable_bytes,
                          .real_data = c->data->real,
                          .probe_low = probes.minimum,
                          .probe_median = probes.median};
    free(sorted);
    TRY(add_choices(c, out));
    snprintf(out->device, sizeof out->device, "%s", c->device);
    cornu_printable(c->data->data->name, out->data_name, sizeof out->data_name);
    double seconds = out->step_ms.median / 1e3;
    int64_t epoch_steps = (c->data->epoch_samples + c->batch - 1) / c->batch;
    out->samples_per_second = seconds > 0 ? (double)c->batch / seconds : 0;
    out->epoch_seconds = (double)epoch_steps * seconds;
    out->joules_per_epoch = c->joules / c->device_seconds * out->epoch_seconds;
    return CORNU_OK;
}

/* ---- its data ------------------------------------------------------------------------------- */

static const double SHOW_SECONDS = 0.2;
/* Pictures stay in memory, whatever their size: bench leaves no cache file behind. Data that do not
   fit are replaced. */
static const char IN_MEMORY[] = "900TB";

/* Batches of a generated set: few enough that training on them shows in the loss. */
enum { GENERATED_BATCHES = 8 };

/* May the workload use other data after this failure? */
static bool is_mendable(cornu_status status)
{
    return status == CORNU_NOT_FOUND || status == CORNU_NETWORK || status == CORNU_OUT_OF_MEMORY;
}

cornu_status bench_data_check(const bench_workload *w, const bench_options *options)
{
    const cornu_data_options find = {.size = sizeof find, .folder = options->data};
    cornu_model *model;
    data_location place = {0};
    TRY(cornu_model_open(w->name, &model));
    cornu_status status = data_find_for_model(model, &find);
    cornu_model_close(model);
    if (status != CORNU_OK && w->substitute &&
        dataset_find(dataset_named(w->substitute), options->data, &place, NULL) == CORNU_OK &&
        place.folder)
        status = CORNU_OK;
    free(place.folder);
    return status;
}

/* If --data holds neither the workload's data nor its substitute, but other workloads' data, a note
   says so, and the workload's data are searched elsewhere. */
static cornu_status open_inside(const bench_workload *w, const cornu_model *model,
                                cornu_data_options *find, bench_report *report, cornu_data **out)
{
    cornu_status status = cornu_data_open_for_model(model, find, out);
    if (status != CORNU_NOT_FOUND && status != CORNU_INVALID)
        return status;
    char message[1024];
    snprintf(message, sizeof message, "%s", cornu_last_error());
    if (w->substitute && cornu_data_open(w->substitute, find, out) == CORNU_OK)
        return CORNU_OK;
    TRY(bench_note(report, "%s: --data: %s", w->name, message));
    find->folder = NULL;
    return cornu_data_open_for_model(model, find, out);
}

static void show_decoding(bench_data *d)
{
    char line[256];
    cornu_data_loading l = {.size = sizeof l};
    double now = clock_seconds();
    if (!d->data || !d->options->on_notice || now < d->shown + SHOW_SECONDS ||
        cornu_data_loading_get(d->data, &l) != CORNU_OK)
        return;
    d->shown = now;
    snprintf(line, sizeof line, "%s: decoding pictures, %lld of %lld", d->workload->name,
             (long long)l.decoded, (long long)l.files);
    d->options->on_notice(d->options->user, line);
}

static bool should_stop(void *user)
{
    bench_data *d = user;
    show_decoding(d);
    return d->options->should_stop && d->options->should_stop(d->options->user);
}

/* CORNU_NOT_FOUND if neither the workload's own data nor its substitute are here. */
static cornu_status find_real(bench_data *d, const cornu_model *model, bench_report *report)
{
    const bench_workload *w = d->workload;
    const bench_options *options = d->options;
    cornu_data_options find = {
        .size = sizeof find,
        .folder = options->data,
        .should_stop = should_stop,
        .user = d,
        .images = &(cornu_folder_options){
            .size = sizeof(cornu_folder_options), .background = true, .cache = IN_MEMORY}};
    cornu_status status = find.folder ? open_inside(w, model, &find, report, &d->data)
                                      : cornu_data_open_for_model(model, &find, &d->data);
    if (status == CORNU_OK || !is_mendable(status) || bench_is_recipe(w->name))
        return status;
    if (status != CORNU_NOT_FOUND)
        TRY(bench_note(report, "%s: %s", w->name, cornu_last_error()));
    if (!w->substitute)
        return CORNU_NOT_FOUND;
    return cornu_data_open(w->substitute, &find, &d->data);
}

/* Decode the pictures of a folder. */
static cornu_status decode_all(bench_data *d, bench_report *report)
{
    cornu_data_loading loading = {.size = sizeof loading};
    const cornu_data *data = d->data;
    if (!data->loader)
        return CORNU_OK;
    TRY(data_finish(data)); /* even if the workers have finished: it reports the skipped files */
    TRY(cornu_data_loading_get(data, &loading));
    if (data_usable(data, CORNU_TRAIN, 0, data->block[CORNU_TRAIN].count) == 0)
        return status_fail(CORNU_BAD_FILE, "%s: found no readable images (%lld file%s skipped)",
                           data->folder, (long long)loading.skipped,
                           PLURAL(loading.skipped, "", "s"));
    if (loading.skipped == 0)
        return CORNU_OK;
    return bench_note(report, "%s: %s: %lld file%s skipped", d->workload->name, data->name,
                      (long long)loading.skipped, PLURAL(loading.skipped, "", "s"));
}

/* Generated pixels in place of the workload's data; of a recipe's only if they are a named set,
   whose size is known. */
static cornu_status replace_data(bench_data *d, const cornu_model *model, int64_t batch)
{
    data_spec spec = {0};
    const dataset *set = NULL;
    if (!bench_is_recipe(d->workload->name))
        return data_generate_for_model(model, batch * GENERATED_BATCHES, 1, &d->data);
    char why[1024];
    snprintf(why, sizeof why, "%s", cornu_last_error());
    if (model->data && data_spec_read(model->data, &spec) == CORNU_OK && spec.name)
        set = dataset_named(spec.name);
    if (!set || d->options->data)
        return status_fail(CORNU_NOT_FOUND, "%s", why);
    d->epoch_samples = set->samples;
    return data_generate_for_model(model, batch * GENERATED_BATCHES, 1, &d->data);
}

cornu_status bench_data_open(const bench_workload *w, const cornu_model *model, int64_t batch,
                             const bench_options *options, bench_report *report, bench_data **out)
{
    cornu_status status;
    bench_data *d = NULL;
    TRY_GOTO(memory_new(1, sizeof *d, "data", &d));
    d->workload = w;
    d->options = options;
    status = find_real(d, model, report);
    if (status == CORNU_OK)
        status = decode_all(d, report);
    else if (status == CORNU_NOT_FOUND)
        status = replace_data(d, model, batch);
    if (status != CORNU_OK)
        goto done;
    d->real = !d->data->generated;
    if (d->epoch_samples == 0)
        d->epoch_samples =
            w->epoch_samples > 0 ? w->epoch_samples : d->data->block[CORNU_TRAIN].count;
    d->users = 1;
    TRY_GOTO(data_check_samples(model, &d->data->block[CORNU_TRAIN], d->data->name));
    *out = d;
    return CORNU_OK;
done:
    if (d)
        cornu_data_close(d->data);
    free(d);
    return status;
}

void bench_data_close(bench_data *data)
{
    if (!data || --data->users > 0)
        return;
    cornu_data_close(data->data);
    free(data);
}

/* ---- details -------------------------------------------------------------------------------- */

static const double OPERATIONS_STEP_MS = 500; /* a slower step's operations are not timed */
static const double OPERATIONS_SECONDS = 0.3;

static cornu_status copy(const void *from, size_t count, size_t size, void *out)
{
    void *made;
    TRY(memory_new(count + 1, size, "rounds", &made));
    memcpy(made, from, count * size);
    memcpy(out, &made, sizeof made);
    return CORNU_OK;
}

static cornu_status keep_rounds(const candidate *c, bench_result *out)
{
    int64_t steps = 0;
    TRY(copy(c->ms, (size_t)c->rounds, sizeof *c->ms, &out->ms));
    TRY(copy(c->fastest, (size_t)c->rounds, sizeof *c->fastest, &out->fastest));
    TRY(copy(c->probe, (size_t)c->rounds, sizeof *c->probe, &out->probe));
    TRY(copy(c->memory, (size_t)c->rounds, sizeof *c->memory, &out->memory));
    TRY(copy(c->loss, (size_t)c->losses, sizeof *c->loss, &out->loss));
    TRY(copy(c->loss_steps, (size_t)c->losses, sizeof *c->loss_steps, &out->loss_step));
    for (int i = 0; i < c->losses; i++)
        out->loss_step[i] = steps += c->loss_steps[i];
    out->losses = c->losses;
    return CORNU_OK;
}

static void add_operation(const plan *p, const op *o, const kernel_choice *k, double seconds,
                          bench_result *out)
{
    bench_operation *to = &out->operations[out->operation_count++];
    *to = (bench_operation){
        .name = op_infos[o->kind].name, .ms = seconds * 1e3, .flops = k->flops, .bytes = k->bytes};
    op_shape_show(p, o, to->shape);
    cornu_printable(o->name ? o->name : "", to->layer, sizeof to->layer);
    cornu_printable(k->kernel, to->kernel, sizeof to->kernel);
}

static bool options_stop(void *user)
{
    const bench_options *o = user;
    return o->should_stop && o->should_stop(o->user);
}

static cornu_status time_operations(candidate *c, const bench_options *options,
                                    kernel_choice *choices, double *seconds)
{
    const int64_t *index;
    double gaps;
    device *d = session_device(c->session);
    bench_options asked = *options;
    const op_times_options how = {.seconds = OPERATIONS_SECONDS,
                                  .repeats_least = 3,
                                  .should_stop = options_stop,
                                  .user = &asked};
    TRY(candidate_batch(c, &index));
    const position *at = &c->model->training.position;
    const step_input input = {.samples = &c->samples,
                              .index = index,
                              .seed = at->seed,
                              .iteration = at->iterations,
                              .epoch = at->epoch,
                              .learning_rate = (float)session_learning_rate(c->model)};
    TRY(d->ops->choices(d, c->plan->prepared, choices));
    return op_times_measure(c->session, c->plan, &input, &how, seconds, &gaps);
}

static cornu_status keep_operations(candidate *c, const bench_options *options, bench_result *out)
{
    const plan *p = c->plan->plan;
    size_t count = (size_t)p->op_count;
    kernel_choice *choices = NULL;
    double *seconds = NULL;
    cornu_status status;
    TRY_GOTO(memory_new(count + 1, sizeof *choices, "kernels", &choices));
    TRY_GOTO(memory_new(count + 1, sizeof *seconds, "times", &seconds));
    TRY_GOTO(memory_new(count + 1, sizeof *out->operations, "operations", &out->operations));
    TRY_GOTO(time_operations(c, options, choices, seconds));
    for (size_t i = 0; i < count; i++)
        if (!op_is_fused(&choices[i]) && seconds[i] > 0)
            add_operation(p, &p->ops[i], &choices[i], seconds[i], out);
done:
    free(choices);
    free(seconds);
    return status;
}

cornu_status candidate_details(candidate *c, const bench_options *options, bench_result *out)
{
    if (c->failed)
        return CORNU_OK;
    TRY(keep_rounds(c, out));
    if (!options->operations || !(out->step_ms.median < OPERATIONS_STEP_MS))
        return CORNU_OK;
    return keep_operations(c, options, out);
}
