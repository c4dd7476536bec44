/* How long a run will still take: from what its steps, its validations and what lies between its
   epochs have taken so far. Arithmetic alone: it has no clock, and knows no run. */
#ifndef TRAIN_FORECAST_H
#define TRAIN_FORECAST_H

#include <stdbool.h>

enum { FORECAST_BLOCKS = 64 };

/* Times of things of one kind, in the order in which they were measured. Blocks of neighbours are
   merged as they become many, so that any length of a run is kept in the same room. */
typedef struct forecast_series {
    double units[FORECAST_BLOCKS], seconds[FORECAST_BLOCKS];
    int count;
    double extent;    /* a block takes more until it has lasted so long; seconds */
    double all_units; /* of all blocks */
    double all_seconds;
} forecast_series;

void forecast_add(forecast_series *s, double units, double seconds);
/* Seconds a unit, the last third of the time weighing most, as a machine that has begun to throttle
   or to be shared stays so. 0 where nothing was measured. */
double forecast_mean(const forecast_series *s);
/* By how much the mean over the next `seconds` may differ from it, as a share of it: what 19 of 20
   stay within where the next moments are like those before. Noise that lasts, such as another
   program's, counts for more than noise that averages out. */
double forecast_spread(const forecast_series *s, double seconds);

/* A run. Zeroed, with guesses where there are some. */
typedef struct forecast {
    forecast_series steps; /* of training */
    forecast_series
        decoding;        /* of those beside which pictures were decoded that need not be again */
    double decoding_own; /* seconds of `decoding` that its steps would have taken alone */
    forecast_series validation;        /* a unit is all of one validation */
    forecast_series between;           /* a unit is what an epoch has besides: callbacks, files */
    double first_units, first_seconds; /* the first interval: buffers are touched, caches filled */
    double validation_guess; /* as many steps as a validation takes, until one is measured */
    double between_guess;    /* seconds */
    double spread_least;     /* of steps, as a share: what the caller knows of the machine */
} forecast;

/* What is left of it. */
typedef struct forecast_work {
    double steps, validations, epochs; /* that have not ended */
    double decoding; /* seconds for which pictures will still be decoded; 0: all are */
} forecast_work;

/* `steps` that took `seconds`; decoding: beside pictures that were being decoded, where alone they
   would have taken `own`. */
void forecast_steps(forecast *f, double steps, double seconds, bool decoding, double own);
/* *error: half of the range in which 19 of 20 runs end. False where too little has been measured.
 */
bool forecast_left(const forecast *f, const forecast_work *work, double *seconds, double *error);

#endif
