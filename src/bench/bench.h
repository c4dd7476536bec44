/* The main job: time the published workloads on each device and set the figures beside the measured
   limit and the published times. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "bench/options.h"
#include "bench/published.h"
#include "bench/report.h"

/* Unknown workloads are CORNU_INVALID, devices that are not there CORNU_NOT_FOUND. What fails on
   one device (it cannot be opened, lacks an operation or memory, is lost in the middle) is a row
   that says why, and the rest goes on; where nothing could be measured, the first such failure is
   returned. What has no data for --full becomes a note. Call bench_report_free also after a
   failure.
 */
cornu_status bench_run(const bench_options *options, bench_report *report);

#endif
