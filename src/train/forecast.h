/* Predicts how long a run will still take, from the time of its steps, its validations and the
   work between its epochs so far. It only calculates: it has no clock, and does not know the
   run. */
#ifndef TRAIN_FORECAST_H
#define TRAIN_FORECAST_H

#include <stdbool.h>

enum { FORECAST_BLOCKS = 64 };

/* Times of things of one kind, in the order in which they were measured. Blocks of neighbours are
   merged as they become many, so that any length of a run is kept in the same room. */
typedef struct forecast_series {
    double units[FORECAST_BLOCKS], seconds[FORECAST_BLOCKS];
    int count;
    double extent;    /* minimum duration of a block, in seconds */
    double all_units; /* of all blocks */
    double all_seconds;
} forecast_series;

void forecast_add(forecast_series *s, double units, double seconds);
/* Seconds per unit. The last third of the time has the highest weight, as a machine that has
   begun to throttle or to be shared stays so. 0 if nothing was measured. */
double forecast_mean(const forecast_series *s);
/* The relative error of the mean over the next `seconds`: its 95 % interval if the noise stays
   as before. Persistent noise, such as another program's, counts more than noise that averages
   out. */
double forecast_spread(const forecast_series *s, double seconds);

/* The forecast of a run. Initially zero, with guesses if there are any. */
typedef struct forecast {
    forecast_series steps; /* training steps */
    forecast_series
        decoding; /* training steps during which pictures were decoded that stay in the cache */
    double
        decoding_own; /* seconds that the steps of `decoding` would have taken without decoding */
    forecast_series validation;        /* a unit is all of one validation */
    forecast_series between;           /* a unit is the work between two epochs: callbacks, files */
    double first_units, first_seconds; /* the first interval: buffers are touched, caches filled */
    double validation_guess; /* duration of a validation in training steps, until one is measured */
    double between_guess;    /* seconds */
    double spread_least;     /* minimum relative error of steps, from the caller's knowledge of the
                                machine */
} forecast;

/* The work that is left. */
typedef struct forecast_work {
    double steps, validations, epochs; /* amounts not yet done */
    double decoding; /* seconds for which pictures will still be decoded; 0: all are */
} forecast_work;

/* Record `steps` that took `seconds`. decoding: pictures were decoded at the same time, and
   without that the steps would have taken `own`. */
void forecast_steps(forecast *f, double steps, double seconds, bool decoding, double own);
/* *error: half-width of the 95 % interval of the end. False if too little has been measured. */
bool forecast_left(const forecast *f, const forecast_work *work, double *seconds, double *error);

#endif
