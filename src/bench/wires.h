/* A model of the time of communication between ranks: a message takes `latency` plus the time of
   its bytes.

   The all-reduce of a bucket of n bytes takes log2(N) messages for the reduce-scatter (halving),
   and as many for the all-gather (Thakur, Rabenseifner, Gropp 2005): 2 log2(N) latency + 2 n (N -
   1) / N byte time. A bucket begins when its gradients are computed and one of the RANKS_BUCKETS
   before it is complete; its bytes are sent after those of the previous bucket. If each rank
   updates only its share of the weights, the all-gather is of the weights, after all gradients. */
#ifndef BENCH_WIRES_H
#define BENCH_WIRES_H

#include "base/status.h"
#include "parallel/distribution.h"

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

#endif
