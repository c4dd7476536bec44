/* The report as event files, which TensorBoard shows. */
#ifndef BENCH_EVENTS_H
#define BENCH_EVENTS_H

#include "bench/report.h"

/* Make the folder, so that no measurement is lost at the end; CORNU_UNSUPPORTED in a build without
   event files. */
cornu_status bench_events_check(const char *folder);
/* New files below it: the table as a text, and for each measured result a run WORKLOAD/DEVICE, or
   WORKLOAD/DEVICE/batch-N if it has a batch of its own: its rounds and losses, its figures as
   scalars at the step that is its batch, its settings as hyperparameters, its operations as a
   graph. With several batches, WORKLOAD/DEVICE has the figures of all. */
cornu_status bench_write_events(const bench_report *report, const char *folder);

#endif
