/* The main job: time the published workloads on each device and set the figures beside the measured
   limit and the published times. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "bench/options.h"
#include "bench/published.h"
#include "bench/report.h"

/* Unknown workloads are CORNU_INVALID, devices that are not there CORNU_NOT_FOUND. What does not
   fit into memory or has no data for --full becomes a note, and the rest goes on; so do, among
   "all" devices, the kinds that this machine has none of, with the reason, and accelerators that
   fail. Call bench_report_free also after a failure. */
cornu_status bench_run(const bench_options *options, bench_report *report);

#endif
