/* What the report says of the machine. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_machine {
    char cpu[128], system[128];
    int cores; /* physical, that this process may use */
    int64_t memory_bytes;
} bench_machine;

void bench_machine_read(bench_machine *machine);
/* Has the device of this name ("cuda:0") a memory of its own, and so limits of its own? */
bool bench_is_accelerator(const char *name);
/* "gpu" or "cpu": an OpenCL device may be either. */
const char *bench_device_kind(const char *name);

#endif
