#include "train/forecast.h"
#include "train/fit_run.h"
#include <cornu/images.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Minimum duration of a block: about the time between two progress lines. */
static const double EXTENT_SECONDS = 0.1;
/* The weight of what was measured falls to 1/e over this share of the time, but no faster. */
static const double MEMORY_SHARE = 1.0 / 3, MEMORY_LEAST_SECONDS = 10;
/* No forecast before this time was measured. */
static const double LEAST_SECONDS = 1;
/* Standard deviations of a 95 % interval. */
static const double DEVIATIONS = 2;
/* Relative errors: the minimum, as no machine is steadier over hours; of a single measurement;
   of a guess. */
static const double SPREAD_LEAST = 0.02, SPREAD_OF_ONE = 0.3, SPREAD_OF_GUESS = 0.6;

/* ---- one series -------------------------------------------------------------------------- */

static void merge_neighbours(forecast_series *s)
{
    for (int i = 0; i < s->count / 2; i++) {
        s->units[i] = s->units[2 * i] + s->units[2 * i + 1];
        s->seconds[i] = s->seconds[2 * i] + s->seconds[2 * i + 1];
    }
    s->count /= 2;
    s->extent *= 2;
}

void forecast_add(forecast_series *s, double units, double seconds)
{
    if (!(units > 0) || !(seconds >= 0) || !isfinite(seconds))
        return;
    s->extent = s->extent > 0 ? s->extent : EXTENT_SECONDS;
    bool opens = s->count == 0 || s->seconds[s->count - 1] >= s->extent;
    if (opens && s->count == FORECAST_BLOCKS)
        merge_neighbours(s);
    if (opens)
        s->units[s->count] = s->seconds[s->count] = 0;
    s->count += opens;
    s->units[s->count - 1] += units;
    s->seconds[s->count - 1] += seconds;
    s->all_units += units;
    s->all_seconds += seconds;
}

/* weight[count] of blocks, by their age in seconds of the series. */
static void weigh(const forecast_series *s, double *weight)
{
    double memory = fmax(MEMORY_LEAST_SECONDS, MEMORY_SHARE * s->all_seconds), age = 0;
    for (int i = s->count - 1; i >= 0; i--) {
        weight[i] = exp(-(age + s->seconds[i] / 2) / memory);
        age += s->seconds[i];
    }
}

double forecast_mean(const forecast_series *s)
{
    double weight[FORECAST_BLOCKS], units = 0, seconds = 0;
    weigh(s, weight);
    for (int i = 0; i < s->count; i++) {
        units += weight[i] * s->units[i];
        seconds += weight[i] * s->seconds[i];
    }
    return units > 0 ? seconds / units : 0;
}

/* Combine `together` blocks at a time, from the last one on: the variance of their deviations
   from the mean, times the seconds of such a block. If the noise is independent between blocks,
   this is the same for any number; if it persists, it grows. */
static double noise_of(const forecast_series *s, const double *weight, double mean, int together)
{
    double sum = 0, weights = 0, seconds_all = 0;
    int blocks = 0;
    for (int end = s->count; end >= together; end -= together, blocks++) {
        double units = 0, seconds = 0;
        for (int i = end - together; i < end; i++) {
            units += s->units[i];
            seconds += s->seconds[i];
        }
        double off = seconds / units / mean - 1, w = weight[end - 1] * seconds;
        sum += w * off * off;
        weights += w;
        seconds_all += seconds;
    }
    return blocks > 1 && weights > 0 ? sum / weights * seconds_all / (blocks - 1) : 0;
}

double forecast_spread(const forecast_series *s, double seconds)
{
    double weight[FORECAST_BLOCKS], noise = 0, weights = 0, squares = 0;
    double mean = forecast_mean(s);
    if (s->count < 2 || !(mean > 0))
        return SPREAD_OF_ONE;
    weigh(s, weight);
    for (int together = 1; together == 1 || s->count / together >= 4; together *= 2)
        noise = fmax(noise, noise_of(s, weight, mean, together));
    for (int i = 0; i < s->count; i++) {
        weights += weight[i] * s->seconds[i];
        squares += weight[i] * weight[i] * s->seconds[i];
    }
    double measured = squares > 0 ? weights * weights / squares : 0;
    if (!(measured > 0) || !(seconds > 0))
        return SPREAD_LEAST;
    return fmax(SPREAD_LEAST, DEVIATIONS * sqrt(noise / measured + noise / seconds));
}

/* ---- a run ------------------------------------------------------------------------------- */

void forecast_steps(forecast *f, double steps, double seconds, bool decoding, double own)
{
    if (f->first_units == 0) {
        f->first_units = steps;
        f->first_seconds = seconds;
        return;
    }
    forecast_add(decoding ? &f->decoding : &f->steps, steps, seconds);
    if (decoding)
        f->decoding_own += fmin(fmax(own, 0), seconds);
}

/* Seconds per step without decoding, and its error. */
static double step_alone(const forecast *f, double *spread)
{
    const forecast_series *slow = &f->decoding;
    if (f->steps.count > 0) {
        *spread = 0;
        return forecast_mean(&f->steps);
    }
    if (slow->count > 0) {
        *spread = SPREAD_OF_ONE;
        return forecast_mean(slow) * f->decoding_own / slow->all_seconds;
    }
    *spread = SPREAD_OF_GUESS;
    return f->first_units > 0 ? f->first_seconds / f->first_units : 0;
}

/* Seconds of `steps` steps; steps during decoding take longer. */
static double steps_left(const forecast *f, const forecast_work *work, double *error)
{
    double spread, alone = step_alone(f, &spread);
    double slow = forecast_mean(&f->decoding);
    double beside = slow > 0 ? fmin(work->steps, work->decoding / slow) : 0;
    double first = beside * slow, rest = (work->steps - beside) * alone;
    double noise = forecast_spread(f->steps.count > 1 ? &f->steps : &f->decoding, first + rest);
    noise = fmax(noise, f->spread_least);
    *error = hypot(noise * (first + rest), spread * rest);
    return first + rest;
}

/* `count` events of a series, each `guess` seconds long until one was measured. */
static double events_left(const forecast_series *s, double count, double guess, double *error)
{
    double each = s->count > 0 ? forecast_mean(s) : guess;
    double spread = s->count > 0 ? forecast_spread(s, count * each) : SPREAD_OF_GUESS;
    *error = spread * count * each;
    return count * each;
}

bool forecast_left(const forecast *f, const forecast_work *work, double *seconds, double *error)
{
    double of_steps, of_validation, of_between, spread;
    double measured = f->first_seconds + f->steps.all_seconds + f->decoding.all_seconds;
    if (measured < LEAST_SECONDS || f->first_units == 0)
        return false;
    double guess = f->validation_guess * step_alone(f, &spread);
    *seconds = steps_left(f, work, &of_steps) +
               events_left(&f->validation, work->validations, guess, &of_validation) +
               events_left(&f->between, work->epochs, f->between_guess, &of_between);
    *error = sqrt(of_steps * of_steps + of_validation * of_validation + of_between * of_between);
    return true;
}

/* ---- the forecast of a run --------------------------------------------------------------- */

/* The spread on a machine with more runnable threads than cores. */
static const double SHARED_SPREAD = 0.25;
/* Guesses until a file has been written: the time to sync it, and the speed of writing.
 */
static const double FILE_SECONDS = 0.02, FILE_BYTES_PER_SECOND = 300e6;

/* ---- guesses ----------------------------------------------------------------------------- */

/* The plan of a training step, or of its largest shard, which must have been prepared. */
static cornu_status train_plan(const fit_run *run, session_plan **out)
{
    if (!run->state.shards)
        return session_plan_for(run->state.session, PLAN_TRAIN, run->batch, fit_weighting(run),
                                out);
    int64_t largest = (run->batch + run->spec.shards - 1) / run->spec.shards;
    return session_plan_scope(run->state.session, SCOPE_GRADIENTS, largest, fit_weighting(run),
                              out);
}

/* A validation in steps of training: by their FLOPs and by their bytes, and midway between. */
static double guess_validation(const fit_run *run)
{
    session_plan *train, *evaluate;
    const evaluation *v = &run->validation;
    if (!run->validates || v->data->stream || train_plan(run, &train) != CORNU_OK ||
        session_plan_for(run->state.session, PLAN_EVALUATE, v->batch,
                         samples_weighting(&v->data->block[v->split]), &evaluate) != CORNU_OK)
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

/* ---- measurements ------------------------------------------------------------------------ */

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
    cornu_data_loading l = {.size = sizeof l};
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

/* ---- estimates --------------------------------------------------------------------------- */

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
