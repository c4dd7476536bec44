#include "bench/published.h"
#include <stddef.h>

const bench_workload bench_workloads[] = {
#define WORKLOAD(name, samples, epochs, substitute) {name, samples, epochs, substitute},
#include "bench/published.def"
#undef WORKLOAD
    {NULL, 0, 0, NULL}};

const published_figure published_figures[] = {
#define PUBLISHED(workload, kind, hardware, epoch, total, accuracy, note) \
    {workload, kind, hardware, epoch, total, accuracy, note},
#include "bench/published.def"
#undef PUBLISHED
    {NULL, NULL, NULL, 0, 0, 0, NULL}};
