/* Connects a run with its forecast: measurements in, estimates out. */
#include "train/fit_run.h"
#include <cornu/images.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The spread on a machine with more runnable threads than cores. */
static const double SHARED_SPREAD = 0.25;
/* Guesses until a file has been written: the time to sync it, and the speed of writing.
 */
static const double FILE_SECONDS = 0.02, FILE_BYTES_PER_SECOND = 300e6;

/* ---- guesses ---------------------------------------------------------------------------- */

/* A validation in steps of training: by their FLOPs and by their bytes, and midway between. */
static double guess_validation(const fit_run *run)
{
    session_plan *train, *evaluate;
    const evaluation *v = &run->validation;
    if (!run->validates || v->data->stream || fit_train_plan(run, &train) != CORNU_OK ||
        session_plan_for(run->state.session, PLAN_EVALUATE, v->batch,
                         v->data->block[v->split].weight != NULL, &evaluate) != CORNU_OK)
        return 0;
    double steps = ceil((double)v->count / (double)v->batch);
    if (v->steps > 0 && (double)v->steps < steps)
        steps = (double)v->steps;
    double runs = run->state.shards ? (double)run->spec.shards : 1; /* runs of its plan per step */
    double flops = evaluate->plan->flops / fmax(runs * train->plan->flops, 1);
    double bytes = evaluate->plan->bytes / fmax(runs * train->plan->bytes, 1);
    return steps * (flops + bytes) / 2;
}

/* Seconds after each epoch: model files. */
static double guess_between(const fit_run *run)
{
    int files = (run->options->save != NULL) + callbacks_have(run->state.callbacks, "checkpoint");
    double bytes = 0;
    for (int i = 0; i < run->state.model->variable_count; i++)
        bytes += (double)run->state.model->variables[i].count * sizeof(float);
    return files * (FILE_SECONDS + bytes / FILE_BYTES_PER_SECOND);
}

void fit_forecast_open(fit_run *run)
{
    run->forecast =
        (forecast){.validation_guess = guess_validation(run), .between_guess = guess_between(run)};
    run->marks = (fit_marks){0};
}

/* ---- measurements ----------------------------------------------------------------------- */

static double process_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Measure from now on. */
static void mark(fit_run *run)
{
    fit_marks *m = &run->marks;
    bool first = m->at == 0;
    m->at = clock_seconds();
    m->step = run->state.model->training.position.step;
    m->validated = 0;
    if (!first && !m->decodes)
        return;
    cornu_data_loading l;
    if (cornu_data_loading_get(run->state.data, &l) != CORNU_OK)
        return;
    m->decodes = data_files_left(run->state.data) > 0;
    m->cpu = process_seconds();
    m->decoding = l.decode_seconds + l.resize_seconds;
    m->waited = l.wait_seconds;
    m->files = l.decoded + l.cached;
    if (first) {
        m->first_at = m->at;
        m->first_files = m->files;
    }
}

void fit_forecast_begin(fit_run *run)
{
    const fit_marks *m = &run->marks;
    if (m->at > 0)
        forecast_add(&run->forecast.between, 1, fmax(clock_seconds() - m->at - m->validated, 0));
    mark(run);
}

/* The seconds of steps without decoding workers at the same time. On the host the workers use a
   share of the cores; a separate device has only waited for them. */
static double alone(const fit_run *run, const fit_marks *before, double seconds)
{
    const fit_marks *now = &run->marks;
    if (session_device(run->state.session)->ops->upload)
        return seconds - (now->waited - before->waited);
    double cpu = now->cpu - before->cpu, decoding = now->decoding - before->decoding;
    return cpu > 0 ? seconds * fmax(1 - decoding / cpu, 0) : seconds;
}

/* If other programs use the cores, too, the time so far says little about how long they will
   continue. */
static double spread_of_machine(void)
{
    double load;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    bool shared = getloadavg(&load, 1) == 1 && cores > 0 && load > (double)cores + 1;
    return shared ? SHARED_SPREAD : 0;
}

void fit_forecast_steps(fit_run *run)
{
    const fit_marks before = run->marks;
    int64_t steps = run->state.model->training.position.step - before.step;
    if (before.at == 0 || steps <= 0)
        return;
    mark(run);
    double seconds = run->marks.at - before.at;
    if (run->marks.at - run->marks.looked >= 1) {
        run->marks.looked = run->marks.at;
        run->forecast.spread_least = spread_of_machine();
    }
    forecast_steps(&run->forecast, (double)steps, seconds, before.decodes,
                   before.decodes ? alone(run, &before, seconds) : seconds);
}

void fit_forecast_validated(fit_run *run, double seconds)
{
    forecast_add(&run->forecast.validation, 1, seconds);
    run->marks.validated = seconds;
}

/* ---- estimates -------------------------------------------------------------------------- */

/* Seconds until all pictures are decoded, at the speed so far. */
static double decoding_left(const fit_run *run)
{
    const fit_marks *m = &run->marks;
    double rate = (double)(m->files - m->first_files) / (m->at - m->first_at);
    return m->decodes && rate > 0 ? (double)data_files_left(run->state.data) / rate : 0;
}

void fit_forecast_tell(const fit_run *run, bool ended, cornu_progress *progress)
{
    const position *p = &run->state.model->training.position;
    int64_t steps = run->steps == STEPS_UNKNOWN ? run->steps_shown : run->steps;
    int64_t epoch = progress->epoch + ended; /* the first that has not ended */
    int64_t done = ended ? 0 : p->step;
    forecast_work work = {.steps = (double)(run->epochs - epoch) * (double)steps - (double)done,
                          .epochs = (double)(run->epochs - epoch),
                          .decoding = decoding_left(run)};
    if (run->validates)
        work.validations = (double)fit_spec_validations(&run->spec, epoch, run->epochs);
    progress->left_seconds = progress->left_error = NAN;
    if (steps <= 0 || run->epochs < epoch ||
        !forecast_left(&run->forecast, &work, &progress->left_seconds, &progress->left_error))
        progress->left_seconds = progress->left_error = NAN;
    progress->left_at_most =
        !isnan(progress->left_seconds) && callbacks_have(run->state.callbacks, "early_stopping");
}
