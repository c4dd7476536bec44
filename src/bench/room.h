/* One comparison, while it runs: bench.c prepares it, group.c measures it and sweep_run.c repeats
   it for several batches. */
#ifndef BENCH_ROOM_H
#define BENCH_ROOM_H

#include "bench/baseline.h"
#include "bench/bench.h"
#include "bench/contender.h"
#include "bench/energy.h"
#include "bench/sweep.h"

/* The maximum number of candidates that are open at once. */
enum { GROUP_MOST = 64 };
typedef struct compared {
    char name[64];
    cornu_status failed; /* it could not be opened, or its limits not be measured; and the reason */
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
    cornu_status first_failure; /* of a candidate */
    energy energy;              /* of the host's processors */
    double began;
    int round;          /* of the current group */
    double group_began; /* time of its first round */
    /* For a sweep: options with each of its batches; data for all of them. */
    bench_options swept[SWEEP_BATCHES_MOST];
    bench_data *kept;
} bench;

void bench_notice(const bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool bench_stopped(const bench *b);
/* The table's workloads, or the options' own. */
const bench_workload *bench_workloads_of(const bench *b);
bool bench_wants(const bench_options *options, const char *name);
/* Open one more candidate; where memory is short, first measure and close the open ones. `with`:
   the options, in a sweep with a batch of their own. Without the workload's data no device can be
   measured, and the comparison fails; any other failure belongs to the device. */
cornu_status group_add(bench *b, const bench_workload *w, const compared *on,
                       const bench_options *with);
/* Measure the open candidates, keep the results, and close them. */
cornu_status group_finish(bench *b);
void group_close(bench *b);
/* All workloads with all options->batches; sorts the results. */
cornu_status sweep_all(bench *b);

#endif
