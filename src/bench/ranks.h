/* Measures training on several ranks: the time of a step and the waiting in it. A model of the
   network then forecasts other networks and more machines. */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include "bench/bench.h"
#include "parallel/distribution.h"
#include "parallel/ranks.h"
#include <stdio.h>

/* ---- the model ---- */

/* A model of the time of communication between ranks: a message takes `latency` plus the time of
   its bytes.

   The all-reduce of a bucket of n bytes takes log2(N) messages for the reduce-scatter (halving),
   and as many for the all-gather (Thakur, Rabenseifner, Gropp 2005): 2 log2(N) latency + 2 n (N -
   1) / N byte time. A bucket begins when its gradients are computed and one of the RANKS_BUCKETS
   before it is complete; its bytes are sent after those of the previous bucket. If each rank
   updates only its share of the weights, the all-gather is of the weights, after all gradients. */

enum { WIRES_MOST = 16, FORECAST_MOST = 1024 };

typedef struct wire {
    char name[32];
    double latency;      /* seconds, of a message one way */
    double byte_seconds; /* both directions at once */
} wire;

/* "10GbE,IB,1Gbit@200us": names of wires.def, or a rate (bit, kbit, Mbit, Gbit per second) and a
   latency (ns, us, ms, s). Messages begin with "forecast: ". */
cornu_status wires_parse(const char *text, wire out[WIRES_MOST], int *count);

/* A step of one rank, without the others. */
typedef struct lone_step {
    double made, applied; /* seconds; applied: to all weights */
    const shard_layout *layout;
    double add_seconds; /* per byte, if not included in the network's; else 0 */
    bool bf16;          /* gradients are sent as bfloat16 (the gradient dtype) */
    bool divided;       /* each rank updates its share (parallel/divided_updates.h) */
    bool rests; /* and adds the last neighbour's gradients meanwhile, from that rank's memory */
} lone_step;

/* Seconds of an all-reduce of `values` floats with no other work. */
double wire_sum_seconds(const wire *w, int ranks, int64_t values, double add_seconds);
/* Seconds of the all-reduce of a step's gradients. */
double wire_add_seconds(const wire *w, int ranks, const lone_step *step);
/* Seconds that a rank waits for it in a step, after its own backward pass. */
double wire_wait_seconds(const wire *w, int ranks, const lone_step *step);
/* Seconds of the whole step, with the message of the results at its end. */
double wire_step_seconds(const wire *w, int ranks, const lone_step *step);

/* ---- the measurement ---- */

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

void ranks_print(const ranks_report *report, FILE *out);
cornu_status ranks_write_json(const ranks_report *report, const char *path);

#endif
