#include "train/forecast.h"
#include <math.h>
#include <string.h>

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

/* ---- one series ------------------------------------------------------------------------- */

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

/* ---- a run ------------------------------------------------------------------------------ */

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
