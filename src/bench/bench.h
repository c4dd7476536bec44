/* The benchmark: times the published workloads on each device and compares them with the measured
   limits and the published times. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "bench/options.h"
#include "bench/published.h"
#include "bench/report.h"

/* Unknown workloads are CORNU_INVALID, absent devices CORNU_NOT_FOUND. A failure on one device (it
   cannot be opened, lacks an operation or memory, is lost meanwhile) becomes a row with the reason,
   and the other devices go on; if nothing could be measured, the first such failure is returned.
   Call bench_report_free also after a failure. */
cornu_status bench_run(const bench_options *options, bench_report *report);

#endif
