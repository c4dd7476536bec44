/* Measures training on several ranks: the time of a step and the waiting in it. The model of
   wires.h then forecasts other networks and more machines. */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include "bench/bench.h"
#include "bench/wires.h"
#include "parallel/ranks.h"
#include <stdio.h>

typedef struct ranks_options {
    const bench_options *bench; /* one device; batch: that of all ranks together */
    cornu_ranks *ranks;
    const wire *forecast; /* [forecasts] */
    int forecasts;
    const char *gradient_dtype; /* see cornu_fit_options */
    bool divides;               /* see shards_options */
} ranks_options;

/* Medians in seconds; those of steps are means over the ranks. */
typedef struct ranks_result {
    const char *workload;
    int64_t batch; /* of all ranks; each has an equal share of it */
    int64_t values;
    double step, step_least;
    double made, waited, applied; /* of one step */
    double updated; /* of `applied`: the optimizer's time, if the update is divided among ranks */
    double slowest; /* `made` of the slowest rank in a step */
    double alone;   /* a step of one rank's samples without the other ranks */
    double sum;     /* the all-reduce of the gradients, with no other work */
    bool rests;     /* some of that belongs to `updated`, on all ranks (ranks_rest) */
    shard_layout layout; /* with the times of a step of rank 0 that takes `slowest` */
} ranks_result;

typedef struct ranks_report {
    int ranks, hosts, threads;
    char device[64];
    wire here;          /* the network between these ranks */
    double add_seconds; /* per byte */
    bool bf16, divided;
    bool interrupted; /* by should_stop, before all was measured */
    ranks_result *results;
    int count;
    const wire *forecast;
    int forecasts;
} ranks_report;

/* All ranks call it at the same time. Call ranks_report_free also after a failure. */
cornu_status ranks_bench(const ranks_options *options, ranks_report *report);
void ranks_report_free(ranks_report *report);
/* The model's forecast for a result: seconds of a step on `ranks` ranks with network `w`, where
   each rank has as many samples as now. `w` NULL: on the measured network. */
double ranks_forecast(const ranks_report *report, const ranks_result *r, const wire *w, int ranks);
/* The fractions of `sum` that could be hidden by the backward pass, by the model, and that were. */
double ranks_hideable(const ranks_report *report, const ranks_result *r);
double ranks_hidden(const ranks_result *r);

void ranks_print(const ranks_report *report, FILE *out);
cornu_status ranks_write_json(const ranks_report *report, const char *path);

#endif
