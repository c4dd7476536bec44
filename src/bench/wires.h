/* What ranks take for their messages, by a model: a message takes `latency` and its bytes' time.

   A bucket of n bytes is added by log2(N) messages for the halves, and as many back (Thakur,
   Rabenseifner, Gropp 2005): 2 log2(N) latency + 2 n (N - 1) / N byte time. A bucket begins when
   its numbers are made and one of the RANKS_BUCKETS before it has come; its bytes are sent behind
   those of the bucket before. Where ranks update a part of the weights each, the messages back are
   those of the weights, behind the gradients of all. Of kernels whose factors ranks exchange
   (parallel/shard_factors.h) each rank gets, before all buckets, what N - 1 others have: log2(N)
   latency
   + (N - 1) times a rank's bytes. With more ranks than that is worth their gradients are added as
   all others. */
#ifndef BENCH_WIRES_H
#define BENCH_WIRES_H

#include "base/status.h"
#include "parallel/shard_layout.h"

enum { WIRES_MOST = 16, FORECAST_MOST = 1024 };

typedef struct wire {
    char name[32];
    double latency;      /* s, of a message one way */
    double byte_seconds; /* each way at once */
} wire;

/* "10GbE,IB,1Gbit@200us": names of wires.def, or a rate (bit, kbit, Mbit, Gbit a second) and a
   latency (ns, us, ms, s). Messages begin with "forecast: ". */
cornu_status wires_parse(const char *text, wire out[WIRES_MOST], int *count);

/* Kernels whose factors are exchanged, taken together. */
typedef struct wire_factors {
    int64_t elements, floats; /* of the kernels; of one rank's factors */
    double made;              /* when a rank has its own */
    double products;          /* s: to multiply them, on any number of ranks */
} wire_factors;

/* A step of one rank, without the others. */
typedef struct lone_step {
    double made, applied; /* s; applied: to all weights */
    const shard_layout *layout;
    double add_seconds; /* of a byte, where that is not in the wire's; else 0 */
    bool bf16;          /* gradients are sent as bfloat16 */
    bool divided;       /* ranks update a part each (parallel/divided_updates.h) */
    wire_factors factors;
    bool rests; /* and add the last neighbour's gradients as they do, from its memory */
} lone_step;

/* So long a sum of `values` floats takes while nothing else is done. */
double wire_sum_seconds(const wire *w, int ranks, int64_t values, double add_seconds);
/* So long that of a step's gradients takes. */
double wire_add_seconds(const wire *w, int ranks, const lone_step *step);
/* So long a rank waits for it in a step, behind its own gradients. */
double wire_wait_seconds(const wire *w, int ranks, const lone_step *step);
/* The whole step, with the results' message at its end. */
double wire_step_seconds(const wire *w, int ranks, const lone_step *step);

#endif
