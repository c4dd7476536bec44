/* Training by several ranks, measured: what a step takes and what of it is waiting, beside the
   model of wires.h, which then says what other networks and more machines would do. */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include "bench/options.h"
#include "bench/wires.h"
#include "parallel/ranks.h"
#include <stdio.h>

typedef struct ranks_options {
    const bench_options *bench; /* one device; batch: that of all ranks */
    cornu_ranks *ranks;
    const wire *forecast; /* [forecasts] */
    int forecasts;
    const char *wire; /* as cornu_fit_options has it */
    bool divides;     /* as shards_options has it */
} ranks_options;

/* Medians in seconds; those of steps are means over the ranks. */
typedef struct ranks_result {
    const char *workload;
    int64_t batch; /* of all ranks; each has that divided by their number */
    int64_t values;
    double step, step_least;
    double made, waited, applied; /* of a step */
    double updated;               /* of `applied`: the optimizer's, where its work is divided */
    double slowest;               /* `made` of the rank that takes longest in a step */
    double alone;                 /* a step of one rank's samples without the others */
    double sum;                   /* adding the gradients, nothing else being done */
    wire_factors factors;
    bool rests;          /* a part of that belongs to `updated`, on all ranks (ranks_rest) */
    shard_layout layout; /* with the times of a step of rank 0 that takes `slowest` */
} ranks_result;

typedef struct ranks_report {
    int ranks, hosts, threads;
    char device[64];
    wire here;          /* between these ranks */
    double add_seconds; /* of a byte */
    bool bf16, divided;
    bool interrupted; /* by should_stop, before all was measured */
    ranks_result *results;
    int count;
    const wire *forecast;
    int forecasts;
} ranks_report;

/* By all ranks, at once. Call ranks_report_free also after a failure. */
cornu_status ranks_bench(const ranks_options *options, ranks_report *report);
void ranks_report_free(ranks_report *report);
/* What the model says of a result on so many ranks with such a network, each rank having as many
   samples as now: seconds of a step. `w` NULL: on those that were measured. */
double ranks_forecast(const ranks_report *report, const ranks_result *r, const wire *w, int ranks);
/* The shares of `sum` that could be hidden behind the gradients, by the model, and that were. */
double ranks_hideable(const ranks_report *report, const ranks_result *r);
double ranks_hidden(const ranks_result *r);

void ranks_print(const ranks_report *report, FILE *out);
cornu_status ranks_write_json(const ranks_report *report, const char *path);

#endif
