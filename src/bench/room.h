/* One comparison, while it runs: what bench.c makes ready, group.c measures and sweep_run.c repeats
   for several batches. */
#ifndef BENCH_ROOM_H
#define BENCH_ROOM_H

#include "bench/baseline.h"
#include "bench/bench.h"
#include "bench/contender.h"
#include "bench/energy.h"
#include "bench/sweep.h"

/* More contenders than this are never open at once. */
enum { GROUP_MOST = 64 };
typedef struct compared {
    char name[64];
    cornu_status failed; /* it could not be opened, or its limits not be measured, and why */
    char why[BENCH_REASON];
} compared;

typedef struct bench {
    const bench_options *options;
    bench_report *report;
    bench_effort effort;
    device *host; /* "cpu": the machine's limits and probes */
    compared devices[BENCH_DEVICES_MOST];
    int device_count;
    bench_baseline baseline;
    contender group[GROUP_MOST];
    int group_count;
    cornu_status first_failure; /* of a contender */
    energy energy;              /* of the host's processors */
    double began;
    int round;          /* of the current group */
    double group_began; /* its first round */
    /* Of a sweep: options with each of its batches; data for all of them. */
    bench_options swept[SWEEP_BATCHES_MOST];
    bench_data *kept;
} bench;

void bench_notice(const bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool bench_stopped(const bench *b);
/* The table's, or the options' own. */
const bench_workload *bench_workloads_of(const bench *b);
bool bench_wants(const bench_options *options, const char *name);
/* Open one more; measure and close the ones before where memory is short. `with`: the options, with
   a batch of its own in a sweep. Where its data cannot be had, no other device can be measured on
   them, and that ends the comparison; all else is the device's failure. */
cornu_status group_add(bench *b, const bench_workload *w, const compared *on,
                       const bench_options *with);
/* Measure those that are open, keep the results, and close them. */
cornu_status group_finish(bench *b);
void group_close(bench *b);
/* All workloads with all options->batches; sorts the results. */
cornu_status sweep_all(bench *b);

#endif
